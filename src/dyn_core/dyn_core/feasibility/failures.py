# SPDX-License-Identifier: Apache-2.0
"""Where a motion is beyond the limits of its actuators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.excess import QUANTITIES, Excess, bounds, excess_of

ROUNDING = 1e-9
"""Part of a limit that rounding may take."""


@dataclass(frozen=True)
class Failure:
    """A stretch of a motion in which a joint is beyond a limit.

    Attributes:
        begin: time of the first sample (s).
        end: time of the last one (s).
        time: time at which it is worst (s).
        excess: how it is then.
    """

    begin: float
    end: float
    time: float
    excess: Excess

    @property
    def sentence(self) -> str:
        """What is wrong and when, in a sentence without a full stop."""
        if self.begin == self.end:
            return f"at {self.begin:.4g} s {self.excess.sentence}"
        return f"from {self.begin:.4g} to {self.end:.4g} s, most at {self.time:.4g} s: {self.excess.sentence}"


def failures(
    limits: ActuatorLimits,
    times: Array,
    q: Array,
    qd: Array,
    torques: Array,
    let_pass: ActuatorLimits | None = None,
) -> tuple[Failure, ...]:
    """Answer where a motion is beyond limits, by joint, quantity and time.

    Args:
        limits: the limits.
        times: times of the samples (s), (m,).
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        torques: torques (N m or N), (m, n).
        let_pass: limits that are wider, within which nothing counts as a failure; those that are beyond them
            are compared with `limits` all the same. None for `limits`.
    """
    judged = bounds(limits if let_pass is None else let_pass, q, qd, qd, torques)
    if all(beyond.max(initial=0.0) <= 0.0 for beyond in judged.beyond.values()):
        return ()
    compared = judged if let_pass is None else bounds(limits, q, qd, qd, torques)
    found = []
    for j in range(len(limits.joint_names)):
        for quantity in QUANTITIES:
            beyond, limit = judged.beyond[quantity][:, j], judged.limits[quantity][:, j]
            with np.errstate(invalid="ignore"):
                over = beyond > ROUNDING * (1.0 + np.where(np.isfinite(limit), np.abs(limit), 0.0))
            for first, last in stretches(over):
                worst = first + int(beyond[first : last + 1].argmax())
                value, most = (float(of[quantity][worst, j]) for of in (compared.values, compared.limits))
                excess = excess_of(limits, j, quantity, value, most)
                begin, end, time = (float(times[k]) for k in (first, last, worst))
                found.append(Failure(begin, end, time, excess))
    return tuple(found)


def stretches(marks: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Answer first and last place of each row of places that are marked."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return [(int(first), int(after) - 1) for first, after in edges.reshape(-1, 2)]
