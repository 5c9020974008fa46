# SPDX-License-Identifier: Apache-2.0
"""The motion of a moving base, from IMU or odometry messages.

Times t are those of stamps, times `now` those of a steady clock (both s).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu

from dyn_core import DynError, Robot
from dyn_core.control.laws.base_measurement import AXES, BaseMotionFilter, mount, orientation
from dyn_core.core.arrays import Array
from dyn_core.symbolic.transform import Transform
from dyn_nodes.common.data_checks import Rejection, plausible, worst_index
from dyn_nodes.feedforward.parameters import BaseSettings

_NOT_MEASURED = -1.0
"""First covariance of a quantity that an inertial measurement unit does not measure (REP 145)."""


def _imu_sample(message: Imu) -> tuple[str, Array, Array]:
    """Return frame, angular velocity (rad/s) and specific force (m/s^2) on its axes; Rejection if unusable.

    The orientation is not used: the specific force gives the direction of gravity.
    """
    for quantity in ("angular_velocity", "linear_acceleration"):
        if getattr(message, f"{quantity}_covariance")[0] == _NOT_MEASURED:
            raise Rejection("imu-quantity-not-measured", quantity=quantity.replace("_", " "))
    if message.orientation_covariance[0] != _NOT_MEASURED:
        turn = message.orientation
        given = (turn.x, turn.y, turn.z, turn.w)
        if any(given):  # units without orientation often leave it at zero
            _orientation("IMU message", given)
    return (
        _frame("IMU message", message.header.frame_id, "header.frame_id"),
        _vector("IMU message", "angular velocity", message.angular_velocity),
        _vector("IMU message", "linear acceleration", message.linear_acceleration),
    )


def _odometry_sample(message: Odometry) -> tuple[str, Array, Array, Array]:
    """Return frame, orientation (3, 3), velocities (m/s, rad/s) on its axes; Rejection if unusable."""
    turn = message.pose.pose.orientation
    twist = message.twist.twist
    return (
        _frame("odometry", message.child_frame_id, "child_frame_id"),
        _orientation("odometry", (turn.x, turn.y, turn.z, turn.w)),
        _vector("odometry", "linear velocity", twist.linear),
        _vector("odometry", "angular velocity", twist.angular),
    )


def _frame(what: str, name: str, field: str) -> str:
    if not name:
        raise Rejection("frame-missing", message=what, field=field)
    # Some publishers still write the leading slash of tf.
    return name.removeprefix("/")


def _orientation(what: str, quaternion: Sequence[float]) -> Array:
    try:
        return orientation(quaternion)
    except ValueError as problem:
        raise Rejection("orientation-invalid", message=what, cause=problem) from problem


def _vector(what: str, quantity: str, vector: object) -> Array:
    values = [getattr(vector, axis) for axis in AXES]
    if not plausible(values):
        k = worst_index(values)
        raise Rejection("vector-implausible", message=what, quantity=quantity, given=values[k], axis=AXES[k])
    return np.array(values)


TOPICS = {"imu": "~/base_imu", "odometry": "~/base_odometry"}
"""Topic of the motion of the base, by source."""


class BaseUnknown(Rejection):
    """The motion of the base is unknown, so good joint states give no torques."""


class BaseMotion:
    """Angular velocity and accelerations of the base of a robot. State: the last sample, and filters."""

    def __init__(self, robot: Robot, settings: BaseSettings, timeout: float) -> None:
        """Begin without samples; samples older than `timeout` (s) are stale."""
        self._robot = robot
        self._timeout = timeout
        self._topic = TOPICS[settings.source]
        self._felt = BaseMotionFilter(settings.derivative_cutoff, max_gap=timeout)
        self._mounts: dict[str, Transform] = {}
        self._motion: Array | None = None
        self._t = -math.inf
        self._at = -math.inf

    def restart(self) -> None:
        """Forget all samples."""
        self._felt.reset()
        self._motion, self._t, self._at = None, -math.inf, -math.inf

    def forget_time(self) -> None:
        """Go on after the clock of the stamps was set."""
        self._felt.reset()
        self._t = -math.inf

    def take(self, message: Imu | Odometry, t: float, now: float) -> None:
        """Take a message of stamp t; Rejection where it cannot be used."""
        if isinstance(message, Imu):
            frame, *measured = _imu_sample(message)
            felt = self._felt.of_imu
        else:
            frame, *measured = _odometry_sample(message)
            felt = partial(self._felt.of_odometry, gravity=np.array(self._robot.gravity))
        T = self._mount(frame)
        if now - self._at > self._timeout:
            self.forget_time()
        if t <= self._t:
            raise Rejection("message-out-of-order", message="the motion of the base", time=self._t - t)
        self._motion = felt(T, t, *measured)
        self._t, self._at = t, now

    def present(self, now: float) -> Array:
        """Return the motion of the base, (9,); BaseUnknown where there is no recent sample."""
        if self._motion is None:
            raise BaseUnknown("base-motion-missing", topic=self._topic)
        age = now - self._at
        if age > self._timeout:
            raise BaseUnknown("base-motion-stale", topic=self._topic, age=age)
        return self._motion

    def last(self) -> Array | None:
        """Return the motion with the last specific force and without rotation; None before any sample."""
        if self._motion is None:
            return None
        return np.concatenate((self._motion[:3], np.zeros(6)))

    def words(self, now: float) -> str:
        """Return the age of the last sample as text, for /diagnostics."""
        if self._motion is None:
            return "nothing has come"
        state = "stale" if now - self._at > self._timeout else "good"
        return f"{state}, {max(now - self._at, 0.0):.2f} s old"

    def _mount(self, frame: str) -> Transform:
        """Return the placement of a frame on the base."""
        if frame not in self._mounts:
            try:
                self._mounts[frame] = mount(self._robot, frame)
            except DynError as problem:
                raise Rejection("base-frame-unusable", frame=frame, cause=problem) from problem
        return self._mounts[frame]
