# SPDX-License-Identifier: Apache-2.0
"""Which body of a robot is the base that moves, and the rest of the robot as a tree on it.

A planar or floating joint of a URDF is a chain of simple joints (`io.compound_joints`), which is known by
their names and by links without mass between them. Where such a chain is all that the root carries, its
last link is the base, and neither the chain nor the root is needed. Without one, the root is the base.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from dyn_core.core.errors import DynError
from dyn_core.geometry.forward import link_placements
from dyn_core.geometry.tolerance import ROUNDING, clean_length
from dyn_core.io.compound_joints import PART_NAMES
from dyn_core.linalg.transform import IDENTITY, Transform, inverse
from dyn_core.model.base_kind import BASE_KINDS, BaseKind
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.joints import Friction, Joint, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.vec3 import Vec3

_SIGMAS = {
    "planar": (Sigma.PRISMATIC,) * 2 + (Sigma.REVOLUTE,),
    "floating": (Sigma.PRISMATIC,) * 3 + (Sigma.REVOLUTE,) * 3,
}
_KIND: dict[str, BaseKind] = {"planar": "planar", "floating": "free"}


class _RootJoint(NamedTuple):
    """The planar or floating joint that a robot begins with: its type, and its name in the URDF."""

    type: str
    name: str

    @property
    def parts(self) -> int:
        """How many simple joints it is made of."""
        return len(PART_NAMES[self.type])


def moving_base(robot: Robot, kind: BaseKind | None = None) -> MovingBase:
    """Answer a robot as a tree on a base that moves.

    Args:
        robot: the robot.
        kind: how its base moves; None: as its side file says, or the planar or floating joint at its root.
            With ``"planar"``,
            where there is no planar joint at the root, the base moves in the xy-plane of its own link.

    Raises:
        DynError: nothing says how the base moves, or the robot cannot be such a tree.
    """
    if not isinstance(robot, Robot):
        raise ValueError(f"robot: expected what load_robot answers, but it is {type(robot).__name__}")
    if kind is not None and not (isinstance(kind, str) and kind in BASE_KINDS):
        raise ValueError(f"base: expected 'free', 'planar', 'given' or None, but it is {kind!r}")
    refuse_springs(robot, "a model with a moving base")
    if robot.loops:
        raise DynError(
            f"robot '{robot.name}' has loops, and a base that moves: loops are only solved on a base that "
            "stands still; give the model without its loops",
            element=f"loop '{robot.loops[0].name}'",
        )
    root = _root_joint(robot)
    if kind is None:
        kind = robot.base or (_KIND[root.type] if root else None)
    if root is not None:
        _check(robot, root)
    if kind is None:
        raise DynError(
            f"robot '{robot.name}' has no planar or floating joint at its root, and its side file no 'base', "
            "to say how its base moves: give base='free', 'planar' or 'given'"
        )
    plane = _plane_at_root(robot, root) if kind == "planar" and root and root.type == "planar" else None
    tree = robot if root is None else _tree_on(robot, root)
    T_root_0 = _clean(tree.T_root_0)
    tree = replace(tree, T_root_0=T_root_0, base=None)
    T_world_plane, R_link_plane = plane or (IDENTITY, mat3.IDENTITY)
    return MovingBase(tree, kind, T_world_plane, R_link_plane)


class DeclaredBase(NamedTuple):
    """What the description of a robot says of a base that moves.

    Attributes:
        kind: how it moves.
        link: name of the link that is the base.
        source: what says so: the side file, or the joint at the root.
    """

    kind: BaseKind
    link: str
    source: str

    @property
    def words(self) -> str:
        """How it moves, and what says so: ``a free base, by the side file``."""
        return f"a {self.kind} base, by the {self.source}"


def declared_base(robot: Robot) -> DeclaredBase | None:
    """Answer how the description of a robot says that its base moves; None where it does not say.

    A joint at the root that cannot be that of a base is the chain of simple joints that it is otherwise.
    """
    root = _root_joint(robot)
    if robot.base is None:
        try:
            kind = None if root is None else moving_base(robot).kind
        except DynError:
            kind = None
    else:
        kind = robot.base
    if kind is None:
        return None
    body = 0 if root is None else root.parts
    link = next(frame.name for frame in robot.link_frames if frame.body == body)
    source = f"{root.type} joint '{root.name}'" if root and robot.base is None else "side file"
    return DeclaredBase(kind, link, source)


def _root_joint(robot: Robot) -> _RootJoint | None:
    for joint_type, names in PART_NAMES.items():
        stem, _, part = robot.joints[0].name.rpartition("/") if robot.joints else ("", "", "")
        if part == names[0] and _is_chain(robot.joints, stem, joint_type):
            massless = all(body == InertialParameters() for body in robot.bodies[1 : len(names)])
            if massless:
                return _RootJoint(joint_type, stem)
    return None


def _is_chain(joints: Sequence[Joint], stem: str, joint_type: str) -> bool:
    expected = [f"{stem}/{part}" for part in PART_NAMES[joint_type]]
    first = joints[: len(expected)]
    return (
        [joint.name for joint in first] == expected
        and tuple(joint.sigma for joint in first) == _SIGMAS[joint_type]
        and [joint.antecedent for joint in first] == list(range(len(expected)))
    )


def _check(robot: Robot, root: _RootJoint) -> None:
    """DynError where the root joint is not all that the root carries, or has what a base does not have."""
    owner = f"joint '{root.name}'"
    for joint in robot.joints[root.parts :]:
        if joint.antecedent < root.parts:
            raise DynError(
                f"robot '{robot.name}': beside the {root.type} {owner}, its root carries joint "
                f"'{joint.name}': only one base can move; put what stands still into another URDF",
                element=f"joint '{joint.name}'",
            )
    for joint in robot.joints[: root.parts]:
        for has, what in (
            (joint.friction != Friction(), "friction"),
            (joint.Ia != 0.0, "a rotor inertia"),
            (joint.mimic is not None, "a mimic"),
        ):
            if has:
                raise DynError(
                    f"robot '{robot.name}': joint '{joint.name}' of the {root.type} {owner} has {what}, "
                    "which a base that moves does not have: leave it out, in the side file or wherever it "
                    "is given",
                    element=f"joint '{joint.name}'",
                )


def _tree_on(robot: Robot, root: _RootJoint) -> Robot:
    """Answer the robot without its root joint and what stands still before it."""
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
            raise DynError(
                f"robot '{robot.name}': joint '{joint.name}' mimics '{robot.joints[mimic.leader - 1].name}', "
                "which belongs to the base: only joints between links can be mimicked",
                element=f"joint '{joint.name}'",
            )
        mimic = replace(mimic, leader=mimic.leader - gone)
    return replace(joint, antecedent=joint.antecedent - gone, mimic=mimic)


def _plane_at_root(robot: Robot, root: _RootJoint) -> tuple[Transform, Mat3]:
    """Placement of the frame of the plane in the world, and its axes in the frame of the base."""
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
    """Answer a placement with exact 0, 1 and -1 for what is that up to rounding."""
    size = max(map(abs, T.p))
    p = (clean_length(T.p[0], size), clean_length(T.p[1], size), clean_length(T.p[2], size))
    x, y, z = (_clean_row(row) for row in T.R)
    return Transform((x, y, z), p)


def _clean_row(row: Vec3) -> Vec3:
    exact = (round(a) if abs(a - round(a)) <= ROUNDING else a for a in row)
    a, b, c = (math.copysign(value, 1.0) if value == 0 else float(value) for value in exact)
    return (a, b, c)
