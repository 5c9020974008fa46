# SPDX-License-Identifier: Apache-2.0
"""A program as a C99 function that needs <math.h> and nothing else, and the header that declares it."""

from __future__ import annotations

from dyn_core.codegen.languages.file_header import block, linked_name
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, unused_inputs, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

CHOICES = {
    Op.SIGN: "{0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0}",
    Op.LARGER: "{0} > {1} ? {2} : {3}",
}
DIALECT = Dialect(ARITHMETIC | FUNCTIONS | CHOICES | {Op.ABS: "fabs({0})"})


def c99_source(program: Program, robot: Robot) -> str:
    """Return the file; results go to `out`, a matrix by rows, which must not overlap an input."""
    assignments, results = written(program, DIALECT)
    lines = [
        *block(program, robot, "/*", "*/"),
        *("", "#include <math.h>", ""),
        *_declaration(program, robot),
        "",
        _prototype(program, robot),
        "{",
        *(f"    const double {name} = {text};" for name, text in assignments),
        *(f"    (void){name};" for name in unused_inputs(program)),
        *(f"    out[{k}] = {result};" for k, result in enumerate(results)),
        *([] if results else ["    (void)out;"]),
        "}",
    ]
    return "\n".join(lines) + "\n"


def c_header(program: Program, robot: Robot) -> str:
    """Return the header that declares the function, for C and C++."""
    guard = f"{linked_name(robot.name, program.name)}_H"
    lines = [
        *block(program, robot, "/*", "*/"),
        *("", f"#ifndef {guard}", f"#define {guard}", ""),
        *_declaration(program, robot),
        *("", "#endif"),
    ]
    return "\n".join(lines) + "\n"


def _declaration(program: Program, robot: Robot) -> list[str]:
    """The lines that declare the function, with C linkage in C++."""
    return ["#ifdef __cplusplus", 'extern "C"', "#endif", f"{_prototype(program, robot)};"]


def _prototype(program: Program, robot: Robot) -> str:
    parameters = [f"const double *{name}" for name in program.inputs]
    return f"void {linked_name(robot.name, program.name)}({', '.join([*parameters, 'double *out'])})"
