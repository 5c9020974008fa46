# SPDX-License-Identifier: Apache-2.0
"""What a model of a robot with loops says of its passive joints, and what it refuses."""

from __future__ import annotations

import pickle
import re
import threading

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

from loop_oracle import LoopOracle, OpenLoopError, example_side, example_urdf
from planar_loop_cases import NAMES, planar_case

import dyn_core
from dyn_core.algorithms.loops import passive_joint_positions as solution
from dyn_core.algorithms.loops.loop_structure import geometry_of


@pytest.fixture(scope="module")
def model() -> dyn_core.Model:
    robot = dyn_core.load_robot(example_urdf("five_bar"), loops=example_side("five_bar"))
    return dyn_core.compile_model(robot)


@pytest.fixture(scope="module")
def short() -> dyn_core.Model:
    """The five-bar with rods of 0.4 m, which do not meet where the elbows are 0.9 m apart."""
    side = example_side("five_bar")
    for end in ("parent", "child"):
        side["loops"][0][end]["xyz"] = [0.0, 0.0, 0.4]
    return dyn_core.compile_model(dyn_core.load_robot(example_urdf("five_bar"), loops=side))


@pytest.fixture(scope="module")
def q(model: dyn_core.Model) -> np.ndarray:
    assembly = dict(model.robot.assembly)
    return np.array([assembly[name] for name in model.joint_names])


@pytest.mark.filterwarnings("ignore:link .*no body has its inertia:dyn_core.ModelWarning")
@pytest.mark.parametrize("name", NAMES)
def test_torques_that_others_computed(name: str) -> None:
    """All states of a case are of the mode of the first."""
    case = planar_case(name)
    robot = dyn_core.load_robot(case.urdf, loops=case.side, gravity=case.gravity)
    model = dyn_core.compile_model(robot)
    assert model.joint_names == case.actuated
    for state in case.states:
        tau = model.inverse_dynamics(state.q, state.qd, state.qdd)
        assert np.abs(tau - state.tau).max() <= 1e-10 * np.abs(state.tau).max()
        qdd = model.forward_dynamics(state.q, state.qd, state.tau)
        assert np.abs(qdd - state.qdd).max() <= 1e-10 * np.abs(state.qdd).max()
        angles = np.array([state.angles[joint] for joint in model.passive_joint_names])
        assert np.abs(np.exp(1j * model.solve_loops(state.q)) - np.exp(1j * angles)).max() < 1e-10


def test_names(model: dyn_core.Model) -> None:
    assert model.joint_names == ("left_shoulder", "right_shoulder")
    assert model.passive_joint_names == ("left_elbow", "right_elbow")
    assert set(model.robot.joint_names) == {*model.joint_names, *model.passive_joint_names}
    assert model.robot.dof == 2


def test_solve_loops_answers_what_it_is_asked(model: dyn_core.Model, q: np.ndarray) -> None:
    rates = np.array([0.3, -0.2])
    alone = model.solve_loops(q)
    positions, velocities = model.solve_loops(q, rates)
    three = model.solve_loops(q, rates, rates)
    assert isinstance(alone, np.ndarray)
    assert alone.shape == (2,)
    assert np.abs(positions - alone).max() < 1e-14
    assert np.abs(three[1] - velocities).max() < 1e-14
    batch = model.solve_loops(np.array([q, q + 0.1]), np.array([rates, rates]))
    assert batch[0].shape == batch[1].shape == (2, 2)
    assert np.abs(batch[0][0] - alone).max() < 1e-14
    with pytest.raises(ValueError, match=r"^qd: accelerations of passive joints depend on it"):
        model.solve_loops(q, qdd=rates)


def test_a_guess_chooses_the_mode(model: dyn_core.Model, q: np.ndarray) -> None:
    """The other mode of a five-bar has the elbows on the other side of the line to its tip."""
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
    with pytest.raises(dyn_core.DynError, match="guess: 'wrist' are no passive joints"):
        model.solve_loops(q, guess={"wrist": 1.0})
    with pytest.raises(ValueError, match=r"guess: expected the shape \(2,\), but it has \(3,\)"):
        model.solve_loops(q, guess=[0.0, 0.0, 0.0])


def test_the_mode_of_the_assembly_is_kept(model: dyn_core.Model, q: np.ndarray) -> None:
    """Wherever the last call was: positions far apart, in any order, as a walk in small steps finds them."""
    random = np.random.default_rng(3)
    oracle = LoopOracle(example_urdf("five_bar"), example_side("five_bar"), actuated=model.joint_names)
    goals = []
    for goal in q + random.uniform(-0.9, 0.9, (40, 2)):
        try:
            goals.append((goal, oracle.positions(goal)[2:]))
        except OpenLoopError:
            continue
    assert len(goals) > 10
    for k in random.permutation(np.repeat(np.arange(len(goals)), 3)):
        goal, expected = goals[k]
        if oracle.condition(goal) < 50.0:
            assert np.abs(model.solve_loops(goal) - expected).max() < 1e-9


def test_threads_have_their_own_last_solution(model: dyn_core.Model, q: np.ndarray) -> None:
    expected = model.inverse_dynamics(q, q, q)
    batch = np.tile(q, (500, 1)) + np.linspace(-0.3, 0.3, 500)[:, np.newaxis]
    torques = model.inverse_dynamics(batch, batch, batch)
    wrong = []

    def work() -> None:
        for _ in range(50):
            wrong.append(np.abs(model.inverse_dynamics(batch, batch, batch) - torques).max())
            wrong.append(np.abs(model.inverse_dynamics(q, q, q) - expected).max())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(wrong) < 1e-11


@pytest.mark.parametrize("backend", ["c", "python"])
def test_where_loops_do_not_close(short: dyn_core.Model, q: np.ndarray, backend: str) -> None:
    tried = short if backend == "c" else dyn_core.compile_model(short.robot, backend="python")
    apart = np.array([-0.5 * np.pi, 0.5 * np.pi])
    where = (
        "the loops of robot 'five_bar' do not close at left_shoulder = -1.571 rad, right_shoulder = 1.571 rad"
    )
    # The rods lie on one line, 0.8 m long, and about 0.1 m are missing.
    reason = (
        r"as near as they come, loop 'tip' is open by 0\.10?\d? m and 0 rad: keep the actuated joints where"
    )
    for function, count in (("inverse_dynamics", 3), ("solve_loops", 1)):
        with pytest.raises(dyn_core.DynError, match=f"^{re.escape(where)}: {reason}"):
            getattr(tried, function)(*[apart] * count)
    with pytest.raises(dyn_core.DynError, match=f"^{re.escape(f'{where} (sample 2)')}: {reason}"):
        tried.inertia_matrix(np.array([q, q, apart, q]))
    with pytest.raises(dyn_core.DynError, match=f"^{re.escape(f'{where}: keep the actuated joints')}"):
        tried.without_detours().inertia_matrix(apart)
    assert np.isfinite(tried.inertia_matrix(q)).all()


def test_what_is_not_finite_gives_nan_and_no_error(model: dyn_core.Model, q: np.ndarray) -> None:
    for value in (np.nan, np.inf, -np.inf):
        bad = np.array([q[0], value])
        assert np.isnan(model.inverse_dynamics(bad, q, q)).all()
        assert np.isnan(model.solve_loops(bad)).all()
        batch = model.inverse_dynamics(np.array([q, bad, q]), np.zeros((3, 2)), np.zeros((3, 2)))
        assert np.isnan(batch).any(axis=1).tolist() == [False, True, False]
        assert np.isnan(model.loop_condition(bad))


def test_limits_of_passive_joints(model: dyn_core.Model, q: np.ndarray) -> None:
    urdf = re.sub(r'lower="[^"]*" upper="[^"]*"', 'lower="-0.1" upper="0.1"', example_urdf("five_bar"))
    robot = dyn_core.load_robot(urdf, loops=example_side("five_bar"))
    narrow = dyn_core.compile_model(robot, backend="python")
    assert np.abs(narrow.solve_loops(q) - model.solve_loops(q)).max() < 1e-12
    pattern = (
        r"close only with joint 'left_elbow' at [\d.-]+ rad, which is not between its limits -0.1 and 0.1"
    )
    with pytest.raises(dyn_core.DynError, match=pattern):
        narrow.solve_loops(q, limits=True)
    assert np.abs(model.solve_loops(q, limits=True) - model.solve_loops(q)).max() < 1e-14


def test_condition_number_grows_towards_a_singularity(short: dyn_core.Model, q: np.ndarray) -> None:
    """The cranks are opened until the rods are on one line."""
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
    side = example_side("five_bar")
    robot = dyn_core.load_robot(example_urdf("five_bar"), loops={"passive": side["passive"]})
    tree = dyn_core.compile_model(robot, backend="python")
    assert len(tree.joint_names) == 4
    assert tree.loop_condition(np.zeros(4)) == 1.0
    with pytest.raises(dyn_core.DynError, match="robot 'five_bar' has no loops that could be solved"):
        tree.solve_loops(np.zeros(4))


@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_model_is_made_without_closing_loops_by_formulas(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hexapod these take seconds, the traced step of Newton's method a tenth of one."""

    def slow(*_: object) -> None:
        raise AssertionError("Newton's step by formulas")

    robot = dyn_core.load_robot(
        example_urdf("five_bar"), loops=example_side("five_bar"), gravity=(0.0, 0.1, -9.7)
    )
    solution.position_nearby.cache_clear()
    monkeypatch.setattr(solution, "_step", slow)
    made = dyn_core.compile_model(robot, backend=backend)  # type: ignore[arg-type]
    closing = solution.Closing(geometry_of(robot))
    q, x = solution.position_nearby(closing, 1.0)  # what the model has found
    np.testing.assert_allclose(made.solve_loops(q), x, atol=1e-9)
