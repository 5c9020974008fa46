# SPDX-License-Identifier: Apache-2.0
"""Motion of a moving base from an IMU or from odometry, and derivatives by a causal low-pass filter."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.control.command_limits import check_vector, number
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import transform
from dyn_core.symbolic.transform import Transform, rotation_matrix


class DerivativeFilter:
    """First, and optionally second, derivatives of joint vectors from past samples.

    A signal u passes the critically damped low-pass 1 / (1 + s/w)^m. The results are the derivatives of its
    output: s / (1 + s/w)^m, and s^2 / (1 + s/w)^m. The order m is one more than the highest derivative, so
    that its noise decreases at high frequencies. Between two samples the signal is a straight line with the
    slope r, for which the solution is exact: with x = (x_1 - u, x_2, ...), x_1 the output and x_2, x_3 its
    derivatives,

        x(t + T) = P x(t) + (1 - P) (-m/w, 1, 0) r,    P = exp(F T) = exp(-w T) (1 + N T + N^2 T^2 / 2),

    where F is the companion matrix of (s + w)^m, N = F + w 1, and N^m = 0. The first sample starts the filter
    with derivatives of zero, and so does a sample after a gap or with a time in the past.

    `started` is the time of the sample with which the filter last started (s); None before the first sample.
    """

    def __init__(
        self, joint_names: Sequence[str], cutoff: float, *, second: bool = False, max_gap: float = 0.1
    ) -> None:
        """Make a filter, with the second derivative if `second`, that waits for its first sample."""
        self.joint_names = tuple(joint_names)
        self.cutoff = number("the cutoff of a derivative filter (Hz)", cutoff, above=0.0)
        self.max_gap = number("the longest gap of a derivative filter (s)", max_gap, above=0.0)
        self.order = m = 3 if second else 2
        self.started: float | None = None
        self._w = w = 2.0 * math.pi * self.cutoff / math.sqrt(2.0 ** (1.0 / m) - 1.0)
        binomial = [math.comb(m, k) * w ** (m - k) for k in range(m)]
        F = np.vstack((np.eye(m)[1:], [-value for value in binomial]))
        self._N = F + w * np.eye(m)
        self._half_N2 = 0.5 * self._N @ self._N
        self._ramp = np.array([-m / w, 1.0, 0.0][:m])
        self._period = 0.0
        self._step = np.zeros((m, m + 1))
        self._t = -math.inf
        self._u = np.zeros(len(self.joint_names))
        self._x = np.zeros((m + 1, len(self.joint_names)))

    @property
    def delay(self) -> float:
        """Delay of the derivatives of a smooth signal (s): m / w."""
        return self.order / self._w

    @property
    def corner(self) -> float:
        """The w of the filter (rad/s)."""
        return self._w

    def noise_gain(self, period: float) -> tuple[float, ...]:
        """Ratio of the standard deviation of the derivatives to that of white noise in samples (1/s, 1/s^2).

        For a time T (s) between samples and w T << 1 it is sqrt(w^3 T / 4) for m = 2; sqrt(w^3 T / 16) and
        sqrt(3 w^5 T / 16) for m = 3.
        """
        w, T = self._w, period
        if self.order == 2:
            return (math.sqrt(w**3 * T / 4.0),)
        return math.sqrt(w**3 * T / 16.0), math.sqrt(3.0 * w**5 * T / 16.0)

    def reset(self) -> None:
        """Discard all samples."""
        self.started = None
        self._t = -math.inf

    def update(self, t: float, values: Array) -> tuple[Array, ...]:
        """Take the sample `values` (n,) at a time t (s) and return the derivatives, one or two vectors (n,).

        A sample at the time of the last one is ignored: the last derivatives are returned again. ValueError
        for a number that is not finite leaves the state unchanged.
        """
        check_vector("value", self.joint_names, values)
        if not math.isfinite(t):
            raise ArgumentError("argument-time-not-finite", argument="t", given=t)
        T = t - self._t
        if self.started is None or not 0.0 <= T <= self.max_gap:
            self.started = t
            self._x = np.zeros_like(self._x)
        elif T > 0.0:
            if self._period != T:
                self._prepare(T)
            x = self._x
            x[-1] = values - self._u
            # The product is computed before it overwrites its factor.
            x[:-1] = self._step.dot(x)
        else:
            return tuple(self._x[1:-1].copy())
        self._t, self._u = t, values.copy()
        return tuple(self._x[1:-1].copy())

    def _prepare(self, T: float) -> None:
        """Compute the matrix of a step of time T between samples; its last column multiplies T r."""
        m = self.order
        P = math.exp(-self._w * T) * (np.eye(m) + T * self._N + T * T * self._half_N2)
        self._step[:, :m] = P
        self._step[:, m] = (self._ramp - P.dot(self._ramp)) / T
        self._period = T


UNIT = 1e-2  # Largest difference of the length of a quaternion from 1

AXES = ("x", "y", "z")


def mount(robot: Robot, frame: str) -> Transform:
    """Return the placement of a link fixed to the base in the frame of the root link; else raise DynError."""
    link = robot.link_frame(frame)
    if link.body != 0:
        raise DynError(
            "measuring-link-moves",
            link=frame,
            robot=robot.name,
            joint=robot.joints[link.body - 1].name,
            base_link=robot.link_names[0],
            element=f"link '{frame}'",
        )
    return transform.compose(robot.T_root_0, link.T_body_link)


def orientation(quaternion: Sequence[float]) -> Array:
    """Return the rotation matrix of a quaternion x, y, z, w; raise ValueError if its length is not 1."""
    length = math.hypot(*quaternion)
    if not abs(length - 1.0) <= UNIT:
        raise ArgumentError("orientation-not-normalised", length=length)
    x, y, z, w = quaternion
    return np.array(rotation_matrix((x, y, z, w)))


class BaseMotionFilter:
    """Motion of a base from measured samples. Its state is the filters for derivatives.

    The motion is the specific force, angular velocity and angular acceleration at the origin of the root
    link, on its axes (see `model/fixed_base/driven_base.py`). An IMU measures specific force, acceleration
    minus gravity, so the direction of gravity need not be known. Odometry measures velocities and an
    orientation in a frame in which gravity is known.
    """

    def __init__(self, cutoff: float, max_gap: float) -> None:
        """Begin without samples.

        Args:
            cutoff: cutoff of the filters for derivatives (Hz); with 0, accelerations that need a derivative
                are 0.
            max_gap: time between samples beyond which the filters are reset (s).
        """
        self.cutoff = cutoff
        self._angular = DerivativeFilter(AXES, cutoff, max_gap=max_gap) if cutoff else None
        self._linear = DerivativeFilter(AXES, cutoff, max_gap=max_gap) if cutoff else None

    def reset(self) -> None:
        """Discard all samples."""
        for one in (self._angular, self._linear):
            if one is not None:
                one.reset()

    def of_imu(self, T_root_imu: Transform, t: float, w: Array, force: Array) -> Array:
        """Return the motion of the base from a sample of an IMU at time t (s), (9,).

        Args:
            T_root_imu: placement of the unit in the frame of the root link.
            w: angular velocity on the axes of the unit (rad/s).
            force: specific force on the axes of the unit (m/s^2): at rest and upright (0, 0, 9.81).
        """
        return self.at_root(T_root_imu, w, _derivative(self._angular, t, w), force)

    def of_odometry(
        self, T_root_base: Transform, t: float, R_world_base: Array, v: Array, w: Array, gravity: Array
    ) -> Array:
        """Return the motion of the base from a sample of odometry at time t (s), (9,).

        Args:
            T_root_base: placement of the measured frame in the frame of the root link.
            R_world_base: orientation of the measured frame.
            v: velocity of its origin on its axes (m/s).
            w: angular velocity on its axes (rad/s).
            gravity: acceleration of gravity on the axes of the world (m/s^2).
        """
        acceleration = _derivative(self._linear, t, v) + np.cross(w, v)
        force = acceleration - R_world_base.T @ gravity
        return self.at_root(T_root_base, w, _derivative(self._angular, t, w), force)

    def at_root(self, T_root_unit: Transform, w: Array, wd: Array, force: Array) -> Array:
        """Transform the motion of a point of the base to the origin of the root link."""
        R: Array = np.array(T_root_unit.R)
        p: Array = np.array(T_root_unit.p)
        w, wd = R @ w, R @ wd
        return np.concatenate((R @ force - np.cross(wd, p) - np.cross(w, np.cross(w, p)), w, wd))


def _derivative(over_time: DerivativeFilter | None, t: float, values: Array) -> Array:
    if over_time is None:
        return np.zeros(3)
    (rate,) = over_time.update(t, values)
    return rate
