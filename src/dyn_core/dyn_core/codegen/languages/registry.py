# SPDX-License-Identifier: Apache-2.0
"""The languages that a program can be written in, for use without dyn_core."""

from __future__ import annotations

import math
from collections.abc import Callable

from dyn_core.codegen.closure import with_unknowns
from dyn_core.codegen.languages.c99 import c99_source, c_header
from dyn_core.codegen.languages.computer_algebra import mathematica_source
from dyn_core.codegen.languages.cpp import cpp_source
from dyn_core.codegen.languages.fortran import fortran_source
from dyn_core.codegen.languages.matlab import matlab_source
from dyn_core.codegen.languages.python import python_module
from dyn_core.codegen.maple_source import maple_source
from dyn_core.codegen.traced_program import Program
from dyn_core.core.errors import DynError
from dyn_core.expr.analysis import needed
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Op

Emitter = Callable[[Program, Robot], str]

LANGUAGES: dict[str, tuple[Emitter, str]] = {
    "c": (c99_source, ".c"),
    "c-header": (c_header, ".h"),
    "cpp": (cpp_source, ".hpp"),
    "python": (python_module, ".py"),
    "fortran": (fortran_source, ".f90"),
    "matlab": (matlab_source, ".m"),
    "mathematica": (mathematica_source, ".wl"),
    "maple": (maple_source, ".mpl"),
}
"""By name: what writes a program, and the extension of its file."""


def emitted(program: Program, robot: Robot, language: str) -> str:
    """Answer the file of a program in a language; DynError where a number of it is not finite."""
    numbers = [result for result in program.results if not isinstance(result, Expr)]
    numbers.extend(node.value for node in needed(program.results) if node.op is Op.CONSTANT)
    if not all(map(math.isfinite, numbers)):
        raise DynError(
            f"{program.name} of robot '{robot.name}' is not finite: "
            "a joint moves no mass, or a parameter is too large"
        )
    return LANGUAGES[language][0](with_unknowns(program), robot)
