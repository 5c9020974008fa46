# SPDX-License-Identifier: Apache-2.0
"""A motion to be recorded: an approach to its beginning, then its repetitions, checked against limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import PEAK, Trajectory, check_ranges
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, planned
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.excitation.excitation_settings import ForbiddenBox, coordinate_boxes
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.joints import Sigma

SPEED = {Sigma.REVOLUTE: 2.0, Sigma.PRISMATIC: 0.25}
"""Greatest speed of joints whose description gives none (rad/s or m/s)."""
SHORTEST = 0.5
"""Least duration of the approach (s)."""
SAMPLE_S = 0.005
"""Time between two checks of efforts and boxes (s)."""
LARGEST_EFFORT = 1e9
"""Effort limit (N m or N) of joints whose description gives none."""
LONGEST_S = 7200.0
"""Longest motion (s): longer ones come from wrong times or repetitions."""
JUMP = 1e-3
"""Greatest step of a velocity, as a part of the greatest velocity of the joint."""


@dataclass(frozen=True)
class RunLimits:
    """Limits of a motion.

    Attributes:
        effort: greatest efforts (N m or N), (n,); infinite for none.
        approach: part of the velocity limits that the approach uses.
        boxes: boxes that the robot must not enter.
    """

    effort: Array
    approach: float = 0.2
    boxes: tuple[ForbiddenBox, ...] = ()


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """A motion from rest to rest. Times count from its start.

    Attributes:
        points: points for a controller; the first is at the end of the approach.
        trajectory: trajectory of a controller that starts at the first position.
        begin: end of the approach (s).
        fastest: greatest acceleration of each joint (rad/s^2 or m/s^2), (n,).
    """

    points: TrajectoryPoints
    trajectory: Trajectory
    begin: float
    fastest: Array

    @property
    def end(self) -> float:
        """Time at which the robot is at rest again (s)."""
        return self.trajectory.end

    def place(self, time: float) -> tuple[bool, float]:
        """Return whether a time is within the approach, and the time from the begin of that part (s)."""
        on_approach = time < self.begin
        return on_approach, time if on_approach else time - self.begin


def recorded_motion(
    model: Model,
    q: Array,
    points: TrajectoryPoints,
    limits: RunLimits,
    repetitions: int = 1,
    period: float = 0.02,
) -> RecordedMotion:
    """Return a motion that begins at the present position, checked along its whole length.

    Args:
        model: the robot.
        q: present position (rad or m), (n,).
        points: the motion; points without velocities are joined by a smooth spline.
        limits: limits of the motion.
        repetitions: how often it is repeated; in between, the robot returns to the beginning.
        period: time between two points of the result (s).

    Raises:
        DynError: the motion exceeds a limit, opens loops, or has velocities that jump.
    """
    given = planned(points, 0.0, 0.0, smooth=True)
    _check_jumps(given, points.joint_names)
    first = given.motion(given.start)
    approach = _approach_time(model, q, first.q, limits.approach)
    back = _approach_time(model, given.last, first.q, limits.approach)
    length = given.end - given.start
    whole = approach + repetitions * length + (repetitions - 1) * back
    if not whole <= LONGEST_S:
        raise DynError("motion-too-long", duration=whole, approach=approach, most=LONGEST_S)
    # A motion that ends as it begins shares its last point with the next repetition.
    closed = bool(np.allclose(given.last, first.q, rtol=0.0, atol=1e-9)) and not first.qd.any()
    count = max(1, math.ceil(length / period - 1e-9))
    grid = length * np.arange(count + 1.0) / count
    samples = given.sample_many(given.start + grid)
    samples.qd[-1], samples.qdd[-1] = 0.0, 0.0
    if not samples.qd[0].any():
        # An approach that ended with an acceleration would first swing far back.
        samples.qdd[0] = 0.0
    times, rows = [], []
    begin = approach
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
    fastest = np.abs(trajectory.rows[:, 2 * len(q) :, 0]).max(axis=0)
    motion = RecordedMotion(joined, trajectory, approach, fastest)
    _check(model, motion, limits)
    return motion


def _approach_time(model: Model, start: Array, goal: Array, part: float) -> float:
    """Return the duration (s) of a motion from rest to rest at a part of the greatest speeds."""
    speeds = [joint.limits.velocity or SPEED[joint.sigma] for joint in model.robot.independent_joints]
    return max(SHORTEST, float(np.max(PEAK * np.abs(goal - start) / (part * np.array(speeds)))))


def _check_jumps(trajectory: Trajectory, joint_names: Sequence[str]) -> None:
    n = len(joint_names)
    qd = trajectory.rows[:, n : 2 * n]
    ends, begins = qd[:-1].sum(axis=2), qd[1:, :, 0]
    fastest = np.abs(qd).sum(axis=2).max(axis=0, initial=1e-9)
    steps = np.argwhere(np.abs(begins - ends) > JUMP * fastest)
    if len(steps):
        k, j = steps[0].tolist()
        element = f"joint '{joint_names[j]}'"
        raise DynError("trajectory-velocity-jumps", element=element, joint=joint_names[j], point=k + 1)


def _check(model: Model, motion: RecordedMotion, limits: RunLimits) -> None:
    robot, trajectory = model.robot, motion.trajectory
    names = robot.coordinate_names
    speed = np.array([joint.limits.velocity or np.inf for joint in robot.independent_joints])
    check_ranges(trajectory, names, robot.limits, speed)
    LoopGuard(robot, ConditionLimits()).check_trajectory(trajectory)
    times = np.linspace(0.0, motion.end, 1 + math.ceil(motion.end / SAMPLE_S))
    samples = trajectory.sample_many(times)
    # Greatest distance of the motion between two samples from the straight line.
    slack = np.abs(samples.qdd).max(axis=0) * SAMPLE_S**2
    for box in coordinate_boxes(robot, limits.boxes):
        entered = box.first_entered(samples.q, slack)
        if entered is not None:
            on_approach, time = motion.place(float(times[entered]))
            code = "approach-enters-box" if on_approach else "trajectory-enters-box"
            raise DynError(code, box=box.name, time=time)
    torques = np.abs(model.inverse_dynamics(samples.q, samples.qd, samples.qdd))
    allowed = np.minimum(limits.effort, LARGEST_EFFORT)
    beyond = np.where(np.isfinite(torques), torques, np.inf) / allowed
    k, j = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[k, j] > 1.0:
        joint = robot.independent_joints[j]
        on_approach, time = motion.place(float(times[k]))
        raise DynError(
            "approach-effort-exceeded" if on_approach else "trajectory-effort-exceeded",
            needed=torques[k, j],
            unit=joint.effort_unit,
            joint=joint.name,
            limit=allowed[j],
            time=time,
            element=f"joint '{joint.name}'",
        )


def feasible(model: Model, motion: RecordedMotion, effort: Array) -> Callable[[Motion], bool]:
    """Return a function that tells whether the robot can follow another motion (N, n), such as a stop.

    `effort`, (n,), are the greatest efforts (N m or N). A joint with an infinite one has at most twice its
    greatest acceleration in `motion`, the present one.
    """
    acceleration = np.where(np.isfinite(effort), np.inf, 2.0 * motion.fastest + 1e-3)

    def is_feasible(other: Motion) -> bool:
        if (np.abs(other.qdd) > acceleration).any():
            return False
        return bool((np.abs(model.inverse_dynamics(*other)) <= effort).all())

    return is_feasible
