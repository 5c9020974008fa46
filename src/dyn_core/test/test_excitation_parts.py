# SPDX-License-Identifier: Apache-2.0
"""What the search for trajectories is made of, each part alone."""

from __future__ import annotations

import numpy as np
import pytest
from excited import QUICK, joint, limit, robot_of

import dyn_core
from dyn_core.control.motion import Motion
from dyn_core.excitation.condition_number import gram, parameter_columns
from dyn_core.excitation.drive_torques import drive_torques
from dyn_core.excitation.excitation_settings import CLEARANCE, CoordinateBox, ForbiddenBox, coordinate_boxes
from dyn_core.excitation.feasible import Keeper
from dyn_core.excitation.margins import margins, refuse_beyond
from dyn_core.excitation.motion_limits import motion_limits
from dyn_core.excitation.optimisation_problem import Problem, problem
from dyn_core.excitation.series import Series
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.excitation.spectrum import scaled_condition, spread


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    dynamics = '<dynamics damping="0.5" friction="0.3"/>'
    mimic = '<mimic joint="j1" multiplier="-0.5" offset="0.1"/>' + dynamics
    return robot_of(
        joint(1, rest=limit(effort=18.0) + dynamics),
        joint(2, rest=limit(effort=5.0) + mimic),
        joint(3, rest=limit()),
    )


@pytest.fixture(scope="module")
def task(robot: dyn_core.Robot) -> Problem:
    settings = ExcitationSettings(
        boxes=(
            ForbiddenBox("one", {"j1": (0.2, 0.9), "j3": (-0.5, 0.8)}),
            ForbiddenBox("two", {"j1": (-0.9, -0.3), "j3": (0.0, 9.0)}),
        ),
        **QUICK,
    )
    limits = motion_limits(robot, settings)
    series = Series(settings, np.array([0.05, -0.9]))
    boxes = coordinate_boxes(robot, settings.boxes)
    return problem(series, parameter_columns(robot, limits), drive_torques(robot), limits, boxes)


def random_coefficients(task: Problem, seed: int, size: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=task.scales.shape) * task.scales * size


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("power", [1.0, 12.0])
def test_slopes_of_the_spread(seed: int, power: float) -> None:
    random = np.random.default_rng(seed)
    W = random.normal(size=(12, 4)) * [1.0, 100.0, 1e-3, 5.0]
    direction = random.normal(size=W.shape) * [1.0, 100.0, 1e-3, 5.0]
    h = 1e-6
    slope = (spread(W + h * direction, power).value - spread(W - h * direction, power).value) / (2.0 * h)
    assert (spread(W, power).gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_spread_is_at_least_the_logarithm_of_the_condition_number() -> None:
    W = np.random.default_rng(0).normal(size=(20, 6)) * np.logspace(-3, 3, 6)
    unit = W / np.linalg.norm(W, axis=0)
    condition = np.linalg.cond(unit)
    found = [spread(W, power) for power in (1.0, 4.0, 50.0)]
    assert [one.condition for one in found] == pytest.approx([condition] * 3)
    values = [one.value for one in found]
    assert values == sorted(values, reverse=True)
    assert np.log(condition) <= values[-1] <= np.log(condition) + 0.1
    assert scaled_condition(W.T @ W) == pytest.approx(condition)


def test_no_condition_number_where_a_column_is_zero_or_there_twice() -> None:
    W = np.random.default_rng(0).normal(size=(20, 3))
    assert scaled_condition(np.diag([1.0, 0.0, 1.0])) == np.inf
    W[:, 2] = W[:, 0]
    assert scaled_condition(W.T @ W) == np.inf


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
    inside = [not (abs(s - b) < 2 * h) for s in t[1:-1] for b in (1.5,)] & np.array(
        abs(t[1:-1] - 8.5) >= 2 * h
    )
    for order, values in ((1, qd), (2, qdd), (3, third), (4, fourth[inside])):
        bound = task.series.greatest(coefficients, order)
        greatest = np.abs(values).max(axis=0)
        assert (greatest <= bound * (1.0 + 1e-3)).all(), order
        assert (greatest > bound / 20.0).all(), "a bound that is of use"


def test_slopes_of_the_problem(task: Problem) -> None:
    """Beyond all kinds of limits, and within both boxes."""
    x = (random_coefficients(task, 12, 1.5) / task.scales).ravel()
    value, slopes, _ = task.value(x, 3.0, 50.0)
    inside = [
        box.first_entered(
            task.series.at(task.fine, x.reshape(task.scales.shape) * task.scales).q, np.zeros(2)
        )
        for box in task.boxes
    ]
    assert None not in inside
    h = 1e-6
    for k in range(len(x)):
        step = np.zeros_like(x)
        step[k] = h
        difference = (task.value(x + step, 3.0, 50.0)[0] - task.value(x - step, 3.0, 50.0)[0]) / (2.0 * h)
        assert slopes[k] == pytest.approx(difference, rel=1e-4, abs=1e-3), k
    assert value > 50.0


def test_a_motion_within_limits_has_no_penalty(task: Problem) -> None:
    x = (1e-4 * random_coefficients(task, 5) / task.scales).ravel()
    assert task.value(x, 3.0, 0.0)[0] == task.value(x, 3.0, 1e9)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_motions_are_made_to_keep_limits(
    robot: dyn_core.Robot, task: Problem, seed: int, size: float
) -> None:
    kept = Keeper(task).kept(random_coefficients(task, seed, size))
    assert kept is not None
    motion = task.series.motion(kept)
    found = margins(motion, task.limits, task.boxes, dyn_core.compile_model(robot).inverse_dynamics)
    refuse_beyond(found)
    assert min(margin.room for margin in found) >= 0.0
    assert {margin.kind for margin in found} == {"position", "velocity", "acceleration", "effort", "box"}


def test_what_keeps_limits_stays_as_it_is(task: Problem) -> None:
    coefficients = random_coefficients(task, 1, 1e-3)
    np.testing.assert_array_equal(Keeper(task).kept(coefficients), coefficients)


def test_a_motion_beyond_limits_is_refused(robot: dyn_core.Robot, task: Problem) -> None:
    coefficients = np.zeros_like(task.scales)
    coefficients[0] = [0.0, 1e-3]
    coefficients[1, 0] = 3.0
    motion = task.series.motion(coefficients)
    found = margins(motion, task.limits, task.boxes, dyn_core.compile_model(robot).inverse_dynamics)
    with pytest.raises(
        dyn_core.DynError, match=r"joint 'j1': the trajectory does not keep the position limit"
    ):
        refuse_beyond(found)


def test_nothing_passes_through_a_box_between_samples() -> None:
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


def test_all_of_a_visit_leaves_a_box_through_one_face(task: Problem) -> None:
    """A way through a box along j1 is pushed out of it along j3, all samples to the same side."""
    x = np.zeros_like(task.scales)
    x[0] = [0.0, 0.6]
    x[1, 0] = 2.0
    coefficients = x * task.scales
    motion = task.series.at(task.fine, coefficients)
    _, slopes = task._penalty(motion)
    one = task.boxes[0]
    inside = np.array([one.holds(q) for q in motion.q])
    assert inside.sum() > 10
    pushed = slopes.q[inside, 1]
    assert (pushed[pushed != 0.0] > 0.0).all() or (pushed[pushed != 0.0] < 0.0).all()


def test_boxes_of_joints_that_mimic_others() -> None:
    mimic = '<mimic joint="j1" multiplier="-2" offset="1"/>'
    still = '<mimic joint="j4" multiplier="0" offset="0.3"/>'
    robot = robot_of(
        *(joint(k, rest=limit() + (mimic if k == 2 else still if k == 3 else "")) for k in range(1, 5))
    )
    (box,) = coordinate_boxes(
        robot, [ForbiddenBox("b", {"j2": (0.0, 1.0), "j3": (0.0, 1.0), "j4": (0.0, 1.0)})]
    )
    assert box.joints.tolist() == [0, 1]
    np.testing.assert_allclose(box.lower, [0.0 - CLEARANCE / 2, -CLEARANCE])
    np.testing.assert_allclose(box.upper, [0.5 + CLEARANCE / 2, 1.0 + CLEARANCE])
    assert coordinate_boxes(robot, [ForbiddenBox("never", {"j1": (0.0, 1.0), "j3": (0.5, 1.0)})]) == ()
    never = ForbiddenBox("no overlap", {"j1": (0.6, 1.0), "j2": (0.0, 1.0)})
    assert coordinate_boxes(robot, [never]) == ()
    with pytest.raises(dyn_core.DynError, match="box 'always' names no joint that can leave it"):
        coordinate_boxes(robot, [ForbiddenBox("always", {"j3": (0.0, 1.0)})])


def test_torques_are_those_of_the_model(robot: dyn_core.Robot) -> None:
    random = np.random.default_rng(0)
    q, qd, qdd = random.normal(size=(3, 20, 2))
    torques = drive_torques(robot)
    expected = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(
        torques.smooth(q, qd, qdd) + torques.coulomb * np.sign(qd), expected, atol=1e-10
    )
    np.testing.assert_allclose(torques.coulomb, [0.3 + 0.5 * 0.3, 0.0])
    assert (torques.needed(q, qd, qdd) >= np.abs(expected) - 1e-12).all()


def test_columns_are_those_of_the_regressor(robot: dyn_core.Robot, task: Problem) -> None:
    """With the parameters of the robot, in groups, they give its torques."""
    random = np.random.default_rng(0)
    q, qd, qdd = random.normal(size=(3, 20, 2))
    columns = task.columns
    W = columns.at(q, qd, qdd)
    assert W.shape == (20, 2, len(columns.names))
    model = dyn_core.compile_model(robot, backend="python")
    tau = model.inverse_dynamics(q, qd, qdd)
    x, *_ = np.linalg.lstsq(W.reshape(40, -1), tau.ravel(), rcond=None)
    np.testing.assert_allclose(W.reshape(40, -1) @ x, tau.ravel(), atol=1e-9)
    products = gram(columns, Motion(q, qd, qdd))
    np.testing.assert_allclose(products, np.einsum("nic,nid->cd", W, W), atol=1e-9)
    assert np.linalg.matrix_rank(W.reshape(40, -1)) == len(columns.names)
