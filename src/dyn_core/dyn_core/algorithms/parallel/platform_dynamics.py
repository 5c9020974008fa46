# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics of the platform of a parallel robot (Khalil-Guegan 2004, sec. V).

A leg adds to the inertia of the platform what its inertia matrix is at the centre of its cut joint.
What gravity and the velocities do is what the inverse dynamics give without an acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.parallel.leg_kinematics import (
    LegState,
    leg_accelerations,
    leg_state,
    leg_velocities,
    platform_jacobian,
)
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.wrench import Wrench
from dyn_core.linalg.dot import dot
from dyn_core.parallel.inverse_dynamics import actuator_rows, leg_torques, wrench_on_platform
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Rotation, turned_matrix

Matrix = list[list[Scalar]]


class LegInertia(NamedTuple):
    """What a leg means to the platform where it is yet to be accelerated.

    Attributes:
        wrench: wrench on the platform that moves the leg where the platform does not accelerate.
        rows: by actuated joint, its velocity by that of the platform, six numbers.
        inertia: what the leg adds to the inertia matrix of the platform, 6 x 6.
    """

    wrench: Wrench
    rows: Matrix
    inertia: Matrix


def leg_inertia(leg: Leg, motion: PlatformMotion, q: Sequence[Scalar]) -> LegInertia:
    """Answer what a leg means to a platform without acceleration: Khalil-Guegan 2004, eqs. (34), (38)."""
    state = leg_state(leg, motion, q)
    qd = leg_velocities(state, motion)
    qdd = leg_accelerations(state, motion, qd)
    H = leg_torques(leg, q, qd, qdd)
    return LegInertia(wrench_on_platform(state, H), actuator_rows(state), inertia_at_platform(state))


def inertia_at_platform(state: LegState) -> Matrix:
    """Inertia matrix of a leg in terms of the velocity of the platform: Khalil-Guegan 2004, eq. (38)."""
    A = inertia_matrix(state.leg.robot, state.q)
    A_x = _congruent(A, state.inverse)
    if state.leg.components == (0, 1, 2):
        return _about_platform(state, A_x)
    J_v = platform_jacobian(state, state.common)
    return _congruent(A_x, J_v)


def _about_platform(state: LegState, A_x: Matrix) -> Matrix:
    """Inertia matrix of what is A_x to the velocity of one point, on the axes of the last body: eq. (38)."""
    block = ((A_x[0][0], A_x[0][1], A_x[0][2]), (A_x[1][0], A_x[1][1], A_x[1][2]), (*A_x[2],))
    for step in reversed(state.steps):
        if isinstance(step, Rotation):
            block = turned_matrix(step, block)
    R = state.leg.robot.T_root_0.R
    block = mat3.mul(mat3.mul(R, block), mat3.transpose(R))
    L = mat3.skew(state.L)
    LA = mat3.mul(L, block)
    # L is skew: its columns are its rows with the other sign.
    upper = [[vec3.dot(LA[i], L[k]) if i <= k else 0.0 for k in range(3)] for i in range(3)]
    corner = [[upper[min(i, k)][max(i, k)] for k in range(3)] for i in range(3)]
    top = [[*block[i], *(LA[k][i] for k in range(3))] for i in range(3)]
    return [*top, *([*LA[i], *corner[i]] for i in range(3))]


def _congruent(A: Matrix, B: Sequence[Sequence[Scalar]]) -> Matrix:
    """Product ``B^T A B`` with a symmetric matrix A."""
    columns = [list(column) for column in zip(*B, strict=True)]
    half = [[dot(row, column) for row in A] for column in columns]
    n = len(columns)
    upper = [[dot(half[i], columns[k]) if i <= k else 0.0 for k in range(n)] for i in range(n)]
    return [[upper[min(i, k)][max(i, k)] for k in range(n)] for i in range(n)]


def projected_inertia(robot: ParallelRobot, parts: Sequence[Matrix]) -> Matrix:
    """Inertia matrix along the mobility of the platform: Khalil-Guegan 2004, eq. (36)."""
    total = [list(row) for row in parts[0]]
    upper = [(i, k) for i in range(6) for k in range(i, 6)]
    for part in parts[1:]:
        for i, k in upper:
            total[i][k] = total[i][k] + part[i][k]
    for i, k in upper:
        total[k][i] = total[i][k]
    half = [robot.projected(tuple(row)) for row in total]
    full = [robot.projected(column) for column in zip(*half, strict=True)]
    return [[full[min(i, k)][max(i, k)] for k in range(len(full))] for i in range(len(full))]


def platform_acceleration(
    robot: ParallelRobot,
    A: Matrix,
    wrenches: Sequence[Wrench],
    rows: Sequence[Sequence[Scalar]],
    tau: Sequence[Scalar],
) -> list[Scalar]:
    """Acceleration of the platform that efforts give: Khalil-Guegan 2004, eq. (35).

    Args:
        robot: the robot.
        A: inertia matrix along the mobility.
        wrenches: wrenches that are needed where the platform does not accelerate.
        rows: velocities of the actuated joints by that of the platform.
        tau: efforts of the actuators, in tree order (N m or N).

    Returns:
        six components [linear; angular] on the axes of the root (m/s^2, rad/s^2).
    """
    needed = [robot.projected(wrench.values) for wrench in wrenches]
    excess = [-x for x in needed[0]]
    for more in needed[1:]:
        excess = [a - b for a, b in zip(excess, more, strict=True)]
    for row, effort in zip(rows, tau, strict=True):
        excess = [a + b * effort for a, b in zip(excess, robot.projected(tuple(row)), strict=True)]
    factors = factorised(A, [range(k) for k in range(len(A))])
    return robot.expanded(solved(factors, excess))
