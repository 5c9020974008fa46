# SPDX-License-Identifier: Apache-2.0
"""Direct geometric model: placement of bodies, links and frames (SYMORO+ 2003, eq. (1.9) and sec. 2.2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from dyn_core.robot.joints import Joint, MdhParameters, Sigma
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, step
from dyn_core.symbolic.scalar import Scalar, cos_sin, cos_sin_of_sum
from dyn_core.symbolic.step import (
    Rotation,
    Step,
    Translation,
    X,
    Z,
    constant_rotation,
    constant_translations,
    inverse,
    precede,
    turned,
)
from dyn_core.symbolic.transform import IDENTITY, Transform, compose, rot_z
from dyn_core.symbolic.transform import inverse as inverse_transform
from dyn_core.symbolic.vec3 import Vec3

SKEW = 0.1
"""Least sine of the angle between two axes for which b and r have about the digits of iPj."""


class JointPlacement(NamedTuple):
    """Placement iTj of frame j in frame i = a(j), at one joint position.

    Attributes:
        steps: steps from frame i to frame j: those of SYMORO+ 2003, eq. (1.3), that move.
        seat: position in frame i of a point of z_j that is fixed in link i (m).
        slide: distance from that point to O_j along z_j (m).
    """

    steps: tuple[Step, ...]
    seat: Vec3
    slide: Scalar


def joint_placement(joint: Joint, q: Scalar) -> JointPlacement:
    """Return the placement of frame j in frame i = a(j) (Khalil 2010, eq. (1); SYMORO+ 2003, eq. (1.3)).

    q is the position of joint j, as URDF counts it (rad or m).
    """
    mdh = joint.mdh
    offset, r = _offset(mdh, joint.origin)
    seat = mat3.mul_vec(rot_z(mdh.gamma), offset)
    rotation: tuple[Rotation, ...]
    if joint.sigma is Sigma.PRISMATIC:
        slide: Scalar = r + q
        rotation = constant_rotation(Z, mdh.theta)
        translation: tuple[Translation, ...] = (Translation(Z, slide),)
    else:
        slide = r
        rotation = (Rotation(Z, *cos_sin_of_sum(q, mdh.theta)),)
        translation = constant_translations((0.0, 0.0, r))
    steps: tuple[Step, ...] = (
        *constant_rotation(Z, mdh.gamma),
        *constant_translations(offset),
        *constant_rotation(X, mdh.alpha),
        *rotation,
        *translation,
    )
    return JointPlacement(steps, seat, slide)


def joint_placements(robot: Robot, q: Sequence[Scalar]) -> list[JointPlacement]:
    """Placements of the n joints of a robot at their positions q (rad or m)."""
    return [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]


def _offset(mdh: MdhParameters, origin: Vec3) -> tuple[Vec3, float]:
    """Return the point of z_j that r counts from, in frame i turned by gamma, and r (m).

    If the axes are almost parallel, b and r are large and cancel; then r counts from O_j.
    """
    sine = cos_sin(mdh.alpha)[1]
    if sine == 0.0 or abs(sine) >= SKEW:
        return (mdh.d, 0.0, mdh.b), mdh.r
    return mat3.mul_vec(rot_z(-mdh.gamma), origin), 0.0


def joint_transform(joint: Joint, q: Scalar) -> Transform:
    """Return iTj, the steps of `joint_placement` as one transform."""
    return reduce(step.compose, joint_placement(joint, q).steps, IDENTITY)


def lineage(robot: Robot, body: int) -> list[int]:
    """Return the body, its antecedent, and so on to a body that the base carries; not the base."""
    bodies = []
    while body != 0:
        bodies.append(body)
        body = robot.joints[body - 1].antecedent
    return bodies


def steps_between(robot: Robot, q: Sequence[Scalar], a: int, b: int) -> tuple[Step, ...]:
    """Return the steps from the frame of body a to that of body b, by their nearest common ancestor.

    q are the n joint positions (rad or m); body 0 is the base.
    """
    from_a, from_b = lineage(robot, a), lineage(robot, b)
    steps: list[Step] = []
    for j in from_a:
        if j not in from_b:
            steps += inverse(joint_placement(robot.joints[j - 1], q[j - 1]).steps)
    for j in reversed(from_b):
        if j not in from_a:
            steps += joint_placement(robot.joints[j - 1], q[j - 1]).steps
    return tuple(steps)


# Placements of bodies and links at the n joint positions q (rad or m)


def body_placements(robot: Robot, q: Sequence[Scalar]) -> list[Transform]:
    """Return the placements T_root_j of the frames 0 to n in the frame of the root link."""
    T_root = [robot.T_root_0]
    for joint, q_j in zip(robot.joints, q, strict=True):
        T_root.append(reduce(step.compose, joint_placement(joint, q_j).steps, T_root[joint.antecedent]))
    return T_root


def link_placements(robot: Robot, q: Sequence[Scalar]) -> dict[str, Transform]:
    """Return the placements of the URDF links in the frame of the root link, by name."""
    T_root = body_placements(robot, q)
    return {frame.name: compose(T_root[frame.body], frame.T_body_link) for frame in robot.link_frames}


def placements_from(
    robot: Robot, q: Sequence[Scalar], frame: LinkFrame, bodies: Iterable[int]
) -> dict[int, Transform]:
    """Return the placements T_frame_j of some bodies in a frame on any body, by body (0 is the base).

    Placements of other bodies may be among them.
    """
    T_frame = {frame.body: inverse_transform(frame.T_body_link)}
    for j in lineage(robot, frame.body):
        back = step.inverse(joint_placement(robot.joints[j - 1], q[j - 1]).steps)
        T_frame[robot.joints[j - 1].antecedent] = reduce(step.compose, back, T_frame[j])
    for j in sorted({j for body in bodies for j in lineage(robot, body)} - set(T_frame)):
        steps = joint_placement(robot.joints[j - 1], q[j - 1]).steps
        T_frame[j] = reduce(step.compose, steps, T_frame[robot.joints[j - 1].antecedent])
    return T_frame


# Fast direct geometric model: the placement of any frame in any other (SYMORO+ 2003, sec. 2.2.3)
#
# Steps that need not be computed are left out before anything is multiplied: the joints that two frames have
# in common, and rotations about axes that stay parallel, which are one rotation by the sum of the angles. The
# product is then built up from the side that costs less.


def transform_between(robot: Robot, q: Sequence[Scalar], a: LinkFrame, b: LinkFrame) -> Transform:
    """Return the placement T_a_b of frame b in frame a at the n joint positions q (rad or m)."""
    steps = parallel_axes_merged(steps_between(robot, q, a.body, b.body))
    T_a_body = inverse_transform(a.T_body_link)
    if _cheaper_from_first(steps):
        return compose(reduce(step.compose, steps, T_a_body), b.T_body_link)
    T_body_b = b.T_body_link
    for one in reversed(steps):
        T_body_b = precede(one, T_body_b)
    return compose(T_a_body, T_body_b)


def parallel_axes_merged(steps: Sequence[Step]) -> list[Step]:
    """Return steps to the same frame, where no two rotations about z have only translations between.

    ``Rot(z,a) Trans(p) Rot(z,b) = Trans(Rot(z,a) p) Rot(z,a + b)``.
    """
    merged: list[Step] = []
    rotation: Rotation | None = None  # about z, between two translations, by axis
    before: dict[int, Scalar] = {}
    after: dict[int, Scalar] = {}
    for one in steps:
        if isinstance(one, Translation):
            side = before if rotation is None else after
            side[one.axis] = side.get(one.axis, 0.0) + one.length
        elif one.axis != Z:
            merged += [*_group(before, rotation, after), one]
            rotation, before, after = None, {}, {}
        elif rotation is None:
            rotation = one
        else:
            before = _sum_of_translations(before, rotation, after)
            rotation, after = _sum(rotation, one), {}
    return merged + _group(before, rotation, after)


def _group(before: dict[int, Scalar], rotation: Rotation | None, after: dict[int, Scalar]) -> list[Step]:
    translations = [[Translation(k, side[k]) for k in sorted(side)] for side in (before, after)]
    return [*translations[0], *([rotation] if rotation else []), *translations[1]]


def _sum_of_translations(
    before: dict[int, Scalar], rotation: Rotation, after: dict[int, Scalar]
) -> dict[int, Scalar]:
    """Return the translations before a rotation that equal those before it and after it together."""
    d = turned(rotation, (after.get(0, 0.0), after.get(1, 0.0), after.get(2, 0.0)))
    moves = {*before, *after, *((0, 1) if 0 in after or 1 in after else ())}
    return {k: before.get(k, 0.0) + d[k] for k in moves}


def _sum(a: Rotation, b: Rotation) -> Rotation:
    """Return one rotation by the sum of two angles about one axis."""
    c, s = a.c * b.c - a.s * b.s, a.s * b.c + a.c * b.s
    return Rotation(a.axis, c, s, a.quarters and b.quarters)


def _cheaper_from_first(steps: Sequence[Step]) -> bool:
    """Return whether the last origin needs fewer multiplications from the first frame than from the last.

    The rotation matrix costs the same. From the first frame, each translation is scaled by a column, 3
    multiplications; from the last frame, the sum of the later translations is turned by each earlier
    rotation, 4 multiplications.
    """
    kinds = [isinstance(step, Translation) for step in steps]
    if True not in kinds:
        return True
    last = len(kinds) - kinds[::-1].index(True)
    turns = sum(not step.quarters for step in steps[:last] if isinstance(step, Rotation))
    return 3 * sum(kinds[kinds.index(False) :] if False in kinds else []) <= 4 * turns
