# SPDX-License-Identifier: Apache-2.0
"""Motion of the platform, on the axes of the root link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


class PlatformMotion(NamedTuple):
    """Motion of the frame of the platform's link in that of the root link.

    Attributes:
        R: rotation matrix.
        p: position of the origin (m).
        v: velocity of the origin (m/s).
        w: angular velocity (rad/s).
        vd: acceleration of the origin (m/s^2).
        wd: angular acceleration (rad/s^2).
        U: ``skew(wd) + skew(w) skew(w)`` (1/s^2).
    """

    R: Mat3
    p: Vec3
    v: Vec3
    w: Vec3
    vd: Vec3
    wd: Vec3
    U: Mat3


def platform_motion(
    T: Sequence[Scalar], V: Sequence[Scalar], Vd: Sequence[Scalar], R_constant: Mat3 | None
) -> PlatformMotion:
    """Gather the motion of a platform.

    Args:
        T: the 16 entries of its placement, by rows.
        V: its velocity [linear; angular] (m/s, rad/s).
        Vd: its acceleration [linear; angular] (m/s^2, rad/s^2).
        R_constant: the rotation matrix of a platform that does not turn.
    """
    R = R_constant or ((T[0], T[1], T[2]), (T[4], T[5], T[6]), (T[8], T[9], T[10]))
    w: Vec3 = vec3.ZERO if R_constant else (V[3], V[4], V[5])
    wd: Vec3 = vec3.ZERO if R_constant else (Vd[3], Vd[4], Vd[5])
    U = mat3.add(mat3.skew(wd), mat3.skew_squared(w))
    return PlatformMotion(R, (T[3], T[7], T[11]), (V[0], V[1], V[2]), w, (Vd[0], Vd[1], Vd[2]), wd, U)
