# SPDX-License-Identifier: Apache-2.0
"""Programs that can be run, whichever backend runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from dyn_core.codegen.program import Program
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.facade.arrays import Array


class Function(Protocol):
    """A program that can be run."""

    def into(self, *arguments: Array) -> None:
        """Compute one sample or a batch; the last array takes the results."""

    def bind(self, general: Callable[..., Array]) -> Callable[..., Array]:
        """Answer a function that does what `general` does, faster where it can."""
        ...


def runnable(program: Program, backend: Literal["c", "python"]) -> Function:
    """Answer one program, to be run by a backend that is known to work here."""
    if backend == "python":
        return PythonFunction(lambda: program, program.shape)
    # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
    from dyn_core.codegen.c_backend import c_functions

    compiled: Function = c_functions([program])[0]
    return compiled
