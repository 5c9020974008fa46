# SPDX-License-Identifier: Apache-2.0
"""The placement of a link on its antecedent, as the sequence of steps that MDH parameters describe."""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.linalg.angle import cos_sin, cos_sin_of_sum
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.symbolic import mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import (
    Rotation,
    Step,
    Translation,
    X,
    Z,
    constant_rotation,
    constant_translations,
)
from dyn_core.symbolic.transform import rot_z
from dyn_core.symbolic.vec3 import Vec3

SKEW = 0.1
"""Least sine of the angle between two axes for which b and r have about the digits of iPj."""


class JointPlacement(NamedTuple):
    """Placement iTj of frame j in frame i = a(j), at one joint position.

    Attributes:
        steps: steps that lead from frame i to frame j: those of SYMORO+ 2003, eq. (1.3), without
            those that do not move.
        seat: position in frame i of a point of z_j that is fixed in link i (m).
        slide: distance from that point to O_j along z_j (m).
    """

    steps: tuple[Step, ...]
    seat: Vec3
    slide: Scalar


def joint_placement(joint: Joint, q: Scalar) -> JointPlacement:
    """Placement iTj of frame j in frame i = a(j) (Khalil 2010, eq. (1); SYMORO+ 2003, eq. (1.3)).

    Args:
        joint: joint j.
        q: its position, as URDF counts it (rad or m).
    """
    mdh = joint.mdh
    offset, r = _offset(mdh, joint.origin)
    seat = mat3.mul_vec(rot_z(mdh.gamma), offset)
    rotation: tuple[Rotation, ...]
    if joint.sigma is Sigma.PRISMATIC:
        slide: Scalar = r + q
        rotation = constant_rotation(Z, mdh.theta)
        translation: tuple[Translation, ...] = (Translation(Z, slide),)
    else:
        slide = r
        rotation = (Rotation(Z, *cos_sin_of_sum(q, mdh.theta)),)
        translation = constant_translations((0.0, 0.0, r))
    steps: tuple[Step, ...] = (
        *constant_rotation(Z, mdh.gamma),
        *constant_translations(offset),
        *constant_rotation(X, mdh.alpha),
        *rotation,
        *translation,
    )
    return JointPlacement(steps, seat, slide)


def _offset(mdh: MdhParameters, origin: Vec3) -> tuple[Vec3, float]:
    """Answer in frame i, turned by gamma, the point of z_j that r counts from, and r (m).

    Where the axes are almost parallel, b and r are large and cancel; then r counts from O_j.
    """
    sine = cos_sin(mdh.alpha)[1]
    if sine == 0.0 or abs(sine) >= SKEW:
        return (mdh.d, 0.0, mdh.b), mdh.r
    return mat3.mul_vec(rot_z(-mdh.gamma), origin), 0.0
