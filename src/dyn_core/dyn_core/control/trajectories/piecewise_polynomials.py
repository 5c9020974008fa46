# SPDX-License-Identifier: Apache-2.0
"""Motion of joints at one instant, tracking errors, and polynomial pieces between points.

Pieces are Hermite polynomials, or polynomials of degree 9 for elastic joints. Splines through positions give
missing velocities; Bernstein coefficients bound the values on a piece.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError


class Motion(NamedTuple):
    """Motion of the joints, (n,) each: q (rad or m), qd (rad/s or m/s), qdd (rad/s^2 or m/s^2)."""

    q: Array
    qd: Array
    qdd: Array

    def carried(self, dt: float) -> Motion:
        """Return the motion at a time dt later (s), or earlier if negative, with constant accelerations."""
        if dt == 0.0:
            return self
        rate = dt * self.qdd
        return Motion(self.q + dt * (self.qd + 0.5 * rate), self.qd + rate, self.qdd)

    @staticmethod
    def at_rest(q: Array) -> Motion:
        """Return the motion of joints at rest at q (rad or m)."""
        zero = np.zeros(len(q))
        return Motion(q, zero, zero)


class SmoothMotion(NamedTuple):
    """Motion with derivatives up to the fourth, for motors behind springs: vectors (n,) or (N, n).

    `jerk` are third (rad/s^3 or m/s^3), `snap` fourth derivatives (rad/s^4 or m/s^4).
    """

    q: Array
    qd: Array
    qdd: Array
    jerk: Array
    snap: Array

    @property
    def motion(self) -> Motion:
        """The motion without the higher derivatives."""
        return Motion(self.q, self.qd, self.qdd)

    @staticmethod
    def at_rest(q: Array) -> SmoothMotion:
        """Return the motion of joints at rest at q (rad or m)."""
        zero = np.zeros(np.shape(q))
        return SmoothMotion(q, zero, zero, zero, zero)


class TrackingError(NamedTuple):
    """Root mean square and greatest absolute tracking errors over a motion (rad or m), (n,) each."""

    rms: Array
    greatest: Array


def tracking_error(desired: Array, measured: Array) -> TrackingError:
    """Return the errors of N positions (rad or m), (N, n) each, at the same times; N is at least 1."""
    if desired.shape != measured.shape or desired.ndim != 2 or not len(desired):
        raise ArgumentError("position-shapes-unequal", desired=desired.shape, measured=measured.shape)
    error = desired - measured
    return TrackingError(np.sqrt((error * error).mean(0)), np.abs(error).max(0))


def together(rms: Array) -> float:
    """Return the root mean square over several joints with the same unit."""
    return float(np.sqrt((rms * rms).mean()))


# Hermite polynomials between points


def hermite_rows(T: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the coefficients of position, velocity and acceleration between k + 1 points, (k, 3 n, 6).

    On piece i, with u = (t - t_i) / T_i, ``rows[i] @ (1, u, u^2, u^3, u^4, u^5)`` are the n positions, the n
    velocities and the n accelerations. A piece with accelerations at both ends is quintic, a piece with
    velocities at both ends is cubic, others are linear.

    Args:
        T: durations of the pieces (s), (k,).
        q: positions at the points (rad or m), (k + 1, n).
        qd: velocities there (rad/s or m/s); rows of NaN if they are not given.
        qdd: accelerations there (rad/s^2 or m/s^2); rows of NaN if they are not given.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rows = _rows(T, q, qd, qdd)
    refuse_too_short(rows, T)
    return rows.reshape(len(T), 3 * q.shape[1], 6)


def refuse_too_short(rows: Array, T: Array) -> None:
    """Raise DynError if a piece is so short (s) that its coefficients, (k, ...), are not finite."""
    if not np.isfinite(rows).all():
        piece = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise DynError("trajectory-piece-too-short", piece=piece, duration=T[piece])


def _rows(T: Array, q: Array, qd: Array, qdd: Array) -> Array:
    k, n = len(T), q.shape[1]
    has_qd, has_qdd = (np.isfinite(values.sum(axis=1)) for values in (qd, qdd))
    cubic = has_qd[:-1] & has_qd[1:]
    quintic = cubic & has_qdd[:-1] & has_qdd[1:]
    duration = T[:, None]
    d = np.diff(q, axis=0)
    # Derivatives with respect to u at both ends: h first, g second.
    h0, h1 = (np.where(cubic[:, None], v * duration, d) for v in (qd[:-1], qd[1:]))
    # A cubic is a quintic with the second derivatives of the cubic at the ends.
    g0 = np.where(quintic[:, None], qdd[:-1] * duration**2, 4.0 * (d - h0) + 2.0 * (d - h1))
    g1 = np.where(quintic[:, None], qdd[1:] * duration**2, 2.0 * (h0 - d) + 4.0 * (h1 - d))
    c = np.empty((6, k, n))
    c[:3] = q[:-1], h0, 0.5 * g0
    c[3] = np.where(
        quintic[:, None], 10.0 * d - 6.0 * h0 - 4.0 * h1 - 0.5 * (3.0 * g0 - g1), h0 + h1 - 2.0 * d
    )
    c[4] = np.where(quintic[:, None], -15.0 * d + 8.0 * h0 + 7.0 * h1 + 0.5 * (3.0 * g0 - 2.0 * g1), 0.0)
    c[5] = np.where(quintic[:, None], 6.0 * d - 3.0 * (h0 + h1) - 0.5 * (g0 - g1), 0.0)
    return _with_derivatives(c, duration)


def _with_derivatives(c: Array, duration: Array) -> Array:
    """Return coefficients of value, velocity and acceleration, (k, 3, n, p + 1), from those of u^0 to u^p."""
    degree = len(c) - 1
    rows = np.zeros((c.shape[1], 3, c.shape[2], degree + 1))
    rows[:, 0] = np.moveaxis(c, 0, -1)
    for power in range(degree):
        rows[:, 1, :, power] = (power + 1) * c[power + 1] / duration
    for power in range(degree - 1):
        rows[:, 2, :, power] = (power + 2) * (power + 1) * c[power + 2] / duration**2
    return rows


def spline_velocities(times: Array, q: Array, first: Array, last: Array) -> Array:
    """Return the velocities at the points of the cubic spline, which has continuous accelerations.

    With h_i = t_{i+1} - t_i and s_i = (q_{i+1} - q_i) / h_i, the acceleration is continuous at point i if

        v_{i-1} / h_{i-1} + 2 (1 / h_{i-1} + 1 / h_i) v_i + v_{i+1} / h_i = 3 (s_{i-1} / h_{i-1} + s_i / h_i).

    The matrix of these equations is tridiagonal and diagonally dominant, so elimination needs no pivoting.

    Args:
        times: times of m points (s), (m,), strictly increasing.
        q: positions (rad or m), (m, n).
        first: velocity at the first point (rad/s or m/s), (n,).
        last: velocity at the last point, (n,).
    """
    m = len(times)
    v = np.empty_like(q)
    v[0], v[-1] = first, last
    if m < 3:
        return v
    inverse = 1.0 / np.diff(times)
    slope = np.diff(q, axis=0) * inverse[:, None]
    right = 3.0 * (slope[:-1] * inverse[:-1, None] + slope[1:] * inverse[1:, None])
    right[0] -= inverse[0] * v[0]
    right[-1] -= inverse[-1] * v[-1]
    middle = 2.0 * (inverse[:-1] + inverse[1:])
    for i in range(1, m - 2):
        factor = inverse[i] / middle[i - 1]
        middle[i] -= factor * inverse[i]
        right[i] -= factor * right[i - 1]
    v[m - 2] = right[m - 3] / middle[m - 3]
    for i in range(m - 3, 0, -1):
        v[i] = (right[i - 1] - inverse[i] * v[i + 1]) / middle[i - 1]
    return v


# Polynomials of degree 9, with continuous derivatives up to the fourth

DEGREE = 9


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def completed(times: Array, q: Array, qd: Array, qdd: Array, start: SmoothMotion | None) -> SmoothMotion:
    """Return the motion at m points with the missing derivatives.

    If no point has velocities, they are those of the cubic spline. Missing accelerations are the mean of
    those of the cubic pieces before and after the point. Third and fourth derivatives are those of the
    parabola through the accelerations at the point and its neighbours. Missing values at the ends are 0, so
    that the torques begin and end like those at rest. Raise DynError if only some points have velocities.

    Args:
        times: times of the points (s), (m,), strictly increasing.
        q: positions (rad or m), (m, n).
        qd: velocities (rad/s or m/s); rows of NaN if they are not given.
        qdd: accelerations (rad/s^2 or m/s^2); rows of NaN if they are not given.
        start: the motion at the first point; None if the first is a point like the others.
    """
    m, n = q.shape
    rest = np.zeros(n)
    own = slice(1, None) if start is not None else slice(None)
    lacking = np.isnan(qd[own]).any(axis=1)
    if lacking.all():
        qd = spline_velocities(times, q, rest if start is None else start.qd, rest)
    elif lacking.any():
        k = int(lacking.argmax())
        raise DynError("trajectory-velocities-incomplete", point=k)
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
    """Mean accelerations of the cubic pieces on both sides of each point; 0 at the ends."""
    T = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / T
    begin = (6.0 * slope - 4.0 * qd[:-1] - 2.0 * qd[1:]) / T
    end = (2.0 * qd[:-1] + 4.0 * qd[1:] - 6.0 * slope) / T
    qdd = np.zeros_like(q)
    qdd[1:-1] = 0.5 * (end[:-1] + begin[1:])
    return qdd


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def smooth_rows(T: Array, points: SmoothMotion) -> Array:
    """Return the coefficients of position, velocity and acceleration, as `hermite_rows`, (k, 3 n, 10).

    T are the durations of the k pieces (s), (k,), and `points` the motion at the k + 1 points, (k + 1, n).
    """
    k, n = len(T), points.q.shape[1]
    duration = T[:, None]
    ends = np.array([values * 1.0 for values in points])  # indices: derivative, point, joint
    scales = duration ** np.arange(5.0)  # derivatives with respect to u
    h = ends[:, :-1] * scales.T[:, :, None]
    g = ends[:, 1:] * scales.T[:, :, None]
    c = np.einsum("pd,dkn->pkn", _from_ends(), np.concatenate((h, g)))
    rows = _with_derivatives(c, duration)
    refuse_too_short(rows, T)
    return rows.reshape(k, 3 * n, DEGREE + 1)


@lru_cache(maxsize=1)
def _from_ends() -> Array:
    """Matrix from the derivatives 0 to 4 at u = 0, then at u = 1, to the coefficients of the powers of u."""
    conditions = np.zeros((10, 10))
    for order in range(5):
        conditions[order, order] = math.factorial(order)
        for power in range(order, 10):
            conditions[5 + order, power] = math.perm(power, order)
    inverse: Array = np.round(np.linalg.inv(conditions) * 24.0) / 24.0  # entries are multiples of 1 / 4!
    return inverse


# Bounds and extremes of polynomials of u in [0, 1], given by the coefficients of u^0 to u^p, (..., p + 1)

_NEGLIGIBLE = 1e-14
"""Ratio to the greatest coefficient below which a leading coefficient has no effect for u <= 1."""


def hull(rows: Array) -> Array:
    """Return the Bernstein coefficients of polynomials, (..., p + 1), which bound their values.

    The first and the last are the values at 0 and at 1.
    """
    values: Array = rows @ _bernstein(rows.shape[-1])
    return values


def turning_points(derivatives: Array) -> Array:
    """Return the u in [0, 1] at which polynomials have extremes, (k, p), from their derivatives, (k, p + 1).

    Other values, such as the real parts of complex roots, are among them. They do not affect a search for the
    greatest value, because they are on the piece as well.
    """
    count, columns = derivatives.shape
    found = np.zeros((count, max(1, columns - 1)))
    size = np.abs(derivatives).max(axis=1, initial=0.0)
    leading = np.abs(derivatives) > _NEGLIGIBLE * size[:, None]
    degrees = np.where(size > 0.0, columns - 1 - np.argmax(leading[:, ::-1], axis=1), 0)
    for degree in range(1, columns):
        rows = np.flatnonzero(degrees == degree)
        if not len(rows):
            continue
        c = derivatives[rows]
        companions = np.zeros((len(rows), degree, degree))
        companions[:, 0] = -c[:, degree - 1 :: -1][:, :degree] / c[:, degree, None]
        companions[:, range(1, degree), range(degree - 1)] = 1.0
        found[rows, :degree] = np.clip(np.linalg.eigvals(companions).real, 0.0, 1.0)
    return found


@lru_cache(maxsize=4)
def _bernstein(count: int) -> Array:
    """Matrix from coefficients of powers of u to Bernstein coefficients."""
    powers = range(count)
    return np.array([[math.comb(j, i) / math.comb(count - 1, i) for j in powers] for i in powers])
