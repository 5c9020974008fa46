# SPDX-License-Identifier: Apache-2.0
"""Programs that can be run, whichever backend runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.search import Search, search_for


class Function(Protocol):
    """A program that a backend can run."""

    def into(self, *arguments: Array) -> int | None:
        """Compute one sample or a batch; the last array takes the results.

        The answer is None, or the number of a sample of which unknowns cannot be found.
        """

    def into_at(self, *arguments: Array) -> None:
        """Compute the same of given unknowns, one array more, after the inputs."""

    def bind(self, general: Callable[..., Array], prepared: list[Array]) -> Callable[..., Array]:
        """Answer a function that does what `general` does, faster where it can."""
        ...


@dataclass(frozen=True)
class Runnable:
    """A program that can be run.

    Attributes:
        function: the program, as its backend has it.
        shape: shape of the result for one sample.
        tunable: whether it takes what was prepared from parameters.
        search: where it has unknowns: finds them for inputs for which they are not found at once, or
            raises an error that says why there are none.
    """

    function: Function
    shape: tuple[int, ...]
    tunable: bool
    search: Search | None = None

    def run(self, prepared: Sequence[Array], *arrays: Array, out: Array | None = None) -> Array:
        """Compute the program for checked arrays.

        Args:
            prepared: one item: what was prepared from parameters; none where nothing was.
            arrays: the inputs, all of one sample or all of one batch.
            out: array of the right shape for the result, which may share memory with the inputs.
        """
        direct = out is not None and _is_plain(out) and not any(np.may_share_memory(out, a) for a in arrays)
        result = out if out is not None and direct else np.empty((*arrays[0].shape[:-1], *self.shape))
        given = prepared[:1] if self.tunable else ()
        inputs = [a if _is_plain(a) else np.array(a, order="C") for a in arrays]
        if self.function.into(*inputs, *given, result) is not None:
            assert self.search is not None
            self.function.into_at(*inputs, self.search(inputs), *given, result)
        if out is None or direct:
            return result
        out[...] = result
        return out


def _is_plain(array: Array) -> bool:
    """Whether the numbers of an array lie one after the other, where the processor can read them."""
    return array.flags.c_contiguous and array.flags.aligned and type(array) is np.ndarray


def without_detours(runnable: Runnable) -> Runnable:
    """Answer the same, which says at once where unknowns are not found."""
    return (
        runnable
        if runnable.search is None
        else replace(runnable, search=replace(runnable.search, detours=False))
    )


def runnables(programs: Sequence[Program], backend: Literal["c", "python"]) -> list[Runnable]:
    """Answer programs, to be run by a backend.

    Raises:
        NoCompiler: the backend is ``"c"``, and nothing can be compiled here.
    """
    if backend == "python":
        return [_in_python(program) for program in programs]
    # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
    from dyn_core.codegen.c_backend import c_functions

    return [
        Runnable(function, program.shape, program.prepared is not None, search_for(program))
        for function, program in zip(c_functions(programs), programs, strict=True)
    ]


def _in_python(program: Program) -> Runnable:
    tunable = program.prepared is not None
    function = PythonFunction(lambda: program, program.shape, tunable)
    return Runnable(function, program.shape, tunable, search_for(program))
