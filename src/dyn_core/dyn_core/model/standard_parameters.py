# SPDX-License-Identifier: Apache-2.0
"""The dynamic parameters of a robot as one vector, with their names.

For each joint j: the ten inertial parameters of body j, ``XXj XYj XZj YYj YZj ZZj MXj MYj MZj Mj``,
then ``Iaj Fvj Fsj Foj``. The base does not move and has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.robot.joints import Friction, Joint
from dyn_core.robot.links import InertialParameters
from dyn_core.symbolic.scalar import Scalar

INERTIAL = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
OF_JOINT = ("Ia", "Fv", "Fs", "Fo")
PER_JOINT = len(INERTIAL) + len(OF_JOINT)


def parameter_names(joints: int) -> tuple[str, ...]:
    """Names of the 14 n standard parameters of n joints."""
    return tuple(f"{name}{j}" for j in range(1, joints + 1) for name in (*INERTIAL, *OF_JOINT))


def parameter_values(joints: Sequence[Joint], bodies: Sequence[InertialParameters]) -> tuple[Scalar, ...]:
    """Values of the 14 n standard parameters of joints and the bodies 1 to n that they carry."""
    values: list[Scalar] = []
    for joint, body in zip(joints, bodies, strict=True):
        friction = joint.friction
        values += [*body.values, joint.Ia, friction.Fv, friction.Fs, friction.Fo]
    return tuple(values)


def parametrised(
    joints: Sequence[Joint], values: Sequence[Scalar]
) -> tuple[tuple[Joint, ...], tuple[InertialParameters, ...]]:
    """Answer the joints, and the bodies 1 to n, that have these 14 n values, numbers or symbols."""
    of_joints, bodies = [], []
    for j, joint in enumerate(joints):
        own = values[PER_JOINT * j : PER_JOINT * (j + 1)]
        Ia, Fv, Fs, Fo = own[len(INERTIAL) :]
        of_joints.append(replace(joint, Ia=Ia, friction=Friction(Fv, Fs, Fo)))
        bodies.append(InertialParameters(*own[: len(INERTIAL)]))
    return tuple(of_joints), tuple(bodies)
