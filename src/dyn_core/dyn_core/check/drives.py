# SPDX-License-Identifier: Apache-2.0
"""Friction and rotors that are not given, and joints without actuators."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.robot.joints import Friction


def friction(subject: Subject) -> Iterator[Finding]:
    """Find robots without friction, and friction that drives."""
    joints = subject.robot.joints
    if joints and all(joint.friction == Friction() for joint in joints):
        message = "no joint has friction: give <dynamics damping friction> where it is known"
        yield Finding(Severity.NOTE, "robot", (), message)
    driving = tuple(joint.name for joint in joints if min(joint.friction.Fv, joint.friction.Fs) < 0.0)
    if driving:
        message = "negative friction drives the joint: check its sign"
        yield Finding(Severity.WARNING, "joint", driving, message)


def rotor_inertia(subject: Subject) -> Iterator[Finding]:
    """Find robots without rotors, which behind gears often weigh more than the links."""
    joints = subject.robot.joints
    if joints and all(joint.Ia == 0.0 for joint in joints):
        message = (
            "no joint has a rotor inertia, which counts with the square of the gear ratio: "
            "give <dynamics armature> where it is known"
        )
        yield Finding(Severity.NOTE, "robot", (), message)


def passive_joints(subject: Subject) -> Iterator[Finding]:
    """Find passive joints in a robot without loops: it is underactuated."""
    robot = subject.robot
    names = tuple(name for name in robot.passive_joint_names if name not in robot.elastic_joint_names)
    if names and not robot.loops:
        message = "without an actuator, and without a loop that moves it: the robot is underactuated"
        yield Finding(Severity.NOTE, "joint", names, message)
