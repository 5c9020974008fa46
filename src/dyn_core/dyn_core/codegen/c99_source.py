# SPDX-License-Identifier: Apache-2.0
"""A program as a C99 function that needs <math.h> and nothing else."""

from __future__ import annotations

from dyn_core.codegen.header import block
from dyn_core.codegen.program import Program
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, unused_inputs, written
from dyn_core.expr.graph import Op
from dyn_core.model.robot import Robot

DIALECT = Dialect(
    ARITHMETIC | FUNCTIONS | {Op.ABS: "fabs({0})", Op.SIGN: "{0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0}"}
)


def c99_source(program: Program, robot: Robot) -> str:
    """Answer the file; the results, a matrix by rows, go to `out`, which overlaps no input."""
    assignments, results = written(program, DIALECT)
    parameters = [f"const double *{name}" for name in program.inputs]
    lines = [
        *block(program, robot, "/*", "*/"),
        "",
        "#include <math.h>",
        "",
        f"void {program.name}({', '.join([*parameters, 'double *out'])});",
        "",
        f"void {program.name}({', '.join([*parameters, 'double *out'])})",
        "{",
        *(f"    const double {name} = {text};" for name, text in assignments),
        *(f"    (void){name};" for name in unused_inputs(program)),
        *(f"    out[{k}] = {result};" for k, result in enumerate(results)),
        *([] if results else ["    (void)out;"]),
        "}",
    ]
    return "\n".join(lines) + "\n"
