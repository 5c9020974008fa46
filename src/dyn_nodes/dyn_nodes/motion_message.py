# SPDX-License-Identifier: Apache-2.0
"""Motions from messages: joint states, references, and the state of a joint_trajectory_controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.messages.joint_reader import JointReader, Numbers
from dyn_nodes.common.messages.joint_state_bytes import JointStates

NOTHING: Mapping[str, float] = MappingProxyType({})


class GivenMotion(NamedTuple):
    """A desired motion as far as a message gives it, in the order of the robot's joints.

    Attributes:
        q: positions (rad or m), (n,).
        qd: velocities (rad/s or m/s), (n,), or None.
        qdd: accelerations (rad/s^2 or m/s^2), (n,), or None.
        passive: positions of passive joints (rad or m), by name, of those that are given.
    """

    q: NDArray[np.float64]
    qd: NDArray[np.float64] | None
    qdd: NDArray[np.float64] | None
    passive: Mapping[str, float] = NOTHING


class MeasuredMotion(NamedTuple):
    """A measured motion, in the order of the robot's joints.

    Attributes:
        q: positions (rad or m), (n,).
        qd: velocities (rad/s or m/s), (n,), or None.
    """

    q: NDArray[np.float64]
    qd: NDArray[np.float64] | None


def measured_motion(message: JointStates, reader: JointReader, *, velocities: bool) -> MeasuredMotion:
    """Read a joint state, with velocities where they are wanted and measured; a Rejection if it is bad.

    joint_state_broadcaster says NaN where a driver does not measure the velocity.
    """
    q = reader.positions(message.name, message.position)
    if not velocities or not len(message.velocity):
        return MeasuredMotion(q, None)
    return MeasuredMotion(q, reader.values_or_none(message.velocity, "velocity"))


def reference_motion(message: Any, reader: JointReader) -> GivenMotion:
    """Read a dyn_msgs/JointReference; a Rejection if it cannot be used."""
    return _motion(reader, message.name, message.position, message.velocity, message.acceleration)


def read_motion(message: JointStates, reader: JointReader) -> GivenMotion:
    """Read a dyn_msgs/JointReference that was read as a joint state, which has the same bytes.

    What the one calls accelerations are the efforts of the other.
    """
    return _motion(reader, message.name, message.position, message.velocity, message.effort)


def controller_motion(message: Any, reader: JointReader) -> GivenMotion:
    """Read the desired state of a control_msgs/JointTrajectoryControllerState.

    It is the field `reference`, which was called `desired` before.
    """
    point = message.reference if hasattr(message, "reference") else message.desired
    return _motion(reader, message.joint_names, point.positions, point.velocities, point.accelerations)


def _motion(
    reader: JointReader,
    names: Sequence[str],
    positions: Numbers,
    velocities: Numbers,
    accelerations: Numbers,
) -> GivenMotion:
    return GivenMotion(
        reader.positions(names, positions),
        reader.values(velocities, "velocity") if len(velocities) else None,
        reader.values(accelerations, "acceleration") if len(accelerations) else None,
        reader.passive(positions),
    )
