# SPDX-License-Identifier: Apache-2.0
"""What the node `feedforward` publishes at each cycle, in bytes that are made once and filled again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from dyn_core import DynError, Robot
from dyn_core.core.errors import listed
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.messages.joint_state_bytes import Stamp
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.message_bytes import STAMP, STAMP_AT, MessageBytes

TERMS = ("inertial", "coriolis", "gravity", "friction", "total")
"""Vectors of a JointTorques, in order; the status comes next."""


class Outputs:
    """Torques by name, and commands in the order of a controller, for one robot."""

    def __init__(
        self, robot: Robot, command_joints: Sequence[str], torques: Publisher, commands: Publisher
    ) -> None:
        """Publish for a robot; DynError where the commands cannot be in this order."""
        names = list(robot.coordinate_names)
        self._torques, self._commands = torques, commands
        order = command_order(robot, command_joints)
        self._order = None if order == list(range(len(names))) else np.array(order, dtype=np.intp)
        message = JointTorques(name=names)
        self._message = MessageBytes(message, dict.fromkeys(TERMS, len(names)))
        self._inertial, self._coriolis, self._gravity, self._friction, self._total = map(
            self._message.vector, TERMS
        )
        self._status_at = self._message.end
        dimension = MultiArrayDimension(label="joints", size=len(order), stride=len(order))
        command = Float64MultiArray(layout=MultiArrayLayout(dim=[dimension]))
        self._command = MessageBytes(command, {"data": len(order)})
        self._data = self._command.vector("data")

    def publish(self, output: Output, stamp: Time | Stamp) -> None:
        """Publish torques, with the stamp of what they follow from."""
        raw, terms, total = self._message.raw, output.terms, output.total
        STAMP.pack_into(raw, STAMP_AT, stamp.sec, stamp.nanosec)
        self._inertial[:] = terms.inertial
        self._coriolis[:] = terms.coriolis
        self._gravity[:] = terms.gravity
        self._friction[:] = terms.friction
        self._total[:] = total
        raw[self._status_at] = output.status
        self._torques.publish(bytes(raw))
        self._data[:] = total if self._order is None else total[self._order]
        self._commands.publish(bytes(self._command.raw))


def command_order(robot: Robot, command_joints: Sequence[str]) -> list[int]:
    """Answer where in the robot's joints those of the commands are, all with an actuator if none are named.

    Controllers refuse commands of another length than they have joints, and hold what they got last.
    """
    names = robot.coordinate_names
    wanted = command_joints or robot.actuated_joint_names
    for k, name in enumerate(wanted):
        if name not in names:
            raise DynError(
                f"command_joints names '{name}', which the robot '{robot.name}' does not have: "
                f"its joints are {listed(names)}",
                element=f"joint '{name}'",
            )
        if name in wanted[:k]:
            raise DynError(f"command_joints names '{name}' twice", element=f"joint '{name}'")
        if name in robot.passive_joint_names:
            raise DynError(f"command_joints names '{name}', which has no actuator", element=f"joint '{name}'")
    return [names.index(name) for name in wanted]
