# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the parts of the trajectory search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from excitation_robots import QUICK, joint, limit, robot_of, two_links
from refusals import refused

import dyn_core
from dyn_core import ExcitationSettings, ForbiddenBox
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.excitation.condition_number import gram, parameter_columns, scaled_condition, spread
from dyn_core.excitation.excitation_settings import CLEARANCE, CoordinateBox, coordinate_boxes
from dyn_core.excitation.motion_limits import drive_torques, motion_limits
from dyn_core.excitation.optimisation_problem import Problem, Series, problem
from dyn_core.excitation.rest_position import Margin, margins, refuse_beyond, rest_position
from dyn_core.excitation.trajectory_search import EFFORT_ROOM, Keeper


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    dynamics = '<dynamics damping="0.5" friction="0.3"/>'
    mimic = '<mimic joint="j1" multiplier="-0.5" offset="0.1"/>' + dynamics
    first, second = limit(effort=18.0) + dynamics, limit(effort=5.0) + mimic
    return robot_of(joint(1, rest=first), joint(2, rest=second), joint(3, rest=limit()))


@pytest.fixture(scope="module")
def task(robot: dyn_core.Robot) -> Problem:
    ranges = {"one": ((0.2, 0.9), (-0.5, 0.8)), "two": ((-0.9, -0.3), (0.0, 9.0))}
    boxes = tuple(ForbiddenBox(name, {"j1": j1, "j3": j3}) for name, (j1, j3) in ranges.items())
    settings = ExcitationSettings(boxes=boxes, **QUICK)
    limits = motion_limits(robot, settings)
    series = Series(settings, np.array([0.05, -0.9]))
    of_limits = parameter_columns(robot, limits), drive_torques(robot), limits
    return problem(series, *of_limits, coordinate_boxes(robot, boxes))


def random_coefficients(task: Problem, seed: int, size: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=task.scales.shape) * task.scales * size


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("power", [1.0, 12.0])
def test_gradients_of_the_spread(seed: int, power: float) -> None:
    random = np.random.default_rng(seed)
    W = random.normal(size=(12, 4)) * [1.0, 100.0, 1e-3, 5.0]
    direction = random.normal(size=W.shape) * [1.0, 100.0, 1e-3, 5.0]
    h = 1e-6
    slope = (spread(W + h * direction, power).value - spread(W - h * direction, power).value) / (2.0 * h)
    assert (spread(W, power).gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_spread_is_at_least_the_logarithm_of_the_condition_number() -> None:
    W = np.random.default_rng(0).normal(size=(20, 6)) * np.logspace(-3, 3, 6)
    condition = np.linalg.cond(W / np.linalg.norm(W, axis=0))
    found = [spread(W, power) for power in (1.0, 4.0, 50.0)]
    assert [one.condition for one in found] == pytest.approx([condition] * 3)
    values = [one.value for one in found]
    assert values == sorted(values, reverse=True)
    assert np.log(condition) <= values[-1] <= np.log(condition) + 0.1
    assert scaled_condition(W.T @ W) == pytest.approx(condition)


def test_zero_and_repeated_columns_have_no_condition_number() -> None:
    W = np.random.default_rng(0).normal(size=(20, 2))[:, [0, 1, 0]]
    assert scaled_condition(np.diag([1.0, 0.0, 1.0])) == scaled_condition(W.T @ W) == np.inf


def test_a_series_is_linear_in_its_coefficients(task: Problem) -> None:
    t = np.linspace(-1.0, 11.0, 301)
    coefficients = random_coefficients(task, 0)
    expected = task.series.motion(coefficients).at_many(t)
    for one, other in zip(task.series.at(task.series.basis(t), coefficients), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_derivatives_hold(task: Problem, seed: int) -> None:
    """Third and fourth derivatives are differences of accelerations."""
    coefficients = random_coefficients(task, seed)
    t = np.linspace(0.0, 10.0, 100001)
    h = t[1]
    _, qd, qdd = task.series.motion(coefficients).at_many(t)
    third = np.diff(qdd, axis=0) / h
    fourth = np.diff(third, axis=0) / h
    inside = (abs(t[1:-1] - 1.5) >= 2 * h) & (abs(t[1:-1] - 8.5) >= 2 * h)
    for order, values in ((1, qd), (2, qdd), (3, third), (4, fourth[inside])):
        bound = task.series.greatest(coefficients, order)
        greatest = np.abs(values).max(axis=0)
        assert (greatest <= bound * (1.0 + 1e-3)).all(), order
        assert (greatest > bound / 20.0).all(), "a bound that is of use"


def test_gradients_of_the_penalties(task: Problem) -> None:
    """For motions beyond all kinds of limits and inside both boxes."""
    x = (random_coefficients(task, 12, 1.5) / task.scales).ravel()
    value, slopes, _ = task.value(x, 3.0, 50.0)
    q = task.series.at(task.fine, x.reshape(task.scales.shape) * task.scales).q
    assert None not in [box.first_entered(q, np.zeros(2)) for box in task.boxes]
    h = 1e-6
    for k, step in enumerate(h * np.eye(len(x))):
        difference = (task.value(x + step, 3.0, 50.0)[0] - task.value(x - step, 3.0, 50.0)[0]) / (2.0 * h)
        assert slopes[k] == pytest.approx(difference, rel=1e-4, abs=1e-3), k
    assert value > 50.0


def test_a_motion_within_limits_has_no_penalty(task: Problem) -> None:
    x = (1e-4 * random_coefficients(task, 5) / task.scales).ravel()
    assert task.value(x, 3.0, 0.0)[0] == task.value(x, 3.0, 1e9)[0]


def margins_of(robot: dyn_core.Robot, task: Problem, coefficients: np.ndarray) -> tuple[Margin, ...]:
    torques = dyn_core.compile_model(robot).inverse_dynamics
    return margins(task.series.motion(coefficients), task.limits, task.boxes, torques)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_motions_beyond_limits_are_changed_to_keep_them(robot, task: Problem, seed: int, size: float) -> None:
    kept = Keeper(task).kept(random_coefficients(task, seed, size))
    assert kept is not None
    found = margins_of(robot, task, kept)
    refuse_beyond(found)
    assert min(margin.room for margin in found) >= 0.0
    assert {margin.kind for margin in found} == {"position", "velocity", "acceleration", "effort", "box"}


def test_motions_within_limits_are_unchanged(task: Problem) -> None:
    coefficients = random_coefficients(task, 1, 1e-3)
    np.testing.assert_array_equal(Keeper(task).kept(coefficients), coefficients)


@pytest.mark.parametrize(("room", "is_kept"), [(0.5, False), (1.5, True)])
def test_some_torque_is_left_between_the_samples(task: Problem, room: float, is_kept: bool) -> None:
    """The limits are above the torques by a part of `EFFORT_ROOM`; the motions are slow and in no box."""
    coefficients = random_coefficients(task, 1, 1e-3)
    keeper = Keeper(replace(task, boxes=()))
    needed = task.torques.needed(*task.series.at(keeper._basis, coefficients)).max(axis=0)
    limits = replace(task.limits, effort=needed * (1.0 + room * EFFORT_ROOM))
    assert Keeper(replace(task, boxes=(), limits=limits))._allowed(coefficients) is is_kept


def test_a_motion_beyond_limits_is_refused(robot: dyn_core.Robot, task: Problem) -> None:
    coefficients = np.zeros_like(task.scales)
    coefficients[0] = [0.0, 1e-3]
    coefficients[1, 0] = 3.0
    with refused("trajectory-limit-exceeded", joint="j1", quantity="position"):
        refuse_beyond(margins_of(robot, task, coefficients))


def test_paths_through_a_box_between_samples_are_found() -> None:
    box = CoordinateBox("thin", np.array([0, 2]), np.array([0.4999, -1.0]), np.array([0.5, 1.0]))
    q = np.array([[0.0, 9.0, 0.0], [0.4, 9.0, 0.0], [0.6, 9.0, 0.0], [0.9, 9.0, 0.0]])
    assert not any(box.holds(one) for one in q)
    assert box.first_entered(q, np.zeros(3)) == 1
    q[:, 2] = 2.0
    assert box.first_entered(q, np.zeros(3)) is None
    assert box.first_entered(q, np.array([0.0, 0.0, 1.1])) == 1
    q = np.array([[0.3, 9.0, 0.0], [0.4, 9.0, 0.0], [0.3, 9.0, 0.0]])
    assert box.first_entered(q, np.array([0.05, 0.0, 0.0])) is None
    assert box.first_entered(q, np.array([0.11, 0.0, 0.0])) == 0, "it may bulge into the box"


def test_all_samples_of_a_visit_leave_a_box_through_one_face(task: Problem) -> None:
    """A path through a box along j1 is moved out along j3, all samples to the same side."""
    x = np.zeros_like(task.scales)
    x[0] = [0.0, 0.6]
    x[1, 0] = 2.0
    motion = task.series.at(task.fine, x * task.scales)
    _, slopes = task._penalty(motion)
    inside = np.array([task.boxes[0].holds(q) for q in motion.q])
    assert inside.sum() > 10
    assert len(set(np.sign(slopes.q[inside, 1])) - {0.0}) < 2


def test_boxes_of_joints_that_mimic_others() -> None:
    mimic = '<mimic joint="j1" multiplier="-2" offset="1"/>'
    still = '<mimic joint="j4" multiplier="0" offset="0.3"/>'
    robot = robot_of(
        *(joint(k, rest=limit() + (mimic if k == 2 else still if k == 3 else "")) for k in range(1, 5))
    )
    ranges = dict.fromkeys(("j2", "j3", "j4"), (0.0, 1.0))
    (box,) = coordinate_boxes(robot, [ForbiddenBox("b", ranges)])
    assert box.joints.tolist() == [0, 1]
    np.testing.assert_allclose(box.lower, [0.0 - CLEARANCE / 2, -CLEARANCE])
    np.testing.assert_allclose(box.upper, [0.5 + CLEARANCE / 2, 1.0 + CLEARANCE])
    assert coordinate_boxes(robot, [ForbiddenBox("never", {"j1": (0.0, 1.0), "j3": (0.5, 1.0)})]) == ()
    never = ForbiddenBox("no overlap", {"j1": (0.6, 1.0), "j2": (0.0, 1.0)})
    assert coordinate_boxes(robot, [never]) == ()
    with refused("box-without-moving-joint", box="always"):
        coordinate_boxes(robot, [ForbiddenBox("always", {"j3": (0.0, 1.0)})])


def test_torques_agree_with_the_model(robot: dyn_core.Robot) -> None:
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, 2))
    torques = drive_torques(robot)
    expected = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    found = torques.smooth(q, qd, qdd) + torques.coulomb * np.sign(qd)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(torques.coulomb, [0.3 + 0.5 * 0.3, 0.0])
    assert (torques.needed(q, qd, qdd) >= np.abs(expected) - 1e-12).all()


def test_columns_agree_with_the_regressor(robot: dyn_core.Robot, task: Problem) -> None:
    """Multiplied by the grouped parameters of the robot, they give its torques."""
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, 2))
    columns = task.columns
    W = columns.at(q, qd, qdd)
    assert W.shape == (20, 2, len(columns.names))
    W = W.reshape(40, -1)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd).ravel()
    np.testing.assert_allclose(W @ np.linalg.lstsq(W, tau, rcond=None)[0], tau, atol=1e-9)
    np.testing.assert_allclose(gram(columns, Motion(q, qd, qdd)), W.T @ W, atol=1e-9)
    assert np.linalg.matrix_rank(W) == len(columns.names)


def test_a_motion_does_not_begin_in_a_box() -> None:
    """The box holds the middle of the ranges, which is also where all joints are at 0."""
    robot = two_links()
    limits = motion_limits(robot, ExcitationSettings())
    box = CoordinateBox("middle", np.array([0, 1]), np.full(2, -0.2), np.full(2, 0.3))
    torques = drive_torques(robot)
    assert rest_position(None, limits, torques, (), 0)[0].tolist() == [0.0, 0.0]
    found, message = rest_position(None, limits, torques, (box,), 0)
    assert not box.holds(found)
    assert message is not None
    assert message.code == "start-at-random"
