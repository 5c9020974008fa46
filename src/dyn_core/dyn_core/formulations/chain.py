# SPDX-License-Identifier: Apache-2.0
"""A link of a chain, with the constants that each formulation wants of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dyn_core.core.errors import DynError
from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.transform import rot_z
from dyn_core.symbolic.vec3 import Vec3


class Angle(NamedTuple):
    """Cosine and sine of a constant angle."""

    c: Scalar
    s: Scalar


@dataclass(frozen=True)
class Link:
    """Link j, whose joint is carried by link j - 1; 0 is the base.

    Mass and inertia come in every form that a formulation computes with, since each of them may take
    constants as given.

    Attributes:
        sigma: type of the joint.
        turned: placement by gamma and b, which chains need for their first joint at most; None for none.
        alpha: angle from z_i to z_j about x_i.
        d: distance from z_i to z_j (m).
        theta: angle from x_i to x_j about z_j at q = 0; None for 0.
        r: distance from x_i to x_j along z_j at q = 0 (m).
        m: mass (kg).
        mc: first moments about O_j (kg m).
        c: centre of mass in frame j (m).
        inertia: inertia matrix about the centre of mass (kg m^2).
        J: inertia matrix about O_j (kg m^2).
        spread: integral of ``r r^T dm`` about O_j, Silver 1981, eq. (2.7) (kg m^2).
    """

    sigma: Sigma
    turned: Transform | None
    alpha: Angle
    d: Scalar
    theta: Angle | None
    r: Scalar
    m: Scalar
    mc: Vec3
    c: Vec3
    inertia: Mat3
    J: Mat3
    spread: Mat3

    @property
    def body(self) -> InertialParameters:
        """The ten standard parameters, about O_j."""
        (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = self.J
        return InertialParameters(XX, XY, XZ, YY, YZ, ZZ, *self.mc, self.m)


Chain: TypeAlias = tuple[Link, ...]


def chain_of(robot: Robot) -> Chain:
    """Links 1 to n of a robot, without friction and rotors; DynError where it is no chain of bodies."""
    if not robot.joints:
        raise DynError(f"robot '{robot.name}' has no joints: there is nothing to count or compare")
    for j, joint in enumerate(robot.joints, start=1):
        if joint.antecedent != j - 1:
            raise DynError(
                f"robot '{robot.name}' is no chain: joint '{joint.name}' is a branch. The representations "
                "are written for chains",
                element=f"joint '{joint.name}'",
            )
    return tuple(_link(robot, j) for j in range(1, len(robot.joints) + 1))


def _link(robot: Robot, j: int) -> Link:
    joint, body = robot.joints[j - 1], robot.bodies[j]
    mdh = joint.mdh
    if body.M == 0.0 and any(body.MS):
        raise DynError(
            f"the link of joint '{joint.name}' has first moments and no mass, as grouped parameters have: "
            "formulations about the centre of mass need the standard parameters",
            element=f"joint '{joint.name}'",
        )
    moves = mdh.gamma != 0.0 or mdh.b != 0.0
    c = vec3.scale(1.0 / body.M, body.MS) if body.M != 0.0 else vec3.ZERO
    about_c = mat3.add(body.J, mat3.scale(body.M, mat3.skew_squared(c)))
    half = 0.5 * (body.XX + body.YY + body.ZZ)
    return Link(
        joint.sigma,
        Transform(rot_z(mdh.gamma), (0.0, 0.0, mdh.b)) if moves else None,
        Angle(*cos_sin(mdh.alpha)),
        mdh.d,
        Angle(*cos_sin(mdh.theta)) if mdh.theta != 0.0 else None,
        mdh.r,
        body.M,
        body.MS,
        c,
        about_c,
        body.J,
        mat3.add(mat3.scale(half, mat3.IDENTITY), mat3.scale(-1.0, body.J)),  # Silver 1981, eq. (2.11)
    )
