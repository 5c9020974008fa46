# SPDX-License-Identifier: Apache-2.0
"""A motion that is to be recorded: from where the robot is to its beginning, and then as often as wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.control.trajectory_ranges import PEAK, check_ranges
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.excitation.excitation_settings import ForbiddenBox, coordinate_boxes
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.joints import Joint, Sigma

SPEED = {Sigma.REVOLUTE: 2.0, Sigma.PRISMATIC: 0.25}
"""Greatest speed of joints whose description gives none (rad/s or m/s)."""
SHORTEST = 0.5
"""Least time of the way to the beginning (s)."""
SAMPLE_S = 0.005
"""Time between two looks at efforts and boxes (s)."""
LARGEST_EFFORT = 1e9
"""No joint has more (N m or N), also where its description gives no limit."""
LONGEST_S = 7200.0
"""Longest motion (s): an error of whoever gives times, or a number of repetitions, is longer."""
JUMP = 1e-3
"""Greatest step of a velocity, as a part of the greatest velocity of the joint."""


@dataclass(frozen=True)
class RunLimits:
    """What a motion has to keep.

    Attributes:
        effort: greatest efforts (N m or N), (n,); infinite for none.
        approach: part of the velocity limits that is used on the way to the beginning.
        boxes: where the robot must not be.
    """

    effort: Array
    approach: float = 0.2
    boxes: tuple[ForbiddenBox, ...] = ()


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """A motion from rest to rest. Times count from its start.

    Attributes:
        points: for a controller; the first is at the end of the way to the beginning.
        trajectory: what a controller that stands at the first position makes of them.
        begin: when that way is over (s).
        fastest: greatest acceleration of each joint (rad/s^2 or m/s^2), (n,).
    """

    points: TrajectoryPoints
    trajectory: Trajectory
    begin: float
    fastest: Array

    @property
    def end(self) -> float:
        """When the robot is at rest again (s)."""
        return self.trajectory.end


def recorded_motion(
    model: Model,
    q: Array,
    points: TrajectoryPoints,
    limits: RunLimits,
    repetitions: int = 1,
    period: float = 0.02,
) -> RecordedMotion:
    """Answer a motion that begins where the robot stands, checked at all its length.

    Args:
        model: the robot.
        q: where it stands (rad or m), (n,).
        points: the motion that is wanted; those without velocities are joined by a smooth spline.
        limits: what it has to keep.
        repetitions: how often it is wanted; between two, the robot goes back to the beginning.
        period: time between two points of the answer (s).

    Raises:
        DynError: it does not keep the limits, goes where loops do not close, or has velocities that jump.
    """
    wanted = planned(points, 0.0, 0.0, smooth=True)
    _check_jumps(wanted, points.joint_names)
    first = wanted.motion(wanted.start)
    way = _way_time(model, q, first.q, limits.approach)
    back = _way_time(model, wanted.last, first.q, limits.approach)
    _check_length(way, wanted.end - wanted.start, back, repetitions)
    # Where it ends as it begins, the last point of one is the first of the next.
    closed = bool(np.allclose(wanted.last, first.q, rtol=0.0, atol=1e-9)) and not first.qd.any()
    length = wanted.end - wanted.start
    count = max(1, math.ceil(length / period - 1e-9))
    grid = length * np.arange(count + 1.0) / count
    samples = wanted.sample_many(wanted.start + grid)
    samples.qd[-1], samples.qdd[-1] = 0.0, 0.0
    if not samples.qd[0].any():
        # A way there that ended with an acceleration would swing far back first.
        samples.qdd[0] = 0.0
    times, rows = [], []
    begin = way
    for turn in range(repetitions):
        kept = slice(1 if turn and closed else 0, None)
        times.append(begin + grid[kept])
        rows.append([values[kept] for values in (samples.q, samples.qd, samples.qdd)])
        begin += length + (0.0 if closed else back)
    joined = TrajectoryPoints(
        points.joint_names,
        np.concatenate(times),
        *(np.concatenate(parts) for parts in zip(*rows, strict=True)),
    )
    trajectory = planned(joined, 0.0, 0.0, Motion.at_rest(q))
    motion = RecordedMotion(joined, trajectory, way, np.abs(trajectory.rows[:, 2 * len(q) :, 0]).max(axis=0))
    _check(model, motion, limits)
    return motion


def _way_time(model: Model, start: Array, goal: Array, part: float) -> float:
    """Time of a way from rest to rest at a part of the greatest speeds (s)."""
    speed = part * np.array([_speed(joint) for joint in model.robot.independent_joints])
    return max(SHORTEST, float(np.max(PEAK * np.abs(goal - start) / speed)))


def _check_length(way: float, length: float, back: float, repetitions: int) -> None:
    whole = way + repetitions * length + (repetitions - 1) * back
    if not whole <= LONGEST_S:
        raise DynError(
            f"the motion would last {whole:.4g} s, of which {way:.4g} s for the way to its beginning, and "
            f"{LONGEST_S:g} s are allowed: give fewer repetitions, or smaller times"
        )


def _speed(joint: Joint) -> float:
    return joint.limits.velocity or SPEED[joint.sigma]


def _check_jumps(trajectory: Trajectory, joint_names: Sequence[str]) -> None:
    n = len(joint_names)
    qd = trajectory.rows[:, n : 2 * n]
    ends, begins = qd[:-1].sum(axis=2), qd[1:, :, 0]
    fastest = np.abs(qd).sum(axis=2).max(axis=0, initial=1e-9)
    steps = np.argwhere(np.abs(begins - ends) > JUMP * fastest)
    if len(steps):
        k, j = steps[0].tolist()
        raise DynError(
            f"the velocity of joint '{joint_names[j]}' jumps at trajectory point {k + 1}: give velocities "
            "with all points, or with none of them",
            element=f"joint '{joint_names[j]}'",
        )


def _check(model: Model, motion: RecordedMotion, limits: RunLimits) -> None:
    robot, trajectory = model.robot, motion.trajectory
    names = robot.coordinate_names
    speed = np.array([joint.limits.velocity or np.inf for joint in robot.independent_joints])
    check_ranges(trajectory, names, robot.limits, speed)
    LoopGuard(robot, ConditionLimits()).check_trajectory(trajectory)
    times = np.linspace(0.0, motion.end, 1 + math.ceil(motion.end / SAMPLE_S))
    samples = trajectory.sample_many(times)

    def where(k: int) -> str:
        t = float(times[k])
        if t < motion.begin:
            return (
                f"{t:.3g} s after its start, on the way from where it is to the beginning of the trajectory"
            )
        return f"{t - motion.begin:.4g} s after the beginning of the trajectory"

    # Between two samples the motion is at most so far from the straight line.
    slack = np.abs(samples.qdd).max(axis=0) * SAMPLE_S**2
    for box in coordinate_boxes(robot, limits.boxes):
        entered = box.first_entered(samples.q, slack)
        if entered is not None:
            raise DynError(f"the robot would be in the forbidden box '{box.name}' {where(entered)}")
    torques = np.abs(model.inverse_dynamics(samples.q, samples.qd, samples.qdd))
    allowed = np.minimum(limits.effort, LARGEST_EFFORT)
    beyond = np.where(np.isfinite(torques), torques, np.inf) / allowed
    k, j = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[k, j] > 1.0:
        joint = robot.independent_joints[j]
        raise DynError(
            f"the motion asks {torques[k, j]:.4g} {joint.effort_unit} of joint '{joint.name}' "
            f"{where(int(k))}, and {allowed[j]:.4g} {joint.effort_unit} are allowed: give it more time",
            element=f"joint '{joint.name}'",
        )


def feasible(model: Model, motion: RecordedMotion, effort: Array) -> Callable[[Motion], bool]:
    """Answer what tells whether the robot can do another motion, such as a stop, of N samples (N, n).

    Args:
        model: the robot.
        motion: what it was doing.
        effort: greatest efforts (N m or N), (n,); of joints without one,
            accelerations are at most twice those of `motion`.
    """
    acceleration = np.where(np.isfinite(effort), np.inf, 2.0 * motion.fastest + 1e-3)

    def is_feasible(other: Motion) -> bool:
        if (np.abs(other.qdd) > acceleration).any():
            return False
        return bool((np.abs(model.inverse_dynamics(*other)) <= effort).all())

    return is_feasible
