# SPDX-License-Identifier: Apache-2.0
"""Actuators that cannot hold the robot against gravity, or move it against its own friction."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dyn_core.check.closed_positions import ClosedPositions, closed_positions
from dyn_core.check.joint_limits import FAST, LONG
from dyn_core.check.positions import tried_positions
from dyn_core.check.subject import Subject
from dyn_core.core.arrays import Array, scalars
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.dynamics.gravity_torques import gravity_torques
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot

POSITIONS = 2000
SHOWN = 12
"""Number of joints up to which the position is printed."""


def holding_torques(subject: Subject) -> Iterator[Finding]:
    """Find joints whose effort limit is less than gravity takes somewhere within the limits."""
    robot = subject.robot
    if robot.dof == 0:
        return
    if robot.loops:
        closed = closed_positions(robot)
        if closed is None:
            return
        q, torques = closed.q, closed_gravity_torques(robot, closed)
    else:
        q = tried_positions(robot, POSITIONS)
        torques = tried_gravity_torques(robot, q)
    torques = np.nan_to_num(np.abs(torques), nan=0.0)
    for k, joint in enumerate(robot.independent_joints):
        effort, worst = joint.limits.effort, int(torques[:, k].argmax())
        needed = float(torques[worst, k])
        if effort is not None and joint.mu == 1 and needed > effort:
            unit = joint.effort_unit
            what = (
                f"gravity takes up to {needed:.3g} {unit} within the limits{_position(q[worst])}, but the "
                f"effort limit is {effort:.3g} {unit}: check masses and limits"
            )
            yield Finding(Severity.WARNING, "joint", (joint.name,), what)


def tried_gravity_torques(robot: Robot, q: Array) -> Array:
    """Answer the torques that hold the robot in positions (N, dof)."""
    tree = gravity_torques(robot, joint_positions(robot, scalars(q)), robot.gravity_0)
    columns = coordinate_torques(robot, tree)
    torques: Array = np.empty_like(q)
    for k, column in enumerate(columns):
        torques[:, k] = column
    return torques


def closed_gravity_torques(robot: Robot, closed: ClosedPositions) -> Array:
    """Answer the torques of the actuated joints that hold a robot with loops in closed positions (N, dof)."""
    tree = gravity_torques(robot, closed.at.q, robot.gravity_0)
    torques: Array = np.empty_like(closed.q)
    for k, column in enumerate(closed.at.actuated(coordinate_torques(robot, tree))):
        torques[:, k] = column
    return torques


def _position(q: Array) -> str:
    if len(q) > SHOWN:
        return ""
    return f" (at {' '.join(f'{x:.4g}' for x in q.tolist())})"


def friction_beyond_effort(subject: Subject) -> Iterator[Finding]:
    """Find joints whose friction alone takes more than the effort limit."""
    limited = [
        (joint, joint.limits.effort)
        for joint in subject.robot.independent_joints
        if joint.limits.effort is not None and joint.mu == 1
    ]
    stuck = [
        (dry_friction(joint) / effort, joint) for joint, effort in limited if dry_friction(joint) >= effort
    ]
    slow = [
        (friction_at_speed(joint) / effort, joint)
        for joint, effort in limited
        if dry_friction(joint) < effort < friction_at_speed(joint)
    ]
    yield from _worst_first(
        stuck,
        lambda joint: (
            f"dry friction of {dry_friction(joint):.3g} {joint.effort_unit} against an effort limit of "
            f"{joint.limits.effort:.3g} {joint.effort_unit}: it cannot move: check friction and limit"
        ),
    )
    yield from _worst_first(
        slow,
        lambda joint: (
            f"at the greatest velocity of {joint.limits.velocity:.3g} {joint.position_unit}/s friction takes "
            f"{friction_at_speed(joint):.3g} {joint.effort_unit}, more than the effort limit of "
            f"{joint.limits.effort:.3g} {joint.effort_unit}: check damping and limits"
        ),
    )


def dry_friction(joint: Joint) -> float:
    """Friction of a joint that only begins to move (N m or N)."""
    return joint.friction.Fs + abs(joint.friction.Fo)


def friction_at_speed(joint: Joint) -> float:
    """Friction at the greatest velocity (N m or N); without its viscous part where that has a wrong unit."""
    speed = joint.limits.velocity or 0.0
    credible = speed <= (FAST if joint.sigma is Sigma.REVOLUTE else LONG)
    return dry_friction(joint) + (joint.friction.Fv * speed if credible else 0.0)


def _worst_first(found: list[tuple[float, Joint]], message: Callable[[Joint], str]) -> Iterator[Finding]:
    if found:
        joints = [joint for _, joint in sorted(found, key=lambda item: item[0], reverse=True)]
        names = tuple(joint.name for joint in joints)
        yield Finding(Severity.WARNING, "joint", names, of_first(names, message(joints[0])))
