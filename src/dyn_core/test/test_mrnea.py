# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix and bias torques in one pass: the algorithm, models that use it, and the paper's check."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from depth import some
from planar_chains import urdf
from properties import examples, given, st
from random_case import Case, assert_close, random_case
from random_urdf import random_driven_urdf, random_urdf
from refusals import refused
from robots import example

import dyn_core
from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.newton_euler import inertia_and_bias, inertia_matrix
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.formulations.chain import chain_of
from dyn_core.formulations.recursive_newton_euler import mrnea
from dyn_core.model.builder import DIVISION
from dyn_core.model.fixed_base.dynamics_programs import FEW, kinds, traced

BAR = 1e-11
IN_ONE_PASS = ("inertia_matrix", "inertia_and_bias", "forward_dynamics")


def states(n: int, count: int = 30) -> np.ndarray:
    return np.random.default_rng(11).uniform(-2.0, 2.0, (3, count, n))


@examples(150)
@given(case=st.builds(random_case, st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans()))
def test_random_trees(case: Case) -> None:
    """With prismatic joints, branches, friction, rotors, tilted gravity and wrenches on links."""
    robot, rest = case.robot, [0.0] * len(case.robot.joints)
    A, H = inertia_and_bias(robot, case.q, case.qd, robot.gravity_0, case.external)
    assert_close(A, inertia_matrix(robot, case.q), BAR)
    assert_close(H, newton_euler.bias_torques(robot, case.q, case.qd, robot.gravity_0, case.external), BAR)
    assert_close(A, case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias), BAR)
    rigid = case.oracle.inverse_dynamics(case.q, case.qd, rest, case.wrenches)
    assert_close(np.subtract(H, newton_euler.drive_torques(robot.joints, case.qd, rest)), rigid, BAR)


def test_branches_do_not_affect_each_other() -> None:
    robot = example("two_branch")
    q, qd, _ = states(robot.dof, 1)[:, 0].tolist()
    A, _ = inertia_and_bias(robot, q, qd, robot.gravity_0, {})
    left, right = robot.joint_names.index("left_elbow"), robot.joint_names.index("right_elbow")
    assert A[left][right] == A[right][left] == 0.0
    assert A[left][0] is A[0][left]


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
@pytest.mark.parametrize("name", some(["rrp", "rx90", "two_branch", "sdt", 7, 8], "rrp", "sdt", 7, 8))
def test_models_by_both_methods_agree(name: str | int, parameters: str, backend: str) -> None:
    """Example robots, and random trees with mimic joints."""
    robot = example(name) if isinstance(name, str) else dyn_core.load_robot(random_driven_urdf(name, 6))
    assert (robot.dof < len(robot.joints)) == isinstance(name, int)
    auto = dyn_core.compile_model(robot, parameters, backend)
    one = dyn_core.compile_model(robot, parameters, backend, method="mrnea")
    assert (auto.method, one.method) == ("auto", "mrnea")
    q, qd, tau = states(robot.dof)
    A, H = auto.inertia_matrix(q), auto.bias_torques(q, qd)
    for model in (auto, one):
        both = model.inertia_and_bias(q, qd)
        assert both.shape == (len(q), robot.dof + 1, robot.dof)
        assert_close(both[:, :-1], A, BAR)
        assert_close(both[:, -1], H, BAR)
        assert_close(model.inertia_matrix(q), A, BAR)
        out = np.empty((robot.dof + 1, robot.dof))
        assert model.inertia_and_bias(q[0], qd[0], out=out) is out
        np.testing.assert_allclose(out, both[0], rtol=1e-12, atol=1e-12)
        assert_close((both[:, :-1] @ tau[..., None])[..., 0] + H, model.inverse_dynamics(q, qd, tau), BAR)
    assert_close(one.forward_dynamics(q, qd, tau), auto.forward_dynamics(q, qd, tau), 1e-10)


def test_the_method_is_kept_by_pickle_and_with_runtime_parameters() -> None:
    robot = example("rx90")
    auto, one = (dyn_core.compile_model(robot, backend="python", method=m) for m in ("auto", "mrnea"))
    assert pickle.loads(pickle.dumps(one)).method == "mrnea"
    for function in IN_ONE_PASS:
        counts = traced(one.robot, function, method="mrnea").operation_counts
        assert one.operation_counts(function) == counts != auto.operation_counts(function)
    assert one.operation_counts("inverse_dynamics") == auto.operation_counts("inverse_dynamics")
    runtime = dyn_core.compile_model(robot, "runtime", backend="python", method="mrnea")
    assert sum(runtime.operation_counts("inertia_and_bias").values()) > 1000
    with refused("argument-choice-unknown", argument="method", known="'auto' or 'mrnea'", given="rnea"):
        dyn_core.compile_model(robot, method="rnea")


def total(program: Program) -> int:
    """Operations with the weights that the choice of an algorithm uses."""
    counts = program.operation_counts
    return counts["mul"] + counts["add"] + DIVISION * counts["div"]


def cost_of(robot: dyn_core.Robot, function: str, algorithm: Callable) -> int:
    kind = kinds(robot)[function]
    return total(trace(function, partial(algorithm, robot), kind.sizes, kind.shape))


def test_the_pass_is_used_where_it_has_the_fewest_operations() -> None:
    """Only in some trees with few joints; at equal cost composite bodies are used."""
    robots = [dyn_core.load_robot(random_urdf(seed, 2)) for seed in range(40)]
    robots = [robot for robot in robots if robot.dof == 2]
    taken = 0
    for robot in robots:
        algorithms = kinds(robot)["inertia_matrix"].algorithms
        by_links, by_pass = (cost_of(robot, "inertia_matrix", algorithm) for algorithm in algorithms)
        assert total(traced(robot, "inertia_matrix")) == min(by_links, by_pass)
        assert total(traced(robot, "inertia_matrix", method="mrnea")) == by_pass
        taken += by_pass < by_links
    assert 0 < taken < len(robots) / 2


def crane(slides: int) -> dyn_core.Robot:
    """A column that turns, followed by prismatic joints in general directions."""
    directions = np.random.default_rng(slides).uniform(-1.0, 1.0, (slides + 1, 2, 3)).tolist()
    joints = [
        (f"j{j}", "prismatic" if j else "revolute", f"l{j}" if j else "base", f"l{j + 1}", at, f"{x} {y} {z}")
        for j, (at, (x, y, z)) in enumerate(directions)
    ]
    return dyn_core.load_robot(urdf("crane", joints))


@pytest.mark.parametrize("slides", [1, 4, 7])
def test_a_crane_takes_the_pass_for_all_three_functions(slides: int) -> None:
    """Behind one revolute joint it has the fewest operations, with any number of prismatic joints."""
    robot = crane(slides)
    for function in IN_ONE_PASS:
        *others, one = (cost_of(robot, function, each) for each in kinds(robot)[function].algorithms)
        assert one < min(others)
        counts = traced(robot, function, method="mrnea").operation_counts
        assert traced(robot, function).operation_counts == counts
    q, qd, tau = states(robot.dof)
    auto, by_links = dyn_core.compile_model(robot, backend="python"), inertia_matrix(robot, q[0].tolist())
    assert_close(auto.inertia_matrix(q[0]), by_links, BAR)
    A, H = auto.inertia_matrix(q), auto.bias_torques(q, qd)
    assert_close(auto.forward_dynamics(q, qd, tau), np.linalg.solve(A, (tau - H)[..., None])[..., 0], 1e-10)


def test_the_pass_is_a_candidate_only_where_it_may_win() -> None:
    """The pass wins in some random trees, but not with more than `FEW` revolute joints in a path."""
    wins = {True: 0, False: 0}
    for seed in range(120):
        robot = dyn_core.load_robot(random_urdf(seed, 2 + seed % 8))
        if robot.dof < 2:
            continue
        kind = kinds(robot)["inertia_matrix"]
        assert kind.in_one_pass is not None
        by_links = cost_of(robot, "inertia_matrix", kind.algorithms[0])
        by_pass = cost_of(robot, "inertia_matrix", kind.in_one_pass)
        wins[len(kind.algorithms) == 2] += by_pass < by_links
    assert wins[True] > 0
    assert wins[False] == 0
    long = dyn_core.load_robot(random_urdf(3, FEW + 8, chain=True))
    candidates = [len(kinds(robot)["inertia_matrix"].algorithms) for robot in (long, example("sdt"))]
    assert candidates == [1, 2]


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations of the trainer.

    The arm accelerates while the gondola tumbles.
    """
    amplitude, rate = np.array([0.0, 0.6, 0.8, 0.5]), np.array([1.0, 0.9, 0.7, 1.3])
    phase = rate * t[:, None]
    start = np.array([0.5, 0.0, 0.0, 0.0])  # rad/s^2
    q = amplitude * np.sin(phase) + 0.5 * start * t[:, None] ** 2
    qd = amplitude * rate * np.cos(phase) + start * t[:, None]
    return q, qd, -amplitude * rate**2 * np.sin(phase) + start


def test_the_trainer_has_the_geometry_of_the_paper() -> None:
    """p1 = a1 (c1, s1, 0), p2 = (0, 0, d2), p3 = p4 = 0 in base coordinates."""
    a1, d2, ground = 2.5, 0.6, np.array([0.0, 0.0, 1.0])
    model = dyn_core.compile_model(example("sdt"), backend="python")
    for q in states(4, 5)[0]:
        at = [model.forward_kinematics(q, link)[:3, 3] for link in ("arm", "fork", "ring", "gondola")]
        np.testing.assert_allclose(at[0], ground)
        np.testing.assert_allclose(at[1] - at[0], [a1 * np.cos(q[0]), a1 * np.sin(q[0]), 0.0], atol=1e-12)
        np.testing.assert_allclose(at[2] - at[1], [0.0, 0.0, d2], atol=1e-12)
        np.testing.assert_allclose(at[3], at[2], atol=1e-12)


def test_the_check_of_the_paper() -> None:
    """Torques of both recursions agree; solving for the accelerations gives those of the motion."""
    sdt = example("sdt")
    robot = replace(sdt, joints=tuple(replace(j, friction=type(j.friction)()) for j in sdt.joints))
    chain, model = chain_of(robot), dyn_core.compile_model(robot)
    for q, qd, qdd in zip(*motion(np.linspace(0.0, 6.0, 61)), strict=True):
        u = model.inverse_dynamics(q, qd, qdd)
        passes = (
            mrnea(chain, q.tolist(), qd.tolist(), robot.gravity_0),
            inertia_and_bias(robot, q.tolist(), qd.tolist(), robot.gravity_0, {}),
            np.split(model.inertia_and_bias(q, qd), [4]),
        )
        for h, bias in passes:
            bias = np.reshape(bias, 4)
            assert_close(h @ qdd + bias, u, BAR)
            assert_close(np.linalg.solve(h, u - bias), qdd, BAR)
