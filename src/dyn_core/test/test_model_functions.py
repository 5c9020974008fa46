# SPDX-License-Identifier: Apache-2.0
"""All functions of a model against Pinocchio, compiled and in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


@pytest.fixture(scope="module", params=["rrp-c", "rx90-c", "two_branch-c", "two_branch-python"])
def case(request: pytest.FixtureRequest) -> tuple[dyn_core.Model, Oracle]:
    name, backend = request.param.split("-")
    path = ROBOTS / f"{name}.urdf"
    robot = dyn_core.load_robot(path, snap=0)
    model = dyn_core.compile_model(robot, friction=False, backend=backend)
    return model, Oracle(path.read_text(), robot.joint_names, robot.gravity)


def states(model: dyn_core.Model) -> np.ndarray:
    return np.random.default_rng(3).uniform(-2.0, 2.0, (3, 9, len(model.joint_names)))


def test_direct_dynamics_undoes_inverse_dynamics(case) -> None:
    """With friction, and wrenches on a link; single and batch."""
    model, _ = case
    model = dyn_core.compile_model(model.robot, backend=model.backend)
    q, qd, qdd = states(model)
    tip = {model.robot.link_names[-1]: [1.0, -2.0, 3.0, 0.4, 0.5, -0.6]}
    for wrenches in (None, tip):
        tau = model.inverse_dynamics(q, qd, qdd, wrenches)
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau, wrenches), qdd, rtol=0, atol=1e-9)
        single = model.forward_dynamics(q[0], qd[0], tau[0], wrenches)
        np.testing.assert_allclose(single, qdd[0], rtol=0, atol=1e-9)


def test_inertia_matrix_and_bias_make_up_the_torques(case) -> None:
    model, oracle = case
    q, qd, qdd = states(model)
    A = model.inertia_matrix(q)
    tau = np.einsum("sij,sj->si", A, qdd) + model.bias_torques(q, qd)
    np.testing.assert_allclose(tau, model.inverse_dynamics(q, qd, qdd), rtol=1e-10, atol=1e-10)
    expected = [oracle.inverse_dynamics(*sample, {}) for sample in zip(q, qd, qdd, strict=True)]
    np.testing.assert_allclose(tau, expected, rtol=1e-10, atol=1e-10)


def test_regressor_times_parameters_is_the_torque(case) -> None:
    model, _ = case
    model = dyn_core.compile_model(model.robot, backend=model.backend)

    q, qd, qdd = states(model)
    Y = model.regressor(q, qd, qdd)
    assert Y.shape == (9, len(model.joint_names), len(model.parameter_names))
    tau = Y @ np.array(model.robot.parameters)
    np.testing.assert_allclose(tau, model.inverse_dynamics(q, qd, qdd), rtol=1e-10, atol=1e-10)


def test_placements_and_jacobians_of_every_link(case) -> None:
    model, oracle = case
    q = states(model)[0]
    for link in model.robot.link_names:
        batch, jacobians = model.forward_kinematics(q, link), model.jacobian(q, link)
        for k, sample in enumerate(q):
            R, p = oracle.link_placement(sample, link)
            np.testing.assert_allclose(batch[k], np.block([[R, np.c_[p]], [0, 0, 0, 1]]), rtol=0, atol=1e-13)
            assert np.array_equal(model.forward_kinematics(sample, link), batch[k])
        J = numerical_jacobian(model, q[0], link)
        np.testing.assert_allclose(jacobians[0], J, rtol=0, atol=1e-7)
        own = model.jacobian(q[0], link, expressed_in=link)
        R = batch[0][:3, :3]
        np.testing.assert_allclose(own, np.kron(np.eye(2), R.T) @ jacobians[0], rtol=0, atol=1e-13)


def numerical_jacobian(model: dyn_core.Model, q: np.ndarray, link: str) -> np.ndarray:
    """Central differences of the placement."""
    step = 1e-6
    here = model.forward_kinematics(q, link)[:3, :3]
    columns = []
    for j in range(len(q)):
        change = np.eye(len(q))[j] * step
        before, after = (model.forward_kinematics(q + s * change, link) for s in (-1, 1))
        turned = (after[:3, :3] - before[:3, :3]) @ here.T / (2 * step)
        moved = (after[:3, 3] - before[:3, 3]) / (2 * step)
        columns.append([*moved, turned[2, 1], turned[0, 2], turned[1, 0]])
    return np.array(columns).T


def test_an_unknown_link_is_named(case) -> None:
    model, _ = case
    with pytest.raises(dyn_core.DynError, match="has no link 'no such'"):
        model.forward_kinematics(states(model)[0], "no such")


def test_mimic_joints_are_part_of_every_function(tmp_path: Path) -> None:
    """A gripper whose second finger mimics the first: the free model of Pinocchio, projected."""
    urdf = (ROBOTS / "two_branch.urdf").read_text()
    free = dyn_core.load_robot(urdf, snap=0)
    first, second = free.joint_names[2], free.joint_names[4]
    start = urdf.index(f'<joint name="{second}"')
    end = urdf.index("</joint>", start)
    coupled = f'{urdf[:end]}<mimic joint="{first}" multiplier="-0.5" offset="0.2"/>{urdf[end:]}'
    robot = dyn_core.load_robot(coupled, snap=0)
    assert robot.dof == free.dof - 1
    G = np.zeros((free.dof, robot.dof))
    for j, name in enumerate(free.joint_names):
        G[j, robot.joint_names.index(first if name == second else name)] = -0.5 if name == second else 1.0
    offset = np.where(np.array(free.joint_names) == second, 0.2, 0.0)
    for backend in ("c", "python"):
        model = dyn_core.compile_model(robot, friction=False, backend=backend)
        oracle = Oracle(urdf, free.joint_names, free.gravity)
        q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, robot.dof))
        expected = G.T @ oracle.inverse_dynamics(G @ q + offset, G @ qd, G @ qdd, {})
        tau = model.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), qdd, rtol=1e-9, atol=1e-9)
        A = model.inertia_matrix(q)
        np.testing.assert_allclose(A @ qdd + model.bias_torques(q, qd), expected, rtol=1e-10, atol=1e-10)
