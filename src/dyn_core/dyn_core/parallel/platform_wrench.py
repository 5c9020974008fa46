# SPDX-License-Identifier: Apache-2.0
"""What the platform itself needs for its motion (Khalil-Guegan 2004, eqs. (24) to (29))."""

from __future__ import annotations

from dyn_core.algorithms.dynamics.newton_euler import link_wrench
from dyn_core.algorithms.link_motion import LinkMotion
from dyn_core.dynamics.wrench import Wrench
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.robot.links import InertialParameters
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def platform_wrench(body: InertialParameters, motion: PlatformMotion, gravity: Vec3) -> Wrench:
    """Wrench about the origin of the platform, on the axes of the root: Khalil-Guegan 2004, eq. (24).

    Args:
        body: inertial parameters in the frame of the platform's link.
        motion: motion of the platform.
        gravity: acceleration of gravity on the axes of the root (m/s^2).
    """
    to_link = mat3.transpose(motion.R)
    w, wd = mat3.mul_vec(to_link, motion.w), mat3.mul_vec(to_link, motion.wd)
    vd = mat3.mul_vec(to_link, vec3.sub(motion.vd, gravity))
    U = mat3.add(mat3.skew(wd), mat3.skew_squared(w))
    needed = link_wrench(body, LinkMotion(w, wd, U, vd))
    return Wrench(mat3.mul_vec(motion.R, needed.force), mat3.mul_vec(motion.R, needed.moment))


def platform_inertia(body: InertialParameters, R: Mat3) -> list[list[Scalar]]:
    """Inertia matrix of the platform, 6 x 6 on the axes of the root: Khalil-Guegan 2004, eq. (29)."""
    J = mat3.mul(mat3.mul(R, body.J), mat3.transpose(R))  # (25)
    MS = mat3.skew(mat3.mul_vec(R, body.MS))  # (28)
    top = [[*(body.M * entry for entry in mat3.IDENTITY[i]), *(-x for x in MS[i])] for i in range(3)]
    return [*top, *([*MS[i], *(J[min(i, k)][max(i, k)] for k in range(3))] for i in range(3))]
