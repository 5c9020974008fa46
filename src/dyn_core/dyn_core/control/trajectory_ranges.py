# SPDX-License-Identifier: Apache-2.0
"""Whether a trajectory keeps ranges and speeds between its points, where splines go further than at them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dyn_core.control.trajectory import Trajectory
from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.model.joint import Limits

OVERSHOOT = 1e-3
"""How far a spline may be outside of a range (rad or m): along a limit it goes a little over it."""
MARGIN = 1.1
"""Greatest speed of a spline over the greatest speed: splines through samples of a motion whose acceleration
jumps, as planners make them, are faster than the motion in between by some percent."""
PEAK = 1.875
"""Greatest speed over the mean one of the quintic from rest to rest."""

_NEGLIGIBLE = 1e-14
"""Part of the greatest coefficient that a leading one has to have: below, it changes nothing at u <= 1."""


@lru_cache(maxsize=2)
def _bernstein(count: int) -> Array:
    """From coefficients of powers of u to values between which the polynomial is for u from 0 to 1."""
    powers = range(count)
    return np.array([[math.comb(j, i) / math.comb(count - 1, i) for j in powers] for i in powers])


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
    hull = rows @ _bernstein(rows.shape[-1])
    # Whatever keeps within these bounds, as nearly all pieces do, needs no roots.
    suspects = np.argwhere((hull.min(axis=-1) < least) | (hull.max(axis=-1) > greatest))
    for piece, joint in suspects.tolist():
        begin, duration = trajectory.knots[piece], trajectory.durations[piece]
        u_end = min((trajectory.knots[piece + 1] - begin) / duration, 1.0)
        u = _candidates(derivatives[piece, joint], u_end)
        values = (u[:, None] ** np.arange(float(rows.shape[-1]))) @ rows[piece, joint]
        beyond = np.maximum(values - greatest[piece, joint], least[piece, joint] - values)
        worst = int(beyond.argmax())
        if beyond[worst] > 0.0:
            time = begin - trajectory.start + float(u[worst]) * duration
            return _Excess(piece, joint, time, float(values[worst]))
    return None


def _candidates(derivative: Array, u_end: float) -> Array:
    """Answer the u from 0 to `u_end` among which the extrema are: roots of a derivative, and the ends.

    All of them are on the piece: one that is no root, such as the real part of a complex one, does no harm.
    """
    size = float(np.abs(derivative).max())
    if size == 0.0:
        return np.array((0.0, u_end))
    scaled = derivative / size
    degree = int(np.flatnonzero(np.abs(scaled) > _NEGLIGIBLE)[-1])
    roots = np.roots(scaled[degree::-1]).real
    return np.concatenate(((0.0, u_end), np.clip(roots, 0.0, u_end)))
