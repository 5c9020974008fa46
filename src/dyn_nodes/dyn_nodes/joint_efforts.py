# SPDX-License-Identifier: Apache-2.0
"""Efforts from messages, checked, in the order of the joints of a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dyn_core.model.motor_of import motor_of
from dyn_core.robot.robot import Robot
from dyn_nodes.common.data_checks import culprit, plausible
from dyn_nodes.common.torques.effort_messages import command_order
from dyn_nodes.rejection import Rejection


class CommandOrder:
    """The order of joints in arrays of efforts without names.

    Attributes:
        names: the joints, in the order of the arrays.
    """

    def __init__(self, robot: Robot, command_joints: Sequence[str]) -> None:
        """Take the names, or all actuated joints; DynError where they will not do.

        The place of a motor behind a spring is that of the joint that it moves, as in the arrays of the node
        `feedforward` and of controllers, which know the joints of the links; either name stands for it.
        """
        motors = motor_of(robot)
        driven = {*robot.actuated_joint_names, *motors}.difference(motors.values())
        given = command_joints or [name for name in robot.coordinate_names if name in driven]
        self._columns = command_order(robot, [motors.get(name, name) for name in given])
        self.names = tuple(robot.coordinate_names[j] for j in self._columns)
        self._dof = robot.dof

    def efforts(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Answer efforts (N m or N) in the order of the robot's joints, zero for the others, shape (n,)."""
        if len(values) != len(self.names):
            raise Rejection(
                f"command has {len(values)} values, but there are {len(self.names)} joints: "
                f"{', '.join(self.names)}"
            )
        _check("command", self.names, values)
        efforts = np.zeros(self._dof)
        efforts[self._columns] = values
        return efforts


def with_motors(robot: Robot, names: Sequence[str]) -> list[str]:
    """Answer names of joints with those of motors for joints behind springs, unless both are named."""
    motors = motor_of(robot)
    if not motors:
        return list(names)
    return [motors[name] if name in motors and motors[name] not in names else name for name in names]


def named_efforts(
    what: str, joint_names: Sequence[str], names: Sequence[str], values: Sequence[float]
) -> NDArray[np.float64]:
    """Answer efforts (N m or N) in the order of `joint_names`, zero for those that are not named, shape (n,).

    Args:
        what: the message, for sentences: "torques".
        joint_names: the joints of the robot.
        names: joints of the message.
        values: their efforts.
    """
    if len(values) != len(names):
        raise Rejection(f"{what} have {len(names)} names but {len(values)} values")
    index = {name: j for j, name in enumerate(joint_names)}
    efforts = np.zeros(len(index))
    seen: set[str] = set()
    for name in names:
        if name not in index:
            raise Rejection(f"{what} name joint '{name}', which the robot does not have")
        if name in seen:
            raise Rejection(f"{what} name joint '{name}' more than once")
        seen.add(name)
    _check(what, names, values)
    for name, value in zip(names, values, strict=True):
        efforts[index[name]] = value
    return efforts


def _check(what: str, names: Sequence[str], values: Sequence[float]) -> None:
    if not plausible(values):
        k = culprit(values)
        raise Rejection(f"{what}: the value of joint '{names[k]}' is {values[k]}")
