# SPDX-License-Identifier: Apache-2.0
"""A program as a Module of Mathematica."""

from __future__ import annotations

import textwrap

from dyn_core.codegen.identifier import camel_case
from dyn_core.codegen.languages.file_header import block
from dyn_core.codegen.straight_line import ARITHMETIC, Dialect, nested, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op


def _number(value: float) -> str:
    """A machine number: with 17 digits and no mark it would be one of arbitrary precision."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    text = f"{mantissa}`*^{int(exponent)}" if exponent else f"{mantissa}`"
    return f"(-{text})" if value < 0.0 else text


DIALECT = Dialect(
    ARITHMETIC
    | {
        Op.SIN: "Sin[{0}]",
        Op.COS: "Cos[{0}]",
        Op.SQRT: "Sqrt[{0}]",
        Op.ABS: "Abs[{0}]",
        Op.SIGN: "Sign[{0}]",
        Op.LARGER: "If[{0} > {1}, {2}, {3}]",
    },
    element="{name}[[{index}]]",
    first=1,
    number=_number,
)


def mathematica_source(program: Program, robot: Robot) -> str:
    """Answer the file, which defines the function under its name in camel case."""
    assignments, results = written(program, DIALECT)
    local = textwrap.wrap(", ".join(name for name, _ in assignments), 96)
    lines = [
        *block(program, robot, "(*", "*)"),
        "",
        f"{camel_case(program.name)}[{', '.join(f'{name}_List' for name in program.inputs)}] := Module[",
        "    {" + "\n     ".join(local) + "},",
        *(f"    {name} = {text};" for name, text in assignments),
        f"    {nested(program, results, '{', '}')}",
        "]",
    ]
    return "\n".join(lines) + "\n"
