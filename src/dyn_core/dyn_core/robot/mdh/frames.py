# SPDX-License-Identifier: Apache-2.0
"""Frames in modified Denavit-Hartenberg notation: the parameters of a placement, and the frames of a tree.

What counts as rounding: the placement of one axis relative to the next is the result of a few dozen
floating-point operations on numbers no greater than the lengths of the robot, so errors of tens of units in
the last place are rounding. Setting such values to the exact 0 or k pi/2 that they stand for moves no result
by more than rounding itself. Anything larger, such as the 4e-6 of a ``1.5708``, is part of the URDF and kept.

Where frame i goes on body i (Khalil 2010, sec. 2.1; SYMORO+ 2003, sec. 1.3 and 1.4): z_i is along the axis of
joint i. x_i is along the common normal of z_i and the first axis that follows it, towards that axis, and O_i
is where the two meet. Where this leaves a choice, as many parameters as possible are zero:

* no axis follows, or the following axis is collinear: theta_i = 0 and r_i = 0;
* the following axis is parallel: x_i points to it and r_i = 0;
* the following axis intersects: of the two directions of x_i the one with the smaller
  angle theta_i, and +pi/2 rather than -pi/2;
* the axis of joint i is prismatic and free: through O_a(i), so that d_i = 0;
* the following axis is prismatic and free: it will go through O_i, and r_i = 0.

Axes that are nearly parallel count as parallel here when their common normal is far away (see `FAR`): O_i
then stays near the joint, where the inertia of the body is well conditioned.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dyn_core.robot.description import UrdfDescription, UrdfJoint, UrdfLink, UrdfLoop, UrdfOrigin
from dyn_core.robot.joints import MdhParameters
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import QUARTER, cos_sin, wrapped
from dyn_core.symbolic.transform import (
    IDENTITY,
    Transform,
    apply,
    compose,
    displacement,
    inverse,
    rot_x,
    rot_z,
    rotation_from_rpy,
)
from dyn_core.symbolic.vec3 import Vec3

ROUNDING = 64 * sys.float_info.epsilon
"""Relative error, or angle (rad), that is taken for rounding: 1.4e-14."""

FAR = 10.0
"""A common normal is far when its foot is this many times the distance of the axes away.

A body's inertia about an origin that is k times its size away keeps eps k^2 of its accuracy: with
k = 10 still 14 digits, and any two axes at more than 6 degrees meet the limit.
"""


def clean_angle(angle: float) -> float:
    """Return an angle (rad) in (-pi, pi], exact where it is a multiple of pi/2 up to rounding."""
    turned = wrapped(angle)
    nearest = round(turned / QUARTER) * QUARTER
    return wrapped(nearest) if abs(turned - nearest) <= ROUNDING else turned


def clean_length(length: float, size: float) -> float:
    """Return a length (m), exact 0 where it is zero up to the rounding of lengths of `size` (m)."""
    return 0.0 if abs(length) <= ROUNDING * size else length


def clean_vector(v: Vec3, size: float) -> Vec3:
    """Return a vector (m) of clean lengths."""
    return (clean_length(v[0], size), clean_length(v[1], size), clean_length(v[2], size))


# The six MDH parameters of a constant placement


def transform_from_mdh(mdh: MdhParameters) -> Transform:
    """Placement iTj that six parameters describe (SYMORO+ 2003, eq. (1.3))."""
    axes = mat3.mul(rot_z(mdh.gamma), rot_x(mdh.alpha))
    along_u = vec3.scale(mdh.d, mat3.column(axes, 0))
    along_z = vec3.add((0.0, 0.0, mdh.b), vec3.scale(mdh.r, mat3.column(axes, 2)))
    return Transform(mat3.mul(axes, rot_z(mdh.theta)), vec3.add(along_u, along_z))


def mdh_from_transform(R: Mat3, p: Vec3, size: float = 0.0) -> MdhParameters:
    """Six parameters of any placement iTj = (R, p), inverse of SYMORO+ 2003, eq. (1.3).

    Every placement has such parameters: six numbers for six degrees of freedom. Where there is a choice:

    * skew axes: the common normal u_j points from z_i to z_j, so that d > 0;
    * intersecting axes (d = 0): gamma is in (-pi/2, pi/2];
    * parallel axes: b = 0, all the offset along z is in r, and d > 0;
    * collinear axes: gamma = 0 too.

    Args:
        R: rotation iRj.
        p: position iPj (m).
        size: greatest length that p is computed from (m), for what counts as rounding.
    """
    z_j = mat3.column(R, 2)
    sine = math.hypot(z_j[0], z_j[1])
    if sine <= ROUNDING:
        return _parallel(R, p, size)
    gamma = clean_angle(math.atan2(z_j[0], -z_j[1]))
    alpha = clean_angle(math.atan2(sine, z_j[2]))
    d = clean_length(vec3.dot(p, _u(gamma)), size)
    if d < 0.0 or (d == 0.0 and not -QUARTER < gamma <= QUARTER):
        gamma, alpha, d = clean_angle(gamma + math.pi), -alpha, -d
    c, s = cos_sin(gamma)
    exact = (p[0] * s - p[1] * c) / math.copysign(sine, alpha)
    b, r = _along(z_j[2], p[2], exact, size, (size + d / sine) / sine)
    if abs(r - exact) * sine > ROUNDING * (size + d):
        turned = _turned(p, r * math.sin(alpha))
        if abs(wrapped(turned - gamma)) * sine <= 2.0 * ROUNDING:
            gamma, d = turned, vec3.dot(p, _u(turned))
        else:
            b, r = p[2] - exact * z_j[2], exact
    return MdhParameters(gamma=gamma, b=b, alpha=alpha, d=d + 0.0, theta=_theta(R, gamma), r=r)


def _along(cosine: float, height: float, r: float, size: float, along: float) -> tuple[float, float]:
    """Return the offsets b and r along two axes (m), exact 0 where they are 0 up to rounding.

    The position along the first axis is height = b + r cosine, with the rounding of lengths of `size`. The
    offsets have that of lengths of `along`: where axes are nearly parallel, the rounding of the position and
    of the direction of the common normal moves its foot far.
    """
    if clean_length(r, along) == 0.0:
        return clean_length(height, size), 0.0
    b = height - r * cosine
    if clean_length(b, along) != 0.0:
        return b, r
    return 0.0, height / cosine if abs(cosine) > 0.5 else r


def _turned(p: Vec3, aside: float) -> float:
    """Direction gamma of the normal that leaves the position where it is, p_xy = Rz(gamma) (d, -aside)."""
    d = math.sqrt(max(p[0] ** 2 + p[1] ** 2 - aside**2, 0.0))
    return clean_angle(math.atan2(p[1], p[0]) - math.atan2(-aside, d))


def _parallel(R: Mat3, p: Vec3, size: float) -> MdhParameters:
    """Parameters where z_i and z_j are parallel, or opposite."""
    d = clean_length(math.hypot(p[0], p[1]), size)
    gamma = clean_angle(math.atan2(p[1], p[0])) if d > 0.0 else 0.0
    up = R[2][2] > 0.0
    return MdhParameters(
        gamma=gamma,
        b=0.0,
        alpha=0.0 if up else math.pi,
        d=d,
        theta=_theta(R, gamma),
        r=clean_length(p[2] if up else -p[2], size),
    )


def _u(gamma: float) -> Vec3:
    """Direction u_j of the common normal, in frame i."""
    c, s = cos_sin(gamma)
    return (c, s, 0.0)


def _theta(R: Mat3, gamma: float) -> float:
    """Angle from u_j to x_j about z_j: the cosine is u.x_j, the sine is -u.y_j."""
    u = _u(gamma)
    return clean_angle(math.atan2(-vec3.dot(u, mat3.column(R, 1)), vec3.dot(u, mat3.column(R, 0))))


def placement(origin: UrdfOrigin) -> Transform:
    """Transform of a URDF <origin>."""
    return Transform(rotation_from_rpy(*origin.rpy), origin.xyz)


# The tree of moving joints, without the fixed joints


@dataclass(frozen=True)
class MovingJoint:
    """A joint that moves, carried by body `antecedent` (0 is the base).

    `T_antecedent_joint` is the placement at q = 0 of the joint's URDF frame in the URDF frame of the joint
    that moves the antecedent (of the root link, for the base).
    """

    urdf: UrdfJoint
    antecedent: int
    T_antecedent_joint: Transform


@dataclass(frozen=True)
class PlacedLink:
    """A link of body `body`, placed in the URDF frame of the joint that moves the body."""

    urdf: UrdfLink
    body: int
    T_joint_link: Transform


@dataclass(frozen=True)
class JointTree:
    """Joints 1 to n, and all links, depth first with children in document order."""

    joints: tuple[MovingJoint, ...]
    links: tuple[PlacedLink, ...]


def joint_tree(description: UrdfDescription) -> JointTree:
    """Walk the tree from its root, number the moving joints, and place each link on its body."""
    link_by_name = {link.name: link for link in description.links}
    joints_of: dict[str, list[UrdfJoint]] = {}
    for joint in description.joints:
        joints_of.setdefault(joint.parent, []).append(joint)

    joints: list[MovingJoint] = []
    links = [PlacedLink(link_by_name[description.root], 0, IDENTITY)]
    ahead = [(joint, links[0]) for joint in reversed(joints_of.get(description.root, []))]
    while ahead:
        joint, parent = ahead.pop()
        T_body_joint = compose(parent.T_joint_link, placement(joint.origin))
        child = link_by_name[joint.child]
        if joint.locked is not None:
            T_joint_child = displacement(vec3.unit(joint.axis), joint.locked, joint.type == "prismatic")
            links.append(PlacedLink(child, parent.body, compose(T_body_joint, T_joint_child)))
        elif joint.type == "fixed":
            links.append(PlacedLink(child, parent.body, T_body_joint))
        else:
            joints.append(MovingJoint(joint, parent.body, T_body_joint))
            links.append(PlacedLink(child, len(joints), IDENTITY))
        ahead.extend((next_joint, links[-1]) for next_joint in reversed(joints_of.get(child.name, [])))
    return JointTree(tuple(joints), tuple(links))


# The line in space along each joint axis


class _Axis(NamedTuple):
    """A unit vector and a point (m) of an axis; no point for a prismatic axis that may go anywhere."""

    direction: Vec3
    point: Vec3 | None

    def placed(self, T_a_b: Transform) -> _Axis:
        """Return in frame a an axis that is given in frame b."""
        point = None if self.point is None else apply(T_a_b, self.point)
        return _Axis(mat3.mul_vec(T_a_b.R, self.direction), point)


def _axes(tree: JointTree, first_child: Mapping[int, int]) -> dict[int, _Axis]:
    """Return the axis of each joint in the joint's own URDF frame.

    The axis of a revolute joint goes through the origin of its URDF frame. That of a prismatic joint is put
    on the axis of its first child if the two are parallel, and is free otherwise.
    """
    axes: dict[int, _Axis] = {}
    for j in range(len(tree.joints), 0, -1):
        joint = tree.joints[j - 1].urdf
        direction = vec3.unit(joint.axis)
        point = None if joint.type == "prismatic" else vec3.ZERO
        if joint.type == "prismatic" and j in first_child:
            k = first_child[j]
            child = axes[k].placed(tree.joints[k - 1].T_antecedent_joint)
            is_parallel = vec3.norm(vec3.cross(direction, child.direction)) <= ROUNDING
            point = child.point if is_parallel else None
        axes[j] = _Axis(direction, point)
    return axes


_WITHOUT_LINE = ("spherical", "fixed", "planar")
"""Types of cut joints that have no axis in space."""


def _cut_axes(tree: JointTree, loops: Iterable[UrdfLoop], first_child: Mapping[int, int]) -> dict[int, _Axis]:
    """Return the axis of the cut joint on each body at the end of a branch (SYMORO+ 2003, sec. 1.5).

    So x of the last frame of the branch lies along the common normal with the cut joint, as if that were the
    next joint. Bodies with joints of the tree or several cut joints (platforms) are left out; so are unknown
    links, which `with_loops` refuses. Each axis is given in the URDF frame of the joint that moves the body.
    """
    links = {link.urdf.name: link for link in tree.links}
    found: dict[int, list[_Axis | None]] = {}
    for loop in loops:
        axes = (loop.axis, loop.child_axis or loop.axis)
        for end, direction in zip((loop.parent, loop.child), axes, strict=True):
            link = links.get(end.link)
            if link is not None and link.body != 0 and link.body not in first_child:
                T = compose(link.T_joint_link, placement(end.origin))
                axis = _Axis(vec3.unit(direction), vec3.ZERO).placed(T)
                found.setdefault(link.body, []).append(None if loop.type in _WITHOUT_LINE else axis)
    return {body: axes[0] for body, axes in found.items() if len(axes) == 1 and axes[0] is not None}


# The frame on each body


class _CommonNormal(NamedTuple):
    """Common normal of two lines, along the unit vector ``z_i x z_j / |z_i x z_j|``.

    The foot is the point of the first line that is nearest to the second (m), the distance how far the second
    line is from the first along the direction (m, may be negative), and the sine that of their angle.
    """

    foot: Vec3
    direction: Vec3
    distance: float
    sine: float


def _common_normal(point_i: Vec3, z_i: Vec3, point_j: Vec3, z_j: Vec3) -> _CommonNormal | None:
    """Return the common normal of two lines; None if there is none, or it is far away.

    It is far if a foot is further from its point than `FAR` times the distance of the points.
    """
    normal = vec3.cross(z_i, z_j)
    sine = vec3.norm(normal)
    if sine <= ROUNDING:
        return None
    n = vec3.scale(1.0 / sine, normal)
    between = vec3.sub(point_j, point_i)
    along_i = vec3.dot(vec3.cross(between, z_j), n) / sine
    along_j = vec3.dot(vec3.cross(between, z_i), n) / sine
    if max(abs(along_i), abs(along_j)) > FAR * vec3.norm(between):
        return None
    foot = vec3.add(point_i, vec3.scale(along_i, z_i))
    return _CommonNormal(foot, n, vec3.dot(between, n), sine)


def _foot_on_line(point: Vec3, on_line: Vec3, z: Vec3) -> Vec3:
    """Return the point nearest to `point` on the line through `on_line` along the unit vector z."""
    return vec3.add(on_line, vec3.scale(vec3.dot(vec3.sub(point, on_line), z), z))


def _body_frame(axis: _Axis, before: Transform, following: _Axis | None, size: float) -> Transform:
    """Return the placement of frame i in the URDF frame of joint i, in which all arguments are given.

    Args:
        axis: the axis of joint i.
        before: placement of frame a(i) at q_i = 0.
        following: the axis of the first joint on body i.
        size: greatest length that these are computed from (m), for what counts as rounding.
    """
    origin, x = _undisplaced(axis, before, size)
    if following is not None:
        origin, x = _towards(following, axis.direction, origin, x, size)
    return _frame(origin, x, axis.direction)


def _undisplaced(axis: _Axis, before: Transform, size: float) -> tuple[Vec3, Vec3]:
    """Return O_i and x_i so that theta_i = 0 and, unless that is far away, r_i = 0."""
    z = axis.direction
    on_axis = before.p if axis.point is None else axis.point
    level = _foot_on_line(before.p, on_axis, z)
    T_before_level = compose(inverse(before), _frame(level, _any_normal(z), z))
    c, s = cos_sin(mdh_from_transform(*T_before_level, size).gamma)
    x = _normal_part(mat3.mul_vec(before.R, (c, s, 0.0)), z)
    normal = _common_normal(level, z, before.p, mat3.column(before.R, 2))
    return (level if normal is None else normal.foot), x


def _towards(following: _Axis, z: Vec3, origin: Vec3, x: Vec3, size: float) -> tuple[Vec3, Vec3]:
    """Turn x_i, and move O_i, to the common normal with the following axis."""
    point = origin if following.point is None else following.point
    normal = _common_normal(origin, z, point, following.direction)
    if normal is None:
        across = vec3.sub(point, _foot_on_line(point, origin, z))
        return origin, (_normal_part(across, z) if vec3.norm(across) > ROUNDING * size else x)
    if abs(normal.distance) > ROUNDING * size / normal.sine:
        return normal.foot, vec3.scale(math.copysign(1.0, normal.distance), normal.direction)
    return normal.foot, _less_turned(normal.direction, x, z)


def _less_turned(direction: Vec3, x: Vec3, z: Vec3) -> Vec3:
    """Return `direction` or its opposite, whichever is less turned from x; +pi/2 before -pi/2."""
    cosine, sine = vec3.dot(x, direction), vec3.dot(vec3.cross(z, x), direction)
    opposite = sine < 0.0 if abs(cosine) <= ROUNDING else cosine < 0.0
    return vec3.neg(direction) if opposite else direction


def _frame(origin: Vec3, x: Vec3, z: Vec3) -> Transform:
    """Return the frame with this origin and these two axes."""
    return Transform(mat3.from_columns(x, vec3.cross(z, x), z), origin)


def _any_normal(z: Vec3) -> Vec3:
    """Return the unit vector normal to z that is nearest to x, or to y where z is near to x."""
    return _normal_part((1.0, 0.0, 0.0) if abs(z[0]) < 0.9 else (0.0, 1.0, 0.0), z)


def _normal_part(v: Vec3, z: Vec3) -> Vec3:
    """Return the direction of v without its part along the unit vector z.

    The second subtraction removes the rounding of the first, which matters where v is almost along z.
    """
    part = vec3.unit(vec3.sub(v, vec3.scale(vec3.dot(v, z), z)))
    return vec3.unit(vec3.sub(part, vec3.scale(vec3.dot(part, z), z)))


@dataclass(frozen=True)
class JointFrame:
    """Frame j: parameters and origin (m) in frame a(j) at q = 0, and placement in joint j's URDF frame."""

    mdh: MdhParameters
    origin: Vec3
    T_urdf_frame: Transform


def joint_frames(tree: JointTree, loops: Sequence[UrdfLoop] = ()) -> tuple[Transform, list[JointFrame]]:
    """Return the placement of frame 0 in the root link, and the frames 1 to n.

    The joints that close `loops` follow the last joints of their branches.
    """
    first_child: dict[int, int] = {}
    for j, joint in enumerate(tree.joints, start=1):
        first_child.setdefault(joint.antecedent, j)
    axes, cuts = _axes(tree, first_child), _cut_axes(tree, loops, first_child)
    T_urdf_frame = [IDENTITY]
    frames: list[JointFrame] = []
    for j, joint in enumerate(tree.joints, start=1):
        axis, following = axes[j], cuts.get(j)
        if j in first_child:
            k = first_child[j]
            following = axes[k].placed(tree.joints[k - 1].T_antecedent_joint)
        if j == 1:
            # Until frame 1 is placed, a frame on its axis stands for frame 0, with x near that of URDF.
            root = _frame(axis.point or vec3.ZERO, _any_normal(axis.direction), axis.direction)
            T_urdf_before = _body_frame(axis, root, following, _size(following))
            T_urdf_frame[0] = compose(joint.T_antecedent_joint, T_urdf_before)
            size = _size(following, T_urdf_before.p)
        else:
            T_before = T_urdf_frame[joint.antecedent]
            T_urdf_before = compose(inverse(joint.T_antecedent_joint), T_before)
            size = _size(following, joint.T_antecedent_joint.p, T_before.p)
        # From here on the frame is exactly where its parameters put it.
        R, p = compose(inverse(T_urdf_before), _body_frame(axis, T_urdf_before, following, size))
        mdh, origin = mdh_from_transform(R, p, size), clean_vector(p, size)
        exact = Transform(transform_from_mdh(mdh).R, origin)
        frames.append(JointFrame(mdh, origin, compose(T_urdf_before, exact)))
        T_urdf_frame.append(frames[-1].T_urdf_frame)
    return T_urdf_frame[0], frames


def _size(following: _Axis | None, *points: Vec3) -> float:
    """Return the greatest coordinate (m) of what a frame is computed from."""
    if following is not None and following.point is not None:
        points = (*points, following.point)
    return max((abs(x) for point in points for x in point), default=0.0)
