# SPDX-License-Identifier: Apache-2.0
"""A program as Python source: one assignment for each operation.

The function takes the vectors as sequences of scalars, floats or NumPy arrays over the samples of a
batch, together with the functions sin, cos, sqrt, sign that fit them, and answers a list.
"""

from __future__ import annotations

from dyn_core.codegen.program import Program
from dyn_core.expr.analysis import needed
from dyn_core.expr.graph import Expr, Op, Symbolic

_FORMATS = {
    Op.ADD: "{} + {}",
    Op.SUB: "{} - {}",
    Op.MUL: "{} * {}",
    Op.DIV: "{} / {}",
    Op.NEG: "-{}",
    Op.SIN: "sin({})",
    Op.COS: "cos({})",
    Op.SQRT: "sqrt({})",
    Op.SIGN: "sign({})",
    Op.ABS: "abs({})",
}


def python_source(program: Program) -> str:
    """Answer the text of a function that computes the program."""
    lines = [f"def {program.name}({', '.join(program.inputs)}, *, sin, cos, sqrt, sign):"]
    for node in needed(program.results):
        if node.op not in (Op.CONSTANT, Op.INPUT):
            arguments = (_operand(argument) for argument in node.args)
            lines.append(f"    t{node.number} = {_FORMATS[node.op].format(*arguments)}")
    lines.append(f"    return [{', '.join(map(_operand, program.results))}]")
    return "\n".join(lines) + "\n"


def _operand(value: Symbolic) -> str:
    if not isinstance(value, Expr):
        return repr(float(value))
    if value.op is Op.CONSTANT:
        return repr(value.value)
    return value.name if value.op is Op.INPUT else f"t{value.number}"
