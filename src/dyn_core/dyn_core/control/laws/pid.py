# SPDX-License-Identifier: Apache-2.0
"""PID control of each joint with feedforward, and PD gains from the inertia at each joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from dyn_core.control.command_limits import PerJoint, check_vector, is_finite, joint_values, number
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.fixed_base.compiled_model import Model

Derivative = Literal["error", "measurement"]
AntiWindup = Literal["clamping", "back_calculation"]

_GIVEN = ("desired position", "position", "desired velocity", "velocity", "feedforward")


class PidOutput(NamedTuple):
    """Torques of the controller (N m or N), each (n,).

    They are the torques to send, the terms kp e, I and kd d, and the signed difference of their sum from the
    limits, which is zero within them.
    """

    torques: Array
    proportional: Array
    integral: Array
    derivative: Array
    excess: Array


class Pid:
    """PID controllers of n joints with feedforward, within effort limits.

        u = kp e + I + kd d + feedforward,    torque = u within the limits,    e = q_d - q

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


class JointGains(NamedTuple):
    """PD gains kp (N m/rad or N/m) and kd (N m s/rad or N s/m), and joint inertias (kg m^2 or kg), (n,)."""

    kp: Array
    kd: Array
    inertia: Array


def joint_gains(model: Model, q: Array, frequency: float, damping: float = 1.0) -> JointGains:
    """Return PD gains of each joint for a robot that moves between positions q (rad or m), (N, n).

    A single joint obeys ``a qdd + (Fv + kd) qd + kp q = 0``. With the greatest inertia a of the joint on the
    diagonal of the inertia matrix, ``kp = a w^2`` and ``kd = 2 damping w a - Fv`` give its error the natural
    frequency w (here in Hz) and the damping ratio. For a real arm, w should be at most half the lowest
    frequency of its structure. If friction alone damps more than that, ``a = Fv / (2 damping w)`` is used, so
    kd is 0 and the error decays at about the same rate.
    """
    w = 2.0 * math.pi * number("the natural frequency (Hz)", frequency, above=0.0)
    rate = 2.0 * w * number("the damping ratio", damping, above=0.0)
    A = model.inertia_matrix(q)
    Fv = _least_viscous_friction(model, q)
    inertia = np.maximum(np.einsum("njj->nj", A).max(0), Fv / rate)
    return JointGains(inertia * w * w, np.maximum(rate * inertia - Fv, 0.0), inertia)


def _least_viscous_friction(model: Model, q: Array) -> Array:
    """Least viscous friction at each joint (N m s/rad or N s/m), (n,), over positions (N, n)."""
    one = np.ones(len(model.joint_names))
    if not model.robot.loops:
        return model.friction_torques(2.0 * one) - model.friction_torques(one)
    columns = []
    for j, unit in enumerate(np.eye(len(one))):
        rates = np.broadcast_to(unit, q.shape)
        columns.append(
            (model.friction_torques(2.0 * rates, q) - model.friction_torques(rates, q))[:, j].min()
        )
    return np.array(columns)


def fastest_rate(model: Model, q: Array, kd: Array) -> float:
    """Return the fastest rate at which the gains kd damp a combined motion of the joints (1/s).

    It is the greatest eigenvalue of A^-1 diag(kd) over the positions q (rad or m), (N, n). A control loop of
    period T that damps at the rate r is stable only for r T < 2, and for less if torques are delayed.
    """
    root = np.sqrt(kd)
    A = model.inertia_matrix(q)
    # The symmetric matrix has the same eigenvalues.
    return float(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(A) * root).max())
