# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a parallel robot in terms of the motion of its platform.

Each leg is evaluated once, for the motion that the platform gives it. What it takes to move it is a wrench
on the platform, ``J_v^T J_i^-T H_i``, and its actuators act there by the rows of ``J_i^-1 J_v``
(Khalil 2010, eqs. (59) to (66); Khalil-Guegan 2004, eqs. (20) to (32)). The legs do not need one another,
and neither does the platform: each can be computed on a processor of its own, before `actuator_efforts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.algorithms.parallel.leg_kinematics import (
    LegState,
    leg_accelerations,
    leg_state,
    leg_velocities,
)
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.wrench import Wrench
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.symbolic import elimination, vec3
from dyn_core.symbolic.scalar import Scalar


class LegShare(NamedTuple):
    """What a leg means to the platform.

    Attributes:
        wrench: wrench on the platform that moves the leg, about its origin and on the axes of the root.
        rows: by actuated joint, its velocity by that of the platform, six numbers.
    """

    wrench: Wrench
    rows: list[list[Scalar]]


def leg_share(leg: Leg, motion: PlatformMotion, q: Sequence[Scalar]) -> LegShare:
    """Answer what a leg means to the platform: Khalil-Guegan 2004, eqs. (22) and (13)."""
    state = leg_state(leg, motion, q)
    qd = leg_velocities(state, motion)
    qdd = leg_accelerations(state, motion, qd)
    H = leg_torques(leg, q, qd, qdd)
    return LegShare(wrench_on_platform(state, H), actuator_rows(state))


def leg_torques(leg: Leg, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """Torques that move a leg alone, with friction and rotors (N m or N): Khalil-Guegan 2004, eq. (20)."""
    rigid = inverse_dynamics(leg.robot, q, qd, qdd, leg.robot.gravity_0, {})
    drives = drive_torques(leg.robot.joints, qd, qdd)
    return [a + b for a, b in zip(rigid, drives, strict=True)]


def wrench_on_platform(state: LegState, H: Sequence[Scalar]) -> Wrench:
    """Wrench on the platform that torques in the joints of a leg are worth: eqs. (22) and (32)."""
    force, moment = state.wrench(H)
    force, moment = state.to_root(force), state.to_root(moment)
    return Wrench(force, vec3.add(vec3.cross(state.L, force), moment))


def actuator_rows(state: LegState) -> list[list[Scalar]]:
    """Velocities of the actuated joints of a leg by that of the platform: Khalil-Guegan 2004, eq. (13)."""
    rows = []
    for k in state.leg.actuated:
        unit = [float(i == k) for i in range(len(state.leg.bodies))]
        rows.append(list(wrench_on_platform(state, unit).values))
    return rows


def actuator_efforts(
    robot: ParallelRobot, rows: Sequence[Sequence[Scalar]], wrenches: Sequence[Wrench]
) -> list[Scalar]:
    """Efforts of the actuators that give the platform a total wrench: eqs. (31) and (66).

    Args:
        robot: the robot.
        rows: velocities of the actuated joints by that of the platform.
        wrenches: wrenches about the origin of the platform that have to be made.

    Returns:
        efforts of the actuators, in tree order (N m or N).
    """
    total = wrenches[0].values
    for wrench in wrenches[1:]:
        total = tuple(a + b for a, b in zip(total, wrench.values, strict=True))
    columns = [robot.projected(tuple(row)) for row in rows]
    matrix = [list(row) for row in zip(*columns, strict=True)]
    return [row[0] for row in elimination.solved(matrix, [[x] for x in robot.projected(total)])]
