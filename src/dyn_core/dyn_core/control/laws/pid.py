# SPDX-License-Identifier: Apache-2.0
"""PID control of joints with feedforward, and its gain margin in a loop that samples and delays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from dyn_core.control.command_limits import PerJoint, check_vector, is_finite, joint_values, number
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.robot.joints import Joint, position_range
from dyn_core.robot.robot import Robot

Derivative = Literal["error", "measurement"]
AntiWindup = Literal["clamping", "back_calculation"]

_GIVEN = ("desired position", "position", "desired velocity", "velocity", "feedforward")


class PidOutput(NamedTuple):
    """Torques of the controller (N m or N), each (n,).

    They are the torques to send, the terms W kp e, I and W kd d, and the signed difference of their sum from
    the limits, which is zero within them.
    """

    torques: Array
    proportional: Array
    integral: Array
    derivative: Array
    excess: Array


class Pid:
    """PID controllers of n joints with feedforward, within effort limits.

        u = W (kp e + kd d) + I + feedforward,    torque = u within the limits,    e = q_d - q

    W is the unit matrix, or the inertia matrix. With that, kp and kd are the same for all joints: w^2 (1/s^2)
    and 2 damping w (1/s) for a natural frequency w.

    I is the integral of ki e by the trapezoidal rule. d is the velocity of the error, or minus that of the
    joint, filtered by the low-pass 1 / (1 + s/w). The filter is exact for velocities that are constant
    between samples, and so for positions on straight lines between samples. u includes the feedforward before
    the limits, so the anti-windup takes it into account:

        clamping          a joint beyond its limit ignores an increment of I that leads further beyond;
        back-calculation  dI/dt = ki e + (torque - u) / tracking_time.

    The state is the integral, the derivative and the last sample.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        kp: PerJoint,
        ki: PerJoint = 0.0,
        kd: PerJoint = 0.0,
        *,
        limits: PerJoint = math.inf,
        integral_limits: PerJoint = math.inf,
        derivative: Derivative = "error",
        cutoff: float | None = None,
        anti_windup: AntiWindup = "clamping",
        tracking_time: float = 0.1,
        max_gap: float = 0.1,
    ) -> None:
        """Make controllers with an integral of zero.

        Args:
            kp: gains of the error (N m/rad or N/m).
            ki: gains of its integral (N m/(rad s) or N/(m s)).
            kd: gains of its velocity (N m s/rad or N s/m).
            limits: greatest torques in both directions (N m or N); infinite for no limit.
            integral_limits: greatest I in both directions (N m or N); infinite for no limit.
            derivative: ``"error"``: derivative of the error, which kicks when the reference jumps;
                ``"measurement"``: derivative of the position only, which also brakes a desired motion.
            cutoff: -3 dB frequency of the low-pass of the derivative (Hz), w / (2 pi); None for no low-pass.
            anti_windup: ``"clamping"`` or ``"back_calculation"``.
            tracking_time: time constant of back-calculation (s).
            max_gap: time between samples beyond which nothing is integrated and d is reset (s).
        """
        if derivative not in get_args(Derivative):
            raise DynError("pid-derivative-unknown", given=derivative)
        if anti_windup not in get_args(AntiWindup):
            known = "'clamping' or 'back_calculation'"
            raise DynError("choice-unknown", setting="anti_windup", given=anti_windup, known=known)
        names = self.joint_names = tuple(joint_names)
        self.kp = joint_values("the gain kp", names, kp, least=0.0)
        self.ki = joint_values("the gain ki", names, ki, least=0.0)
        self.kd = joint_values("the gain kd", names, kd, least=0.0)
        self.limits = joint_values("the effort limit", names, limits, least=0.0, infinite=True)
        self.integral_limits = joint_values(
            "the limit of the integral", names, integral_limits, least=0.0, infinite=True
        )
        self._of_error = derivative == "error"
        self._w = (
            None if cutoff is None else 2.0 * math.pi * number("the cutoff of d (Hz)", cutoff, above=0.0)
        )
        self._clamping = anti_windup == "clamping"
        self._tracking_time = number("the tracking time (s)", tracking_time, above=0.0)
        self._max_gap = number("the longest gap of a PID controller (s)", max_gap, above=0.0)
        self._least, self._least_integral = -self.limits, -self.integral_limits
        self._integrates = (self.ki > 0.0).astype(np.float64)
        self._zero = np.zeros(len(names))
        self.reset()

    def tune(self, kp: Array, ki: Array, kd: Array, limits: Array) -> None:
        """Use other gains and effort limits, (n,), from the next sample on; the integral stays."""
        self.kp, self.ki, self.kd, self.limits, self._least = kp, ki, kd, limits, -limits
        self._integrates = (ki > 0.0).astype(np.float64)
        self._I: Array = self._integrates * self._I

    def reset(self, torques: Array | None = None) -> None:
        """Reset the state.

        Args:
            torques: torques that the next `update` should return (N m or N), (n,), for a start without a step
                when the controller takes over. The integral is set accordingly, within its limits. A joint
                with ki = 0 has no integral and begins with the torque of its error. None for an integral of
                zero.
        """
        if torques is not None:
            check_vector("torque", self.joint_names, torques)
        self._first_torques = None if torques is None else torques.copy()
        self._t = -math.inf
        self._I = self._d = self._e = self._y = self._excess = self._zero

    def update(
        self,
        t: float,
        desired_q: Array,
        q: Array,
        desired_qd: Array | None = None,
        qd: Array | None = None,
        feedforward: Array | None = None,
        weight: Array | None = None,
    ) -> PidOutput:
        """Return the torques for the sample at time t, in about 15 us.

        Raise ValueError if a number is not finite; the state is unchanged.

        Args:
            t: time (s); after a gap, or for a time in the past, all of the state except the integral is
                reset.
            desired_q: desired positions (rad or m), (n,).
            q: measured positions (rad or m), (n,).
            desired_qd: desired velocities (rad/s or m/s), (n,).
            qd: measured velocities (rad/s or m/s), (n,). The derivative is computed from the positions if
                these, or the desired velocities for the derivative of the error, are missing.
            feedforward: torques to add (N m or N), (n,).
            weight: W, (n, n), as `weights` makes it; None for the unit matrix.
        """
        given = (desired_q, q, desired_qd, qd, feedforward)
        for what, vector in zip(_GIVEN, given, strict=True):
            if vector is not None:
                check_vector(what, self.joint_names, vector)
        if not math.isfinite(t):
            raise ArgumentError("argument-time-not-finite", argument="t", given=t)
        T = t - self._t
        begins = not 0.0 <= T <= self._max_gap
        e = desired_q - q
        y = e if self._of_error else -q
        d = self._derivative(T, begins, y, desired_qd, qd)
        P, D = self.kp * e, self.kd * d
        if weight is not None:
            P, D = weight @ P, weight @ D
        rest = P + D if feedforward is None else P + D + feedforward
        if self._first_torques is not None:
            integral = self._bounded(self._integrates * (self._first_torques - rest))
        elif begins:
            integral = self._I
        else:
            integral = self._integrated(T, e, rest)
        u = rest + integral
        if not is_finite(u):
            raise ArgumentError("torques-not-finite")
        torques = np.minimum(np.maximum(u, self._least), self.limits)
        excess = u - torques
        self._t, self._e, self._y, self._d, self._I, self._excess = t, e, y, d, integral, excess
        self._first_torques = None
        return PidOutput(torques, P, integral.copy(), D, excess.copy())

    def _derivative(
        self, T: float, begins: bool, y: Array, desired_qd: Array | None, qd: Array | None
    ) -> Array:
        """Return the velocity of y, filtered by the low-pass."""
        if qd is not None and not self._of_error:
            rate = -qd
        elif qd is not None and desired_qd is not None:
            rate = desired_qd - qd
        elif begins:
            return self._zero
        elif T == 0.0:
            return self._d
        else:
            rate = (y - self._y) / T
        if self._w is None or begins:
            return rate
        return rate + math.exp(-self._w * T) * (self._d - rate)

    def _integrated(self, T: float, e: Array, rest: Array) -> Array:
        """Return I after a time T (s); `rest` is the sum of the other terms at its end."""
        increment = self.ki * ((0.5 * T) * (e + self._e))
        if self._clamping:
            integral = self._bounded(self._I + increment)
            u = rest + integral
            further = (np.abs(u) > self.limits) & (u * increment > 0.0)
            return np.where(further, self._I, integral) if further.any() else integral
        back = -math.expm1(-T / self._tracking_time)
        return self._bounded(self._I + increment - (back * self._integrates) * self._excess)

    def _bounded(self, integral: Array) -> Array:
        """Return an integral within its limits."""
        return np.minimum(np.maximum(integral, self._least_integral), self.integral_limits)


# The inertia that a loop feels

ARMATURE_S = 0.01
"""Time in which a motor alone reaches its speed limit with its effort limit, where nothing else is known (s).

Public models of robot arms that have an armature put it at 0.6 to 54 ms, with a median of 11 ms."""


def assumed_armature(robot: Robot) -> dict[str, float]:
    """Return the rotor inertia of each driven joint that has none, seen at the joint (kg m^2 or kg), by name.

    It is ``ARMATURE_S`` times the effort limit over the speed limit. A joint without one of these limits has
    none. The motors of elastic joints are described, so that nothing is assumed for them.
    """
    return {
        joint.name: ARMATURE_S * joint.limits.effort / joint.limits.velocity
        for joint in _rigid_drives(robot)
        if joint.limits.effort and joint.limits.velocity
    }


def armature_of(robot: Robot, given: float, by_joint: Mapping[str, float]) -> dict[str, float]:
    """Return the rotor inertia to add to each driven joint that has none (kg m^2 or kg), by name.

    It is that of `by_joint`, or `given` where that is positive, or the assumed one where it is negative.
    """
    found = assumed_armature(robot) if given < 0.0 else {joint.name: given for joint in _rigid_drives(robot)}
    named = {joint.name: by_joint[joint.name] for joint in _rigid_drives(robot) if joint.name in by_joint}
    return {name: value for name, value in (found | named).items() if value > 0.0}


def _rigid_drives(robot: Robot) -> list[Joint]:
    if robot.elastic_joint_names:
        return []
    return [joint for joint in robot.independent_joints if joint.mu == 1 and not joint.Ia]


def sampled_positions(robot: Robot, count: int = 200) -> Array:
    """Return positions over the ranges of all joints (rad or m), (count, n), the same at each call.

    The first is zero, or the nearest position within the ranges. Ranges end at pi rad or 1 m from there.
    """
    ranges = np.array([position_range(joint.limits) for joint in robot.independent_joints]).reshape(-1, 2)
    zero = np.clip(0.0, *ranges.T)
    reach = [math.pi if joint.position_unit == "rad" else 1.0 for joint in robot.independent_joints]
    lower, upper = np.maximum(ranges[:, 0], zero - reach), np.minimum(ranges[:, 1], zero + reach)
    drawn = np.random.default_rng(0).uniform(lower, upper, (count - 1, len(zero)))
    return np.vstack((zero, drawn))


def weights(A: Array, weighted: npt.NDArray[np.bool_]) -> Array:
    """Return W, (n, n) or (N, n, n): the inertia matrix A of the joints that are `weighted`, (n,), else 1."""
    return np.where(weighted[:, None] & weighted, A, np.eye(len(weighted)))


# The gain margin of the loop

LEAST_MARGIN_DB = 6.0
"""Least gain margin that is accepted: a factor of two."""
_MOST = 100.0
"""Greatest factor of the gains that is tried: 40 dB."""
_WORST = 8
"""Number of positions at which the whole loop is looked at; those where it is fastest."""
_GROWTH = 1e-6
"""Growth in one period that counts as none; joints without gains stay where they are."""


@dataclass(frozen=True)
class SampledLoop:
    """The control loop around the joints."""

    rate: float  # samples and torques (Hz)
    delay: int = 2  # periods from a sample to the torque that follows from it, at least 1
    cutoff: float | None = None  # -3 dB frequency of the low-pass of the derivative (Hz)


class GainMargin(NamedTuple):
    """The factor by which all gains can grow until the loop is unstable (dB); the joint that moves most then.

    The factor is negative for a loop that is unstable, and minus infinity where smaller gains do not help.
    """

    decibel: float
    joint: int


def gain_margin(
    A: Array, kp: Array, ki: Array, kd: Array, loop: SampledLoop, weight: Array | None = None
) -> GainMargin:
    """Return the gain margin of PID control, the least over N positions.

    The joints move by ``A qdd = torque``, coupled as they are, under torques that are constant for a period
    and late by the delay of the loop. The loop is stable where all eigenvalues of its matrix from one period
    to the next are within the unit circle. With an integral, gains must not be too small either: the margin
    is then the smaller of both factors.

    Args:
        A: inertia matrices (kg m^2 or kg), (N, n, n), with rotor inertias.
        kp: gains of the error, (n,), as for `Pid`.
        ki: gains of its integral, (n,).
        kd: gains of its velocity, (n,).
        loop: rate, delay and filter.
        weight: W at these positions, (N, n, n); None for the unit matrix.
    """
    P, D = (np.broadcast_to(np.diag(g), A.shape) if weight is None else weight * g for g in (kp, kd))
    inverse = np.asarray(np.linalg.inv(A), dtype=np.float64)
    speed = np.abs(inverse @ (P / loop.rate + D)).sum(-1).max(-1)
    worst = np.argsort(-speed)[:_WORST]
    still, fed = _periods(inverse[worst], P[worst], ki, D[worst], loop)

    def stable(factor: float) -> bool:
        return bool(np.abs(np.linalg.eigvals(still + factor * fed)).max() <= 1.0 + _GROWTH)

    if not stable(1.0):
        limit = _last(stable, 1.0 / _MOST, 1.0) if stable(1.0 / _MOST) else 0.0
    else:
        limit = _MOST if stable(_MOST) else _last(stable, 1.0, _MOST)
        if ki.any():
            # The least factor at which the loop is still stable counts like the greatest.
            limit = min(limit, 1.0 / _last(stable, 1.0, 1.0 / _MOST))
    decibel = 20.0 * math.log10(limit) if limit else -math.inf
    values, vectors = np.linalg.eig(still + 1.01 * max(limit, 1.0 / _MOST) * fed)
    k, j = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    n = A.shape[-1]
    return GainMargin(
        decibel, int((np.abs(vectors[k, n : 2 * n, j]) * np.sqrt(_diagonal(A)[worst[k]])).argmax())
    )


def _diagonal(A: Array) -> Array:
    return np.diagonal(A, axis1=1, axis2=2)


def _last(stable: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the factor at which a loop that is stable at `inside` stops to be, towards `outside`."""
    for _ in range(12):
        middle = math.sqrt(inside * outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


def _periods(inverse: Array, P: Array, ki: Array, D: Array, loop: SampledLoop) -> tuple[Array, Array]:
    """Return the matrices of the loop from one period to the next, without feedback, and of the feedback.

    The state is q, qd, the filtered velocity, the integral, and the torques that are on their way, oldest
    first.
    """
    N, n, T = len(inverse), P.shape[-1], 1.0 / loop.rate
    size = (4 + loop.delay) * n
    still, fed = np.zeros((N, size, size)), np.zeros((N, size, size))
    q, v, f, integral, *on_way = (slice(k * n, (k + 1) * n) for k in range(size // n))
    one = np.eye(n)
    keep = 0.0 if loop.cutoff is None else math.exp(-2.0 * math.pi * loop.cutoff * T)
    still[:, q, q] = still[:, v, v] = still[:, integral, integral] = one
    still[:, q, v] = T * one
    still[:, f, f], still[:, f, v] = keep * one, (1.0 - keep) * one
    still[:, integral, q] = T * np.diag(ki)
    for later, sooner in zip(on_way[1:], on_way[:-1], strict=True):
        still[:, sooner, later] = one
    new = np.zeros((N, n, size))
    new[:, :, q], new[:, :, v], new[:, :, f] = -P - T * np.diag(ki), -(1.0 - keep) * D, -keep * D
    new[:, :, integral] = -one
    still[:, q, on_way[0]], still[:, v, on_way[0]] = 0.5 * T * T * inverse, T * inverse
    fed[:, on_way[-1]] = new
    return still, fed
