# SPDX-License-Identifier: Apache-2.0
"""What happens to inputs for which a compiled program does not find its unknowns at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.codegen.traced_program import Program
from dyn_core.codegen.unknowns import Unknowns
from dyn_core.core.arrays import Array
from dyn_core.loops.search import closes_somewhere, does_not_close, searched


@dataclass(frozen=True)
class Search:
    """From the inputs of a program, one sample or a batch, to its unknowns; DynError where there are none.

    Attributes:
        program: answers the program.
        detours: whether ways round are searched for, and errors say how far the loops stay open.
    """

    program: Callable[[], Program]
    detours: bool = True

    def __call__(self, inputs: Sequence[Array]) -> Array:
        """Answer the unknowns."""
        unknowns = Unknowns(self.program())
        rows = [np.atleast_2d(vector) for vector in inputs]
        x = np.zeros((len(rows[0]), unknowns.count))
        for k in range(len(x)):
            sample = [row[k].tolist() for row in rows]
            if all(np.isfinite(value) for vector in sample for value in vector):
                x[k] = self._of_one(unknowns, sample, k if inputs[0].ndim == 2 else None)
        return x if inputs[0].ndim == 2 else x[0]

    def _of_one(self, unknowns: Unknowns, sample: list[list[float]], number: int | None) -> list[float]:
        equations, given = unknowns.equations, unknowns.given(sample)
        found = unknowns.solve(given)
        if found is None and self.detours and closes_somewhere(equations.robot, given):
            found = searched(unknowns.step, equations.start, given, equations.scales)
        if found is None:
            raise does_not_close(equations.robot, given, number, self.detours)
        return found


def search_for(program: Program) -> Search | None:
    """Answer the search for the unknowns of a program; None where it has none."""
    return Search(lambda: program) if program.closure else None
