# SPDX-License-Identifier: Apache-2.0
"""A constant placement as six MDH parameters, and back."""

from __future__ import annotations

import math

from dyn_core.geometry.tolerance import ROUNDING, clean_angle, clean_length
from dyn_core.linalg.angle import QUARTER, cos_sin, wrapped
from dyn_core.linalg.transform import Transform
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.transform import rot_x, rot_z
from dyn_core.symbolic.vec3 import Vec3


def transform_from_mdh(mdh: MdhParameters) -> Transform:
    """Placement iTj that six parameters describe (SYMORO+ 2003, eq. (1.3))."""
    axes = mat3.mul(rot_z(mdh.gamma), rot_x(mdh.alpha))
    along_u = vec3.scale(mdh.d, mat3.column(axes, 0))
    along_z = vec3.add((0.0, 0.0, mdh.b), vec3.scale(mdh.r, mat3.column(axes, 2)))
    return Transform(mat3.mul(axes, rot_z(mdh.theta)), vec3.add(along_u, along_z))


def mdh_from_transform(R: Mat3, p: Vec3, size: float = 0.0) -> MdhParameters:
    """Six parameters of any placement iTj = (R, p), inverse of SYMORO+ 2003, eq. (1.3).

    Every placement has such parameters: six numbers for six degrees of freedom. Where there is a
    choice:

    * skew axes: the common normal u_j points from z_i to z_j, so that d > 0;
    * intersecting axes (d = 0): gamma is in (-pi/2, pi/2];
    * parallel axes: b = 0, all the offset along z is in r, and d > 0;
    * collinear axes: gamma = 0 too.

    Args:
        R: rotation iRj.
        p: position iPj (m).
        size: the lengths that p is computed from (m): a length that is 0 up to the rounding of
            lengths of that size is made 0.
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
    """Offsets b and r along two axes, of which one that is 0 up to rounding is made 0.

    Args:
        cosine: of the angle between the axes.
        height: position along the first axis (m), which is b + r cosine.
        r: offset along the second axis (m).
        size: lengths whose rounding the position has (m).
        along: lengths whose rounding the offsets have (m): the foot of the common normal of axes that are
            nearly parallel is moved far by the rounding of the position, and of the direction of the normal.
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
