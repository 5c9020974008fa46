# SPDX-License-Identifier: Apache-2.0
"""The limits that a trajectory keeps: those of the robot, scaled, and defaults where it has none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.excitation.excitation_settings import CoordinateBox
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.model.followers import followers, range_of_leader, speed_of_leader
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot

RANGE = {Sigma.REVOLUTE: math.pi, Sigma.PRISMATIC: 0.25}
"""Way to either side of 0 where no range is given: half a turn shows all positions of the joint (rad); a
quarter of a metre is what small axes have (m)."""
SPEED = {Sigma.REVOLUTE: 1.0, Sigma.PRISMATIC: 0.25}
"""Greatest speed where none is given: 250 mm/s is the reduced speed of ISO 10218-1, and 1 rad/s gives that at
a quarter of a metre from the axis (rad/s or m/s)."""
TIME_TO_SPEED = 0.5
"""Time to the greatest speed where no acceleration is given (s): servo drives of arms need 0.1 to 0.3 s."""
UNLIMITED = 1000.0
"""Limits that stand for none (rad, m, or these per s)."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits in the order of the joints, (n,) each.

    Attributes:
        joint_names: names of the joints.
        position_units: rad or m.
        effort_units: N m or N.
        lower: least positions (rad or m).
        upper: greatest positions (rad or m).
        velocity: greatest speeds (rad/s or m/s).
        acceleration: greatest accelerations (rad/s^2 or m/s^2).
        effort: greatest torques or forces (N m or N); infinite where there is no limit.
        notes: sentences about what was assumed.
    """

    joint_names: tuple[str, ...]
    position_units: tuple[str, ...]
    effort_units: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    notes: tuple[str, ...]

    def outside(self, q: Array) -> int | None:
        """Answer the first joint whose position in q (n,) is not within its range, by index."""
        out = np.flatnonzero((q < self.lower) | (q > self.upper))
        return int(out[0]) if out.size else None


def motion_limits(robot: Robot, settings: ExcitationSettings) -> MotionLimits:
    """Answer the limits of a robot, scaled; those of joints that mimic others hold for these.

    Raises:
        DynError: a joint is passive, has no range, or is not one of the robot's.
    """
    joints = robot.independent_joints
    if not joints:
        raise DynError(f"robot '{robot.name}' has no joint that moves: there is nothing to excite")
    passive = robot.passive_joint_names
    if passive and not robot.loops:
        raise DynError(
            f"{listed(passive)} of robot '{robot.name}': passive joints follow no trajectory, "
            "fix them or give them actuators",
            element=f"joint '{passive[0]}'",
        )
    for name in settings.accelerations:
        if name not in robot.coordinate_names:
            raise DynError(
                f"an acceleration limit is given for joint '{name}', which is not one of those that move by "
                f"themselves: {listed(robot.coordinate_names)}",
                element=f"joint '{name}'",
            )
    notes = _Notes()
    ranges = np.array([_range(robot, j, settings.position_scale, notes) for j in robot.coordinates])
    speeds = np.array([_speed(robot, j, notes) for j in robot.coordinates]) * settings.velocity_scale
    accelerations = [
        settings.accelerations.get(joint.name, speed / TIME_TO_SPEED)
        for joint, speed in zip(joints, speeds, strict=True)
    ]
    notes.add_to(
        [joint for joint in joints if joint.name not in settings.accelerations],
        f"no acceleration limit, as no URDF has one: the greatest speed in {TIME_TO_SPEED:g} s",
    )
    efforts = [joint.limits.effort or math.inf for joint in joints]
    notes.add_to([joint for joint in joints if not joint.limits.effort], "no effort limit: none is kept")
    return MotionLimits(
        robot.coordinate_names,
        tuple(joint.position_unit for joint in joints),
        tuple(joint.effort_unit for joint in joints),
        ranges[:, 0],
        ranges[:, 1],
        speeds,
        settings.acceleration_scale * np.array(accelerations),
        settings.effort_scale * np.array(efforts),
        notes.sentences,
    )


def without_boxes_of_one_joint(
    limits: MotionLimits, boxes: Sequence[CoordinateBox], start: Array
) -> tuple[MotionLimits, tuple[CoordinateBox, ...]]:
    """Answer the limits cut at boxes of one joint, on the side of `start` (n,), and the other boxes."""
    lower, upper, notes, others = limits.lower.copy(), limits.upper.copy(), list(limits.notes), []
    for box in boxes:
        if len(box.joints) > 1:
            others.append(box)
            continue
        k = int(box.joints[0])
        if box.lower[0] >= upper[k] or box.upper[0] <= lower[k]:
            continue
        if start[k] >= box.upper[0]:
            lower[k] = box.upper[0]
        else:
            upper[k] = box.lower[0]
        notes.append(
            f"joint '{limits.joint_names[k]}': from {lower[k]:.4g} to {upper[k]:.4g} "
            f"{limits.position_units[k]} only, "
            f"because of box '{box.name}'"
        )
    return replace(limits, lower=lower, upper=upper, notes=tuple(notes)), tuple(others)


class _Notes:
    """Sentences with the joints that they are about."""

    def __init__(self) -> None:
        self._joints: dict[str, list[str]] = {}

    def add(self, joint: Joint, what: str) -> None:
        self._joints.setdefault(what, []).append(joint.name)

    def add_to(self, joints: Sequence[Joint], what: str) -> None:
        for joint in joints:
            self.add(joint, what)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{listed(names)}: {what}" for what, names in self._joints.items())


def _range(robot: Robot, j: int, scale: float, notes: _Notes) -> tuple[float, float]:
    """Answer the range of coordinate j that is used, within that of the joints that mimic it (rad or m)."""
    joint = robot.joints[j - 1]
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None or max(abs(lower), abs(upper)) > UNLIMITED:
        upper = RANGE[joint.sigma]
        lower = -upper
        shown = "pi rad" if joint.sigma is Sigma.REVOLUTE else f"{upper:g} m"
        notes.add(joint, f"no range of positions: {shown} to either side of 0")
    bounds = f"its range is {lower:g} to {upper:g} {joint.position_unit}"
    for follower, mimic in followers(robot, j):
        least, most = follower.limits.lower, follower.limits.upper
        if least is None or most is None:
            continue
        ends = range_of_leader(mimic, least, most)
        lower, upper = max(lower, ends[0]), min(upper, ends[1])
        bounds += f", and '{follower.name}', which mimics it, allows {ends[0]:g} to {ends[1]:g}"
    if not lower < upper:
        raise DynError(
            f"joint '{joint.name}' cannot move: {bounds}; give a range, or make it fixed",
            element=f"joint '{joint.name}'",
        )
    middle, half = 0.5 * (lower + upper), 0.5 * scale * (upper - lower)
    return middle - half, middle + half


def _speed(robot: Robot, j: int, notes: _Notes) -> float:
    """Answer the greatest speed of coordinate j, within that of the joints that mimic it (rad/s or m/s)."""
    joint = robot.joints[j - 1]
    speed = joint.limits.velocity or math.inf
    if speed >= UNLIMITED:
        speed = SPEED[joint.sigma]
        notes.add(joint, f"no velocity limit: {speed:g} {joint.position_unit}/s")
    for follower, mimic in followers(robot, j):
        if follower.limits.velocity:
            speed = min(speed, speed_of_leader(mimic, follower.limits.velocity))
    return speed
