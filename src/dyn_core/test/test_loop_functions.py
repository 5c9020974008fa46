# SPDX-License-Identifier: Apache-2.0
"""Functions of models with loops: passive joints, assembly modes, and refusals."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from refusals import refused

pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

from loop_oracle import LoopOracle, OpenLoopError, example_side, example_urdf
from planar_loop_cases import NAMES, planar_case
from robots import example, loop_robot

import dyn_core
from dyn_core.algorithms.loops import passive_joint_positions as solution
from dyn_core.algorithms.loops.loop_structure import geometry_of


@pytest.fixture(scope="module")
def model() -> dyn_core.Model:
    return dyn_core.compile_model(loop_robot("five_bar"))


@pytest.fixture(scope="module")
def short() -> dyn_core.Model:
    """The five-bar with rods of 0.4 m, which do not meet where the elbows are more than 0.8 m apart."""
    side = example_side("five_bar")
    for end in ("parent", "child"):
        side["loops"][0][end]["xyz"] = [0.0, 0.0, 0.4]
    return dyn_core.compile_model(example("five_bar", loops=side))


@pytest.fixture(scope="module")
def q(model: dyn_core.Model) -> np.ndarray:
    assembly = dict(model.robot.assembly)
    return np.array([assembly[name] for name in model.joint_names])


@pytest.mark.parametrize("name", NAMES)
def test_torques_agree_with_published_cases(name: str) -> None:
    """All states of a case have the assembly mode of the first."""
    case = planar_case(name)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        robot = dyn_core.load_robot(case.urdf, loops=case.side, gravity=case.gravity)
    assert {warning.message.code for warning in caught} == {"link-inertia-impossible"}
    model = dyn_core.compile_model(robot)
    assert model.joint_names == case.actuated
    for state in case.states:
        tau = model.inverse_dynamics(state.q, state.qd, state.qdd)
        assert np.abs(tau - state.tau).max() <= 1e-10 * np.abs(state.tau).max()
        qdd = model.forward_dynamics(state.q, state.qd, state.tau)
        assert np.abs(qdd - state.qdd).max() <= 1e-10 * np.abs(state.qdd).max()
        angles = np.array([state.angles[joint] for joint in model.passive_joint_names])
        assert np.abs(np.exp(1j * model.solve_loops(state.q)) - np.exp(1j * angles)).max() < 1e-10


def test_solve_loops_returns_as_many_derivatives_as_given(model: dyn_core.Model, q: np.ndarray) -> None:
    rates = np.array([0.3, -0.2])
    alone, three = model.solve_loops(q), model.solve_loops(q, rates, rates)
    positions, velocities = model.solve_loops(q, rates)
    assert (type(alone), alone.shape) == (np.ndarray, (2,))
    batch = model.solve_loops(np.array([q, q + 0.1]), np.array([rates, rates]))
    assert batch[0].shape == batch[1].shape == (2, 2)
    for ours, expected in ((positions, alone), (three[1], velocities), (batch[0][0], alone)):
        np.testing.assert_allclose(ours, expected, rtol=0.0, atol=1e-14)
    with refused("velocities-missing"):
        model.solve_loops(q, qdd=rates)


def test_a_guess_chooses_the_mode(model: dyn_core.Model, q: np.ndarray) -> None:
    """In the other mode of a five-bar, the elbows are on the other side of the line to its tip."""
    mode = model.solve_loops(q)
    other = model.solve_loops(q, guess=-mode)
    assert np.abs(other - mode).min() > 0.1
    for guess in (mode + 0.05, dict(zip(model.passive_joint_names, mode + 0.05, strict=True))):
        assert np.abs(model.solve_loops(q, guess=guess) - mode).max() < 1e-12
    side = example_side("five_bar")
    side["assembly"].update(dict(zip(model.passive_joint_names, other.tolist(), strict=True)))
    oracle = LoopOracle(example_urdf("five_bar"), side, actuated=model.joint_names)
    rates = np.array([0.3, -0.2])
    found = model.solve_loops(q, rates, 2.0 * rates, guess=other)
    for ours, expected in zip(found, oracle.passive(q, rates, 2.0 * rates), strict=True):
        assert np.abs(ours - expected).max() < 1e-8
    with refused("guess-joint-not-passive", unknown=["wrist"]):
        model.solve_loops(q, guess={"wrist": 1.0})
    with refused("argument-shape", argument="guess"):
        model.solve_loops(q, guess=[0.0, 0.0, 0.0])


def test_the_mode_of_the_assembly_is_kept(model: dyn_core.Model, q: np.ndarray) -> None:
    """Independent of the previous call: distant positions in any order agree with a path of small steps."""
    random = np.random.default_rng(3)
    oracle = LoopOracle(example_urdf("five_bar"), example_side("five_bar"), actuated=model.joint_names)
    goals = []
    for goal in q + random.uniform(-0.9, 0.9, (40, 2)):
        with suppress(OpenLoopError):
            goals.append((goal, oracle.positions(goal)[2:]))
    assert len(goals) > 10
    for k in random.permutation(np.repeat(np.arange(len(goals)), 3)):
        goal, expected = goals[k]
        if oracle.condition(goal) < 50.0:
            assert np.abs(model.solve_loops(goal) - expected).max() < 1e-9


def test_threads_have_their_own_last_solution(model: dyn_core.Model, q: np.ndarray) -> None:
    states = [q + np.linspace(-0.3, 0.3, 500)[:, np.newaxis], q]
    expected = [model.inverse_dynamics(at, at, at) for at in states]

    def wrong(_: int) -> float:
        found = [model.inverse_dynamics(at, at, at) for at in states]
        return max(np.abs(one - other).max() for one, other in zip(found, expected, strict=True))

    with ThreadPoolExecutor(4) as threads:
        assert max(threads.map(wrong, range(200))) < 1e-11


@pytest.mark.parametrize("options", [{}, {"backend": "python"}, {"parameters": "runtime"}], ids=str)
def test_where_loops_do_not_close(short: dyn_core.Model, q: np.ndarray, options: dict[str, str]) -> None:
    tried = dyn_core.compile_model(short.robot, open_rows="error", **options)
    apart = np.array([-0.5 * np.pi, 0.5 * np.pi])
    where = "at left_shoulder = -1.571 rad, right_shoulder = 1.571 rad"
    for function, arguments, place in (
        *(("inverse_dynamics", [apart] * 3, where), ("forward_dynamics", [apart] * 3, where)),
        *(("gravity_torques", [apart], where), ("bias_torques", [apart] * 2, where)),
        *(("solve_loops", [apart], where), ("inertia_matrix", [apart], where)),
        ("inertia_matrix", [np.array([q, q, apart, q])], f"{where} (sample 2)"),
    ):
        with refused("loops-open-at-positions", robot="five_bar", where=place) as caught:
            getattr(tried, function)(*arguments)
        reason = caught.value.values["reason"]
        assert (reason.code, reason.values["opening"].code) == ("loops-nearest-opening", "loop-opening")
        # The rods lie on one line of 0.8 m, and about 0.1 m are missing.
        assert 0.095 < reason.values["opening"].values["gap"] < 0.11
        assert reason.values["opening"].values["loop"] == "tip"
    with refused("loops-open-at-positions", where=where, reason=""):
        tried.without_detours().inertia_matrix(apart)
    assert np.isfinite(tried.inertia_matrix(q)).all()


@pytest.mark.parametrize("options", [{}, {"backend": "python"}, {"parameters": "runtime"}], ids=str)
def test_samples_at_which_loops_do_not_close_are_rows_of_nan(
    short: dyn_core.Model, q: np.ndarray, options: dict[str, str]
) -> None:
    tried = dyn_core.compile_model(short.robot, **options)
    apart = np.array([-0.5 * np.pi, 0.5 * np.pi])
    batch = np.array([q, apart, q + 0.01, np.full(2, np.nan), apart])
    for function, count in (
        *(("inverse_dynamics", 3), ("forward_dynamics", 3), ("coriolis_torques", 2)),
        *(("gravity_torques", 1), ("inertia_matrix", 1), ("solve_loops", 1)),
    ):
        found = getattr(tried, function)(*[batch] * count)
        assert np.isnan(found[[1, 3, 4]]).all(), function
        for k in (0, 2):
            one = getattr(tried, function)(*[batch[k]] * count)
            np.testing.assert_allclose(found[k], one, rtol=1e-9, atol=1e-12)
        with refused("loops-open-at-positions"):
            getattr(tried, function)(*[apart] * count)
    again = pickle.loads(pickle.dumps(tried))
    assert again.open_rows == "nan"
    assert np.isnan(again.without_detours().inertia_matrix(batch)[1]).all()


def test_values_that_are_not_finite_give_nan_without_an_error(model: dyn_core.Model, q: np.ndarray) -> None:
    for value in (np.nan, np.inf, -np.inf):
        bad = np.array([q[0], value])
        assert np.isnan(model.inverse_dynamics(bad, q, q)).all()
        assert np.isnan(model.solve_loops(bad)).all()
        batch = model.inverse_dynamics(np.array([q, bad, q]), np.zeros((3, 2)), np.zeros((3, 2)))
        assert np.isnan(batch).any(axis=1).tolist() == [False, True, False]
        assert np.isnan(model.loop_condition(bad))


def test_limits_of_passive_joints_are_checked(model: dyn_core.Model, q: np.ndarray) -> None:
    urdf = re.sub(r'lower="[^"]*" upper="[^"]*"', 'lower="-0.1" upper="0.1"', example_urdf("five_bar"))
    robot = dyn_core.load_robot(urdf, loops=example_side("five_bar"))
    narrow = dyn_core.compile_model(robot, backend="python")
    assert np.abs(narrow.solve_loops(q) - model.solve_loops(q)).max() < 1e-12
    with refused("passive-joint-beyond-limits", joint="left_elbow", lower=-0.1, upper=0.1):
        narrow.solve_loops(q, limits=True)
    assert np.abs(model.solve_loops(q, limits=True) - model.solve_loops(q)).max() < 1e-14


def test_condition_number_grows_towards_a_singularity(short: dyn_core.Model, q: np.ndarray) -> None:
    """The cranks open until the rods are on one line."""
    reach = np.arcsin(0.25 / 0.3) - np.arcsin(0.18 / 0.3)  # elbows 0.8 m apart, from 0.66 m
    at = [q + (reach - before) * np.array([-1.0, 1.0]) for before in (0.1, 1e-3, 1e-5)]
    conditions = [float(short.loop_condition(each)) for each in at]
    assert short.loop_condition(q) < 5.0
    assert conditions[0] < conditions[1] < conditions[2]
    assert conditions[2] > 100.0
    assert short.loop_condition(np.array(at)) == pytest.approx(conditions)


def test_models_are_pickled(model: dyn_core.Model, q: np.ndarray) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert np.abs(again.inverse_dynamics(q, q, q) - model.inverse_dynamics(q, q, q)).max() < 1e-13


def test_trees_have_no_loops_to_solve() -> None:
    robot = example("five_bar", loops={"passive": ["left_elbow", "right_elbow"]})
    tree = dyn_core.compile_model(robot, backend="python")
    assert len(tree.joint_names) == 4
    assert tree.loop_condition(np.zeros(4)) == 1.0
    with refused("solvable-loops-missing", robot="five_bar"):
        tree.solve_loops(np.zeros(4))


@pytest.mark.parametrize("backend", ["c", "python"])
def test_compilation_does_not_use_the_slow_newton_step(backend, monkeypatch) -> None:
    """For a hexapod the slow step takes seconds, the traced step a tenth of a second."""

    def slow(*_: object) -> None:
        raise AssertionError("Newton's step by formulas")

    robot = loop_robot("five_bar", gravity=(0.0, 0.1, -9.7))
    solution.position_nearby.cache_clear()
    monkeypatch.setattr(solution, "_step", slow)
    made = dyn_core.compile_model(robot, backend=backend)  # type: ignore[arg-type]
    closing = solution.Closing(geometry_of(robot))
    q, x = solution.position_nearby(closing, 1.0)  # the solution that the model has found
    np.testing.assert_allclose(made.solve_loops(q), x, atol=1e-9)
