# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters of a body together with all that it carries (SYMORO+ 2003, sec. 3.6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.joint_placement import JointPlacement
from dyn_core.robot.links import InertialParameters, about_origin, merge
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Rotation, Step, Translation, others, turned, turned_matrix


def composite_inertias(robot: Robot, placements: Sequence[JointPlacement]) -> list[InertialParameters]:
    """Parameters of the bodies 0 to n with all that they carry: SYMORO+ 2003, eqs. (3.97) to (3.100).

    Args:
        robot: the robot.
        placements: n placements of the joints.
    """
    composite = list(robot.bodies)
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        composite[i] = merge(composite[i], inertia_before(placements[j - 1].steps, composite[j]))
    return composite


def inertia_before(steps: Sequence[Step], body: InertialParameters) -> InertialParameters:
    """Parameters in the first frame of a body whose parameters are given in the last."""
    for step in reversed(steps):
        if isinstance(step, Rotation):
            body = about_origin(turned_matrix(step, body.J), turned(step, body.MS), body.M)
        else:
            body = _shifted(step, body)
    return body


def _shifted(translation: Translation, body: InertialParameters) -> InertialParameters:
    """Parameters about an origin from which the body is farther by a length along one axis."""
    k, length = translation
    i, j = others(k)
    J: list[list[Scalar]] = [list(row) for row in body.J]
    MS = list(body.MS)
    MS[k] = MS[k] + length * body.M
    across = length * (body.MS[k] + MS[k])
    J[i][i], J[j][j] = J[i][i] + across, J[j][j] + across
    J[i][k] = J[k][i] = J[k][i] - length * MS[i]
    J[j][k] = J[k][j] = J[k][j] - length * MS[j]
    x, y, z = ((row[0], row[1], row[2]) for row in J)
    return about_origin((x, y, z), (MS[0], MS[1], MS[2]), body.M)
