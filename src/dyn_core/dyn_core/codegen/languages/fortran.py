# SPDX-License-Identifier: Apache-2.0
"""A program as a pure subroutine of free-form Fortran, in real64."""

from __future__ import annotations

import textwrap

from dyn_core.codegen.languages.file_header import commented, fortran_name
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, rows_of, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

WIDTH = 120


def _number(value: float) -> str:
    return f"({value!r}_real64)" if value < 0.0 else f"{value!r}_real64"


DIALECT = Dialect(
    ARITHMETIC
    | FUNCTIONS
    | {
        Op.SIGN: "merge(1.0_real64, merge(-1.0_real64, {0}, {0} < 0.0_real64), {0} > 0.0_real64)",
        Op.LARGER: "merge({2}, {3}, {0} > {1})",
    },
    element="{name}({index})",
    first=1,
    number=_number,
)


def fortran_source(program: Program, robot: Robot) -> str:
    """Return the file: ``call ROBOT_FUNCTION(q, ..., out)``."""
    assignments, results = written(program, DIALECT)
    subroutine = fortran_name(robot.name, program.name)
    shape = ", ".join(map(str, program.shape))
    variables = ", ".join(name for name, _ in assignments)
    lines = [
        *commented(program, robot, "!"),
        "",
        f"pure subroutine {subroutine}({', '.join([*program.inputs, 'out'])})",
        "    use, intrinsic :: iso_fortran_env, only: real64",
        "    implicit none",
        *(f"    real(real64), intent(in) :: {name}({len(of)})" for name, of in program.inputs.items()),
        f"    real(real64), intent(out) :: out({shape})",
        *(f"    real(real64) :: {part.rstrip(',')}" for part in textwrap.wrap(variables, WIDTH - 20)),
        "",
    ]
    for name, text in assignments:
        lines += _continued(f"{name} = {text}")
    for i, row in enumerate(rows_of(program, results), start=1):
        for k, entry in enumerate(row, start=1):
            lines.append(f"    out({f'{i}, {k}' if len(program.shape) == 2 else i}) = {entry}")
    lines.append(f"end subroutine {subroutine}")
    return "\n".join(lines) + "\n"


def _continued(statement: str) -> list[str]:
    """Break a statement into continued lines."""
    first, *rest = textwrap.wrap(statement, WIDTH - 10, break_long_words=False, break_on_hyphens=False)
    parts = [f"    {first}", *(f"        {part}" for part in rest)]
    return [f"{part} &" for part in parts[:-1]] + parts[-1:]
