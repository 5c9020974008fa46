# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form: against Pinocchio, against inverse dynamics, and its skew-symmetric matrix."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dual_number import Dual, dual
from properties import examples, given, st
from random_case import assert_close, random_case
from random_drives import random_driven_urdf

import dyn_core
from dyn_core.algorithms.dynamics.lagrange_form import coriolis_matrix, lagrange_form
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import emitted
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
NAMES = sorted(path.stem for path in ROBOTS.glob("*.urdf"))
BAR = 1e-10
"""In SI units, N m, N, kg m^2, kg m^2/s ..., where the greatest entry is 2e4: near what numbers hold."""


def example(name: str) -> dyn_core.Robot:
    """An example robot with its side file; of one with loops the tree."""
    side = ROBOTS / f"{name}.yaml"
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=side if side.is_file() else None)
    return robot.without_loops()


def without_springs(robot: dyn_core.Robot) -> dyn_core.Robot:
    """The same robot with rigid joints: torques of springs far from rest would hide those of the links."""
    return replace(robot, joints=tuple(replace(joint, elastic=None) for joint in robot.joints))


def rate_of_inertia(robot: dyn_core.Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """dA/dt of a batch, by the chain rule through the algorithm that computes A from composite links."""
    A = inertia_matrix(robot, joint_positions(robot, [Dual(x, v) for x, v in zip(q.T, qd.T, strict=True)]))
    rows = coordinate_inertia(robot, A) if any(joint.mimic for joint in robot.joints) else A
    rates = [[np.broadcast_to(dual(entry).rate, len(q)) for entry in row] for row in rows]
    return np.reshape(rates, (robot.dof, robot.dof, len(q))).transpose(2, 0, 1)


def assert_skew_symmetric(robot: dyn_core.Robot, C: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
    """Of dA/dt - 2 C, in SI units, whatever the size of the robot."""
    skew = rate_of_inertia(robot, q, qd) - 2.0 * C
    assert np.abs(skew + skew.transpose(0, 2, 1)).max(initial=0.0) <= BAR


def torques_of(terms, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Torques of a batch by (A2.1)."""
    j, k = np.triu_indices(qd.shape[1], 1)
    sums = ((terms.A, qdd), (terms.B, qd[:, j] * qd[:, k]), (terms.C, qd**2))
    return sum(np.einsum("nij,nj->ni", matrix, vector) for matrix, vector in sums) + terms.Q


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 12), compound=st.booleans())
def test_coefficients_of_random_trees(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, n = case.robot, len(case.robot.joints)
    A, b, Q = lagrange_form(robot, case.q, robot.gravity_0)
    b = np.reshape(b, (n, n, n))
    assert_close(np.reshape(A, (n, n)), case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias))
    assert_close(Q, case.oracle.gravity_torques(case.q))
    bias = case.oracle.inverse_dynamics(case.q, case.qd, [0.0] * n, {})
    assert_close(np.einsum("ijk,j,k", b, case.qd, case.qd) + Q, bias)
    np.testing.assert_array_equal(b, b.transpose(0, 2, 1))
    C = np.reshape(coriolis_matrix(b.tolist(), case.qd), (n, n))
    assert_close(C, case.oracle.coriolis_matrix(case.q, case.qd))


@pytest.mark.parametrize(
    ("backend", "parameters", "base_parameters"),
    [
        ("c", "baked", False),
        ("python", "baked", True),
        ("python", "runtime", False),
        ("python", "runtime", True),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_torques_of_the_example_robots(
    name: str, backend: str, parameters: str, base_parameters: bool
) -> None:
    robot = without_springs(example(name))
    model = dyn_core.compile_model(robot, parameters, backend, base_parameters=base_parameters)
    q, qd, qdd = np.random.default_rng(7).uniform(-3.0, 3.0, (3, 40, robot.dof))
    terms, C = model.lagrange_terms(q), model.coriolis_matrix(q, qd)
    torques = torques_of(terms, qd, qdd) + model.friction_torques(qd)
    by_matrix = np.einsum("nij,nj->ni", C, qd)
    for ours, expected in (
        (torques, model.inverse_dynamics(q, qd, qdd)),
        (terms.A, model.inertia_matrix(q)),
        (terms.Q, model.gravity_torques(q)),
        (by_matrix, model.coriolis_torques(q, qd)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=BAR)


def test_springs_are_beside_the_terms() -> None:
    robot = example("high_speed_machine")
    model, rigid = (dyn_core.compile_model(r, backend="python") for r in (robot, without_springs(robot)))
    q, qd = np.random.default_rng(6).uniform(-1.0, 1.0, (2, 5, robot.dof))
    assert np.abs(model.spring_torques(q, qd)).max() > 1e3
    for part, other in zip(model.lagrange_terms(q), rigid.lagrange_terms(q), strict=True):
        np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(model.coriolis_matrix(q, qd), rigid.coriolis_matrix(q, qd))


@pytest.mark.parametrize("name", NAMES)
def test_skew_symmetry(name: str) -> None:
    robot = example(name)
    q, qd = np.random.default_rng(8).uniform(-2.0, 2.0, (2, 20, robot.dof))
    C = dyn_core.compile_model(robot, backend="python").coriolis_matrix(q, qd)
    assert np.abs(C).max() > 0.01
    assert_skew_symmetric(robot, C, q, qd)


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 12), compound=st.booleans())
def test_skew_symmetry_of_random_trees(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    C = coriolis_matrix(lagrange_form(case.robot, case.q, case.robot.gravity_0).christoffel, case.qd)
    n = len(case.robot.joints)
    assert_skew_symmetric(
        case.robot, np.reshape(C, (1, n, n)), np.reshape(case.q, (1, n)), np.reshape(case.qd, (1, n))
    )


@examples(30)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(2, 10))
def test_joints_that_mimic_others(seed: int, joints: int) -> None:
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=0)
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 3, robot.dof))
    expected = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques_of(model.lagrange_terms(q), qd, qdd), expected, rtol=0, atol=BAR)
    assert_skew_symmetric(robot, model.coriolis_matrix(q, qd), q, qd)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_calls_are_those_of_every_function(backend: str) -> None:
    robot = example("rrp")
    model = dyn_core.compile_model(robot, backend=backend)
    q, qd = np.random.default_rng(9).uniform(-1.0, 1.0, (2, 5, 3))
    whole, C = np.full((5, 3, 10), np.nan), np.full((5, 3, 3), np.nan)
    terms = model.lagrange_terms(q, out=whole)
    assert [part.shape for part in terms] == [(5, 3, 3), (5, 3, 3), (5, 3, 3), (5, 3)]
    assert all(np.shares_memory(part, whole) for part in terms)
    assert model.coriolis_matrix(q, qd, out=C) is C
    one = model.lagrange_terms(q[2].tolist())
    for part, of_batch in zip(one, terms, strict=True):
        np.testing.assert_allclose(part, of_batch[2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(model.coriolis_matrix(q[2].tolist(), qd[2].tolist()), C[2], rtol=0, atol=1e-14)
    assert np.isnan(model.coriolis_matrix(q[0], [np.nan, 0.0, 0.0])).all()
    with pytest.raises(ValueError, match=r"q: expected the shape \(3,\) or \(N, 3\), but it has \(2,\)"):
        model.lagrange_terms(q[0][:2])
    with pytest.raises(ValueError, match=r"out: expected the shape \(3, 10\), but it has \(3, 3\)"):
        model.lagrange_terms(q[0], out=np.empty((3, 3)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coriolis_matrix(q, qd), C)


def test_parameters_that_are_set_take_effect() -> None:
    robot = example("rrp")
    model = dyn_core.compile_model(robot, "runtime")
    q, qd = np.random.default_rng(10).uniform(-1.0, 1.0, (2, 3))
    before = model.coriolis_matrix(q, qd), model.lagrange_terms(q)
    heavier = robot.with_parameters({"M3": 9.0, "MY2": 0.7, "Ia1": 2.0})
    model.set_parameters(heavier.parameters, gravity=(1.0, 2.0, 3.0))
    expected = dyn_core.compile_model(replace(heavier, gravity=(1.0, 2.0, 3.0)))
    np.testing.assert_allclose(model.coriolis_matrix(q, qd), expected.coriolis_matrix(q, qd), rtol=1e-13)
    assert not np.allclose(before[0], expected.coriolis_matrix(q, qd))
    for part, other in zip(model.lagrange_terms(q), expected.lagrange_terms(q), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-13, atol=1e-14)


def test_operations_are_counted() -> None:
    model = dyn_core.compile_model(example("rrp"), backend="python")
    assert model.operation_counts("lagrange_terms")["trig"] == 2
    with pytest.raises(
        ValueError, match=r"there is no function 'lagrange': .*coriolis_matrix, lagrange_terms"
    ):
        model.operation_counts("lagrange")


def test_loops_are_refused() -> None:
    robot = dyn_core.load_robot(ROBOTS / "five_bar.urdf", loops=ROBOTS / "five_bar.yaml")
    for program in OF_LAGRANGE.values():
        with pytest.raises(
            dyn_core.DynError, match=r"robot 'five_bar' has the loops .*: the Lagrange form is "
        ):
            program(robot)


def test_emitted_code_gives_the_same() -> None:
    robot = example("two_branch")
    program = OF_LAGRANGE["lagrange_terms"](robot)
    call: dict = {}
    exec(emitted(program, robot, "python"), call)
    q = np.random.default_rng(11).uniform(-1.0, 1.0, robot.dof)
    whole = np.empty(program.shape)
    dyn_core.compile_model(robot, backend="python").lagrange_terms(q, out=whole)
    np.testing.assert_allclose(call["lagrange_terms"](q.tolist()), whole, rtol=0, atol=1e-12)
    assert program.columns[7:9] == ("A:right_wrist", "B:waist:left_shoulder")


def test_the_command_writes_them(capsys: pytest.CaptureFixture[str]) -> None:
    for name in OF_LAGRANGE:
        assert main(["emit", str(ROBOTS / "rrp.urdf"), "--function", name, "--lang", "maple"]) == 0
        assert f"{name} := proc(q" in capsys.readouterr().out
