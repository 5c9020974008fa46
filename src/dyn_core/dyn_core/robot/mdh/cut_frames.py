# SPDX-License-Identifier: Apache-2.0
"""Cut joints: their two frames, forbidden motions and MDH parameters (SYMORO+ 2003, sec. 1.5 and 2.6).

The MDH frames (tables 1.3, 1.4): frame k+B is fixed on body j of the child's side, with z_k along the axis of
the joint and x_k along the common normal of z_k and z_j, so that theta and r are 0. Of the two directions of
x_k it is that with gamma in (-pi/2, pi/2]. Frame k is the same frame in the closed loop, seen from body i of
the parent's side; theta or r, which the joint varies, count from 0 there. This holds for joints with one
axis. The sides of a universal joint have an axis each, those of a spherical one only a point: theta is 0 for
both, and r is determined. The frames of a fixed joint are its cut frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dyn_core.robot.joints import CutFrame, Loop, LoopEnd, LoopType, MdhParameters
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.frames import FAR, clean_angle, mdh_from_transform, transform_from_mdh
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import QUARTER
from dyn_core.symbolic.transform import Transform, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

_ALL, _ACROSS, _ALONG, _NONE = (0, 1, 2), (0, 1), (2,), ()
_ALONG_Z = 1e-9
"""Largest sine of the angle between two axes that count as parallel."""


@dataclass(frozen=True)
class CutJoint:
    """A cut joint as two frames, P on the parent's side and C on the child's, whose z is its axis.

    Attributes:
        name: name of the loop.
        P: frame on the parent's side.
        C: frame on the child's side.
        linear: axes of P along which the origin of C is that of P.
        angular: axes of P about which C does not turn on P.
        cosine: cosine of the angle between z of P and z of C for a universal joint, which forbids one more
            turn; None for other joints.
    """

    name: str
    P: LinkFrame
    C: LinkFrame
    linear: tuple[int, ...]
    angular: tuple[int, ...]
    cosine: float | None = None

    @property
    def rows(self) -> int:
        """Number of constraints."""
        return len(self.linear) + len(self.angular) + (self.cosine is not None)


_FORBIDDEN = {
    LoopType.FIXED: (_ALL, _ALL),
    LoopType.REVOLUTE: (_ALL, _ACROSS),
    LoopType.PRISMATIC: (_ACROSS, _ALL),
    LoopType.CYLINDRICAL: (_ACROSS, _ACROSS),
    LoopType.SPHERICAL: (_ALL, _NONE),
    LoopType.UNIVERSAL: (_ALL, _NONE),
    LoopType.PLANAR: (_ALONG, _ACROSS),
}
"""Linear and angular axes of P along and about which there is no motion."""


def cut_joints(robot: Robot) -> tuple[CutJoint, ...]:
    """Return the cut joints of a robot, in the order of its loops."""
    return tuple(_cut_joint(robot, loop) for loop in robot.loops)


def _cut_joint(robot: Robot, loop: Loop) -> CutJoint:
    linear, angular = _FORBIDDEN[loop.type]
    cosine = vec3.dot(loop.axis, loop.child_axis) if loop.type is LoopType.UNIVERSAL else None
    parent, child = (_on_body(robot, end) for end in (loop.parent, loop.child))
    turn = _with_z(loop.axis, parent.T_body_link.R)
    # Where only the axes have to meet, each side has the x axis that suits its own link.
    own = angular is not _ALL and loop.type is not LoopType.SPHERICAL
    other = _with_z(loop.child_axis, child.T_body_link.R) if own else mat3.mul(_least_turn(loop), turn)
    return CutJoint(loop.name, _turned(parent, turn), _turned(child, other), linear, angular, cosine)


def _on_body(robot: Robot, end: LoopEnd) -> LinkFrame:
    link = robot.link_frame(end.link)
    return LinkFrame(end.link, link.body, compose(link.T_body_link, end.T_link_cut))


def _turned(frame: LinkFrame, R: Mat3) -> LinkFrame:
    T = compose(frame.T_body_link, Transform(R, vec3.ZERO))
    return LinkFrame(frame.name, frame.body, T)


def _with_z(axis: Vec3, R_body_cut: Mat3) -> Mat3:
    """Return the axes of a frame, in the cut frame, with z along an axis.

    x is along the common normal with z of the body; if these are parallel, it is that of the body.
    """
    x_body, _, z_body = R_body_cut
    normal = vec3.cross(z_body, axis)
    x = x_body if vec3.norm(normal) <= _ALONG_Z else vec3.unit(normal)
    x = vec3.unit(vec3.sub(x, vec3.scale(vec3.dot(x, axis), axis)))
    return mat3.from_columns(x, vec3.cross(axis, x), axis)


def _least_turn(loop: Loop) -> Mat3:
    """Return the least turn, in the child's cut frame, that takes `axis` to `child_axis`."""
    a, b = loop.axis, loop.child_axis
    c = vec3.dot(a, b)
    w = vec3.cross(a, b)
    if vec3.norm(w) <= _ALONG_Z:
        if c > 0.0:
            return mat3.IDENTITY
        across = (1.0, 0.0, 0.0) if abs(a[0]) < 0.9 else (0.0, 1.0, 0.0)
        n = vec3.unit(vec3.cross(a, across))  # half a turn about any normal
        return mat3.add(mat3.scale(2.0, mat3.outer(n, n)), mat3.scale(-1.0, mat3.IDENTITY))
    # Rodrigues: 1 + [w] + [w]^2 / (1 + c)
    turn = mat3.add(mat3.IDENTITY, mat3.skew(w))
    return mat3.add(turn, mat3.scale(1.0 / (1.0 + c), mat3.skew_squared(w)))


# MDH parameters of the two frames of each cut joint

_ONE_AXIS = (LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.CYLINDRICAL, LoopType.PLANAR)


def with_cut_frames(robot: Robot) -> Robot:
    """Return the robot with the two frames of each of its cut joints."""
    loops = (replace(loop, frames=_frames(loop.type, _cut_joint(robot, loop))) for loop in robot.loops)
    return replace(robot, loops=tuple(loops))


def _frames(kind: LoopType, cut: CutJoint) -> tuple[CutFrame, CutFrame]:
    T_i_P, T_j_C = cut.P.T_body_link, cut.C.T_body_link
    if kind is LoopType.SPHERICAL:  # any axes will do: those of the bodies
        T_i_P, T_j_C = (Transform(mat3.IDENTITY, T.p) for T in (T_i_P, T_j_C))
    size = max(abs(x) for T in (T_i_P, T_j_C) for x in T.p)
    fixed, other = (mdh_from_transform(*T, size) for T in (T_j_C, T_i_P))
    if kind in _ONE_AXIS:
        fixed = _on_common_normal(fixed, vec3.norm(T_j_C.p))
        T_C_k = compose(inverse(T_j_C), transform_from_mdh(fixed))
        other = mdh_from_transform(*compose(T_i_P, T_C_k), size)
    if kind not in (LoopType.PRISMATIC, LoopType.FIXED):
        fixed, other = replace(fixed, theta=0.0), replace(other, theta=0.0)
    if kind in (LoopType.PRISMATIC, LoopType.CYLINDRICAL):
        other = replace(other, r=0.0)
    at_P, at_C = (
        CutFrame(body, mdh, transform_from_mdh(mdh).p)
        for body, mdh in ((cut.P.body, other), (cut.C.body, fixed))
    )
    return at_P, at_C


def _on_common_normal(mdh: MdhParameters, distance: float) -> MdhParameters:
    """Return the parameters of a frame on the same axis with theta 0, and r 0 unless that is far away."""
    gamma, b, alpha, d, r = mdh.gamma, mdh.b, mdh.alpha, mdh.d, mdh.r
    if alpha in (0.0, math.pi):
        b, r = (b + r if alpha == 0.0 else b - r), 0.0
    elif abs(r) <= FAR * distance:
        r = 0.0
    if not -QUARTER < gamma <= QUARTER:
        gamma, alpha, d = clean_angle(gamma + math.pi), clean_angle(-alpha), -d
    return MdhParameters(gamma, b + 0.0, alpha, d + 0.0, 0.0, r)
