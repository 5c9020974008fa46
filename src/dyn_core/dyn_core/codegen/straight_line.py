# SPDX-License-Identifier: Apache-2.0
"""What the languages share: statements in order, names of operands, and one format for each operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dyn_core.codegen.traced_program import Program
from dyn_core.symbolic.expression_graph import Expr, Op, Symbolic

ARITHMETIC = {
    Op.ADD: "{0} + {1}",
    Op.SUB: "{0} - {1}",
    Op.MUL: "{0} * {1}",
    Op.DIV: "{0} / {1}",
    Op.NEG: "-{0}",
}
FUNCTIONS = {
    Op.SIN: "sin({0})",
    Op.COS: "cos({0})",
    Op.SQRT: "sqrt({0})",
    Op.ABS: "abs({0})",
}


def literal(value: float) -> str:
    """Answer a number that Python and C read back as itself, infinite ones and NaN too."""
    if math.isnan(value):
        return "(1e999 - 1e999)"
    return repr(value).replace("inf", "1e999")


def parenthesised(value: float) -> str:
    """Answer the same, in parentheses where it has a sign."""
    return f"({literal(value)})" if value < 0.0 else literal(value)


@dataclass(frozen=True)
class Dialect:
    """How a language writes operations and operands.

    Attributes:
        formats: the text of each operation, with {0}, {1}, ... for its operands.
        element: component {index} of the vector {name}.
        first: index of the first component.
        number: the text of a number.
    """

    formats: Mapping[Op, str]
    element: str = "{name}[{index}]"
    first: int = 0
    number: Callable[[float], str] = parenthesised


def input_names(program: Program, dialect: Dialect) -> dict[int, str]:
    """Answer what the inputs of a program are called, by the numbers of their nodes."""
    vectors = program.inputs if program.prepared is None else {**program.inputs, "p": program.prepared}
    return {
        node.number: dialect.element.format(name=name, index=index)
        for name, vector in vectors.items()
        for index, node in enumerate(vector, start=dialect.first)
    }


def statements(
    nodes: Iterable[Expr], dialect: Dialect, names: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    """Answer variables and what each of them is, in the order of the nodes; those in `names` exist."""
    for node in nodes:
        if node.op is not Op.CONSTANT and node.number not in names:
            arguments = (operand(argument, dialect, names) for argument in node.args)
            yield f"t{node.number}", dialect.formats[node.op].format(*arguments)


def operand(value: Symbolic, dialect: Dialect, names: Mapping[int, str]) -> str:
    """Answer the text of a number, an input, or a variable."""
    if not isinstance(value, Expr):
        return dialect.number(float(value))
    if value.op is Op.CONSTANT:
        return dialect.number(value.value)
    name = names.get(value.number)
    return f"t{value.number}" if name is None else name


def written(program: Program, dialect: Dialect) -> tuple[list[tuple[str, str]], list[str]]:
    """Answer the statements of a program, and its results as operands."""
    names = input_names(program, dialect)
    results = [operand(result, dialect, names) for result in program.results]
    return list(statements(program.nodes, dialect, names)), results


def unused_inputs(program: Program) -> list[str]:
    """Answer the names of the vectors of which no component is needed."""
    used = {node.number for node in program.nodes}
    return [
        name for name, vector in program.inputs.items() if all(node.number not in used for node in vector)
    ]


def rows_of(program: Program, results: list[str]) -> list[list[str]]:
    """Answer the results in rows: those of a vector have one entry each."""
    width = program.shape[1] if len(program.shape) == 2 else 1
    return [results[k * width : (k + 1) * width] for k in range(program.shape[0])]


def nested(program: Program, results: list[str], opening: str, closing: str) -> str:
    """Answer the results as a list, or a list of lists for a matrix, with a line for each entry or row."""
    rows = [", ".join(row) for row in rows_of(program, results)]
    if len(program.shape) == 2:
        rows = [f"{opening}{row}{closing}" for row in rows]
    inside = ",\n".join(f"        {row}" for row in rows)
    return f"{opening}\n{inside}\n    {closing}" if rows else f"{opening}{closing}"
