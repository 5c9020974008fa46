# SPDX-License-Identifier: Apache-2.0
"""From a motion to rest, on the way that was planned: what was checked there stays true.

The trajectory is followed with a time of its own, s, whose rate falls from 1 to 0:

    q(tau) = p(t + s(tau)),   ds/dtau = 1 - w(tau / T),   w(u) = u^3 (10 - 15 u + 6 u^2),

so that positions, velocities and accelerations are continuous, and no joint gets faster than it would have
been.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array

POINT_S = 0.01
"""Time between the points of the way to rest (s)."""
_GROWTH = 1.4
"""How much longer the next way is that is tried."""


def stopping(
    trajectory: Trajectory,
    t: float,
    joint_names: tuple[str, ...],
    allowed: Callable[[Motion], bool],
    shortest: float = 0.2,
    longest: float = 2.0,
) -> TrajectoryPoints:
    """Answer the points from the motion at time t to rest; their times count from t.

    Args:
        trajectory: the motion that goes on.
        t: when the stop begins (s).
        joint_names: its joints, in order.
        allowed: whether the robot can do a motion of N samples (N, n).
        shortest: time of the first stop that is tried (s).
        longest: time of the last one, which is answered where none is allowed (s).
    """
    duration = shortest
    while duration < longest:
        times, motion = stopped(trajectory, t, duration)
        if allowed(motion):
            break
        duration *= _GROWTH
    else:
        times, motion = stopped(trajectory, t, longest)
    return TrajectoryPoints(joint_names, times, *motion)


def stopped(trajectory: Trajectory, t: float, duration: float) -> tuple[Array, Motion]:
    """Answer times after t (s), (N,), and the motion (N, n) that comes to rest in `duration` (s)."""
    count = max(2, round(duration / POINT_S))
    u = np.arange(1.0, count + 1.0) / count
    # s is the integral of 1 - w.
    s = duration * (u - u**4 * (2.5 + u * (u - 3.0)))
    rate = 1.0 - u**3 * (10.0 + u * (6.0 * u - 15.0))
    change = -30.0 * (u * (1.0 - u)) ** 2 / duration
    samples = trajectory.sample_many(t + s)
    qd = samples.qd * rate[:, None]
    qdd = samples.qdd * rate[:, None] ** 2 + samples.qd * change[:, None]
    qd[-1], qdd[-1] = 0.0, 0.0
    return u * duration, Motion(samples.q, qd, qdd)
