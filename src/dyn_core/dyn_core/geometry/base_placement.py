# SPDX-License-Identifier: Apache-2.0
"""Where a pose puts a base that moves."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.linalg.quaternion import rotation_matrix
from dyn_core.linalg.transform import Transform
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, cos, sin


def base_placement(base: MovingBase, pose: Sequence[Scalar]) -> Transform:
    """Placement of the link of the base in the world.

    Args:
        base: the robot and its base.
        pose: x, y, z (m) and the quaternion x, y, z, w; of a planar base x, y (m) and the angle (rad).
    """
    if base.kind != "planar":
        x, y, z, qx, qy, qz, qw = pose
        return Transform(rotation_matrix((qx, qy, qz, qw)), (x, y, z))
    x, y, angle = pose
    c, s = cos(angle), sin(angle)
    R_world_plane, origin = base.T_world_plane
    turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    R = mat3.mul(mat3.mul(R_world_plane, turn), mat3.transpose(base.R_link_plane))
    return Transform(R, vec3.add(origin, mat3.mul_vec(R_world_plane, (x, y, 0.0))))
