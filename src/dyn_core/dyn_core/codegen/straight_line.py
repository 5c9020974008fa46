# SPDX-License-Identifier: Apache-2.0
"""Statements, operands and operation formats, which all emitted languages share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dyn_core.codegen.traced_program import Program
from dyn_core.symbolic.expression_graph import Expr, Op, Symbolic

ARITHMETIC = {
    Op.ADD: "{0} + {1}",
    Op.SUB: "{0} - {1}",
    Op.MUL: "{0} * {1}",
    Op.DIV: "{0} / {1}",
    Op.NEG: "-{0}",
}
FUNCTIONS = {Op.SIN: "sin({0})", Op.COS: "cos({0})", Op.SQRT: "sqrt({0})", Op.ABS: "abs({0})"}


def literal(value: float) -> str:
    """Return a number that Python and C read back exactly, also if it is infinite or NaN."""
    if math.isnan(value):
        return "(1e999 - 1e999)"
    return repr(value).replace("inf", "1e999")


def parenthesised(value: float) -> str:
    """Return the same, in parentheses if it is negative."""
    return f"({literal(value)})" if value < 0.0 else literal(value)


@dataclass(frozen=True)
class Dialect:
    """How a language writes operations and operands.

    Attributes:
        formats: text of each operation, with {0}, {1}, ... for its operands.
        element: component {index} of the vector {name}.
        first: index of the first component.
        number: function that writes a number.
    """

    formats: Mapping[Op, str]
    element: str = "{name}[{index}]"
    first: int = 0
    number: Callable[[float], str] = parenthesised


Statement: TypeAlias = tuple[str, str]
"""A variable, and the expression that it is set to."""


def statements(nodes: Iterable[Expr], dialect: Dialect, names: Mapping[int, str]) -> Iterator[Statement]:
    """Yield the statements of the nodes in order; nodes in `names` have a name already."""
    for node in nodes:
        if node.op is not Op.CONSTANT and node.number not in names:
            arguments = (operand(argument, dialect, names) for argument in node.args)
            yield f"t{node.number}", dialect.formats[node.op].format(*arguments)


def operand(value: Symbolic, dialect: Dialect, names: Mapping[int, str]) -> str:
    """Return the text of a number, an input, or a variable."""
    if not isinstance(value, Expr):
        return dialect.number(float(value))
    if value.op is Op.CONSTANT:
        return dialect.number(value.value)
    name = names.get(value.number)
    return f"t{value.number}" if name is None else name


def written(program: Program, dialect: Dialect) -> tuple[list[Statement], list[str]]:
    """Return the statements of a program, and its results as operands."""
    vectors = program.inputs if program.prepared is None else {**program.inputs, "p": program.prepared}
    names = {
        node.number: dialect.element.format(name=name, index=index)
        for name, vector in vectors.items()
        for index, node in enumerate(vector, start=dialect.first)
    }
    results = [operand(result, dialect, names) for result in program.results]
    return list(statements(program.nodes, dialect, names)), results


def unused_inputs(program: Program) -> list[str]:
    """Return the names of vectors without a component that is used."""
    used = {node.number for node in program.nodes}
    return [name for name, vector in program.inputs.items() if used.isdisjoint(n.number for n in vector)]


def rows_of(program: Program, results: list[str]) -> list[list[str]]:
    """Return the results in rows: those of a vector have one entry each."""
    width = program.shape[1] if len(program.shape) == 2 else 1
    return [results[k * width : (k + 1) * width] for k in range(program.shape[0])]


def nested(program: Program, results: list[str], opening: str, closing: str) -> str:
    """Return the results as a list, or a list of lists for a matrix, with a line for each entry or row."""
    rows = [", ".join(row) for row in rows_of(program, results)]
    if len(program.shape) == 2:
        rows = [f"{opening}{row}{closing}" for row in rows]
    inside = ",\n".join(f"        {row}" for row in rows)
    return f"{opening}\n{inside}\n    {closing}" if rows else f"{opening}{closing}"
