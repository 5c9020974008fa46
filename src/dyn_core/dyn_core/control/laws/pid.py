# SPDX-License-Identifier: Apache-2.0
"""PID control of each joint, with a feedforward, within effort limits.

    u = kp e + I + kd d + feedforward,    torque = u within the limits,    e = q_d - q

I is the integral of ki e by trapezoids. d is the velocity of the error, or minus that of the joint, behind
the low-pass 1 / (1 + s/w), exactly for velocities that stay between samples, and so exactly for positions
that run in straight lines between them. The feedforward is in u before the limits, so that what keeps I
from winding up knows of it:

    clamping          a joint beyond its limit does not take an increment of I that leads further beyond;
    back-calculation  dI/dt = ki e + (torque - u) / tracking_time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from dyn_core.control.settings import PerJoint, joint_values, number
from dyn_core.control.vectors import check_vector, is_finite
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError

Derivative = Literal["error", "measurement"]
AntiWindup = Literal["clamping", "back_calculation"]

_GIVEN = ("desired position", "position", "desired velocity", "velocity", "feedforward")


class PidOutput(NamedTuple):
    """Torques of the controller (N m or N), each (n,).

    Attributes:
        torques: what to send.
        proportional: kp e.
        integral: I.
        derivative: kd d.
        excess: how far the sum is beyond the limits, with its sign; zero within them.
    """

    torques: Array
    proportional: Array
    integral: Array
    derivative: Array
    excess: Array


class Pid:
    """PID controllers of n joints. It has a state: the integral, the derivative, the last sample.

    Attributes:
        joint_names: the joints.
        kp: gains of the error (N m/rad or N/m), (n,).
        ki: gains of its integral (N m/(rad s) or N/(m s)), (n,).
        kd: gains of its velocity (N m s/rad or N s/m), (n,).
        limits: greatest torques either way (N m or N), (n,).
        integral_limits: greatest I either way (N m or N), (n,).
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
        """Make controllers whose integral is zero.

        Args:
            joint_names: the joints.
            kp: gains of the error (N m/rad or N/m).
            ki: gains of its integral (N m/(rad s) or N/(m s)).
            kd: gains of its velocity (N m s/rad or N s/m).
            limits: greatest torques either way (N m or N); infinite for none.
            integral_limits: greatest I either way (N m or N); infinite for none.
            derivative: ``"error"``: of the error, which kicks when the reference jumps;
                ``"measurement"``: of the position alone, which also brakes a motion that is wanted.
            cutoff: frequency at which the derivative has lost 3 dB (Hz), w / (2 pi); None for no low-pass.
            anti_windup: see above.
            tracking_time: time in which back-calculation takes an excess back (s).
            max_gap: time between samples beyond which nothing is integrated and d starts anew (s).
        """
        if derivative not in get_args(Derivative):
            raise DynError(f"the derivative is of {derivative!r}: choose 'error' or 'measurement'")
        if anti_windup not in get_args(AntiWindup):
            raise DynError(f"anti_windup is {anti_windup!r}: choose 'clamping' or 'back_calculation'")
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
        """Forget the past.

        Args:
            torques: what the next `update` shall answer (N m or N), (n,), so that there is no step when the
                controller takes over: its integral is made what this needs, within its limits. A joint
                with ki = 0 has none and begins with what its error gives. None for an integral of zero.
        """
        if torques is not None:
            check_vector("torque", self.joint_names, torques)
        self._wanted = None if torques is None else torques.copy()
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
        """Answer the torques for the sample at time t, in some 15 us.

        Args:
            t: time (s); after a gap, or from the past, it is a new beginning for all but the integral.
            desired_q: positions that are wanted (rad or m), (n,).
            q: measured positions (rad or m), (n,).
            desired_qd: velocities that are wanted (rad/s or m/s), (n,).
            qd: measured velocities (rad/s or m/s), (n,). Without them, or without the desired ones where the
                derivative is of the error, it is taken from the positions.
            feedforward: torques to add (N m or N), (n,).

        Raises:
            ValueError: a number is not finite; the state stays as it was.
        """
        given = (desired_q, q, desired_qd, qd, feedforward)
        for what, vector in zip(_GIVEN, given, strict=True):
            if vector is not None:
                check_vector(what, self.joint_names, vector)
        if not math.isfinite(t):
            raise ValueError(f"t: expected a finite time, but it is {t}")
        T = t - self._t
        begins = not 0.0 <= T <= self._max_gap
        e = desired_q - q
        y = e if self._of_error else -q
        d = self._derivative(T, begins, y, desired_qd, qd)
        P, D = self.kp * e, self.kd * d
        rest = P + D if feedforward is None else P + D + feedforward
        if self._wanted is not None:
            integral = self._bounded(self._integrates * (self._wanted - rest))
        elif begins:
            integral = self._I
        else:
            integral = self._integrated(T, e, rest)
        u = rest + integral
        if not is_finite(u):
            raise ValueError("the torques are not finite: errors, gains or a feedforward are too large")
        torques = np.minimum(np.maximum(u, self._least), self.limits)
        excess = u - torques
        self._t, self._e, self._y, self._d, self._I, self._excess = t, e, y, d, integral, excess
        self._wanted = None
        return PidOutput(torques, P, integral.copy(), D, excess.copy())

    def _derivative(
        self, T: float, begins: bool, y: Array, desired_qd: Array | None, qd: Array | None
    ) -> Array:
        """Answer the velocity of y behind the low-pass."""
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
        """Answer I after a time T (s), at the end of which the other terms are `rest`."""
        increment = self.ki * ((0.5 * T) * (e + self._e))
        if self._clamping:
            integral = self._bounded(self._I + increment)
            u = rest + integral
            further = (np.abs(u) > self.limits) & (u * increment > 0.0)
            return np.where(further, self._I, integral) if further.any() else integral
        back = -math.expm1(-T / self._tracking_time)
        return self._bounded(self._I + increment - (back * self._integrates) * self._excess)

    def _bounded(self, integral: Array) -> Array:
        """Answer an integral within its limits."""
        return np.minimum(np.maximum(integral, self._least_integral), self.integral_limits)
