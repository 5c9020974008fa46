# SPDX-License-Identifier: Apache-2.0
"""A joint trajectory: polynomials in time, one after the other."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.control.motion import Motion
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.core.arrays import Array, as_floats


class Phase(IntEnum):
    """Where in a trajectory a time is."""

    BEFORE = 0
    MOVING = 1
    DONE = 2


class Sample(NamedTuple):
    """A trajectory at one time.

    Attributes:
        q: positions (rad or m), (n,).
        qd: velocities (rad/s or m/s), (n,).
        qdd: accelerations (rad/s^2 or m/s^2), (n,).
        phase: where in the trajectory the time is.
    """

    q: Array
    qd: Array
    qdd: Array
    phase: Phase


class Samples(NamedTuple):
    """A trajectory at N times.

    Attributes:
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        phase: `Phase` of each time as a number, (N,).
    """

    q: Array
    qd: Array
    qdd: Array
    phase: npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Piecewise polynomials of time in n joints. At a knot between pieces the later one counts.

    Before the first knot the joints stand at the position they have there, after the last one at the
    position they have reached. At the last knot itself velocity and acceleration are those of the last piece.

    Times are seconds on any one clock; with its zero in 1970 they would be resolved to 0.2 us only.

    Attributes:
        knots: times at which the k pieces begin and the last ends (s), k + 1 of them.
        durations: what u = 1 is of each piece (s), (k,); the piece may end before.
        rows: what the powers of u are multiplied with, (k, 3 n, 6), or (k, 3 n, 10) where derivatives up to
            the fourth are continuous: see `hermite_rows` and `smooth_rows`.
        first: position before the first knot (rad or m), (n,).
        last: position after the last knot (rad or m), (n,).
    """

    knots: tuple[float, ...]
    durations: tuple[float, ...]
    rows: Array
    first: Array
    last: Array

    @staticmethod
    def standing(q: Array, t: float) -> Trajectory:
        """Answer the trajectory of joints that stand still at q (rad or m); t is its start and end (s)."""
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
        """Answer the motion at time t (s), and where in the trajectory that is."""
        phase = Phase.MOVING
        if t < self.start:
            phase = Phase.BEFORE
        elif t > self.end or not self.durations:
            phase = Phase.DONE
        return Sample(*self.motion(t), phase)

    def motion(self, t: float) -> Motion:
        """Answer the motion at time t (s), in some 1.5 us."""
        knots = self.knots
        if not math.isfinite(t):
            raise ValueError(f"t: expected a finite time, but it is {t}")
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
        """Answer the motion at N times (s), in any order."""
        t = as_floats("times", times if isinstance(times, np.ndarray) else list(times))
        if t.ndim != 1 or not np.isfinite(t).all():
            raise ValueError("times: expected finite times in one dimension")
        n = len(self.first)
        phase = np.full(len(t), Phase.MOVING, dtype=np.int8)
        phase[t < self.start] = Phase.BEFORE
        phase[(t > self.end) | (len(self.durations) == 0) & (t >= self.start)] = Phase.DONE
        motion = np.zeros((len(t), 3, n))
        moving = phase == Phase.MOVING
        if moving.any():
            knots, durations = np.array(self.knots), np.array(self.durations)
            i = np.minimum(np.searchsorted(knots, t[moving], side="right"), len(durations)) - 1
            u = (t[moving] - knots[i]) / durations[i]
            powers = u[:, None] ** np.arange(float(self.rows.shape[2]))
            motion[moving] = np.einsum("krp,kp->kr", self.rows[i], powers).reshape(-1, 3, n)
        motion[phase == Phase.BEFORE, 0] = self.first
        motion[phase == Phase.DONE, 0] = self.last
        return Samples(motion[:, 0], motion[:, 1], motion[:, 2], phase)

    def smooth_motion(self, t: float) -> SmoothMotion:
        """Answer the motion at time t (s) with third and fourth derivatives, of the piece that t is in."""
        return SmoothMotion(*(values[0] for values in self.smooth_motions([t])))

    def smooth_motions(self, times: Iterable[float]) -> SmoothMotion:
        """Answer the motion at N times (s), in any order, with third and fourth derivatives."""
        t = as_floats("times", times if isinstance(times, np.ndarray) else list(times))
        samples = self.sample_many(t)
        n = len(self.first)
        higher = np.zeros((2, len(t), n))
        moving = samples.phase == Phase.MOVING
        if moving.any():
            knots, durations = np.array(self.knots), np.array(self.durations)
            i = np.minimum(np.searchsorted(knots, t[moving], side="right"), len(durations)) - 1
            u = (t[moving] - knots[i]) / durations[i]
            c = self.rows[i, 2 * n :]
            for values in higher:
                powers = np.arange(1.0, c.shape[2])
                c = powers * c[..., 1:] / durations[i, None, None]
                values[moving] = np.einsum("knp,kp->kn", c, u[:, None] ** (powers - 1.0))
        return SmoothMotion(samples.q, samples.qd, samples.qdd, *higher)
