# SPDX-License-Identifier: Apache-2.0
"""A program as a function of Python, of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dyn_core.codegen.python_source import python_source
from dyn_core.codegen.traced_program import Program
from dyn_core.symbolic import scalar

_FUNCTIONS = {
    function.__name__: function
    for function in (scalar.sin, scalar.cos, scalar.sqrt, scalar.sign, scalar.larger)
}


def executable(program: Program) -> Callable[..., list[Any]]:
    """Answer a program without unknowns as a function, which `called` calls."""
    namespace: dict[str, Any] = {}
    exec(compile(python_source(program), f"<program {program.name}>", "exec"), namespace)
    function: Callable[..., list[Any]] = namespace[program.name]
    return function


def called(function: Callable[..., list[Any]], vectors: Sequence[Sequence[Any]]) -> list[Any]:
    """Answer the results for vectors of floats, or of arrays with one number a sample."""
    return function(*vectors, **_FUNCTIONS)
