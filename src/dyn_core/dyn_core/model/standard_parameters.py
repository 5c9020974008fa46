# SPDX-License-Identifier: Apache-2.0
"""The dynamic parameters of a robot as one vector, with their names.

For each joint j: the ten inertial parameters of body j, ``XXj XYj XZj YYj YZj ZZj MXj MYj MZj Mj``,
then ``Iaj Fvj Fsj Foj``. The base does not move and has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.linalg.scalar import Scalar
from dyn_core.model.inertial_parameters import InertialParameters
from dyn_core.model.joint import Friction
from dyn_core.model.robot import Robot

INERTIAL = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
OF_JOINT = ("Ia", "Fv", "Fs", "Fo")
PER_JOINT = len(INERTIAL) + len(OF_JOINT)


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Names of the 14 n standard parameters."""
    return tuple(f"{name}{j}" for j in range(1, len(robot.joints) + 1) for name in (*INERTIAL, *OF_JOINT))


def parameter_values(robot: Robot) -> list[Scalar]:
    """Values of the 14 n standard parameters, in the order of their names."""
    values: list[Scalar] = []
    for joint, body in zip(robot.joints, robot.bodies[1:], strict=True):
        friction = joint.friction
        values += [*body.values, joint.Ia, friction.Fv, friction.Fs, friction.Fo]
    return values


def with_parameters(robot: Robot, values: Sequence[Scalar]) -> Robot:
    """Answer the same robot with other standard parameters, numbers or symbols.

    Args:
        robot: the robot.
        values: 14 n values, in the order of the names.
    """
    bodies = [robot.bodies[0]]
    joints = []
    for j, joint in enumerate(robot.joints):
        own = values[PER_JOINT * j : PER_JOINT * (j + 1)]
        bodies.append(InertialParameters(*own[: len(INERTIAL)]))
        Ia, Fv, Fs, Fo = own[len(INERTIAL) :]
        joints.append(replace(joint, Ia=Ia, friction=Friction(Fv, Fs, Fo)))
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints))
