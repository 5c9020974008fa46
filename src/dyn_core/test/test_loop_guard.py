# SPDX-License-Identifier: Apache-2.0
"""Refused positions of robots with loops: open loops and positions near singularities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from five_bar import five_bar
from refusals import refused
from robots import example

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import TorqueTerms
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, planned

OPEN = np.array([-1.6, 1.6])  # The rods are stretched and do not meet
AT_OPEN = "at left = -1.6 rad, right = 1.6 rad"
NEAR = np.array([0.41, -0.41])  # The elbows almost coincide
GOOD = np.array([-0.5, 0.5])


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    return five_bar(friction=0.5, passive_friction=0.1, damping=0.1)


@pytest.fixture(scope="module")
def model(robot: dyn_core.Robot) -> dyn_core.Model:
    return dyn_core.compile_model(robot, "runtime")


def guard_of(robot: dyn_core.Robot, greatest: float = 100.0, warning: float = 10.0) -> LoopGuard:
    return LoopGuard(robot, ConditionLimits(greatest, warning))


def test_the_condition_number_is_that_of_the_model(robot: dyn_core.Robot, model: dyn_core.Model) -> None:
    guard = guard_of(robot)
    assert (guard.condition, guard.warning) == (None, None)
    for q in (GOOD, np.array([-0.3, 0.9]), np.array([-1.0, 1.0])):
        guard.check(q)
        assert guard.condition == pytest.approx(float(model.loop_condition(q)))
        assert guard.warning is None


def test_a_singularity_gives_a_warning_and_nearby_a_refusal(robot: dyn_core.Robot) -> None:
    guard = guard_of(robot, 200.0)
    guard.check(np.array([0.3, -0.3]))
    assert 10.0 < (guard.condition or 0.0) < 200.0
    assert f"their condition number is {guard.condition:.3g}, above 10" in (guard.warning or "")
    with refused("loops-singular-at-positions", positions="left = 0.41 rad, right = -0.41 rad", limit=200.0):
        guard.check(NEAR)
    assert guard.condition > 200.0


def test_repeated_open_positions_are_refused_without_delay(robot: dyn_core.Robot) -> None:
    guard = guard_of(robot)
    for _ in range(3):
        with refused("loops-open-at-positions", where=AT_OPEN):
            guard.check(OPEN)
        assert (guard.condition, guard.warning) == (math.inf, "the loops do not close at the last positions")
    guard.check(GOOD)
    assert guard.warning is None


def trajectory(*positions: np.ndarray) -> Trajectory:
    rest, times = np.zeros((len(positions), 2)), np.arange(1.0, len(positions) + 1.0)
    return planned(TrajectoryPoints(("left", "right"), times, np.array(positions), rest, rest), 0.0, 0.0)


def test_trajectories_are_checked_between_their_points(robot: dyn_core.Robot) -> None:
    guard = guard_of(robot)
    guard.check(GOOD)
    before = guard.condition
    guard.check_trajectory(trajectory(GOOD, np.array([-0.9, 0.9])))
    # Both end points are valid, with the elbows on opposite sides.
    for motion, code, first, last in (
        (trajectory(np.array([0.2, -0.2]), NEAR), "loops-singular-at-positions", 0.5, 1.0),
        (trajectory(GOOD, OPEN, GOOD), "loops-open-at-positions", 0.5, 1.0),
        (Trajectory.standing(OPEN, 0.0), "loops-open-at-positions", 0.0, 0.0),
    ):
        with refused("trajectory-leaves-loops") as caught:
            guard.check_trajectory(motion)
        assert caught.value.values["cause"].code == code
        assert first <= caught.value.values["time"] <= last
        assert guard.condition == before
    guard.check_trajectory(Trajectory.standing(GOOD, 0.0))


def test_trees_pass_the_guard() -> None:
    guard = guard_of(example("rrp"))
    guard.check(np.full(3, 100.0))
    guard.check_trajectory(Trajectory.standing(np.full(3, 100.0), 0.0))
    assert (guard.condition, guard.warning) == (None, None)


@pytest.mark.parametrize("velocity", [0.0, 0.1])
def test_torque_terms_agree_with_inverse_dynamics(model: dyn_core.Model, velocity: float) -> None:
    """Coulomb friction of actuated joints is smoothed where asked, that of passive joints is not."""
    terms = TorqueTerms(model, coulomb_velocity=velocity)
    motion = Motion(np.array([-0.4, 0.6]), np.array([0.2, -0.05]), np.array([1.0, 2.0]))
    expected = model.inverse_dynamics(*motion)
    if velocity:
        expected += 0.5 * (np.tanh(motion.qd / velocity) - np.sign(motion.qd))
    np.testing.assert_allclose(terms.of(motion).total, expected, rtol=1e-9)
    many = Motion(*(np.array([values, 0.5 * values]) for values in motion))
    np.testing.assert_allclose(terms.of(many).total[0], expected, rtol=1e-9)
