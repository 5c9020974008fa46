# SPDX-License-Identifier: Apache-2.0
"""Motions to be recorded, and stops during them, against independently checked limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from robot_files import ROBOTS

from dyn_core import ForbiddenBox, Model, compile_model, load_robot
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, stopped, stopping
from dyn_core.excitation.recorded_motion import RecordedMotion, RunLimits, feasible, recorded_motion
from dyn_core.robot.joints import Limits

JOINTS, EFFORT = ("turn", "lift", "stretch"), "trajectory-effort-exceeded"
START = np.array([0.3, 0.5, 0.1])
LIMITS = np.array([60.0, 80.0, 120.0])


@pytest.fixture(scope="module")
def model() -> Model:
    return compile_model(load_robot(ROBOTS["rrp"]), "runtime")


def points(model: Model, duration: float = 4.0) -> TrajectoryPoints:
    motion = rich_motion(model, duration, part_of_speed=0.6)
    times = np.linspace(0.0, duration, 1 + round(50 * duration))
    return TrajectoryPoints(JOINTS, times, *motion.at_many(times))


def made(model: Model, repetitions: int = 1) -> RecordedMotion:
    return recorded_motion(model, START, points(model), RunLimits(LIMITS), repetitions)


def test_the_motion_begins_at_the_robot_and_repeats(model: Model) -> None:
    motion, times = made(model, 2), np.linspace(0.0, 4.0, 200)
    assert motion.trajectory.motion(0.0).q == pytest.approx(START)
    wanted = rich_motion(model, 4.0, part_of_speed=0.6).at_many(times)
    for begin in (motion.begin, motion.begin + 4.0):
        samples = motion.trajectory.sample_many(begin + times)
        assert samples.q == pytest.approx(wanted.q, abs=1e-4)
        assert samples.qd == pytest.approx(wanted.qd, abs=2e-3)
    assert motion.end == pytest.approx(motion.begin + 8.0)


def test_points_with_positions_only_are_smooth_and_repetitions_begin_at_the_first(model: Model) -> None:
    q = np.array([[0.0] * 3, [0.4, 0.3, 0.1], [0.2, 0.6, 0.2]])
    none = np.full((3, 3), math.nan)
    given = TrajectoryPoints(JOINTS, np.array([0.0, 2.0, 4.0]), q, none, none)
    motion = recorded_motion(model, START, given, RunLimits(LIMITS), 2)
    samples = motion.trajectory.sample_many(np.linspace(0.0, motion.end, 20_000))
    assert np.abs(np.diff(samples.qd, axis=0)).max() < 2e-3, "velocities do not jump"
    assert motion.trajectory.motion(motion.end - 4.0).q == pytest.approx([0.0] * 3, abs=1e-9)


@pytest.mark.parametrize("at", [-0.01, 0.0, 1.0, 2.0, 3.95])
def test_a_stop_stays_on_the_path_and_is_smooth(model: Model, at: float) -> None:
    motion = made(model)
    t = motion.begin + at
    times, stop = stopped(motion.trajectory, t, 0.4)
    assert not np.array([stop.qd[-1], stop.qdd[-1]]).any()
    fine_times, fine = stopped(motion.trajectory, t, 4.0)
    # Derivatives agree with central differences of the positions.
    step = 2 * (fine_times[1] - fine_times[0])
    assert (fine.q[2:] - fine.q[:-2]) / step == pytest.approx(fine.qd[1:-1], abs=2e-2)
    assert (fine.qd[2:] - fine.qd[:-2]) / step == pytest.approx(fine.qdd[1:-1], abs=1.5e-1)
    assert stop.qd[0] == pytest.approx(motion.trajectory.motion(t).qd, abs=0.1)
    # Each position is on the planned path.
    way = motion.trajectory.sample_many(np.linspace(t, t + times[-1], 4000)).q
    assert np.abs(stop.q[:, None] - way[None]).max(axis=2).min(axis=1).max() < 1e-3


def test_a_stop_takes_longer_with_low_effort_limits(model: Model) -> None:
    motion = made(model)
    fastest = motion.begin + 1.0

    def time_of(limits: np.ndarray) -> float:
        return float(stopping(motion.trajectory, fastest, JOINTS, feasible(model, motion, limits)).times[-1])

    def greatest(duration: float) -> np.ndarray:
        return np.abs(model.inverse_dynamics(*stopped(motion.trajectory, fastest, duration)[1])).max(axis=0)

    assert time_of(LIMITS) == pytest.approx(0.2, abs=0.01)
    tight = greatest(0.6) * 1.01
    longer = time_of(tight)
    assert 0.2 < longer < 2.0
    assert (greatest(longer) <= tight).all()
    assert time_of(np.zeros(3)) == pytest.approx(2.0, abs=0.01), "the longest, where none will do"


def test_joints_without_a_limit_brake_no_harder_than_they_move(model: Model) -> None:
    motion = made(model)
    allowed, still = feasible(model, motion, np.full(3, math.inf)), (START[None], np.zeros((1, 3)))
    assert not allowed(Motion(*still, 3.0 * motion.fastest[None]))
    assert allowed(Motion(*still, motion.fastest[None]))


def test_impossible_motions_are_refused_at_once(model: Model) -> None:
    """A box on the way to the start, torques beyond the limits, and an excessive duration."""
    box = ForbiddenBox("table", {"turn": (0.1, 0.2)})
    for limits, repetitions, code, values in (
        (RunLimits(LIMITS, boxes=(box,)), 1, "approach-enters-box", {"box": "table"}),
        (RunLimits(np.array([60.0, 25.0, 120.0])), 1, EFFORT, {"unit": "N m", "joint": "lift"}),
        (RunLimits(LIMITS), 3000, "motion-too-long", {"most": 7200.0}),
        (RunLimits(LIMITS), 2**32 - 1, "motion-too-long", {"most": 7200.0}),
    ):
        with refused(code, **values):
            recorded_motion(model, START, points(model), limits, repetitions)


@pytest.mark.promise("goal-huge")
def test_excessive_torques_are_refused_without_effort_limits_too(model: Model) -> None:
    rest, qdd = np.zeros((3, 3)), np.outer([0.0, 1e300, 0.0], np.ones(3))
    joints = tuple(replace(joint, limits=Limits()) for joint in model.robot.joints)
    unlimited = compile_model(replace(model.robot, joints=joints), "runtime")
    given = TrajectoryPoints(JOINTS, np.arange(3.0), rest, rest, qdd)
    with refused(EFFORT, limit=1000000000.0):
        recorded_motion(unlimited, np.zeros(3), given, RunLimits(np.full(3, np.inf)))
