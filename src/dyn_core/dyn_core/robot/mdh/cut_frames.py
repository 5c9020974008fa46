# SPDX-License-Identifier: Apache-2.0
"""The two sides of a cut joint, and which motions it forbids (SYMORO+ 2003, sec. 1.5 and 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg.transform import Transform, compose
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.loop import Loop, LoopEnd, LoopType
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.vec3 import Vec3

_ALL, _ACROSS, _ALONG, _NONE = (0, 1, 2), (0, 1), (2,), ()
_ALONG_Z = 1e-9
"""Largest sine of the angle between two axes that are taken for parallel."""


@dataclass(frozen=True)
class CutJoint:
    """A cut joint as two frames, P on the parent's side and C on the child's, whose z is its axis.

    Attributes:
        name: name of the loop.
        P: frame on the parent's side.
        C: frame on the child's side.
        linear: axes of P along which the origin of C is that of P.
        angular: axes of P about which C does not turn on P.
        cosine: of a universal joint, which forbids one turn more: the cosine of the angle between z of
            P and z of C; None for other joints.
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
    """Answer the cut joints of a robot, in the order of its loops."""
    return tuple(_cut_joint(robot, loop) for loop in robot.loops)


def _cut_joint(robot: Robot, loop: Loop) -> CutJoint:
    linear, angular = _FORBIDDEN[loop.type]
    cosine = vec3.dot(loop.axis, loop.child_axis) if loop.type is LoopType.UNIVERSAL else None
    parent, child = (_on_body(robot, end) for end in (loop.parent, loop.child))
    turn = _with_z(loop.axis, parent.T_body_link.R)
    # Where only the axes have to meet, each side has the x axis that suits its own link.
    own = angular is not _ALL and loop.type is not LoopType.SPHERICAL
    other = _with_z(loop.child_axis, child.T_body_link.R) if own else mat3.mul(_least_turn(loop), turn)
    return CutJoint(
        loop.name,
        _turned(parent, turn),
        _turned(child, other),
        linear,
        angular,
        cosine,
    )


def _on_body(robot: Robot, end: LoopEnd) -> LinkFrame:
    link = robot.link_frame(end.link)
    return LinkFrame(end.link, link.body, compose(link.T_body_link, end.T_link_cut))


def _turned(frame: LinkFrame, R: Mat3) -> LinkFrame:
    T = compose(frame.T_body_link, Transform(R, vec3.ZERO))
    return LinkFrame(frame.name, frame.body, T)


def _with_z(axis: Vec3, R_body_cut: Mat3) -> Mat3:
    """Axes of a frame, in the cut frame, with z along an axis.

    x is along the common normal with z of the body; where these are parallel, it is that of the body.
    """
    x_body, _, z_body = R_body_cut
    normal = vec3.cross(z_body, axis)
    x = x_body if vec3.norm(normal) <= _ALONG_Z else vec3.unit(normal)
    x = vec3.unit(vec3.sub(x, vec3.scale(vec3.dot(x, axis), axis)))
    return mat3.from_columns(x, vec3.cross(axis, x), axis)


def _least_turn(loop: Loop) -> Mat3:
    """The least turn, in the child's cut frame, that takes `axis` to `child_axis`."""
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
