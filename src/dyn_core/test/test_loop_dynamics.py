# SPDX-License-Identifier: Apache-2.0
"""Dynamics of closed loops against Pinocchio's tree, closed and projected by independent code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from depth import some

pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

from loop_oracle import LoopOracle, example_side, example_urdf
from random_loops import PASSIVE, random_loop

import dyn_core

EXAMPLES = ("five_bar", "sr400", "akr3000", "palletizer")
GRAVITY = (1.0, -2.0, -9.0)
STATES = 5


class Case(NamedTuple):
    """A robot, its model, the oracle, and states."""

    model: dyn_core.Model
    oracle: LoopOracle
    states: list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def case(urdf: str, side: dict, states: int, **options: object) -> Case:
    robot = dyn_core.load_robot(urdf, loops=side, gravity=GRAVITY, snap=0)
    model = dyn_core.compile_model(robot, **options)
    oracle = LoopOracle(urdf, side, actuated=model.joint_names, gravity=GRAVITY)
    random = np.random.default_rng(1)
    return Case(model, oracle, [oracle.random_state(random) for _ in range(states)])


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Case:
    return case(example_urdf(request.param), example_side(request.param), STATES)


def agree(found: np.ndarray, expected: np.ndarray, relative: float = 1e-8) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(np.asarray(found) - expected).max(initial=0.0) <= relative * scale


def compare(case: Case) -> None:
    """Compare inverse and direct dynamics, A_c, H_c, gravity, passive motion, and wrenches, in all states."""
    model, oracle, states = case
    for q, qd, qdd in states:
        tau = oracle.inverse_dynamics(q, qd, qdd)
        agree(model.inverse_dynamics(q, qd, qdd), tau)
        agree(model.inertia_matrix(q), oracle.inertia_matrix(q))
        agree(model.bias_torques(q, qd), oracle.bias(q, qd))
        agree(model.gravity_torques(q), oracle.gravity(q))
        agree(model.forward_dynamics(q, qd, tau), oracle.forward_dynamics(q, qd, tau))
        agree(model.regressor(q, qd, qdd) @ model.parameters, tau)
        expected = dict(zip(oracle.passive_names, np.transpose(oracle.passive(q, qd, qdd)), strict=True))
        found = np.transpose(model.solve_loops(q, qd, qdd))
        for name, values in zip(model.passive_joint_names, found, strict=True):
            turns = np.array([2.0 * np.pi * round((values[0] - expected[name][0]) / (2.0 * np.pi)), 0.0, 0.0])
            agree(values - turns, expected[name])


def test_examples(example: Case) -> None:
    compare(example)


def test_batches_and_backends(example: Case) -> None:
    model, _, states = example
    q, qd, qdd = (np.array(each) for each in zip(*states, strict=True))
    python = dyn_core.compile_model(model.robot, backend="python")
    runtime = dyn_core.compile_model(model.robot, parameters="runtime")
    calls = {"inverse_dynamics": (q, qd, qdd), "forward_dynamics": (q, qd, qdd), "inertia_matrix": (q,)}
    for name, arguments in (calls | {"bias_torques": (q, qd), "friction_torques": (qd, q)}).items():
        batch = getattr(model, name)(*arguments)
        for k, single in enumerate(zip(*arguments, strict=True)):
            for other in (model, python, runtime):
                agree(getattr(other, name)(*single), batch[k], 1e-11)
        agree(getattr(python, name)(*arguments), batch, 1e-11)


@pytest.mark.parametrize("seed", some(range(3), 0))
@pytest.mark.parametrize("kind", PASSIVE)
def test_random_spatial_loops(kind: str, seed: int) -> None:
    urdf, side = random_loop(kind, seed)
    compare(case(urdf, side, 2, backend="python"))


def test_wrenches_of_cut_joints(example: Case) -> None:
    """The oracle has them in the parent's cut frame.

    Components that redundancy leaves open are not compared.
    """
    model, oracle, states = example
    for q, qd, qdd in states[:2]:
        for loop in model.robot.loops:
            wrench, determined = oracle.cut_wrench(loop.name, q, qd, qdd)
            found = model.reaction_wrench(q, qd, qdd, loop.name)
            T = model.forward_kinematics(q, loop.child.link, loop.parent.link)
            R_P, R_C = (np.array(end.T_link_cut.R) for end in (loop.parent, loop.child))
            in_parent = np.kron(np.eye(2), R_P.T @ T[:3, :3] @ R_C) @ found
            agree(in_parent[determined], wrench[determined])
            assert determined.any()
