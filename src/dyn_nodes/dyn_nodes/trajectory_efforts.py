# SPDX-License-Identifier: Apache-2.0
"""The efforts along a whole trajectory, computed at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.motion import Motion
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.terms import Terms
from dyn_core.control.trajectories.trajectory import Samples, Trajectory
from dyn_nodes.gate import passed

MOST_POINTS = 10_000
"""More would take the node some tenths of a second, in which it answers nothing else."""


def sampling_times(trajectory: Trajectory, begin: float, period: float) -> NDArray[np.float64]:
    """Answer the times of a trajectory after `begin`, one in each period and its end (all s)."""
    count = int(np.ceil((trajectory.end - begin) / period - 1e-9))
    if count > MOST_POINTS:
        raise DynError(
            f"the trajectory lasts {trajectory.end - begin:g} s, which would be {count} points: "
            "give a longer effort_period"
        )
    times: NDArray[np.float64] = begin + period * np.arange(1.0, count + 1.0)
    times[-1:] = trajectory.end
    return times


def efforts(
    samples: Samples | SmoothMotion,
    terms: Callable[[Motion | SmoothMotion], Terms],
    limits: EffortLimits,
    units: tuple[str, ...],
) -> tuple[NDArray[np.float64], str | None]:
    """Answer the torques (N m or N), (N, n), within their limits, and a sentence about the furthest beyond.

    Args:
        samples: N motions.
        terms: the torques of N motions.
        limits: of the torques.
        units: of the torque of each joint, for the sentence.

    Raises:
        DynError: torques are beyond their limits and are to be withheld.
    """
    motion = samples if isinstance(samples, SmoothMotion) else Motion(samples.q, samples.qd, samples.qdd)
    wanted = terms(motion).total
    excess = np.abs(wanted) - limits.limits
    if not (excess > 0.0).any():
        return passed(wanted, limits), None
    k = int(excess.max(axis=1).argmax())
    sentence = f"point {k} of the trajectory: {limits.sentence(wanted[k], units)}"
    rows = [limits.applied(row).torques for row in wanted]
    if any(row is None for row in rows):
        raise DynError(sentence)
    return passed(np.array(rows), limits), sentence
