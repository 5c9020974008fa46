# SPDX-License-Identifier: Apache-2.0
"""The two frames of each cut joint in terms of MDH parameters (SYMORO+ 2003, sec. 1.5, tables 1.3, 1.4).

Frame k+B is fixed on body j of the child's side: z_k along the axis of the joint and x_k along the common
normal of z_k and z_j, so that theta and r are 0. Of the two directions of x_k it is that with gamma in
(-pi/2, pi/2]. Frame k is the same frame where the loop is closed, seen from body i of the parent's side;
theta or r, which the joint varies, count from 0 there. So it is for joints with one axis. The sides of a
universal joint have an axis each, those of a spherical one only a point: theta is 0 for both, and r is
what it has to be. Those of a fixed joint are where they are said to be.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dyn_core.geometry.tolerance import FAR, clean_angle
from dyn_core.linalg.angle import QUARTER
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.loop import CutFrame, LoopType
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.mdh.cut_frames import CutJoint, cut_joints
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3

_ONE_AXIS = (LoopType.REVOLUTE, LoopType.PRISMATIC, LoopType.CYLINDRICAL, LoopType.PLANAR)


def with_cut_frames(robot: Robot) -> Robot:
    """Answer the robot, with the two frames of each of its cut joints."""
    pairs = zip(robot.loops, cut_joints(robot), strict=True)
    loops = tuple(replace(loop, frames=_frames(loop.type, cut)) for loop, cut in pairs)
    return replace(robot, loops=loops)


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
    return _cut_frame(cut.P.body, other), _cut_frame(cut.C.body, fixed)


def _on_common_normal(mdh: MdhParameters, distance: float) -> MdhParameters:
    """Answer the parameters of a frame on the same axis, with theta 0, and r 0 unless that is far away."""
    gamma, b, alpha, d, r = mdh.gamma, mdh.b, mdh.alpha, mdh.d, mdh.r
    if alpha in (0.0, math.pi):
        b, r = (b + r if alpha == 0.0 else b - r), 0.0
    elif abs(r) <= FAR * distance:
        r = 0.0
    if not -QUARTER < gamma <= QUARTER:
        gamma, alpha, d = clean_angle(gamma + math.pi), clean_angle(-alpha), -d
    return MdhParameters(gamma, b + 0.0, alpha, d + 0.0, 0.0, r)


def _cut_frame(body: int, mdh: MdhParameters) -> CutFrame:
    return CutFrame(body, mdh, transform_from_mdh(mdh).p)
