# SPDX-License-Identifier: Apache-2.0
"""The common normal of two axes."""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.geometry.tolerance import FAR, ROUNDING
from dyn_core.symbolic import vec3
from dyn_core.symbolic.vec3 import Vec3


class CommonNormal(NamedTuple):
    """Common normal of two lines.

    Attributes:
        foot: the point of the first line that is nearest to the second (m).
        direction: unit vector ``z_i x z_j / |z_i x z_j|``.
        distance: how far the second line is from the first along `direction`; may be negative (m).
        sine: sine of the angle between the lines.
    """

    foot: Vec3
    direction: Vec3
    distance: float
    sine: float


def common_normal(point_i: Vec3, z_i: Vec3, point_j: Vec3, z_j: Vec3) -> CommonNormal | None:
    """Answer the common normal of two lines; None where there is none, or it is far away.

    It is far where a foot is further from its point than `FAR` times the distance of the points.
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
    return CommonNormal(foot, n, vec3.dot(between, n), sine)


def foot_on_line(point: Vec3, on_line: Vec3, z: Vec3) -> Vec3:
    """Answer the point nearest to `point` on the line through `on_line` along the unit vector z."""
    return vec3.add(on_line, vec3.scale(vec3.dot(vec3.sub(point, on_line), z), z))
