# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix of a robot with a moving base (Khalil 2010, eq. (84))."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.dynamics.free_base import generalised
from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.free_base import wrench_of_acceleration
from dyn_core.dynamics.inertia_matrix import wrench_of_unit_acceleration
from dyn_core.dynamics.wrench import wrench_before
from dyn_core.geometry.joint_placement import JointPlacement
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw


def free_base_inertia(
    robot: Robot, freedoms: Sequence[Screw], placements: Sequence[JointPlacement]
) -> list[list[Scalar]]:
    """Matrix A of base and joints, with the inertia of the rotors.

    Args:
        robot: the robot, a tree on its base.
        freedoms: k screws in frame 0, along which the base moves.
        placements: n placements of the joints.

    Returns:
        k + n rows of k + n; an entry and the one across the diagonal are the same object.
    """
    k = len(freedoms)
    composite = composite_inertias(robot, placements)
    A: list[list[Scalar]] = [[0.0] * (k + len(robot.joints)) for _ in range(k + len(robot.joints))]
    for row, freedom in enumerate(freedoms):
        entries = generalised(freedoms[: row + 1], wrench_of_acceleration(composite[0], freedom))
        for column, entry in enumerate(entries):
            A[row][column] = A[column][row] = entry  # A11
    for j, joint in enumerate(robot.joints, start=1):
        row = k + j - 1
        wrench = wrench_of_unit_acceleration(composite[j], joint.sigma)
        A[row][row] = wrench.along(joint.sigma) + joint.Ia
        body = j
        while (i := robot.joints[body - 1].antecedent) != 0:
            wrench = wrench_before(placements[body - 1].steps, wrench)  # SYMORO+ 2003, eq. (3.103)
            A[k + i - 1][row] = A[row][k + i - 1] = wrench.along(robot.joints[i - 1].sigma)  # A22
            body = i
        wrench = wrench_before(placements[body - 1].steps, wrench)
        for column, entry in enumerate(generalised(freedoms, wrench)):
            A[row][column] = A[column][row] = entry  # A12
    return A
