# SPDX-License-Identifier: Apache-2.0
"""Check actuators: friction, rotor inertias, springs, and torques against gravity and friction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dyn_core.algorithms.dynamics.elastic_dynamics import oscillations
from dyn_core.algorithms.dynamics.newton_euler import gravity_torques
from dyn_core.check.joint_limits import FAST, LONG, joint_range
from dyn_core.check.subject import Subject, closed_positions, tried_positions
from dyn_core.core.arrays import scalars
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.joints import Friction, Joint, Sigma

# Friction, rotors and passive joints


def friction(subject: Subject) -> Iterator[Finding]:
    """Find robots without friction, and negative friction."""
    joints = subject.robot.joints
    if joints and all(joint.friction == Friction() for joint in joints):
        yield Finding(Severity.NOTE, "robot", (), Message("friction-missing"))
    driving = tuple(joint.name for joint in joints if min(joint.friction.Fv, joint.friction.Fs) < 0.0)
    if driving:
        yield Finding(Severity.WARNING, "joint", driving, Message("friction-drives-joint"))


def rotor_inertia(subject: Subject) -> Iterator[Finding]:
    """Find robots without rotor inertias, which with gears are often greater than those of the links."""
    joints = subject.robot.joints
    if joints and all(joint.Ia == 0.0 for joint in joints):
        yield Finding(Severity.NOTE, "robot", (), Message("rotor-inertia-missing"))


def passive_joints(subject: Subject) -> Iterator[Finding]:
    """Find passive joints in a robot without loops, which is underactuated."""
    robot = subject.robot
    names = tuple(name for name in robot.passive_joint_names if name not in robot.elastic_joint_names)
    if names and not robot.loops:
        yield Finding(Severity.NOTE, "joint", names, Message("joint-unactuated"))


# Springs of elastic joints


def springs(subject: Subject) -> Iterator[Finding]:
    """Report elastic joints, and find springs with rest positions beyond the limits of their joint."""
    robot = subject.robot
    elastic = [(joint, joint.elastic) for joint in robot.joints if joint.elastic is not None]
    alone = [(joint, spring) for joint, spring in elastic if spring.motor == 0]
    for code, found in (
        ("spring-as-actuator", alone),
        ("spring-behind-motor", [(joint, spring) for joint, spring in elastic if spring.motor != 0]),
    ):
        if found:
            joint, spring = found[0]
            unit = joint.position_unit
            stiffness = {"stiffness": spring.stiffness, "stiffness_unit": f"{joint.effort_unit}/{unit}"}
            message = Message(code, **stiffness, rest=spring.rest, unit=unit)
            yield of_first(Severity.NOTE, "joint", [joint.name for joint, _ in found], message)
    for joint, spring in alone:
        lower, upper = joint_range(joint)
        if not lower <= spring.rest <= upper:
            message = Message("spring-rest-outside-limits", rest=spring.rest, unit=joint.position_unit)
            yield Finding(Severity.WARNING, "joint", (joint.name,), message)
    if not elastic:
        return
    fastest = max(oscillations(robot, [0.0] * robot.dof), default=0.0)
    if 0.0 < fastest < math.inf:
        message = Message("spring-oscillation", frequency=fastest / (2.0 * math.pi))
        yield Finding(Severity.NOTE, "robot", (), message)


# Effort limits against gravity and friction

POSITIONS = 2000
MOST_TRIED = 2_000_000
"""Greatest number of sample positions times joints: robots with more than 1000 joints are tried in fewer."""
SHOWN = 12
"""Largest number of joints for which the sentence has the position."""
LISTED = 100
"""Largest number of joints for which the finding has the position: all findings have it for each joint."""


def holding_torques(subject: Subject) -> Iterator[Finding]:
    """Find joints whose effort limit is less than the gravity torque in some position within the limits."""
    robot = subject.robot
    if robot.dof == 0:
        return
    if robot.loops:
        closed = closed_positions(robot)
        if closed is None:
            return
        q = closed.q
        tree = coordinate_torques(robot, gravity_torques(robot, closed.at.q, robot.gravity_0))
        columns = closed.at.actuated(tree)
    else:
        q = tried_positions(robot, max(min(POSITIONS, MOST_TRIED // robot.dof), 2))
        tree = gravity_torques(robot, joint_positions(robot, scalars(q)), robot.gravity_0)
        columns = coordinate_torques(robot, tree)
    torques = np.stack(np.broadcast_arrays(q[:, 0], *columns)[1:], axis=1)
    torques = np.nan_to_num(np.abs(torques), nan=0.0)
    for k, joint in enumerate(robot.independent_joints):
        effort, worst = joint.limits.effort, int(torques[:, k].argmax())
        needed = float(torques[worst, k])
        if effort is not None and joint.mu == 1 and needed > effort:
            values: dict[str, Any] = {"needed": needed, "limit": effort, "unit": joint.effort_unit}
            if q.shape[1] <= LISTED:
                values["position"] = tuple(q[worst].tolist())
            shown = "-at" if q.shape[1] <= SHOWN else ""
            message = Message(f"effort-limit-below-gravity{shown}", **values)
            yield Finding(Severity.WARNING, "joint", (joint.name,), message)


def friction_beyond_effort(subject: Subject) -> Iterator[Finding]:
    """Find joints whose friction exceeds the effort limit, at rest or at the greatest velocity."""
    stuck, slow = [], []
    for joint in subject.robot.independent_joints:
        limit, speed = joint.limits.effort, joint.limits.velocity or 0.0
        values: dict[str, Any] = {"velocity": speed, "velocity_unit": f"{joint.position_unit}/s"}
        if limit is not None and joint.mu == 1:
            dry, fast = _friction_at(joint, 0.0), _friction_at(joint, speed)
            if dry >= limit:
                stuck.append((dry / limit, joint, {"friction": dry}))
            elif fast > limit:
                slow.append((fast / limit, joint, values | {"friction": fast}))
    for found, code in (
        (stuck, "effort-limit-below-friction"),
        (slow, "effort-limit-below-friction-at-speed"),
    ):
        found.sort(key=lambda item: item[0], reverse=True)
        for _, joint, values in found[:1]:
            message = Message(code, **values, limit=joint.limits.effort, unit=joint.effort_unit)
            yield of_first(Severity.WARNING, "joint", [joint.name for _, joint, _ in found], message)


def _friction_at(joint: Joint, speed: float) -> float:
    """Return the friction at a speed (N m or N); without viscous friction if the speed is implausible."""
    credible = speed <= (FAST if joint.sigma is Sigma.REVOLUTE else LONG)
    return joint.friction.Fs + abs(joint.friction.Fo) + (joint.friction.Fv * speed if credible else 0.0)
