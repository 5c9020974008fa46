# SPDX-License-Identifier: Apache-2.0
"""Constant rotations and placements, from the angles that URDF gives."""

from __future__ import annotations

import math

from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.transform import Transform
from dyn_core.robot.description import UrdfOrigin
from dyn_core.symbolic import mat3
from dyn_core.symbolic.mat3 import Mat3


def rot_x(angle: float) -> Mat3:
    """Rotation about x (rad)."""
    c, s = cos_sin(angle)
    return ((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c))


def rot_y(angle: float) -> Mat3:
    """Rotation about y (rad)."""
    c, s = cos_sin(angle)
    return ((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c))


def rot_z(angle: float) -> Mat3:
    """Rotation about z (rad)."""
    c, s = cos_sin(angle)
    return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Mat3:
    """Rotation by the fixed-axis angles of URDF (rad): ``Rz(yaw) Ry(pitch) Rx(roll)``."""
    return mat3.mul(rot_z(yaw), mat3.mul(rot_y(pitch), rot_x(roll)))


def placement(origin: UrdfOrigin) -> Transform:
    """Transform of a URDF <origin>."""
    return Transform(rotation_from_rpy(*origin.rpy), origin.xyz)


def rpy_from_rotation(R: Mat3) -> tuple[float, float, float]:
    """Fixed-axis angles of URDF (rad) of a rotation; where the pitch is +-pi/2, the yaw is 0.

    The roll is taken from ``Rz(-yaw) R``, so that near those pitches it makes up for what is not
    known of the yaw.
    """
    (r00, r01, r02), (r10, r11, r12), (r20, _, _) = R
    level = math.hypot(r00, r10)
    yaw = math.atan2(r10, r00) if level > 0.0 else 0.0
    c, s = cos_sin(yaw)
    roll = math.atan2(s * r02 - c * r12, c * r11 - s * r01)
    return roll, math.atan2(-r20, level), yaw
