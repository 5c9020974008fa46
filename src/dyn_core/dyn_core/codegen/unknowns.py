# SPDX-License-Identifier: Apache-2.0
"""The unknowns of a program, found by Python: what `c/closure.h` does in C."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.continuation import ADVANCE, Numbers, Step, distance, follow
from dyn_core.codegen.closure import Equations, given_program
from dyn_core.codegen.executable import called, executable
from dyn_core.codegen.traced_program import Program
from dyn_core.loops.turns import followed_far

Array = npt.NDArray[np.float64]


class Unknowns:
    """Solves for the unknowns of a program.

    Attributes:
        equations: how they follow.
        step: Newton's step.
    """

    def __init__(self, program: Program) -> None:
        """Take a program that has unknowns."""
        assert program.closure is not None
        self.equations: Equations = program.closure.equations
        self._given = executable(given_program(program))
        self.step = numeric_step(self.equations)
        self._last: tuple[Numbers, Numbers] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.equations.scales.unknowns)

    def given(self, sample: Sequence[Sequence[Any]]) -> list[float]:
        """Answer what determines the unknowns, from the inputs."""
        return called(self._given, sample)

    def of_samples(self, inputs: Sequence[Array]) -> tuple[Array, int | None]:
        """Answer the unknowns of one sample or a batch, and the number of a sample that has none.

        Those of a sample with an input that is not finite are 0.
        """
        rows = [np.atleast_2d(vector) for vector in inputs]
        x = np.zeros((len(rows[0]), self.count))
        for k in range(len(x)):
            sample = [row[k].tolist() for row in rows]
            if all(math.isfinite(value) for vector in sample for value in vector):
                found = self.solve(self.given(sample))
                if found is None:
                    return x, k
                x[k] = found
        return x if inputs[0].ndim == 2 else x[0], None

    def solve(self, given: Numbers) -> list[float] | None:
        """Answer the unknowns on the branch of the start; None where they are not found."""
        last, scales, found = self._last, self.equations.scales, None
        if last is not None and distance(last[0], given, scales.given) <= ADVANCE:
            found = follow(self.step, last, given, scales, attempts=1)
        if found is None:
            found = followed_far(self.step, self.equations.start, given, scales)
        if found is None and last is not None:
            found = follow(self.step, last, given, scales)
        if found is not None:
            self._last = (given, found)
        return found


def numeric_step(equations: Equations) -> Step:
    """Answer Newton's step of numbers: the change of the unknowns, and what else has to be 0."""
    call = executable(equations.step)

    def step(given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
        try:
            results = called(call, [given, x])
        except ZeroDivisionError:  # where C goes on with an infinite number
            return [math.inf] * len(x), []
        return results[: len(x)], results[len(x) :]

    return step
