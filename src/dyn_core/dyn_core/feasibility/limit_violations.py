# SPDX-License-Identifier: Apache-2.0
"""The smallest uniform time scaling with which a motion keeps the limits of its actuators.

At the rate r, a motion takes 1 / r of its time. A sample of a joint keeps a limit where a polynomial of r is
not above 0: of degree 2 for torques on each straight part of the torque-speed curve, of degree 3 for power.
From r = 1 downwards: where a limit is not kept, the rate at which it is next met, the greatest root below, is
above all rates at which it is; the least of these among all samples is the next r. Each r is a root of one of
finitely many polynomials, so that this ends, with the greatest rate of all that keep all limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.drive_torques import RatedTorques

ROUNDING = 1e-9
"""Part of a limit that rounding may take."""


@dataclass(frozen=True)
class Scaling:
    """The greatest rate at which a motion keeps all limits, and what keeps it there.

    Attributes:
        rate: the rate, 1 at most; 0 where there is none.
        sample: the sample that determines it, from 0; None at the rate 1.
        joint: the joint that does, from 0; None at the rate 1.
    """

    rate: float
    sample: int | None = None
    joint: int | None = None

    @property
    def factor(self) -> float:
        """How many times as long the motion takes; infinite where no rate will do."""
        return 1.0 / self.rate if self.rate else float("inf")


def greatest_rate(limits: ActuatorLimits, qd: Array, torques: RatedTorques) -> Scaling:
    """Answer the greatest rate up to 1 at which velocities, torques and powers are within limits.

    Args:
        limits: the limits.
        qd: velocities at the samples (rad/s or m/s), (m, n).
        torques: torques there.
    """
    speed = np.abs(qd)
    with np.errstate(divide="ignore", invalid="ignore"):
        slower = np.where(speed > limits.velocity, limits.velocity / speed, 1.0)
    found = _least(slower, Scaling(1.0))
    while found.rate > 0.0:
        lower = np.minimum(_next_of_torque(limits, speed, torques, found.rate), found.rate)
        for sign, power in ((1.0, limits.power), (-1.0, limits.braking_power)):
            lower = np.minimum(lower, _next_of_power(sign * qd, power, torques, found.rate))
        following = _least(lower, found)
        if following.rate == found.rate:
            return found
        found = following
    return Scaling(0.0, found.sample, found.joint)


def _least(rates: Array, found: Scaling) -> Scaling:
    place = int(rates.argmin())
    rate = float(rates.flat[place])
    if rate >= found.rate:
        return found
    sample, joint = divmod(place, rates.shape[1])
    return Scaling(max(rate, 0.0), sample, joint)


def _next_of_torque(limits: ActuatorLimits, speed: Array, torques: RatedTorques, rate: float) -> Array:
    """Answer upper bounds of the rates at which torques are within limits; `rate` where they are now."""
    answer = np.full(speed.shape, rate)
    needed = torques.at(rate)
    for j, limit in enumerate(limits.of_joints):
        curve = limit.curve
        size = np.abs(needed[:, j])
        allowed = curve.at(rate * speed[:, j])
        over = np.flatnonzero(size > allowed * (1.0 + ROUNDING))
        if not len(over):
            continue
        s = speed[over, j]
        # At a point of the curve the part below it counts: that is where the rate goes.
        part = np.maximum(np.searchsorted(curve.speeds, rate * s * (1.0 - ROUNDING), side="left") - 1, -1)
        inner = (part >= 0) & (part < len(curve.speeds) - 1)
        at = np.clip(part, 0, len(curve.speeds) - 1)
        slopes = np.append(curve.slopes, 0.0)
        slope = np.where(inner, slopes[at], 0.0)
        begin = np.where(part >= 0, np.array(curve.speeds)[at], 0.0)
        effort = np.array(curve.efforts)[at]
        sign = np.sign(needed[over, j])
        roots = _largest_roots(
            np.stack(
                (
                    sign * torques.a[over, j],
                    sign * torques.b[over, j] - slope * s,
                    sign * torques.c[over, j] - effort + slope * begin,
                ),
                axis=-1,
            ),
            rate,
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            end = np.where(s > 0.0, begin / s, 0.0)
        answer[over, j] = np.maximum(roots, end)
    return answer


def _next_of_power(qd: Array, power: Array, torques: RatedTorques, rate: float) -> Array:
    """Answer the same for the power ``r qd (a r^2 + b r + c)``."""
    answer = np.full(qd.shape, rate)
    given = rate * qd * torques.at(rate)
    over = np.nonzero(given > power * (1.0 + ROUNDING))
    if not len(over[0]):
        return answer
    v = qd[over]
    coefficients = (v * torques.a[over], v * torques.b[over], v * torques.c[over], -power[over[1]])
    answer[over] = np.maximum(_largest_roots(np.stack(coefficients, axis=-1), rate), 0.0)
    return answer


def _largest_roots(coefficients: Array, below: float) -> Array:
    """Answer the largest real roots below a number of polynomials, (k, d + 1); 0 where there is none above 0.

    As the polynomials are above 0 there, it is from this root on that they can be below.
    """
    roots = _quadratic(coefficients) if coefficients.shape[1] == 3 else _by_companion(coefficients)
    with np.errstate(invalid="ignore"):
        inside = (roots > 0.0) & (roots < below)
    largest: Array = np.where(inside, roots, 0.0).max(axis=1)
    return largest


def _quadratic(coefficients: Array) -> Array:
    """Answer the real roots, (k, 2), NaN or infinite where there are less."""
    a, b, c = coefficients.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # The root whose terms have one sign first, so that nothing cancels.
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        return np.stack((half / a, c / half), axis=-1)


def _by_companion(coefficients: Array) -> Array:
    """Answer the real roots of polynomials of degree 3, (k, 3), NaN where there are less.

    They are the eigenvalues of companion matrices.
    """
    answer = np.full((len(coefficients), 3), np.nan)
    cubic = np.abs(coefficients[:, 0]) > 1e-12 * np.abs(coefficients).max(axis=1)
    answer[~cubic, :2] = _quadratic(coefficients[~cubic, 1:])
    matrices = np.zeros((int(cubic.sum()), 3, 3))
    matrices[:, 0] = -coefficients[cubic, 1:] / coefficients[cubic, :1]
    matrices[:, 1, 0] = matrices[:, 2, 1] = 1.0
    roots = np.linalg.eigvals(matrices)
    real = np.abs(roots.imag) <= 1e-7 * np.abs(roots)
    answer[cubic] = np.where(real, roots.real, np.nan)
    return answer
