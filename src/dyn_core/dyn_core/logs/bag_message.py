# SPDX-License-Identifier: Apache-2.0
"""What messages say of joints: names and, by quantity, one value a joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dyn_core.logs.units import EFFORT, POSITION, VELOCITY

COMMAND = "command"
"""Efforts that somebody asked for."""
DATA = "data"
"""Numbers without names, in the order of a controller's joints."""


@dataclass(frozen=True)
class JointValues:
    """What one message says.

    Attributes:
        names: names of the joints; empty for numbers without names.
        values: by quantity one value a joint; nothing where the message does not have it.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, Sequence[float]], ...]


Extract: TypeAlias = Callable[[Any], JointValues]


def _joint_state(message: Any) -> JointValues:
    return JointValues(
        tuple(message.name),
        ((POSITION, message.position), (VELOCITY, message.velocity), (EFFORT, message.effort)),
    )


def _joint_torques(message: Any) -> JointValues:
    return JointValues(tuple(message.name), ((COMMAND, message.total),))


def _controller_state(message: Any) -> JointValues:
    """Answer what was measured, which is called `actual` before ROS 2 Jazzy, and the output."""
    measured = getattr(message, "feedback", None) or message.actual
    output = getattr(message, "output", None)
    return JointValues(
        tuple(message.joint_names),
        (
            (POSITION, measured.positions),
            (VELOCITY, measured.velocities),
            (EFFORT, measured.effort),
            (COMMAND, () if output is None else output.effort),
        ),
    )


def _dynamic_joint_state(message: Any) -> JointValues:
    interfaces = [
        dict(zip(joint.interface_names, joint.values, strict=False)) for joint in message.interface_values
    ]
    nothing = float("nan")
    return JointValues(
        tuple(message.joint_names),
        tuple(
            (quantity, [values.get(quantity, nothing) for values in interfaces])
            for quantity in (POSITION, VELOCITY, EFFORT)
            if any(quantity in values for values in interfaces)
        ),
    )


def _numbers(message: Any) -> JointValues:
    return JointValues((), ((DATA, message.data),))


EXTRACT: dict[str, Extract] = {
    "sensor_msgs/msg/JointState": _joint_state,
    "dyn_msgs/msg/JointTorques": _joint_torques,
    "control_msgs/msg/JointTrajectoryControllerState": _controller_state,
    "control_msgs/msg/DynamicJointState": _dynamic_joint_state,
    "std_msgs/msg/Float64MultiArray": _numbers,
}
"""How each type of message is read."""
