# SPDX-License-Identifier: Apache-2.0
"""Robots with a moving base (Khalil 2010, sec. 7): the choice of the base, and its placement.

A planar or floating joint of a URDF is a chain of simple joints (`urdf.conversion`), which is recognised by
their names and by links without mass between them. If such a chain is all that the root carries, its last
link is the base, and neither the chain nor the root is needed. Otherwise the root is the base.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.robot.description import PART_NAMES
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.joints import Friction, Joint, Sigma
from dyn_core.robot.links import InertialParameters, LinkFrame
from dyn_core.robot.mdh.direct_geometry import link_placements
from dyn_core.robot.mdh.frames import ROUNDING, clean_vector
from dyn_core.robot.robot import BASE_KINDS, BaseKind, Robot, refuse_springs
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, cos, sin
from dyn_core.symbolic.transform import IDENTITY, Transform, inverse, rotation_matrix
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class MovingBase:
    """A robot as a tree on its base, which moves in the world.

    Attributes:
        robot: the tree: body 0 is the base, and its root link the link of the base. `Robot.gravity` is the
            acceleration of gravity in the world (m/s^2).
        kind: motion of the base.
        T_world_plane: placement of the frame of a planar base with x, y and the angle at 0. The base moves
            in the xy-plane of this frame, and its origin is that of the link of the base.
        R_link_plane: the axes of that frame on those of the link of the base.
    """

    robot: Robot
    kind: BaseKind
    T_world_plane: Transform
    R_link_plane: Mat3

    @property
    def link(self) -> LinkFrame:
        """Frame of the link of the base."""
        return self.robot.link_frames[0]

    @property
    def freedom(self) -> int:
        """Size of a velocity of the base: 6, or 3 for a planar base."""
        return 3 if self.kind == "planar" else 6

    @property
    def pose_size(self) -> int:
        """Size of a pose of the base: 7 with position and quaternion, or 3 with x, y and the angle."""
        return 3 if self.kind == "planar" else 7

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.name

    @property
    def gravity(self) -> Vec3:
        """Acceleration of gravity in the world (m/s^2)."""
        return self.robot.gravity

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the dynamic parameters: XX0 to M0 of the base, then 14 for each joint."""
        return (*(f"{name}0" for name in INERTIAL), *self.robot.parameter_names)

    @property
    def parameters(self) -> tuple[float, ...]:
        """Values of the dynamic parameters, in the order of their names (SI units)."""
        return (*self.robot.bodies[0].values, *self.robot.parameters)


def base_body(values: tuple[float, ...]) -> InertialParameters:
    """Return the inertial parameters of a base, the first of `MovingBase.parameters`."""
    return InertialParameters(*values[: len(INERTIAL)])


# The choice of the base, and the rest of the robot as a tree on it

_SIGMAS = {
    "planar": (Sigma.PRISMATIC,) * 2 + (Sigma.REVOLUTE,),
    "floating": (Sigma.PRISMATIC,) * 3 + (Sigma.REVOLUTE,) * 3,
}
_KIND: dict[str, BaseKind] = {"planar": "planar", "floating": "free"}


class _RootJoint(NamedTuple):
    """The planar or floating joint at the root: its type, its name in the URDF, and its number of parts."""

    type: str
    name: str
    parts: int


def moving_base(robot: Robot, kind: BaseKind | None = None) -> MovingBase:
    """Return a robot as a tree on a base that moves.

    Args:
        robot: the robot.
        kind: motion of the base; None for that of its side file, or of the planar or floating joint at its
            root. With ``"planar"`` and no planar joint at the root, the base moves in the xy-plane of its
            link.

    Raises:
        DynError: the motion of the base is unknown, or the robot cannot be such a tree.
    """
    if not isinstance(robot, Robot):
        raise ArgumentError("robot-type", given=type(robot).__name__)
    if kind is not None and not (isinstance(kind, str) and kind in BASE_KINDS):
        known = "'free', 'planar', 'given' or None"
        raise ArgumentError("argument-choice-unknown", argument="base", known=known, given=kind)
    refuse_springs(robot, "a model with a moving base")
    if robot.loops:
        raise DynError("moving-base-with-loops", robot=robot.name, element=f"loop '{robot.loops[0].name}'")
    root = _root_joint(robot)
    if kind is None:
        kind = robot.base or (_KIND[root.type] if root else None)
    if root is not None:
        _check(robot, root)
    if kind is None:
        raise DynError("base-kind-missing", robot=robot.name)
    plane = (IDENTITY, mat3.IDENTITY)
    if kind == "planar" and root and root.type == "planar":
        plane = _plane_at_root(robot, root)
    tree = robot if root is None else _tree_on(robot, root)
    return MovingBase(replace(tree, T_root_0=_clean(tree.T_root_0), base=None), kind, *plane)


class DeclaredBase(NamedTuple):
    """A moving base in a description: its motion, its link, and the side file or joint that declares it."""

    kind: BaseKind
    link: str
    source: str

    @property
    def words(self) -> str:
        """Its motion and its source: ``a free base, by the side file``."""
        return f"a {self.kind} base, by the {self.source}"


def declared_base(robot: Robot) -> DeclaredBase | None:
    """Return the moving base of the description of a robot; None if it has none.

    A planar or floating joint at the root that cannot be that of a base is a chain of simple joints.
    """
    root, kind = _root_joint(robot), robot.base
    if kind is None and root is not None:
        try:
            kind = moving_base(robot).kind
        except DynError:
            return None
    if kind is None:
        return None
    body = 0 if root is None else root.parts
    link = next(frame.name for frame in robot.link_frames if frame.body == body)
    source = f"{root.type} joint '{root.name}'" if root and robot.base is None else "side file"
    return DeclaredBase(kind, link, source)


def _root_joint(robot: Robot) -> _RootJoint | None:
    for joint_type, names in PART_NAMES.items():
        parts, first = len(names), robot.joints[: len(names)]
        stem = first[0].name.rpartition("/")[0] if first else ""
        if (
            [joint.name for joint in first] == [f"{stem}/{part}" for part in names]
            and tuple(joint.sigma for joint in first) == _SIGMAS[joint_type]
            and [joint.antecedent for joint in first] == list(range(parts))
            and all(body == InertialParameters() for body in robot.bodies[1:parts])
        ):
            return _RootJoint(joint_type, stem, parts)
    return None


def _check(robot: Robot, root: _RootJoint) -> None:
    """Raise DynError if the root carries anything else, or the root joint has what a base cannot have."""

    def error(code: str, joint: Joint, **values: str) -> DynError:
        base: dict[str, Any] = {"base_type": root.type, "base_joint": root.name, **values}
        return DynError(code, robot=robot.name, joint=joint.name, element=f"joint '{joint.name}'", **base)

    for joint in robot.joints[root.parts :]:
        if joint.antecedent < root.parts:
            raise error("joint-beside-base", joint)
    for joint in robot.joints[: root.parts]:
        for has, what in (
            (joint.friction != Friction(), "friction"),
            (joint.Ia != 0.0, "a rotor inertia"),
            (joint.mimic is not None, "a mimic"),
        ):
            if has:
                raise error("base-joint-property", joint, property=what)


def _tree_on(robot: Robot, root: _RootJoint) -> Robot:
    """Return the robot without its root joint and what stands still before it."""
    gone = root.parts
    links = tuple(replace(link, body=link.body - gone) for link in robot.link_frames if link.body >= gone)
    return replace(
        robot,
        joints=tuple(_without(robot, joint, gone) for joint in robot.joints[gone:]),
        bodies=robot.bodies[gone:],
        link_frames=links,
        T_root_0=inverse(links[0].T_body_link),
    )


def _without(robot: Robot, joint: Joint, gone: int) -> Joint:
    mimic = joint.mimic
    if mimic is not None and mimic.leader != 0:
        if mimic.leader <= gone:
            leader, element = robot.joints[mimic.leader - 1].name, f"joint '{joint.name}'"
            raise DynError(
                "base-joint-mimicked", robot=robot.name, joint=joint.name, leader=leader, element=element
            )
        mimic = replace(mimic, leader=mimic.leader - gone)
    return replace(joint, antecedent=joint.antecedent - gone, mimic=mimic)


def _plane_at_root(robot: Robot, root: _RootJoint) -> tuple[Transform, Mat3]:
    """Return the placement of the frame of the plane in the world, and its axes in the frame of the base."""
    link = next(frame.name for frame in robot.link_frames if frame.body == root.parts)

    def placed(x: float, y: float) -> Transform:
        still = [joint.mimic.offset if joint.mimic else 0.0 for joint in robot.joints]
        return link_placements(robot, [x, y, *still[2:]])[link]

    at_zero = placed(0.0, 0.0)
    x = vec3.unit(vec3.sub(placed(1.0, 0.0).p, at_zero.p))
    y = vec3.unit(vec3.sub(placed(0.0, 1.0).p, at_zero.p))
    R = mat3.from_columns(x, y, vec3.cross(x, y))
    T_world_plane = _clean(Transform(R, at_zero.p))
    R_link_plane = mat3.mul(mat3.transpose(at_zero.R), T_world_plane.R)
    return T_world_plane, _clean(Transform(R_link_plane, vec3.ZERO)).R


def _clean(T: Transform) -> Transform:
    """Return a placement with exact 0, 1 and -1 instead of values that are that up to rounding."""
    x, y, z = (_clean_row(row) for row in T.R)
    return Transform((x, y, z), clean_vector(T.p, max(map(abs, T.p))))


def _clean_row(row: Vec3) -> Vec3:
    exact = (round(a) if abs(a - round(a)) <= ROUNDING else a for a in row)
    a, b, c = (math.copysign(value, 1.0) if value == 0 else float(value) for value in exact)
    return (a, b, c)


def base_placement(base: MovingBase, pose: Sequence[Scalar]) -> Transform:
    """Return the placement of the link of the base in the world at a pose.

    A pose is x, y, z (m) and the quaternion x, y, z, w; for a planar base x, y (m) and the angle (rad).
    """
    if base.kind != "planar":
        x, y, z, qx, qy, qz, qw = pose
        return Transform(rotation_matrix((qx, qy, qz, qw)), (x, y, z))
    x, y, angle = pose
    c, s = cos(angle), sin(angle)
    R_world_plane, origin = base.T_world_plane
    turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    R = mat3.mul(mat3.mul(R_world_plane, turn), mat3.transpose(base.R_link_plane))
    return Transform(R, vec3.add(origin, mat3.mul_vec(R_world_plane, (x, y, 0.0))))
