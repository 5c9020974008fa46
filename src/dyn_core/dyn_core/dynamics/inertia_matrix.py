# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix by composite links (SYMORO+ 2003, sec. 3.6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar


def inertia_matrix(robot: Robot, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """Matrix A of Khalil 2010, eq. (7), with the inertia of the rotors.

    Where neither of two joints carries the other, the entry is 0 and nothing is computed.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).

    Returns:
        n rows of n; an entry and the one across the diagonal are the same object.
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    composite = composite_inertias(robot, placements)
    A: list[list[Scalar]] = [[0.0] * len(robot.joints) for _ in range(len(robot.joints))]
    for j, joint in enumerate(robot.joints, start=1):
        wrench = wrench_of_unit_acceleration(composite[j], joint.sigma)
        A[j - 1][j - 1] = wrench.along(joint.sigma) + joint.Ia
        k = j
        while (i := robot.joints[k - 1].antecedent) != 0:
            wrench = wrench_before(placements[k - 1].steps, wrench)  # (3.103)
            A[i - 1][j - 1] = A[j - 1][i - 1] = wrench.along(robot.joints[i - 1].sigma)
            k = i
    return A


def wrench_of_unit_acceleration(body: InertialParameters, sigma: Sigma) -> Wrench:
    """Wrench that accelerates a body at rest by 1 along or about z: SYMORO+ 2003, eq. (3.101)."""
    if sigma is Sigma.REVOLUTE:
        return Wrench((-body.MY, body.MX, 0.0), (body.XZ, body.YZ, body.ZZ))
    return Wrench((0.0, 0.0, body.M), (body.MY, -body.MX, 0.0))
