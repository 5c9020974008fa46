# SPDX-License-Identifier: Apache-2.0
"""Violations of actuator limits by a motion, and the smallest uniform time scaling that removes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.core.handover import handed_over
from dyn_core.feasibility.actuator_limits import ROUNDING, ActuatorLimits
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.compiled_model import run_by
from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms
from dyn_core.robot.robot import Robot

Quantity: TypeAlias = Literal["position", "velocity", "effort", "power", "braking power"]
QUANTITIES: tuple[Quantity, ...] = ("position", "velocity", "effort", "power", "braking power")


@dataclass(frozen=True)
class Excess:
    """A joint beyond one of its limits.

    Attributes:
        joint: name of the joint.
        quantity: quantity that exceeds its limit.
        value: required value (SI units).
        limit: its limit.
        unit: unit of both.
        limit_of: the joint that mimics this one and whose limit it is; empty for the joint's own limit.
        jumps: whether the value is needed to reach a position to which its velocities do not lead.
    """

    joint: str
    quantity: Quantity
    value: float
    limit: float
    unit: str
    limit_of: str = ""
    jumps: bool = False

    @property
    def amount(self) -> float:
        """Amount beyond the limit, at least 0."""
        value, limit = self.value, self.limit
        return abs(value - limit) if self.quantity == "position" else abs(abs(value) - abs(limit))

    @property
    def part(self) -> float:
        """Amount beyond the limit as a fraction of the limit."""
        return self.amount / abs(self.limit) if self.limit else self.amount

    @property
    def sentence(self) -> str:
        """The violation as a sentence without a full stop."""
        mimic = f", which is that of joint '{self.limit_of}', which mimics it" if self.limit_of else ""
        jump = ", to be where its velocities do not lead" if self.jumps else ""
        return (
            f"joint '{self.joint}' asks for the {self.quantity} {self.value:.4g} {self.unit}, "
            f"{self.amount:.3g} {self.unit} beyond its limit of {self.limit:.4g} {self.unit}{mimic}{jump}"
        )


@dataclass(frozen=True, eq=False)
class Bounds:
    """Comparison of all joints and quantities with their limits, by quantity, (..., n) each."""

    values: dict[Quantity, Array]  # required values
    limits: dict[Quantity, Array]  # their limits, with the sign of the value
    beyond: dict[Quantity, Array]  # amount beyond the limit; 0 or less within it


def bounds(limits: ActuatorLimits, q: Array, qd: Array, at: Array, torques: Array) -> Bounds:
    """Compare motions with limits.

    Args:
        q, qd: positions and velocities (rad or m; rad/s or m/s), (..., n).
        at: velocities at which torques act: `qd`, or those before a step, (..., n).
        torques: torques (N m or N), (..., n).
    """
    power = torques * at
    effort = limits.effort(at)
    below = limits.lower - q
    above = q - limits.upper
    under = below > above
    return Bounds(
        {"position": q, "velocity": qd, "effort": torques, "power": power, "braking power": -power},
        {
            "position": np.where(under, limits.lower, limits.upper),
            "velocity": np.copysign(limits.velocity, qd),
            "effort": np.copysign(effort, torques),
            "power": np.broadcast_to(limits.power, q.shape),
            "braking power": np.broadcast_to(limits.braking_power, q.shape),
        },
        {
            "position": np.maximum(below, above),
            "velocity": np.abs(qd) - limits.velocity,
            "effort": np.abs(torques) - effort,
            "power": power - limits.power,
            "braking power": -power - limits.braking_power,
        },
    )


def unit_of(limits: ActuatorLimits, quantity: Quantity, j: int) -> str:
    """Return the unit of a quantity of joint j, counted from 0."""
    position, effort = limits.position_units[j], limits.effort_units[j]
    return {"position": position, "velocity": f"{position}/s", "effort": effort}.get(quantity, "W")


def excess_of(limits: ActuatorLimits, j: int, quantity: Quantity, value: float, limit: float) -> Excess:
    """Return the violation by a value of joint j, counted from 0."""
    of_joint, limit_of = limits.of_joints[j], ""
    if quantity == "position":
        limit_of = of_joint.lower_of if value < of_joint.lower else of_joint.upper_of
    elif quantity == "velocity":
        limit_of = of_joint.velocity_of
    unit = unit_of(limits, quantity, j)
    # A sum with 0 has no negative zero.
    return Excess(limits.joint_names[j], quantity, value + 0.0, limit + 0.0, unit, limit_of)


def excesses(limits: ActuatorLimits, compared: Bounds, slack: float = 0.0) -> tuple[Excess, ...]:
    """Return the violations by more than `slack` of one motion, by joint."""
    return tuple(
        excess_of(limits, j, name, float(compared.values[name][j]), float(compared.limits[name][j]))
        for j in range(len(limits.joint_names))
        for name in QUANTITIES
        if compared.beyond[name][j] > slack
    )


@dataclass(frozen=True)
class Failure:
    """A stretch of a motion in which a joint exceeds a limit."""

    begin: float  # time of its first sample (s)
    end: float  # time of its last sample (s)
    time: float  # time of the greatest violation (s)
    excess: Excess  # the violation at this time

    @property
    def sentence(self) -> str:
        """The violation and its time as a sentence without a full stop."""
        if self.begin == self.end:
            return f"at {self.begin:.4g} s {self.excess.sentence}"
        return f"from {self.begin:.4g} to {self.end:.4g} s, most at {self.time:.4g} s: {self.excess.sentence}"


def failures(
    limits: ActuatorLimits,
    times: Array,
    q: Array,
    qd: Array,
    torques: Array,
    let_pass: ActuatorLimits | None = None,
) -> tuple[Failure, ...]:
    """Return where a motion exceeds limits, by joint, quantity and time.

    Args:
        times: times of the samples (s), (m,).
        q, qd: positions and velocities (rad or m; rad/s or m/s), (m, n).
        torques: torques (N m or N), (m, n).
        let_pass: wider limits, which alone decide what is a failure; failures are still reported relative to
            `limits`. None for `limits`.
    """
    judged = bounds(limits if let_pass is None else let_pass, q, qd, qd, torques)
    if all(beyond.max(initial=0.0) <= 0.0 for beyond in judged.beyond.values()):
        return ()
    compared = judged if let_pass is None else bounds(limits, q, qd, qd, torques)
    found = []
    for j in range(len(limits.joint_names)):
        for quantity in QUANTITIES:
            beyond, limit = judged.beyond[quantity][:, j], judged.limits[quantity][:, j]
            with np.errstate(invalid="ignore"):
                over = beyond > ROUNDING * (1.0 + np.where(np.isfinite(limit), np.abs(limit), 0.0))
            for first, last in stretches(over):
                worst = first + int(beyond[first : last + 1].argmax())
                value, most = (float(of[quantity][worst, j]) for of in (compared.values, compared.limits))
                excess = excess_of(limits, j, quantity, value, most)
                begin, end, time = (float(times[k]) for k in (first, last, worst))
                found.append(Failure(begin, end, time, excess))
    return tuple(found)


def stretches(marks: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of each run of marked places."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return [(int(first), int(after) - 1) for first, after in edges.reshape(-1, 2)]


CREEP = 1e-150
"""Rate at which velocities still have a sign, for Coulomb friction, but no other numerical effect."""
USUAL = 1.0
"""Speed (rad/s or m/s), and root of the acceleration, to which faster samples are slowed down: there,
inertial and other torques have the same order of magnitude, so none is lost to rounding."""


@dataclass(frozen=True, eq=False)
class RatedTorques:
    """Torques at the samples of a motion played at the rate r: ``a r^2 + b r + c`` (N m or N), (m, n) each.

    Velocities are multiplied by r, accelerations by r^2. Inertial, Coriolis and centrifugal torques vary with
    r^2, viscous friction with r. Gravity, Coulomb friction, offsets and external wrenches are constant.
    """

    a: Array
    b: Array
    c: Array

    def at(self, rate: float) -> Array:
        """Return the torques (N m or N), (m, n)."""
        return (self.a * rate + self.b) * rate + self.c


class DriveTorques:
    """Torques of the actuators of a robot along motions."""

    def __init__(self, robot: Robot, *, friction: bool = True, rotor_inertia: bool = True) -> None:
        """Compile the inverse dynamics."""
        self.robot = robot
        made_of = with_terms(robot, friction, rotor_inertia)
        self._row = WrenchRow(robot)
        self._needed = handed_over(lambda: run_by(made_of, traced(made_of, "inverse_dynamics")))
        self._external = handed_over(lambda: run_by(made_of, traced(made_of, "external_torques")))

    def rated(
        self, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, npt.ArrayLike] | None = None
    ) -> RatedTorques:
        """Return the torques of a motion, (m, n) each, at any rate above 0.

        Args:
            q, qd, qdd: positions, velocities, accelerations (rad or m, per s, per s^2).
        """
        slow = _usual_rates(qd, qdd)
        qd, qdd = slow * qd, slow * slow * qdd
        # The constant part is computed separately: at low rates it is nearly the whole torque.
        c = self._needed(q, CREEP * qd, np.zeros_like(qdd))
        full, half = self._needed(q, qd, qdd) - c, self._needed(q, 0.5 * qd, 0.25 * qdd) - c
        a, b = (2.0 * full - 4.0 * half) / slow**2, (4.0 * half - full) / slow
        w = self._row(wrenches, q.shape[:-1])
        if w is not None:
            c = c + self._external(q, w)
        return RatedTorques(a, b, c)


def _usual_rates(qd: Array, qdd: Array) -> Array:
    """Return for each sample the greatest rate, at most 1, at which it is no faster than `USUAL`, (m, 1)."""
    fastest = np.maximum(np.abs(qd), np.sqrt(np.abs(qdd))).max(axis=1, keepdims=True)
    return np.asarray(USUAL / np.maximum(fastest, USUAL))


# Greatest feasible rate
#
# A sample of a joint keeps a limit where a polynomial of the rate r is not positive: of degree 2 for torques
# on each straight part of the torque-speed curve, of degree 3 for power. The search goes down from r = 1.
# Where a limit is exceeded, the greatest root below r bounds all rates that keep it; the least of these
# bounds over all samples is the next r. Each r is a root of one of finitely many polynomials, so the search
# ends, with the greatest rate that keeps all limits.


@dataclass(frozen=True)
class Scaling:
    """The greatest rate at which a motion keeps all limits, and the sample and joint that determine it."""

    rate: float  # the rate, at most 1; 0 if there is none
    sample: int | None = None  # index of the sample; None at the rate 1
    joint: int | None = None  # index of the joint; None at the rate 1

    @property
    def factor(self) -> float:
        """Ratio of the new duration to that of the motion; infinite if there is no rate."""
        return 1.0 / self.rate if self.rate else float("inf")


def greatest_rate(limits: ActuatorLimits, qd: Array, torques: RatedTorques) -> Scaling:
    """Return the greatest rate, at most 1, that keeps the limits at velocities (rad/s or m/s), (m, n)."""
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
    """Return upper bounds of the rates at which torques keep their limits; `rate` where they do now."""
    bounds = np.full(speed.shape, rate)
    needed = torques.at(rate)
    for j, limit in enumerate(limits.of_joints):
        curve = limit.curve
        size = np.abs(needed[:, j])
        allowed = curve.at(rate * speed[:, j])
        over = np.flatnonzero(size > allowed * (1.0 + ROUNDING))
        if not len(over):
            continue
        s = speed[over, j]
        # At a point of the curve the part below it applies, because the rate decreases.
        part = np.maximum(np.searchsorted(curve.speeds, rate * s * (1.0 - ROUNDING), side="left") - 1, -1)
        inner = (part >= 0) & (part < len(curve.speeds) - 1)
        at = np.clip(part, 0, len(curve.speeds) - 1)
        slope = np.where(inner, np.append(curve.slopes, 0.0)[at], 0.0)
        begin = np.where(part >= 0, np.array(curve.speeds)[at], 0.0)
        effort = np.array(curve.efforts)[at]
        sign = np.sign(needed[over, j])
        coefficients = (
            sign * torques.a[over, j],
            sign * torques.b[over, j] - slope * s,
            sign * torques.c[over, j] - effort + slope * begin,
        )
        roots = _largest_roots(np.stack(coefficients, axis=-1), rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            end = np.where(s > 0.0, begin / s, 0.0)
        bounds[over, j] = np.maximum(roots, end)
    return bounds


def _next_of_power(qd: Array, power: Array, torques: RatedTorques, rate: float) -> Array:
    """Return the same for the power ``r qd (a r^2 + b r + c)``."""
    bounds = np.full(qd.shape, rate)
    given = rate * qd * torques.at(rate)
    over = np.nonzero(given > power * (1.0 + ROUNDING))
    if not len(over[0]):
        return bounds
    v = qd[over]
    coefficients = (v * torques.a[over], v * torques.b[over], v * torques.c[over], -power[over[1]])
    bounds[over] = np.maximum(_largest_roots(np.stack(coefficients, axis=-1), rate), 0.0)
    return bounds


def _largest_roots(coefficients: Array, below: float) -> Array:
    """Return the largest real roots in (0, below) of polynomials (k, d + 1) positive at `below`, else 0."""
    roots = _quadratic(coefficients) if coefficients.shape[1] == 3 else _by_companion(coefficients)
    with np.errstate(invalid="ignore"):
        inside = (roots > 0.0) & (roots < below)
    largest: Array = np.where(inside, roots, 0.0).max(axis=1)
    return largest


def _quadratic(coefficients: Array) -> Array:
    """Return the real roots, (k, 2); missing ones are NaN or infinite."""
    a, b, c = coefficients.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # The root whose terms have one sign comes first, so that nothing cancels.
        half = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        return np.stack((half / a, c / half), axis=-1)


def _by_companion(coefficients: Array) -> Array:
    """Return the real roots of cubics, (k, 3), as eigenvalues of companion matrices; missing ones are NaN."""
    bounds = np.full((len(coefficients), 3), np.nan)
    cubic = np.abs(coefficients[:, 0]) > 1e-12 * np.abs(coefficients).max(axis=1)
    bounds[~cubic, :2] = _quadratic(coefficients[~cubic, 1:])
    matrices = np.zeros((int(cubic.sum()), 3, 3))
    matrices[:, 0] = -coefficients[cubic, 1:] / coefficients[cubic, :1]
    matrices[:, 1, 0] = matrices[:, 2, 1] = 1.0
    roots = np.linalg.eigvals(matrices)
    real = np.abs(roots.imag) <= 1e-7 * np.abs(roots)
    bounds[cubic] = np.where(real, roots.real, np.nan)
    return bounds
