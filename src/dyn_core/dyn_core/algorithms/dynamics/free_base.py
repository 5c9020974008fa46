# SPDX-License-Identifier: Apache-2.0
"""The motion of a base between its link, in terms of which users say it, and frame 0 of the algorithms.

The acceleration of a link is that of its origin and its angular one, [vd; wd] (Khalil 2010, eq. (5)), on
its axes: what an accelerometer there would show of it, not the rate of the components of its velocity.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.link_motion import LinkMotion
from dyn_core.dynamics.wrench import Wrench
from dyn_core.linalg.transform import Transform
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3

UNITS: tuple[Vec3, Vec3, Vec3] = mat3.IDENTITY


def base_motion(T_link_0: Transform, w: Vec3, acceleration: Screw) -> LinkMotion:
    """Motion of frame 0, on its axes.

    Args:
        T_link_0: placement of frame 0 in the frame of the link of the base.
        w: angular velocity of the link, on its axes (rad/s).
        acceleration: of the link, on its axes (m/s^2, rad/s^2).
    """
    R_back = mat3.transpose(T_link_0.R)
    w_0, wd_0 = mat3.mul_vec(R_back, w), mat3.mul_vec(R_back, acceleration.angular)
    U_0 = mat3.add(mat3.skew(wd_0), mat3.skew_squared(w_0))
    to_origin = mat3.mul_vec(U_0, mat3.mul_vec(R_back, T_link_0.p))
    vd_0 = vec3.add(mat3.mul_vec(R_back, acceleration.linear), to_origin)
    return LinkMotion(w_0, wd_0, U_0, vd_0)


def screw_at_0(T_link_0: Transform, screw: Screw) -> Screw:
    """Answer in frame 0 a velocity, or what an acceleration adds, of the link of the base."""
    R_back = mat3.transpose(T_link_0.R)
    linear = vec3.add(screw.linear, vec3.cross(screw.angular, T_link_0.p))
    return Screw(mat3.mul_vec(R_back, linear), mat3.mul_vec(R_back, screw.angular))


def screw_at_link(T_link_0: Transform, screw: Screw) -> Screw:
    """Answer for the link of the base a velocity, or what an acceleration adds, of frame 0."""
    angular = mat3.mul_vec(T_link_0.R, screw.angular)
    linear = vec3.sub(mat3.mul_vec(T_link_0.R, screw.linear), vec3.cross(angular, T_link_0.p))
    return Screw(linear, angular)


def freedoms_at_0(base: MovingBase) -> tuple[Screw, ...]:
    """Screws in frame 0 whose combinations are what the base can do.

    Of a base that moves in all ways they are the units of frame 0, the angular ones first: the rows of the
    mass are then eliminated first from the equations of a rigid body, and keep their zeros. Of a planar base
    they are x, y and the angle, of its link.
    """
    if base.kind != "planar":
        angular = tuple(Screw(vec3.ZERO, unit) for unit in UNITS)
        return (*angular, *(Screw(unit, vec3.ZERO) for unit in UNITS))
    x, y, normal = mat3.transpose(base.R_link_plane)
    of_link = (Screw(x, vec3.ZERO), Screw(y, vec3.ZERO), Screw(vec3.ZERO, normal))
    return tuple(screw_at_0(base.robot.T_root_0, screw) for screw in of_link)


def combined(freedoms: Sequence[Screw], values: Sequence[Scalar]) -> Screw:
    """Sum of screws, each times its value."""
    linear, angular = vec3.ZERO, vec3.ZERO
    for screw, value in zip(freedoms, values, strict=True):
        linear = vec3.add(linear, vec3.scale(value, screw.linear))
        angular = vec3.add(angular, vec3.scale(value, screw.angular))
    return Screw(linear, angular)


def generalised(freedoms: Sequence[Screw], wrench: Wrench) -> list[Scalar]:
    """Powers of a wrench in screws of the same frame."""
    return [wrench.power(screw) for screw in freedoms]


def twist_of(base: MovingBase, V: Sequence[Scalar]) -> Screw:
    """Velocity or acceleration of the link of the base from its numbers, 6, or 3 of a planar base."""
    if base.kind != "planar":
        return Screw((V[0], V[1], V[2]), (V[3], V[4], V[5]))
    R: Mat3 = base.R_link_plane
    return Screw(mat3.mul_vec(R, (V[0], V[1], 0.0)), mat3.mul_vec(R, (0.0, 0.0, V[2])))


def numbers_of(base: MovingBase, values: Screw | Wrench) -> list[Scalar]:
    """Answer the numbers, 6, or 3 of a planar base, of a motion or a wrench at the link of the base."""
    first, second = (
        (values.linear, values.angular) if isinstance(values, Screw) else (values.force, values.moment)
    )
    if base.kind != "planar":
        return [*first, *second]
    back = mat3.transpose(base.R_link_plane)
    along, about = mat3.mul_vec(back, first), mat3.mul_vec(back, second)
    return [along[0], along[1], about[2]]
