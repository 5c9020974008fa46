# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories: polynomial pieces in time, sampled, and checked between their points."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion, hull, turning_points
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, at_joint
from dyn_core.robot.joints import Limits, position_range


class Phase(IntEnum):
    """Phase of a trajectory at a time."""

    BEFORE = 0
    MOVING = 1
    DONE = 2


class Sample(NamedTuple):
    """A trajectory at one time: q (rad or m), qd (rad/s or m/s), qdd (rad/s^2 or m/s^2), and its phase."""

    q: Array
    qd: Array
    qdd: Array
    phase: Phase


class Samples(NamedTuple):
    """A trajectory at N times, (N, n) each, as `Sample`; `phase` has numbers of `Phase`, (N,)."""

    q: Array
    qd: Array
    qdd: Array
    phase: npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Piecewise polynomials of time for n joints. At a knot between two pieces, the later one applies.

    Before the first knot the joints rest at their first position, after the last knot at their last position.
    At the last knot itself, velocity and acceleration are those of the last piece.

    Times are in seconds on any single clock; with its zero in 1970 their resolution would be only 0.2 us.

    A piece may end before u = 1. The rows of coefficients are those of `hermite_rows`, (k, 3 n, 6), or of
    `smooth_rows`, (k, 3 n, 10), for continuous derivatives up to the fourth.
    """

    knots: tuple[float, ...]  # k + 1 times at which the k pieces begin and the last one ends (s)
    durations: tuple[float, ...]  # durations of the pieces from u = 0 to u = 1 (s), (k,)
    rows: Array  # coefficients of the powers of u
    first: Array  # position before the first knot (rad or m), (n,)
    last: Array  # position after the last knot (rad or m), (n,)

    @staticmethod
    def standing(q: Array, t: float) -> Trajectory:
        """Return the trajectory of joints at rest at q (rad or m), with start and end at t (s)."""
        position = q.copy()
        position.flags.writeable = False
        return Trajectory((t,), (), np.zeros((0, 3 * len(q), 6)), position, position)

    @property
    def start(self) -> float:
        """Time of the first knot (s)."""
        return self.knots[0]

    @property
    def end(self) -> float:
        """Time of the last knot (s)."""
        return self.knots[-1]

    def sample(self, t: float) -> Sample:
        """Return the motion and the phase at time t (s)."""
        phase = Phase.MOVING
        if t < self.start:
            phase = Phase.BEFORE
        elif t > self.end or not self.durations:
            phase = Phase.DONE
        return Sample(*self.motion(t), phase)

    def motion(self, t: float) -> Motion:
        """Return the motion at time t (s), in about 1.5 us."""
        knots = self.knots
        if not math.isfinite(t):
            raise ArgumentError("argument-time-not-finite", argument="t", given=t)
        if t < knots[0]:
            return Motion.at_rest(self.first)
        pieces = len(self.durations)
        if t > knots[-1] or pieces == 0:
            return Motion.at_rest(self.last)
        i = min(bisect_right(knots, t), pieces) - 1
        u = (t - knots[i]) / self.durations[i]
        rows, n = self.rows[i], len(self.first)
        u2 = u * u
        powers = np.array((1.0, u, u2, u2 * u, u2 * u2, u2 * u2 * u))
        if rows.shape[1] != 6:
            powers = u ** np.arange(float(rows.shape[1]))
        values = rows.dot(powers)
        return Motion(values[:n], values[n : 2 * n], values[2 * n :])

    def sample_many(self, times: Iterable[float]) -> Samples:
        """Return the motion at N times (s), in any order."""
        t = as_floats("times", times if isinstance(times, np.ndarray) else list(times))
        if t.ndim != 1 or not np.isfinite(t).all():
            raise ArgumentError("sample-times-invalid")
        phase = np.full(len(t), Phase.MOVING, dtype=np.int8)
        phase[t < self.start] = Phase.BEFORE
        phase[(t > self.end) | (len(self.durations) == 0) & (t >= self.start)] = Phase.DONE
        motion = np.zeros((len(t), 3, len(self.first)))
        moving = phase == Phase.MOVING
        if moving.any():
            i, u, _ = self._places(t[moving])
            powers = u[:, None] ** np.arange(float(self.rows.shape[2]))
            motion[moving] = np.einsum("krp,kp->kr", self.rows[i], powers).reshape(-1, 3, len(self.first))
        motion[phase == Phase.BEFORE, 0] = self.first
        motion[phase == Phase.DONE, 0] = self.last
        return Samples(motion[:, 0], motion[:, 1], motion[:, 2], phase)

    def _places(self, t: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Return piece, u and duration (s) of the pieces at times (s), (N,) each."""
        knots, durations = np.array(self.knots), np.array(self.durations)
        i = np.minimum(np.searchsorted(knots, t, side="right"), len(durations)) - 1
        return i, (t - knots[i]) / durations[i], durations[i]

    def smooth_motion(self, t: float) -> SmoothMotion:
        """Return the motion at time t (s) with third and fourth derivatives of the piece at t."""
        return SmoothMotion(*(values[0] for values in self.smooth_motions([t])))

    def smooth_motions(self, times: Iterable[float]) -> SmoothMotion:
        """Return the motion at N times (s), in any order, with third and fourth derivatives."""
        t = as_floats("times", times if isinstance(times, np.ndarray) else list(times))
        samples = self.sample_many(t)
        n = len(self.first)
        higher = np.zeros((2, len(t), n))
        moving = samples.phase == Phase.MOVING
        if moving.any():
            i, u, duration = self._places(t[moving])
            c = self.rows[i, 2 * n :]
            for values in higher:
                powers = np.arange(1.0, c.shape[2])
                c = powers * c[..., 1:] / duration[:, None, None]
                values[moving] = np.einsum("knp,kp->kn", c, u[:, None] ** (powers - 1.0))
        return SmoothMotion(samples.q, samples.qd, samples.qdd, *higher)


# Ranges and speeds between the points, where splines may exceed those at the points

OVERSHOOT = 1e-3
"""Distance (rad or m) by which a spline may leave a range: a spline along a limit overshoots a little."""
MARGIN = 1.1
"""Factor of the greatest speed for splines. Planners make motions with jumps of the acceleration; splines
through samples of these are some percent faster between the samples."""
PEAK = 1.875  # Ratio of the greatest speed to the mean speed of the quintic from rest to rest


class _Excess(NamedTuple):
    """The first polynomial that leaves its bounds: piece, joint, time (s) and value."""

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
    """Raise DynError unless a trajectory keeps its ranges and speeds at all times; exactly, not at samples.

    A piece that begins outside of a range, because the robot is there, may not go further out.

    Args:
        limits: ranges by joint name.
        speed: greatest speed (rad/s or m/s), (n,); infinite for no limit. It is multiplied by `MARGIN`.
        slack: displacement of each piece (rad or m) that is not counted in its speed, such as that from the
            robot's position to a first point: it may be made in the time of the piece, from rest to rest.
    """
    n = len(joint_names)
    if not trajectory.durations or not n:
        return
    ranges = [position_range(limits.get(name, Limits())) for name in joint_names]
    lower, upper = np.array(ranges).T
    q, qd, qdd = (trajectory.rows[:, i * n : (i + 1) * n] for i in range(3))
    least, greatest = np.minimum(lower, q[..., 0]), np.maximum(upper, q[..., 0])
    out = _first_outside(trajectory, q, qd, least - OVERSHOOT, greatest + OVERSHOOT)
    if out is not None:
        raise at_joint(
            joint_names[out.joint],
            "trajectory-leaves-range",
            position=out.value,
            time=out.time,
            lower=lower[out.joint],
            upper=upper[out.joint],
        )
    fastest = MARGIN * speed + PEAK * slack / np.array(trajectory.durations)[:, None]
    fast = _first_outside(trajectory, qd, qdd, -fastest, fastest)
    if fast is not None:
        name, limit = joint_names[fast.joint], fastest[fast.piece, fast.joint]
        code = "trajectory-velocity-exceeded"
        raise at_joint(name, code, velocity=fast.value, time=fast.time, limit=limit)


def _first_outside(
    trajectory: Trajectory, rows: Array, derivatives: Array, least: Array, greatest: Array
) -> _Excess | None:
    """Return the first polynomial of (k, n, powers) that leaves its bounds (k, n), where it does so most."""
    values = hull(rows)
    # The extremes are computed only for pieces whose hull leaves the bounds, which are few.
    candidates = np.argwhere((values.min(axis=-1) < least) | (values.max(axis=-1) > greatest))
    turning = turning_points(derivatives[candidates[:, 0], candidates[:, 1]])
    for (piece, joint), at in zip(candidates.tolist(), turning, strict=True):
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
