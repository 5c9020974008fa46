# SPDX-License-Identifier: Apache-2.0
"""What happens to inputs for which a compiled program does not find its unknowns at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from dyn_core.codegen.program import Program
from dyn_core.codegen.unknowns import Unknowns
from dyn_core.facade.arrays import Array
from dyn_core.loops.search import does_not_close, searched

Search: TypeAlias = Callable[[Sequence[Array]], Array]
"""From the inputs of a program, one sample or a batch, to its unknowns; DynError where there are none."""


def search_for(program: Program) -> Search | None:
    """Answer the search for the unknowns of a program; None where it has none."""
    return partial(found_unknowns, lambda: program) if program.closure else None


def found_unknowns(program: Callable[[], Program], inputs: Sequence[Array]) -> Array:
    """Answer the unknowns of a program for some inputs; DynError where there are none."""
    unknowns = Unknowns(program())
    rows = [np.atleast_2d(vector) for vector in inputs]
    x = np.zeros((len(rows[0]), unknowns.count))
    for k in range(len(x)):
        sample = [row[k].tolist() for row in rows]
        if not all(np.isfinite(value) for vector in sample for value in vector):
            continue
        given = unknowns.given(sample)
        found = unknowns.solve(given)
        if found is None:
            found = searched(unknowns.step, unknowns.equations.start, given, unknowns.equations.scales)
        if found is None:
            is_batch = inputs[0].ndim == 2
            raise does_not_close(unknowns.equations.robot, given, k if is_batch else None)
        x[k] = found
    return x if inputs[0].ndim == 2 else x[0]
