# SPDX-License-Identifier: Apache-2.0
"""The placement of a link on its antecedent as a function of the joint position."""

from __future__ import annotations

from dyn_core.geometry.rotations import rot_x, rot_z
from dyn_core.linalg import mat3, vec3
from dyn_core.linalg.angle import cos_sin_of_sum
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.transform import Transform
from dyn_core.model.joint import Joint, Sigma


def joint_transform(joint: Joint, q: Scalar) -> Transform:
    """Placement iTj of frame j in frame i = a(j) (Khalil 2010, eq. (1); SYMORO+ 2003, eq. (1.3)).

    Args:
        joint: joint j.
        q: its position, as URDF counts it (rad or m).
    """
    mdh = joint.mdh
    axes = mat3.mul(rot_z(mdh.gamma), rot_x(mdh.alpha))
    if joint.sigma is Sigma.PRISMATIC:
        slide = vec3.scale(q, mat3.column(axes, 2))
        return Transform(mat3.mul(axes, rot_z(mdh.theta)), vec3.add(joint.origin, slide))
    c, s = cos_sin_of_sum(q, mdh.theta)
    return Transform(mat3.mul(axes, ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))), joint.origin)
