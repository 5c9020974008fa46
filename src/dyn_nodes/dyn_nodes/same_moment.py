# SPDX-License-Identifier: Apache-2.0
"""What two clocks say at the same moment, although a process may stand still between two looks."""

from __future__ import annotations

from collections.abc import Callable

_NEAR_S = 5e-5
_LOOKS = 5


def same_moment(steady: Callable[[], float], other: Callable[[], int]) -> tuple[float, int]:
    """Answer the times of a steady clock (s) and another one (ns), at most 50 us apart.

    On a machine that stands still at each of several looks they may be further apart.
    """
    for _ in range(_LOOKS):
        before, present, after = steady(), other(), steady()
        if after - before <= _NEAR_S:
            break
    return after, present
