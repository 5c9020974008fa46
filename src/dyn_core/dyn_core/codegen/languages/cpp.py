# SPDX-License-Identifier: Apache-2.0
"""A program as a C++17 header: an inline function of arrays, in the namespace of the robot."""

from __future__ import annotations

import math

from dyn_core.codegen.languages.c99 import CHOICES
from dyn_core.codegen.languages.file_header import commented, cpp_namespace
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, unused_inputs, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

DIALECT = Dialect(
    ARITHMETIC | {op: f"std::{text}" for op, text in FUNCTIONS.items()} | CHOICES | {Op.ABS: "std::fabs({0})"}
)


def cpp_source(program: Program, robot: Robot) -> str:
    """Return the header; the function returns its results in one array, a matrix by rows."""
    assignments, results = written(program, DIALECT)
    unused = unused_inputs(program)
    parameters = (
        f"{'[[maybe_unused]] ' if name in unused else ''}std::array<double, {len(vector)}> const& {name}"
        for name, vector in program.inputs.items()
    )
    space = cpp_namespace(robot.name)
    result = f"std::array<double, {math.prod(program.shape)}>"
    entries = ",\n".join(f"        {entry}" for entry in results)
    lines = [
        *commented(program, robot, "//"),
        *("", "#pragma once", "", "#include <array>", "#include <cmath>", ""),
        *(f"namespace {space} {{", ""),
        f"inline {result} {program.name}(",
        ",\n".join(f"    {parameter}" for parameter in parameters) + ") noexcept",
        "{",
        *(f"    const double {name} = {text};" for name, text in assignments),
        f"    return {{{{\n{entries}\n    }}}};" if results else "    return {};",
        "}",
        "",
        f"}}  // namespace {space}",
    ]
    return "\n".join(lines) + "\n"
