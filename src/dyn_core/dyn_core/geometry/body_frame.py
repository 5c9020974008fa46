# SPDX-License-Identifier: Apache-2.0
"""Where frame i goes on body i (Khalil 2010, sec. 2.1; SYMORO+ 2003, sec. 1.3 and 1.4).

z_i is along the axis of joint i. x_i is along the common normal of z_i and the first axis that
follows it, towards that axis, and O_i is where the two meet. Where this leaves a choice, it is
made so that as many parameters as possible are zero:

* no axis follows, or the following axis is collinear: theta_i = 0 and r_i = 0;
* the following axis is parallel: x_i points to it and r_i = 0;
* the following axis intersects: of the two directions of x_i the one with the smaller
  angle theta_i, and +pi/2 rather than -pi/2;
* the axis of joint i is prismatic and free: through O_a(i), so that d_i = 0;
* the following axis is prismatic and free: it will go through O_i, and r_i = 0.

Axes that are nearly parallel count as parallel here when their common normal is far away (see
`tolerance.FAR`): O_i then stays near the joint, where the inertia of the body is well conditioned.
"""

from __future__ import annotations

import math

from dyn_core.geometry.axis_lines import AxisLine
from dyn_core.geometry.common_normal import common_normal, foot_on_line
from dyn_core.geometry.tolerance import ROUNDING
from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.robot.mdh.frames import mdh_from_transform
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3


def body_frame(
    axis: AxisLine, T_joint_before: Transform, following: AxisLine | None, size: float
) -> Transform:
    """Answer the placement of frame i in the URDF frame of joint i.

    Args:
        axis: the axis of joint i.
        T_joint_before: placement of frame a(i) at q_i = 0.
        following: the axis of the first joint on body i.
        size: the lengths that these are computed from (m), for what counts as rounding.

    All three are given in the URDF frame of joint i.
    """
    origin, x = _undisplaced(axis, T_joint_before, size)
    if following is not None:
        origin, x = _towards(following, axis.direction, origin, x, size)
    return _frame(origin, x, axis.direction)


def root_frame(axis: AxisLine) -> Transform:
    """Answer what stands for frame 0 until frame 1 is placed: on the axis, x near that of URDF."""
    return _frame(axis.point or vec3.ZERO, _any_normal(axis.direction), axis.direction)


def _undisplaced(axis: AxisLine, before: Transform, size: float) -> tuple[Vec3, Vec3]:
    """Answer O_i and x_i so that theta_i = 0 and, unless that is far away, r_i = 0."""
    z = axis.direction
    on_axis = before.p if axis.point is None else axis.point
    level = foot_on_line(before.p, on_axis, z)
    T_before_level = compose(inverse(before), _frame(level, _any_normal(z), z))
    c, s = cos_sin(mdh_from_transform(*T_before_level, size).gamma)
    x = _normal_part(mat3.mul_vec(before.R, (c, s, 0.0)), z)
    normal = common_normal(level, z, before.p, mat3.column(before.R, 2))
    return (level if normal is None else normal.foot), x


def _towards(following: AxisLine, z: Vec3, origin: Vec3, x: Vec3, size: float) -> tuple[Vec3, Vec3]:
    """Turn x_i, and move O_i, to the common normal with the following axis."""
    point = origin if following.point is None else following.point
    normal = common_normal(origin, z, point, following.direction)
    if normal is None:
        across = vec3.sub(point, foot_on_line(point, origin, z))
        return origin, (_normal_part(across, z) if vec3.norm(across) > ROUNDING * size else x)
    if abs(normal.distance) > ROUNDING * size / normal.sine:
        return normal.foot, vec3.scale(math.copysign(1.0, normal.distance), normal.direction)
    return normal.foot, _less_turned(normal.direction, x, z)


def _less_turned(direction: Vec3, x: Vec3, z: Vec3) -> Vec3:
    """Answer `direction` or its opposite, whichever is less turned from x; +pi/2 before -pi/2."""
    cosine, sine = vec3.dot(x, direction), vec3.dot(vec3.cross(z, x), direction)
    opposite = sine < 0.0 if abs(cosine) <= ROUNDING else cosine < 0.0
    return vec3.neg(direction) if opposite else direction


def _frame(origin: Vec3, x: Vec3, z: Vec3) -> Transform:
    """Answer the frame with this origin and these two axes."""
    return Transform(mat3.from_columns(x, vec3.cross(z, x), z), origin)


def _any_normal(z: Vec3) -> Vec3:
    """Answer the unit vector normal to z that is nearest to x, or to y where z is near to x."""
    return _normal_part((1.0, 0.0, 0.0) if abs(z[0]) < 0.9 else (0.0, 1.0, 0.0), z)


def _normal_part(v: Vec3, z: Vec3) -> Vec3:
    """Answer the direction of v without its part along the unit vector z.

    The second subtraction removes the rounding of the first, which counts where little is left.
    """
    part = vec3.unit(vec3.sub(v, vec3.scale(vec3.dot(v, z), z)))
    return vec3.unit(vec3.sub(part, vec3.scale(vec3.dot(part, z), z)))
