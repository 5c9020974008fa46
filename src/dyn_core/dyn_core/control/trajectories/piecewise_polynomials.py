# SPDX-License-Identifier: Apache-2.0
"""Polynomials between points whose derivatives up to the fourth are continuous: of degree 9."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dyn_core.control.hermite import refuse_too_short
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.spline_velocities import spline_velocities
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError

DEGREE = 9


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def completed(times: Array, q: Array, qd: Array, qdd: Array, start: SmoothMotion | None) -> SmoothMotion:
    """Answer the motion at m points with all derivatives that they lack.

    Velocities are those of the cubic spline where no point has any. Accelerations that are not given are
    the mean of those that cubic pieces have before and after the point; third and fourth derivatives are
    those of the parabola through the accelerations there and at the neighbours. At the ends what is not given
    is 0, so that the torques begin and end as those at rest do.

    Args:
        times: times of the points (s), (m,), strictly increasing.
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s); rows of NaN where they are not given.
        qdd: accelerations (rad/s^2 or m/s^2); rows of NaN where they are not given.
        start: the motion at the first point; None where that is a point like the others.

    Raises:
        DynError: some points have velocities and others have none.
    """
    m, n = q.shape
    rest = np.zeros(n)
    own = slice(1, None) if start is not None else slice(None)
    lacking = np.isnan(qd[own]).any(axis=1)
    if lacking.all():
        qd = spline_velocities(times, q, rest if start is None else start.qd, rest)
    elif lacking.any():
        k = int(lacking.argmax())
        raise DynError(
            f"trajectory point {k} has no velocities, but others have: series-elastic joints need velocities "
            "of all points, or of none"
        )
    qdd = np.where(np.isnan(qdd), _accelerations(times, q, qd), qdd)
    jerk, snap = np.zeros((m, n)), np.zeros((m, n))
    if m > 2:
        before, after = np.diff(times)[:-1, None], np.diff(times)[1:, None]
        slope_before, slope_after = np.diff(qdd, axis=0)[:-1] / before, np.diff(qdd, axis=0)[1:] / after
        snap[1:-1] = 2.0 * (slope_after - slope_before) / (before + after)
        jerk[1:-1] = (after * slope_before + before * slope_after) / (before + after)
    if start is not None:
        jerk[0], snap[0] = start.jerk, start.snap
    return SmoothMotion(q, qd, qdd, jerk, snap)


def _accelerations(times: Array, q: Array, qd: Array) -> Array:
    """Accelerations of the cubic pieces, the mean of both sides of a point; 0 at the ends."""
    T = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / T
    begin = (6.0 * slope - 4.0 * qd[:-1] - 2.0 * qd[1:]) / T
    end = (2.0 * qd[:-1] + 4.0 * qd[1:] - 6.0 * slope) / T
    qdd = np.zeros_like(q)
    qdd[1:-1] = 0.5 * (end[:-1] + begin[1:])
    return qdd


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def smooth_rows(T: Array, points: SmoothMotion) -> Array:
    """Answer what gives position, velocity and acceleration when multiplied by powers, as `hermite_rows`.

    Args:
        T: durations of the k pieces (s), (k,).
        points: the motion at the k + 1 points, each (k + 1, n).

    Returns:
        (k, 3 n, 10).
    """
    k, n = len(T), points.q.shape[1]
    duration = T[:, None]
    ends = np.array([values * 1.0 for values in points])  # by derivative, point and joint
    scales = duration ** np.arange(5.0)  # derivatives with respect to u
    h = ends[:, :-1] * scales.T[:, :, None]
    g = ends[:, 1:] * scales.T[:, :, None]
    c = np.einsum("pd,dkn->pkn", _from_ends(), np.concatenate((h, g)))
    rows = np.zeros((k, 3, n, DEGREE + 1))
    rows[:, 0] = np.moveaxis(c, 0, -1)
    for power in range(DEGREE):
        rows[:, 1, :, power] = (power + 1) * c[power + 1] / duration
    for power in range(DEGREE - 1):
        rows[:, 2, :, power] = (power + 2) * (power + 1) * c[power + 2] / duration**2
    refuse_too_short(rows, T)
    return rows.reshape(k, 3 * n, DEGREE + 1)


@lru_cache(maxsize=1)
def _from_ends() -> Array:
    """From the derivatives 0 to 4 at u = 0, then at u = 1, to the coefficients of the powers of u."""
    conditions = np.zeros((10, 10))
    for order in range(5):
        conditions[order, order] = math.factorial(order)
        for power in range(order, 10):
            conditions[5 + order, power] = math.perm(power, order)
    inverse: Array = np.round(np.linalg.inv(conditions) * 24.0) / 24.0  # they are multiples of 1 / 4!
    return inverse
