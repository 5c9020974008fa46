# SPDX-License-Identifier: Apache-2.0
"""Constant rotations and placements, from the angles that URDF gives."""

from __future__ import annotations

from dyn_core.io.description import UrdfOrigin
from dyn_core.linalg import mat3
from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.mat3 import Mat3
from dyn_core.linalg.transform import Transform


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
