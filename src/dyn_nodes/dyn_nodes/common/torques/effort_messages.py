# SPDX-License-Identifier: Apache-2.0
"""Joint efforts in messages: publishing torques, reading efforts and commands by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from dyn_core import DynError, Robot
from dyn_core.robot.robot import motor_of
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.data_checks import Rejection, plausible, worst_index
from dyn_nodes.common.decoding import STAMP, STAMP_AT
from dyn_nodes.common.messages.joint_state_bytes import MessageBytes, Stamp
from dyn_nodes.common.torques.output_stage import Output

TERMS = ("inertial", "coriolis", "gravity", "friction", "total")
"""Vectors of a JointTorques, in order; the status follows."""


class Outputs:
    """Publishes torques by name, and commands in the order of a controller, for one robot."""

    def __init__(
        self, robot: Robot, command_joints: Sequence[str], torques: Publisher, commands: Publisher
    ) -> None:
        """Prepare the messages of a robot; DynError where the commands cannot have this order."""
        names = list(robot.coordinate_names)
        self._torques, self._commands = torques, commands
        order = command_order(robot, command_joints)
        self._order = None if order == list(range(len(names))) else np.array(order, dtype=np.intp)
        message = JointTorques(name=names)
        self._message = MessageBytes(message, dict.fromkeys(TERMS, len(names)))
        self._inertial, self._coriolis, self._gravity, self._friction, self._total = map(
            self._message.vector, TERMS
        )
        self._status_at = self._message.byte("status")
        dimension = MultiArrayDimension(label="joints", size=len(order), stride=len(order))
        command = Float64MultiArray(layout=MultiArrayLayout(dim=[dimension]))
        self._command = MessageBytes(command, {"data": len(order)})
        self._data = self._command.vector("data")

    def publish(self, output: Output, stamp: Time | Stamp) -> None:
        """Publish torques, with the stamp of their input."""
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
    """Return the index in the robot's joints of each command joint, by default of all actuated joints.

    Controllers refuse commands of another length than their number of joints, and hold the last one.
    """
    names = robot.coordinate_names
    given = command_joints or robot.actuated_joint_names
    for k, name in enumerate(given):
        if name not in names:
            known: dict[str, Any] = {"robot": robot.name, "known": names}
            raise DynError("command-joint-unknown", joint=name, element=f"joint '{name}'", **known)
        if name in given[:k]:
            raise DynError("command-joint-repeated", joint=name, element=f"joint '{name}'")
        if name in robot.passive_joint_names:
            raise DynError("command-joint-passive", joint=name, element=f"joint '{name}'")
    return [names.index(name) for name in given]


class CommandOrder:
    """The order of joints in arrays of efforts without names: `names`."""

    def __init__(self, robot: Robot, command_joints: Sequence[str]) -> None:
        """Take the names, by default all actuated joints; DynError where they are unusable.

        The effort of a motor behind a spring is at the index of its joint, because the node `feedforward` and
        controllers know the joints of the links. Either name selects it.
        """
        motors = motor_of(robot)
        driven = {*robot.actuated_joint_names, *motors}.difference(motors.values())
        given = command_joints or [name for name in robot.coordinate_names if name in driven]
        self._columns = command_order(robot, [motors.get(name, name) for name in given])
        self.names = tuple(robot.coordinate_names[j] for j in self._columns)
        self._dof = robot.dof

    def efforts(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Return efforts (N m or N) in the order of the robot's joints, zero where none is given, (n,)."""
        if len(values) != len(self.names):
            known = ", ".join(self.names)
            raise Rejection("command-size", given=len(values), count=len(self.names), known=known)
        _check("command", self.names, values)
        efforts = np.zeros(self._dof)
        efforts[self._columns] = values
        return efforts


def with_motors(robot: Robot, names: Sequence[str]) -> list[str]:
    """Return the names, with motors instead of joints behind springs, unless both are named."""
    motors = motor_of(robot)
    if not motors:
        return list(names)
    return [motors[name] if name in motors and motors[name] not in names else name for name in names]


def named_efforts(
    what: str, joint_names: Sequence[str], names: Sequence[str], values: Sequence[float]
) -> NDArray[np.float64]:
    """Return efforts (N m or N) in the order of `joint_names`, zero for joints without a value, shape (n,).

    `what` is the message, as errors name it; `names` and `values` are its joints and their efforts.
    """
    if len(values) != len(names):
        raise Rejection("effort-counts-differ", message=what, names=len(names), count=len(values))
    by_joint = dict(zip(names, values, strict=True))
    if unknown := [name for name in by_joint if name not in joint_names]:
        raise Rejection("effort-joint-unknown", message=what, joint=unknown[0])
    if len(by_joint) < len(names):
        repeated = next(name for k, name in enumerate(names) if name in names[:k])
        raise Rejection("effort-joint-repeated", message=what, joint=repeated)
    _check(what, names, values)
    return np.array([by_joint.get(name, 0.0) for name in joint_names])


def _check(what: str, names: Sequence[str], values: Sequence[float]) -> None:
    if not plausible(values):
        k = worst_index(values)
        raise Rejection("effort-implausible", message=what, joint=names[k], given=values[k])
