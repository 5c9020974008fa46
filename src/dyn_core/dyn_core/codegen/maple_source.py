# SPDX-License-Identifier: Apache-2.0
"""A program as a procedure of Maple."""

from __future__ import annotations

import textwrap

from dyn_core.codegen.languages.file_header import commented
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, nested, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

DIALECT = Dialect(
    ARITHMETIC
    | FUNCTIONS
    | {
        Op.SIGN: "piecewise({0} > 0, 1, {0} < 0, -1, {0})",
        Op.LARGER: "piecewise({0} > {1}, {2}, {3})",
    },
    first=1,
)


def maple_source(program: Program, robot: Robot) -> str:
    """Answer the file; the procedure answers a Vector or a Matrix."""
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
