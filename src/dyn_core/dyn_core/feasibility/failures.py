# SPDX-License-Identifier: Apache-2.0
"""Where a motion is beyond the limits of its actuators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.facade.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.excess import QUANTITIES, Excess, bounds, unit_of

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
        """What is wrong, in a sentence without a full stop."""
        if self.begin == self.end:
            return f"at {self.begin:.4g} s {self.excess.sentence}"
        return f"from {self.begin:.4g} to {self.end:.4g} s, most at {self.time:.4g} s: {self.excess.sentence}"


def failures(
    limits: ActuatorLimits, times: Array, q: Array, qd: Array, torques: Array
) -> tuple[Failure, ...]:
    """Answer where a motion is beyond limits, by joint, quantity and time.

    Args:
        limits: the limits.
        times: times of the samples (s), (m,).
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        torques: torques (N m or N), (m, n).
    """
    compared = bounds(limits, q, qd, qd, torques)
    found = []
    for j, name in enumerate(limits.joint_names):
        for quantity in QUANTITIES:
            beyond, limit = compared.beyond[quantity][:, j], compared.limits[quantity][:, j]
            with np.errstate(invalid="ignore"):
                over = beyond > ROUNDING * (1.0 + np.where(np.isfinite(limit), np.abs(limit), 0.0))
            for first, last in stretches(over):
                worst = first + int(beyond[first : last + 1].argmax())
                value = float(compared.values[quantity][worst, j])
                excess = Excess(name, quantity, value, float(limit[worst]), unit_of(limits, quantity, j))
                found.append(Failure(float(times[first]), float(times[last]), float(times[worst]), excess))
    return tuple(found)


def stretches(marks: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Answer first and last place of each row of places that are marked."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return [(int(first), int(after) - 1) for first, after in edges.reshape(-1, 2)]
