# SPDX-License-Identifier: Apache-2.0
"""What came over the topics during one run, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Efforts(NamedTuple):
    """Efforts at N times, (N, n) each (N m or N). A term that was not sent is NaN.

    Attributes:
        inertial: of the feedforward.
        coriolis: of the feedforward.
        gravity: of the feedforward.
        friction: of the feedforward.
        feedforward: their sum, as sent.
        control: what the PD controllers added.
        total: what the controller sent.
        measured: what the robot says that it exerts.
    """

    inertial: Array
    coriolis: Array
    gravity: Array
    friction: Array
    feedforward: Array
    control: Array
    total: Array
    measured: Array


@dataclass(frozen=True, eq=False)
class Recording:
    """One run.

    Attributes:
        title: how the robot was controlled.
        t: time since the beginning of the motion (s), (N,).
        desired: reference at these times (rad or m), (N, n).
        measured: positions (rad or m), (N, n).
        velocity: velocities (rad/s or m/s), (N, n).
        efforts: efforts (N m or N).
        missed: joint states that were published and did not come.
    """

    title: str
    t: Array
    desired: Array
    measured: Array
    velocity: Array
    efforts: Efforts
    missed: int


def at_times(t: Array, stamps: Sequence[float], rows: Sequence[Sequence[float]], n: int) -> Array:
    """Answer what was valid at times t (s): the row with the last stamp until then, (N, n); NaN before any."""
    answer = np.full((len(t), n), np.nan)
    if stamps:
        order = np.argsort(stamps, kind="stable")
        last = np.searchsorted(np.asarray(stamps)[order], t + 1e-9, side="right") - 1
        known = last >= 0
        answer[known] = np.asarray(rows, dtype=np.float64)[order][last[known]]
    return answer
