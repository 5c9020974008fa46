# SPDX-License-Identifier: Apache-2.0
"""A program as Python source: one assignment for each operation.

The function takes the vectors as sequences of scalars, floats or NumPy arrays over the samples of a
batch, together with the functions sin, cos, sqrt, sign, larger that fit them, and answers a list.
"""

from __future__ import annotations

from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, literal, written
from dyn_core.codegen.traced_program import Program
from dyn_core.symbolic.expression_graph import Op

DIALECT = Dialect(
    ARITHMETIC | FUNCTIONS | {Op.SIGN: "sign({0})", Op.LARGER: "larger({0}, {1}, {2}, {3})"},
    number=literal,
)


def python_source(program: Program) -> str:
    """Answer the text of a function that computes the program."""
    assignments, results = written(program, DIALECT)
    vectors = [*program.inputs, *(["p"] if program.prepared is not None else [])]
    lines = [
        f"def {program.name}({', '.join(vectors)}, *, sin, cos, sqrt, sign, larger):",
        *(f"    {name} = {text}" for name, text in assignments),
        f"    return [{', '.join(results)}]",
    ]
    return "\n".join(lines) + "\n"
