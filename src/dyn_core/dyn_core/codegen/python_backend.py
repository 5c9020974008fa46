# SPDX-License-Identifier: Apache-2.0
"""Programs run by Python: always there, without a compiler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dyn_core.codegen.closure import open_program
from dyn_core.codegen.executable import called, executable
from dyn_core.codegen.traced_program import Program
from dyn_core.codegen.unknowns import Unknowns

Array = npt.NDArray[np.float64]


class PythonFunction:
    """A program as a Python function of arrays."""

    def __init__(self, program: Callable[[], Program], shape: tuple[int, ...], tunable: bool = False) -> None:
        """Remember how to get the program; it is traced, and compiled by Python, at its first call.

        Args:
            program: answers the program.
            shape: the shape of its results for one sample.
            tunable: whether it takes what was prepared from parameters.
        """
        self._program = program
        self._shape = shape
        self._tunable = tunable

    @cached_property
    def _made(self) -> tuple[Callable[..., list[Any]], Unknowns | None]:
        program = self._program()
        return executable(open_program(program)), Unknowns(program) if program.closure else None

    def into(self, *arguments: Array) -> int | None:
        """Compute one sample (size,) or a batch (N, size); the last array takes the results.

        A tunable program takes what was prepared before it. A sample with an input that is not finite
        gives NaN in all results.

        Returns:
            None, or the number of a sample of which the unknowns cannot be found.
        """
        unknowns = self._made[1]
        if unknowns is not None:
            inputs = arguments[: -2 if self._tunable else -1]
            x, failed = unknowns.of_samples(inputs)
            if failed is not None:
                return failed
            arguments = (*inputs, x, *arguments[len(inputs) :])
        self.into_at(*arguments)
        return None

    def into_at(self, *arguments: Array) -> None:
        """Compute the same of given unknowns, one array more, after the inputs."""
        *inputs, out = arguments
        prepared = [inputs.pop().tolist()] if self._tunable else []
        if out.ndim > len(self._shape):
            self._batch(inputs, prepared, out)
            return
        doubt = sum(0.0 * value for vector in inputs for value in vector.tolist())
        try:
            results = self._call([vector.tolist() for vector in inputs] + prepared) if doubt == 0.0 else doubt
        except ZeroDivisionError:  # where C and NumPy go on with an infinite number
            self._batch([vector[np.newaxis] for vector in inputs], prepared, out[np.newaxis])
        else:
            out.reshape(-1)[:] = results

    def _batch(self, inputs: Sequence[Array], prepared: list[list[float]], out: Array) -> None:
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            columns = self._call([list(vector.T) for vector in inputs] + prepared)
            flat = out.reshape(len(out), math.prod(self._shape))
            for k, column in enumerate(columns):
                flat[:, k] = column
            doubts = sum(0.0 * vector.sum(axis=1) for vector in inputs)
            flat[np.not_equal(doubts, 0.0)] = np.nan

    def bind(self, general: Callable[..., Array], _prepared: list[Array]) -> Callable[..., Array]:
        """Answer what users call: the general function itself."""
        return general

    def _call(self, vectors: Sequence[Sequence[Any]]) -> list[Any]:
        return called(self._made[0], vectors)
