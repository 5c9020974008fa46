# SPDX-License-Identifier: Apache-2.0
"""What came over the topics during one run, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ON_TIME_S = 1e-9
"""What stamps are rounded to."""


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
        lost: answers of the nodes that did not come.
        passive: positions of the passive joints of loops (rad or m), (N, m).
    """

    title: str
    t: Array
    desired: Array
    measured: Array
    velocity: Array
    efforts: Efforts
    lost: int
    passive: Array


def at_times(t: Array, stamps: Array, rows: Array) -> Array:
    """Answer what was valid at N times (s): the row with the last stamp until then, (N, n); NaN before any.

    Args:
        t: the times (s), (N,).
        stamps: of the rows (s), (M,), in any order.
        rows: values, (M, n).
    """
    answer = np.full((len(t), rows.shape[1]), np.nan)
    order = np.argsort(stamps, kind="stable")
    last = np.searchsorted(stamps[order], t + _ON_TIME_S, side="right") - 1
    answer[last >= 0] = rows[order][last[last >= 0]]
    return answer
