# SPDX-License-Identifier: Apache-2.0
"""Whether a trajectory keeps ranges and speeds between its points, where splines go further than at them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.control.piece_extremes import hull, turning_points
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Limits

OVERSHOOT = 1e-3
"""How far a spline may be outside of a range (rad or m): along a limit it goes a little over it."""
MARGIN = 1.1
"""Greatest speed of a spline over the greatest speed: splines through samples of a motion whose acceleration
jumps, as planners make them, are faster than the motion in between by some percent."""
PEAK = 1.875
"""Greatest speed over the mean one of the quintic from rest to rest."""


class _Excess(NamedTuple):
    """The first polynomial that leaves its bounds: where it is, and at which time (s) it has which value."""

    piece: int
    joint: int
    time: float
    value: float


def check_ranges(
    trajectory: Trajectory,
    joint_names: Sequence[str],
    limits: Mapping[str, Limits],
    speed: Array,
    slack: Array | float = 0.0,
) -> None:
    """Refuse a trajectory that leaves a range, or is too fast, anywhere; exactly, not at samples.

    A piece that begins outside of a range, as where the robot was found there, may go no further out.

    Args:
        trajectory: the trajectory.
        joint_names: its joints, in order.
        limits: ranges by joint name.
        speed: greatest speed (rad/s or m/s), (n,); infinite for none. `MARGIN` is added.
        slack: way of each piece (rad or m) that does not count for its speed, as to a first point from
            where the robot is: it may be made in the time of the piece, from rest to rest.

    Raises:
        DynError: it does.
    """
    n = len(joint_names)
    if not trajectory.durations or not n:
        return
    bounds = [limits.get(name, Limits()) for name in joint_names]
    lower = np.array([-math.inf if bound.lower is None else bound.lower for bound in bounds])
    upper = np.array([math.inf if bound.upper is None else bound.upper for bound in bounds])
    q, qd, qdd = (trajectory.rows[:, i * n : (i + 1) * n] for i in range(3))
    least, greatest = np.minimum(lower, q[..., 0]), np.maximum(upper, q[..., 0])
    out = _first_outside(trajectory, q, qd, least - OVERSHOOT, greatest + OVERSHOOT)
    if out is not None:
        name = joint_names[out.joint]
        raise DynError(
            f"the trajectory takes joint '{name}' to {out.value:.4g} between its points, {out.time:.4g} s "
            f"after it begins, its range is {lower[out.joint]:.4g} to {upper[out.joint]:.4g}: give lower "
            "velocities and accelerations, or points that are nearer to each other",
            element=f"joint '{name}'",
        )
    fastest = MARGIN * speed + PEAK * slack / np.array(trajectory.durations)[:, None]
    fast = _first_outside(trajectory, qd, qdd, -fastest, fastest)
    if fast is not None:
        name = joint_names[fast.joint]
        raise DynError(
            f"the trajectory gives joint '{name}' the velocity {fast.value:.4g} {fast.time:.4g} s after it "
            f"begins, at most {fastest[fast.piece, fast.joint]:.4g} is allowed: give it more time, or lower "
            "velocities and accelerations",
            element=f"joint '{name}'",
        )


def _first_outside(
    trajectory: Trajectory, rows: Array, derivatives: Array, least: Array, greatest: Array
) -> _Excess | None:
    """Answer the first polynomial, of (k, n, powers), that leaves its bounds, (k, n), where it does most."""
    values = hull(rows)
    # Whatever keeps within these bounds, as nearly all pieces do, needs no roots.
    suspects = np.argwhere((values.min(axis=-1) < least) | (values.max(axis=-1) > greatest))
    turning = turning_points(derivatives[suspects[:, 0], suspects[:, 1]])
    for (piece, joint), at in zip(suspects.tolist(), turning, strict=True):
        begin, duration = trajectory.knots[piece], trajectory.durations[piece]
        u_end = min((trajectory.knots[piece + 1] - begin) / duration, 1.0)
        u = np.concatenate(((0.0, u_end), np.minimum(at, u_end)))
        found = (u[:, None] ** np.arange(float(rows.shape[-1]))) @ rows[piece, joint]
        beyond = np.maximum(found - greatest[piece, joint], least[piece, joint] - found)
        worst = int(beyond.argmax())
        if beyond[worst] > 0.0:
            time = begin - trajectory.start + float(u[worst]) * duration
            return _Excess(piece, joint, time, float(found[worst]))
    return None
