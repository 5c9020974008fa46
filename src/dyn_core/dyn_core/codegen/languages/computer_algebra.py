# SPDX-License-Identifier: Apache-2.0
"""Maple and Mathematica: straight-line programs as procedures of computer algebra systems."""

from __future__ import annotations

import textwrap

from dyn_core.codegen.languages.file_header import block, camel_case, commented
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, nested, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

# Maple

_PIECEWISE = {
    Op.SIGN: "piecewise({0} > 0, 1, {0} < 0, -1, {0})",
    Op.LARGER: "piecewise({0} > {1}, {2}, {3})",
}
DIALECT = Dialect(ARITHMETIC | FUNCTIONS | _PIECEWISE, first=1)


def maple_source(program: Program, robot: Robot) -> str:
    """Return the file; the procedure returns a Vector or a Matrix."""
    assignments, results = written(program, DIALECT)
    local = textwrap.wrap(", ".join(name for name, _ in assignments), 90)
    kind = "Matrix" if len(program.shape) == 2 else "Vector"
    lines = [
        *commented(program, robot, "#"),
        "",
        f"{program.name} := proc({', '.join(program.inputs)})",
        *(["    local " + "\n        ".join(local) + ";"] if local else []),
        *(f"    {name} := {text};" for name, text in assignments),
        f"    {kind}({nested(program, results, '[', ']')});",
        "end proc:",
    ]
    return "\n".join(lines) + "\n"


# Mathematica


def _number(value: float) -> str:
    """Write a machine number: 17 digits without a mark would have arbitrary precision."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    text = f"{mantissa}`*^{int(exponent)}" if exponent else f"{mantissa}`"
    return f"(-{text})" if value < 0.0 else text


MATHEMATICA = Dialect(
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
    """Return the file, which defines the function under its name in camel case."""
    assignments, results = written(program, MATHEMATICA)
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
