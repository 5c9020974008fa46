# SPDX-License-Identifier: Apache-2.0
"""Basic Jacobian matrix of any frame, in any frame (SYMORO+ 2003, sec. 2.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.forward import placements_from
from dyn_core.geometry.path import lineage
from dyn_core.linalg.transform import apply
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import ZERO, Screw


def jacobian(
    robot: Robot, q: Sequence[Scalar], frame: LinkFrame, expressed_in: LinkFrame
) -> list[list[Scalar]]:
    """Matrix J of ``[linear; angular] = J qd``, the velocity of a frame: SYMORO+ 2003, eq. (2.18).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        frame: the frame that moves; the linear velocity is that of its origin.
        expressed_in: frame on whose axes the velocity is projected.

    Returns:
        6 rows of n.
    """
    movers = lineage(robot, frame.body)
    T = placements_from(robot, q, expressed_in, movers)
    columns = [ZERO] * len(robot.joints)
    if movers:
        tip = apply(T[frame.body], frame.T_body_link.p)
    for j in movers:
        a = mat3.column(T[j].R, 2)
        if robot.joints[j - 1].sigma is Sigma.REVOLUTE:
            L = vec3.sub(tip, T[j].p)
            columns[j - 1] = Screw(vec3.cross(a, L), a)
        else:
            columns[j - 1] = Screw(a, vec3.ZERO)
    return [list(row) for row in zip(*(column.values for column in columns), strict=True)] or [[]] * 6
