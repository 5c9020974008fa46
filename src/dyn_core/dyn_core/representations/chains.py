# SPDX-License-Identifier: Apache-2.0
"""Chains of any length in which operations are counted: in general position, and of a real arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dyn_core.formulations.chain import Angle, Chain, Link
from dyn_core.linalg.angle import QUARTER
from dyn_core.linalg.transform import IDENTITY
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

Symbol = Callable[[str], Scalar]
"""Answers the value of a constant by its name."""


def general_chain(n: int, symbol: Symbol) -> Chain:
    """Answer n links with revolute joints of which no constant is known, or 0."""
    return tuple(_general_link(j, symbol) for j in range(1, n + 1))


def _general_link(j: int, symbol: Symbol) -> Link:
    def value(name: str) -> Scalar:
        return symbol(f"{name}{j}")

    def vector(name: str) -> Vec3:
        return value(f"{name}X"), value(f"{name}Y"), value(f"{name}Z")

    def symmetric(name: str) -> Mat3:
        XX, XY, XZ, YY, YZ, ZZ = (value(f"{name}{axes}") for axes in ("XX", "XY", "XZ", "YY", "YZ", "ZZ"))
        return (XX, XY, XZ), (XY, YY, YZ), (XZ, YZ, ZZ)

    return Link(
        Sigma.REVOLUTE,
        None,
        Angle(value("ca"), value("sa")),
        value("d"),
        None,
        value("r"),
        value("M"),
        vector("M"),
        vector("C"),
        symmetric("I"),
        symmetric("J"),
        symmetric("S"),
    )


def general_robot(n: int, symbol: Symbol) -> Robot:
    """Answer a robot like `general_chain`: of its geometry, numbers of which none is special."""
    joints = tuple(
        Joint(
            f"j{j}",
            j - 1,
            Sigma.REVOLUTE,
            MdhParameters(
                gamma=0.0, b=0.0, alpha=0.5 + 0.1 * j, d=0.3 + 0.01 * j, theta=0.0, r=0.2 + 0.01 * j
            ),
            vec3.ZERO,
        )
        for j in range(1, n + 1)
    )
    base = InertialParameters()
    bodies = tuple(_general_link(j, symbol).body for j in range(1, n + 1))
    gravity = (symbol("GX"), symbol("GY"), symbol("GZ"))
    return Robot(f"general_{n}", joints, (base, *bodies), (), gravity, IDENTITY, "")


def continued(arm: Robot, n: int) -> Robot:
    """Answer n joints of an arm, which goes on with itself, a quarter turn and 0.1 m beyond its last joint.

    Friction and rotors are left out.
    """
    joints: list[Joint] = []
    for j in range(n):
        joint = arm.joints[j % len(arm.joints)]
        mdh = joint.mdh
        if j > 0 and j % len(arm.joints) == 0:
            mdh = replace(mdh, gamma=0.0, b=0.0, alpha=QUARTER, d=0.1)
        joints.append(Joint(f"j{j + 1}", j, joint.sigma, mdh, joint.origin))
    bodies = tuple(arm.bodies[1 + j % len(arm.joints)] for j in range(n))
    return replace(
        arm, name=f"{arm.name}_{n}", joints=tuple(joints), bodies=(arm.bodies[0], *bodies), link_frames=()
    )
