# SPDX-License-Identifier: Apache-2.0
"""Inverse and direct dynamics by the motion of the platform (Khalil 2010, sec. 5; Khalil-Guegan).

Each leg is evaluated once, for the motion that the platform gives it. Its joint torques are equivalent to a
wrench on the platform, ``J_v^T J_i^-T H_i``. Its actuators act on the platform by the rows of
``J_i^-1 J_v`` (Khalil 2010, eqs. (59) to (66); Khalil-Guegan 2004, eqs. (20) to (32)). Legs and platform are
independent, and can be computed in parallel before `actuator_efforts`.

Direct dynamics: a leg adds its inertia matrix at the centre of its cut joint to the inertia of the platform.
The terms of gravity and velocities are the inverse dynamics without acceleration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.wrenches import Wrench
from dyn_core.algorithms.link_motion import LinkMotion, link_motion
from dyn_core.algorithms.parallel import leg_kinematics
from dyn_core.algorithms.parallel.parallel_robot import Leg, ParallelRobot
from dyn_core.robot.links import InertialParameters
from dyn_core.symbolic import elimination, mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, Scalars, dot
from dyn_core.symbolic.step import Rotation, turned_matrix
from dyn_core.symbolic.transform import IDENTITY, Transform
from dyn_core.symbolic.vec3 import Vec3

# Inverse dynamics


class LegShare(NamedTuple):
    """Contribution of a leg to the dynamics of the platform."""

    state: leg_kinematics.LegState
    wrench: Wrench  # wrench on the platform that moves the leg, about its origin, on the axes of the root
    rows: list[list[Scalar]]  # velocity of each actuated joint per velocity of the platform, six numbers


def leg_share(leg: Leg, motion: leg_kinematics.PlatformMotion, q: Scalars) -> LegShare:
    """Return the contribution of a leg to the platform: Khalil-Guegan 2004, eqs. (13), (22) and (34)."""
    state = leg_kinematics.leg_state(leg, motion, q)
    qd = leg_kinematics.leg_velocities(state, motion)
    H = leg_torques(leg, q, qd, leg_kinematics.leg_accelerations(state, motion, qd))
    return LegShare(state, wrench_on_platform(state, H), actuator_rows(state))


def leg_torques(leg: Leg, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Torques that move a leg alone, with friction and rotors (N m or N): Khalil-Guegan 2004, eq. (20)."""
    rigid = newton_euler.inverse_dynamics(leg.robot, q, qd, qdd, leg.robot.gravity_0, {})
    drives = newton_euler.drive_torques(leg.robot.joints, qd, qdd)
    return [a + b for a, b in zip(rigid, drives, strict=True)]


def wrench_on_platform(state: leg_kinematics.LegState, H: Scalars) -> Wrench:
    """Wrench on the platform that is equivalent to torques in the joints of a leg: eqs. (22) and (32)."""
    force, moment = state.wrench(H)
    force, moment = state.to_root(force), state.to_root(moment)
    return Wrench(force, vec3.add(vec3.cross(state.L, force), moment))


def actuator_rows(state: leg_kinematics.LegState) -> list[list[Scalar]]:
    """Velocities of the actuated joints of a leg per velocity of the platform: eq. (13)."""
    rows = []
    for k in state.leg.actuated:
        unit = [float(i == k) for i in range(len(state.leg.bodies))]
        rows.append(list(wrench_on_platform(state, unit).values))
    return rows


def actuator_efforts(
    robot: ParallelRobot, rows: Sequence[Scalars], wrenches: Sequence[Wrench]
) -> list[Scalar]:
    """Efforts of the actuators, in tree order (N m or N), that give a total wrench: eqs. (31) and (66)."""
    total = tuple(map(_sum, zip(*(wrench.values for wrench in wrenches), strict=True)))
    columns = [robot.projected(tuple(row)) for row in rows]
    matrix = [list(row) for row in zip(*columns, strict=True)]
    return [row[0] for row in elimination.solved(matrix, [[x] for x in robot.projected(total)])]


def platform_wrench(body: InertialParameters, motion: leg_kinematics.PlatformMotion, gravity: Vec3) -> Wrench:
    """Wrench that moves the platform against gravity, on the axes of the root: eq. (24)."""
    needed = newton_euler.link_wrench(body, body_motion(motion, IDENTITY, gravity))
    return Wrench(mat3.mul_vec(motion.R, needed.force), mat3.mul_vec(motion.R, needed.moment))


def body_motion(motion: leg_kinematics.PlatformMotion, T_link_body: Transform, gravity: Vec3) -> LinkMotion:
    """Motion of a body of the platform that accelerates against gravity, in its frame."""
    to_body = mat3.transpose(mat3.mul(motion.R, T_link_body.R))
    vd = vec3.add(motion.vd, mat3.mul_vec(motion.U, mat3.mul_vec(motion.R, T_link_body.p)))
    felt = mat3.mul_vec(to_body, vec3.sub(vd, gravity))
    return link_motion(mat3.mul_vec(to_body, motion.w), mat3.mul_vec(to_body, motion.wd), felt)


def platform_inertia(body: InertialParameters, R: Mat3) -> list[list[Scalar]]:
    """Inertia matrix of the platform, 6 x 6 on the axes of the root: Khalil-Guegan 2004, eq. (29)."""
    J = mat3.mul(mat3.mul(R, body.J), mat3.transpose(R))  # (25)
    MS = mat3.skew(mat3.mul_vec(R, body.MS))  # (28)
    top = [[*(body.M * entry for entry in mat3.IDENTITY[i]), *(-x for x in MS[i])] for i in range(3)]
    return [*top, *([*MS[i], *(J[min(i, k)][max(i, k)] for k in range(3))] for i in range(3))]


# Direct dynamics (Khalil-Guegan 2004, sec. V)

Matrix = list[list[Scalar]]


def inertia_at_platform(state: leg_kinematics.LegState) -> Matrix:
    """Inertia matrix of a leg for the velocity of the platform: Khalil-Guegan 2004, eq. (38)."""
    A = newton_euler.inertia_matrix(state.leg.robot, state.q)
    A_x = _congruent(A, state.inverse)
    if state.leg.components == (0, 1, 2):
        return _about_platform(state, A_x)
    J_v = leg_kinematics.platform_jacobian(state, state.common)
    return _congruent(A_x, J_v)


def _about_platform(state: leg_kinematics.LegState, A_x: Matrix) -> Matrix:
    """Transform the inertia matrix A_x of a point on the axes of the last body to the platform: eq. (38)."""
    block = ((A_x[0][0], A_x[0][1], A_x[0][2]), (A_x[1][0], A_x[1][1], A_x[1][2]), (*A_x[2],))
    for step in reversed(state.steps):
        if isinstance(step, Rotation):
            block = turned_matrix(step, block)
    R = state.leg.robot.T_root_0.R
    block = mat3.mul(mat3.mul(R, block), mat3.transpose(R))
    L = mat3.skew(state.L)
    LA = mat3.mul(L, block)
    # L is skew-symmetric: its columns are its negative rows.
    corner = _from_upper([[vec3.dot(LA[i], L[k]) for k in range(i, 3)] for i in range(3)])
    top = [[*block[i], *(LA[k][i] for k in range(3))] for i in range(3)]
    return [*top, *([*LA[i], *corner[i]] for i in range(3))]


def _congruent(A: Matrix, B: Sequence[Scalars]) -> Matrix:
    """Product ``B^T A B`` with a symmetric matrix A."""
    columns = [list(column) for column in zip(*B, strict=True)]
    half = [[dot(row, column) for row in A] for column in columns]
    return _from_upper([[dot(row, column) for column in columns[i:]] for i, row in enumerate(half)])


def _from_upper(upper: Sequence[Scalars]) -> Matrix:
    """Symmetric matrix from its rows from the diagonal on."""
    n = len(upper)
    return [[upper[min(i, k)][abs(i - k)] for k in range(n)] for i in range(n)]


def projected_inertia(robot: ParallelRobot, parts: Sequence[Matrix]) -> Matrix:
    """Inertia matrix along the mobility of the platform: Khalil-Guegan 2004, eq. (36)."""
    upper = [[_sum(part[i][k] for part in parts) for k in range(i, 6)] for i in range(6)]
    half = [robot.projected(tuple(row)) for row in _from_upper(upper)]
    full = [robot.projected(column) for column in zip(*half, strict=True)]
    return _from_upper([row[i:] for i, row in enumerate(full)])


def _sum(values: Iterable[Scalar]) -> Scalar:
    return reduce(add, values)


def platform_acceleration(
    robot: ParallelRobot, A: Matrix, wrenches: Sequence[Wrench], rows: Sequence[Scalars], tau: Scalars
) -> list[Scalar]:
    """Acceleration [linear; angular] of the platform on the axes of the root: Khalil-Guegan 2004, eq. (35).

    A is the inertia matrix along the mobility; the wrenches are those without acceleration.
    """
    needed = zip(*(robot.projected(wrench.values) for wrench in wrenches), strict=True)
    excess = [-_sum(values) for values in needed]
    for row, effort in zip(rows, tau, strict=True):
        excess = [a + b * effort for a, b in zip(excess, robot.projected(tuple(row)), strict=True)]
    factors = newton_euler.factorised(A, [range(k) for k in range(len(A))])
    return robot.expanded(newton_euler.solved(factors, excess))
