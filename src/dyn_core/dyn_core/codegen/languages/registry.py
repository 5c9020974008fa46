# SPDX-License-Identifier: Apache-2.0
"""Languages in which a program can be emitted, for use without dyn_core."""

from __future__ import annotations

import math
from collections.abc import Callable

from dyn_core.codegen.languages.c99 import c99_source, c_header
from dyn_core.codegen.languages.computer_algebra import maple_source, mathematica_source
from dyn_core.codegen.languages.cpp import cpp_source
from dyn_core.codegen.languages.fortran import fortran_source
from dyn_core.codegen.languages.matlab import matlab_source
from dyn_core.codegen.languages.python import python_module
from dyn_core.codegen.traced_program import Program, with_unknowns
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Op, needed

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
"""By name of the language: the writer of a program, and the extension of its file."""


def emitted(program: Program, robot: Robot, language: str) -> str:
    """Return the file of a program in a language; raise DynError if one of its numbers is not finite."""
    numbers = [result for result in program.results if not isinstance(result, Expr)]
    numbers.extend(node.value for node in needed(program.results) if node.op is Op.CONSTANT)
    if not all(map(math.isfinite, numbers)):
        raise DynError("program-not-finite", program=program.name, robot=robot.name)
    return LANGUAGES[language][0](with_unknowns(program), robot)
