# SPDX-License-Identifier: Apache-2.0
"""The motion of a base from messages, checked: what passes here may be computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import Imu

from dyn_core.control.felt_motion import AXES, orientation
from dyn_nodes.common.data_checks import culprit, plausible
from dyn_nodes.rejection import Rejection

Array = NDArray[np.float64]

_NOT_MEASURED = -1.0
"""First covariance of a quantity that an inertial measurement unit does not have (REP 145)."""


class ImuSample(NamedTuple):
    """What an inertial measurement unit shows, on its axes.

    Attributes:
        frame: name of its frame.
        w: angular velocity (rad/s), (3,).
        force: specific force (m/s^2), (3,).
    """

    frame: str
    w: Array
    force: Array


class OdometrySample(NamedTuple):
    """What an odometry shows.

    Attributes:
        frame: name of the frame that moves.
        R_world_frame: its orientation, (3, 3).
        v: velocity of its origin on its axes (m/s), (3,).
        w: angular velocity on its axes (rad/s), (3,).
    """

    frame: str
    R_world_frame: Array
    v: Array
    w: Array


def imu_sample(message: Imu) -> ImuSample:
    """Read what an inertial measurement unit shows; a Rejection if it cannot be used.

    Its orientation is not used: the specific force says where gravity comes from.
    """
    for quantity in ("angular_velocity", "linear_acceleration"):
        if getattr(message, f"{quantity}_covariance")[0] == _NOT_MEASURED:
            what = quantity.replace("_", " ")
            raise Rejection(f"IMU message says by its covariance that the {what} is not measured")
    if message.orientation_covariance[0] != _NOT_MEASURED:
        turn = message.orientation
        given = (turn.x, turn.y, turn.z, turn.w)
        if any(given):  # units without orientation often leave it at zero
            _orientation("IMU message", given)
    return ImuSample(
        _frame("IMU message", message.header.frame_id, "header.frame_id"),
        _vector("IMU message", "angular velocity", message.angular_velocity),
        _vector("IMU message", "linear acceleration", message.linear_acceleration),
    )


def odometry_sample(message: Odometry) -> OdometrySample:
    """Read what an odometry shows; a Rejection if it cannot be used."""
    turn = message.pose.pose.orientation
    twist = message.twist.twist
    return OdometrySample(
        _frame("odometry", message.child_frame_id, "child_frame_id"),
        _orientation("odometry", (turn.x, turn.y, turn.z, turn.w)),
        _vector("odometry", "linear velocity", twist.linear),
        _vector("odometry", "angular velocity", twist.angular),
    )


def _frame(what: str, name: str, field: str) -> str:
    if not name:
        raise Rejection(f"{what} has no {field}: it has to name the link that it is of")
    # Some publishers still write the slash of tf.
    return name.removeprefix("/")


def _orientation(what: str, quaternion: Sequence[float]) -> Array:
    try:
        return orientation(quaternion)
    except ValueError as problem:
        raise Rejection(f"{what}: {problem}", f"{what}: the quaternion is no rotation") from problem


def _vector(what: str, quantity: str, vector: object) -> Array:
    values = [getattr(vector, axis) for axis in AXES]
    if not plausible(values):
        k = culprit(values)
        raise Rejection(f"{what} has the {quantity} {values[k]} along {AXES[k]}")
    return np.array(values)
