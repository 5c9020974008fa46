# SPDX-License-Identifier: Apache-2.0
"""Serial chains with the constants of each formulation: links, placements, motion in frame 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Joint, MdhParameters, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, transform, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import QUARTER, Scalar, cos, cos_sin, sin
from dyn_core.symbolic.transform import IDENTITY, Transform, rot_z
from dyn_core.symbolic.vec3 import Vec3

Vector: TypeAlias = Sequence[Scalar]


class Angle(NamedTuple):
    """Cosine and sine of a constant angle."""

    c: Scalar
    s: Scalar


@dataclass(frozen=True)
class Link:
    """Link j, carried by link j - 1, with mass and inertia in every form that a formulation takes as given.

    Attributes:
        sigma: type of the joint.
        turned: placement by gamma and b, which only the first joint of a chain may have; else None.
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
    """Return links 1 to n of a robot, without friction and rotors.

    Raises:
        DynError: the robot is not a chain of bodies.
    """
    if not robot.joints:
        raise DynError("robot-without-joints", robot=robot.name)
    for j, joint in enumerate(robot.joints, start=1):
        if joint.antecedent != j - 1:
            raise DynError(
                "robot-branched", robot=robot.name, joint=joint.name, element=f"joint '{joint.name}'"
            )
    return tuple(_link(robot, j) for j in range(1, len(robot.joints) + 1))


def _link(robot: Robot, j: int) -> Link:
    joint, body = robot.joints[j - 1], robot.bodies[j]
    mdh = joint.mdh
    if body.M == 0.0 and any(body.MS):
        raise DynError("body-without-mass", joint=joint.name, element=f"joint '{joint.name}'")
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


# Chains of any length for operation counts: in general position, and of a real arm

Symbol = Callable[[str], Scalar]
"""Function that returns the value of a constant by its name."""


def general_chain(n: int, symbol: Symbol) -> Chain:
    """Return n links with revolute joints whose constants are all symbols, none of them 0."""
    return tuple(_general_link(j, symbol) for j in range(1, n + 1))


def _general_link(j: int, symbol: Symbol) -> Link:
    def value(name: str) -> Scalar:
        return symbol(f"{name}{j}")

    def vector(name: str) -> Vec3:
        return value(f"{name}X"), value(f"{name}Y"), value(f"{name}Z")

    def symmetric(name: str) -> Mat3:
        XX, XY, XZ, YY, YZ, ZZ = (value(name + axes) for axes in ("XX", "XY", "XZ", "YY", "YZ", "ZZ"))
        return (XX, XY, XZ), (XY, YY, YZ), (XZ, YZ, ZZ)

    alpha = Angle(value("ca"), value("sa"))
    mass = (value("M"), vector("M"), vector("C"), symmetric("I"), symmetric("J"), symmetric("S"))
    return Link(Sigma.REVOLUTE, None, alpha, value("d"), None, value("r"), *mass)


def general_robot(n: int, symbol: Symbol) -> Robot:
    """Return a robot like `general_chain`, with numbers without special values for its geometry."""
    joints = []
    for j in range(1, n + 1):
        mdh = MdhParameters(0.0, 0.0, alpha=0.5 + 0.1 * j, d=0.3 + 0.01 * j, theta=0.0, r=0.2 + 0.01 * j)
        joints.append(Joint(f"j{j}", j - 1, Sigma.REVOLUTE, mdh, vec3.ZERO))
    bodies = (InertialParameters(), *(link.body for link in general_chain(n, symbol)))
    return Robot(f"general_{n}", tuple(joints), bodies, (), general_gravity(symbol), IDENTITY, "")


def general_gravity(symbol: Symbol) -> Vec3:
    """Return symbols for the acceleration of gravity in frame 0."""
    return symbol("GX"), symbol("GY"), symbol("GZ")


def continued(arm: Robot, n: int) -> Robot:
    """Return n joints of an arm, repeated at a quarter turn and 0.1 m beyond its last joint.

    Friction and rotors are omitted.
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


# Matrices of scalars: all products are computed, including those with zeros

Matrix: TypeAlias = npt.NDArray[np.object_]


def matrix(rows: Iterable[object]) -> Matrix:
    """Return rows, or the entries of a vector, as a matrix whose operators are those of its scalars."""
    return np.array([*rows], dtype=object)


def trace(a: Matrix) -> Scalar:
    """Sum of the diagonal."""
    return a.diagonal().sum()


# Placements of links and their derivatives


def placement(link: Link, q: Scalar) -> Transform:
    """Placement iTj of link j in link i = j - 1: SYMORO+ 2003, eq. (1.3), multiplied out."""
    (ca, sa), r = link.alpha, link.r
    if link.sigma is Sigma.REVOLUTE:
        c, s = cos(q), sin(q)
        if link.theta is not None:
            c, s = c * link.theta.c - s * link.theta.s, s * link.theta.c + c * link.theta.s
    else:
        c, s = link.theta or (1.0, 0.0)
        r = r + q
    R = ((c, -s, 0.0), (ca * s, ca * c, -sa), (sa * s, sa * c, ca))
    T = Transform(R, (link.d, -(sa * r), ca * r))
    return T if link.turned is None else transform.compose(link.turned, T)


def placements(chain: Chain, q: Vector) -> list[Transform]:
    """Placements of the links 1 to n, each in the link before it."""
    return [placement(link, q_j) for link, q_j in zip(chain, q, strict=True)]


def homogeneous(T: Transform) -> Matrix:
    """The 4 x 4 matrix of a placement."""
    return matrix([*((*row, x) for row, x in zip(T.R, T.p, strict=True)), (0.0, 0.0, 0.0, 1.0)])


def derived(W: Matrix, sigma: Sigma) -> Matrix:
    """Derivative of a 4 x 4 placement W_j with respect to the position of joint j.

    The columns are permuted: a revolute joint turns x_j into y_j and y_j into -x_j; a prismatic joint moves
    O_j along z_j.
    """
    x, y, z, _ = W.T
    zero = (0.0, 0.0, 0.0, 0.0)
    columns = (y, -x, zero, zero) if sigma is Sigma.REVOLUTE else (zero, zero, zero, z)
    return matrix(zip(*columns, strict=True))


# Motion of the links in frame 0


class BaseFrameMotion(NamedTuple):
    """Motion of link i in frame 0.

    Attributes:
        z: axis of its joint.
        p: position of O_i (m).
        r: position of its centre of mass (m).
        inertia: inertia matrix about the centre of mass (kg m^2).
        force: total force for its motion and against gravity (N).
        moment: total moment for its motion about the centre of mass (N m): Silver 1981, eq. (1.3).
    """

    z: Vec3
    p: Vec3
    r: Vec3
    inertia: Mat3
    force: Vec3
    moment: Vec3


def base_frame_motions(
    chain: Chain, q: Vector, qd: Vector, qdd: Vector | None, gravity_0: Vec3
) -> list[BaseFrameMotion]:
    """Motions of the links; if qdd is None, accelerations are 0 without computation."""
    moved: list[BaseFrameMotion] = []
    D, p, w, wd, vd = mat3.IDENTITY, vec3.ZERO, vec3.ZERO, vec3.ZERO, vec3.neg(gravity_0)
    for j, (link, T) in enumerate(zip(chain, placements(chain, q), strict=True)):
        step = mat3.mul_vec(D, T.p)
        vd = vec3.add(vd, relative_acceleration(w, wd, step))
        p = vec3.add(p, step)
        D = mat3.mul(D, T.R)
        z = mat3.column(D, 2)
        speed = vec3.scale(qd[j], z)
        if link.sigma is Sigma.REVOLUTE:
            wd = vec3.add(wd, vec3.cross(w, speed))
            wd = wd if qdd is None else vec3.add(wd, vec3.scale(qdd[j], z))
            w = vec3.add(w, speed)
        else:
            vd = vec3.add(vd, vec3.scale(2.0, vec3.cross(w, speed)))
            vd = vd if qdd is None else vec3.add(vd, vec3.scale(qdd[j], z))
        arm = mat3.mul_vec(D, link.c)
        inertia = mat3.mul(mat3.mul(D, link.inertia), mat3.transpose(D))
        vd_cm = vec3.add(vd, relative_acceleration(w, wd, arm))  # Kvrgic-Vidakovic, eq. (4)
        force = vec3.scale(link.m, vd_cm)
        moved.append(BaseFrameMotion(z, p, vec3.add(p, arm), inertia, force, euler_moment(inertia, w, wd)))
    return moved


def euler_moment(inertia: Mat3, w: Vec3, wd: Vec3) -> Vec3:
    """Moment about the centre of mass that turns a body (N m): Silver 1981, eq. (1.3)."""
    gyroscopic = vec3.cross(w, mat3.mul_vec(inertia, w))
    return vec3.add(mat3.mul_vec(inertia, wd), gyroscopic)


def relative_acceleration(w: Vec3, wd: Vec3, r: Vec3) -> Vec3:
    """Acceleration of a point of a body relative to another: ``wd x r + w x (w x r)``."""
    return vec3.add(vec3.cross(wd, r), vec3.cross(w, vec3.cross(w, r)))
