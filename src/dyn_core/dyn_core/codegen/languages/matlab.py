# SPDX-License-Identifier: Apache-2.0
"""A program as a function file of MATLAB and Octave."""

from __future__ import annotations

from dyn_core.codegen.languages.file_header import commented, cut_name
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, rows_of, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

# Index into a cell: cond * a + (1 - cond) * b is NaN where the value not chosen is infinite (0 * inf).
DIALECT = Dialect(
    ARITHMETIC
    | FUNCTIONS
    | {Op.SIGN: "sign({0})", Op.LARGER: "subsref({{{3}, {2}}}, substruct('{{}}', {{1 + ({0} > {1})}}))"},
    element="{name}({index})",
    first=1,
)


def matlab_source(program: Program, robot: Robot) -> str:
    """Return the file, to be named after the function; the result is a column or a matrix.

    MATLAB cuts longer names than `LONGEST`, so that functions of links with long names could be taken for
    each other.
    """
    assignments, results = written(program, DIALECT)
    rows = "; ...\n".join(f"        {', '.join(row)}" for row in rows_of(program, results))
    lines = [
        *commented(program, robot, "%"),
        "",
        f"function out = {cut_name(program.name)}({', '.join(program.inputs)})",
        *(f"    {name} = {text};" for name, text in assignments),
        f"    out = [ ...\n{rows}];" if results else "    out = [];",
        "end",
    ]
    return "\n".join(lines) + "\n"
