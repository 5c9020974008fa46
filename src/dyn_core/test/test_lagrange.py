# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form against Pinocchio and inverse dynamics, and its skew-symmetric matrix."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from depth import some
from properties import examples, given, st
from random_case import assert_close, random_case
from random_urdf import random_driven_urdf
from refusals import refused
from robots import ROBOTS, loop_robot

import dyn_core
from dyn_core.algorithms.dynamics.lagrange_form import coriolis_matrix, lagrange_form
from dyn_core.algorithms.dynamics.newton_euler import inertia_matrix
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import emitted
from dyn_core.model.fixed_base.lagrange_functions import OF_LAGRANGE
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions
from dyn_core.symbolic.scalar import Jet, jet

NAMES = sorted(path.stem for path in ROBOTS.glob("*.urdf"))
BAR = 1e-10
"""Absolute tolerance in SI units (N m, N, kg m^2 ...).

The greatest entry is 2e4, close to the accuracy of floats.
"""


def example(name: str) -> dyn_core.Robot:
    """An example robot with its side file; of a robot with loops, its tree."""
    side = ROBOTS / f"{name}.yaml"
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", side if side.is_file() else None).without_loops()


def without_springs(robot: dyn_core.Robot) -> dyn_core.Robot:
    """The same robot with rigid joints: spring torques far from rest would hide those of the links."""
    return replace(robot, joints=tuple(replace(joint, elastic=None) for joint in robot.joints))


def rate_of_inertia(robot: dyn_core.Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """dA/dt of a batch, by the chain rule through the composite-body algorithm for A."""
    A = inertia_matrix(robot, joint_positions(robot, [Jet(x, v) for x, v in zip(q.T, qd.T, strict=True)]))
    rows = coordinate_inertia(robot, A) if any(joint.mimic for joint in robot.joints) else A
    rates = [[np.broadcast_to(jet(entry).d, len(q)) for entry in row] for row in rows]
    return np.reshape(rates, (robot.dof, robot.dof, len(q))).transpose(2, 0, 1)


def assert_skew_symmetric(robot: dyn_core.Robot, C: np.ndarray, q: np.ndarray, qd: np.ndarray) -> None:
    """Check dA/dt - 2 C in SI units, independent of the size of the robot."""
    skew = rate_of_inertia(robot, q, qd) - 2.0 * C
    assert np.abs(skew + skew.transpose(0, 2, 1)).max(initial=0.0) <= BAR


def torques_of(terms, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Torques of a batch by (A2.1)."""
    j, k = np.triu_indices(qd.shape[1], 1)
    sums = ((terms.A, qdd), (terms.B, qd[:, j] * qd[:, k]), (terms.C, qd**2))
    return sum(np.einsum("nij,nj->ni", matrix, vector) for matrix, vector in sums) + terms.Q


@examples(40, 20)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 12), compound=st.booleans())
def test_coefficients_of_random_trees(seed: int, joints: int, compound: bool) -> None:
    case = random_case(seed, joints, compound)
    robot, n = case.robot, len(case.robot.joints)
    A, b, Q = lagrange_form(robot, case.q, robot.gravity_0)
    b = np.reshape(b, (n, n, n))
    assert_close(A, case.oracle.inertia_matrix(case.q) + np.diag(case.rotor_inertias))
    assert_close(Q, case.oracle.gravity_torques(case.q))
    bias = case.oracle.inverse_dynamics(case.q, case.qd, [0.0] * n, {})
    assert_close(np.einsum("ijk,j,k", b, case.qd, case.qd) + Q, bias)
    np.testing.assert_array_equal(b, b.transpose(0, 2, 1))
    C = np.reshape(coriolis_matrix(b.tolist(), case.qd), (1, n, n))
    assert_close(C, case.oracle.coriolis_matrix(case.q, case.qd))
    assert_skew_symmetric(robot, C, *np.array([[case.q], [case.qd]]))


KINDS = [("c", "baked", False), ("python", "baked", True)]
KINDS += [("python", "runtime", False), ("python", "runtime", True)]


@pytest.mark.parametrize(("backend", "parameters", "base_parameters"), KINDS)
@pytest.mark.parametrize("name", some(NAMES, "gough_stewart", "rrp", "two_branch"))
def test_torques_of_the_example_robots(name, backend, parameters, base_parameters) -> None:
    robot = without_springs(example(name))
    model = dyn_core.compile_model(robot, parameters, backend, base_parameters=base_parameters)
    if parameters == "runtime":
        model.set_parameters(0.9 * np.array(robot.parameters), gravity=(1.0, 2.0, 3.0))
    q, qd, qdd = np.random.default_rng(7).uniform(-3.0, 3.0, (3, 40, robot.dof))
    terms, C = model.lagrange_terms(q), model.coriolis_matrix(q, qd)
    torques = torques_of(terms, qd, qdd) + model.friction_torques(qd)
    for ours, expected in (
        (torques, model.inverse_dynamics(q, qd, qdd)),
        (terms.A, model.inertia_matrix(q)),
        (terms.Q, model.gravity_torques(q)),
        (np.einsum("nij,nj->ni", C, qd), model.coriolis_torques(q, qd)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=BAR)


def test_springs_are_separate_from_the_terms() -> None:
    robot = example("high_speed_machine")
    model, rigid = (dyn_core.compile_model(r, backend="python") for r in (robot, without_springs(robot)))
    q, qd = np.random.default_rng(6).uniform(-1.0, 1.0, (2, 5, robot.dof))
    assert np.abs(model.spring_torques(q, qd)).max() > 1e3
    for part, other in zip(model.lagrange_terms(q), rigid.lagrange_terms(q), strict=True):
        np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(model.coriolis_matrix(q, qd), rigid.coriolis_matrix(q, qd))


@pytest.mark.parametrize("name", some(NAMES, "akr3000", "high_speed_machine", "sdt"))
def test_skew_symmetry(name: str) -> None:
    robot = example(name)
    q, qd = np.random.default_rng(8).uniform(-2.0, 2.0, (2, 20, robot.dof))
    C = dyn_core.compile_model(robot, backend="python").coriolis_matrix(q, qd)
    assert np.abs(C).max() > 0.01
    assert_skew_symmetric(robot, C, q, qd)


@examples(30, 15)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(2, 10))
def test_joints_that_mimic_others(seed: int, joints: int) -> None:
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=0)
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 3, robot.dof))
    expected = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques_of(model.lagrange_terms(q), qd, qdd), expected, rtol=0, atol=BAR)
    assert_skew_symmetric(robot, model.coriolis_matrix(q, qd), q, qd)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_calls_behave_like_those_of_other_functions(backend: str) -> None:
    model = dyn_core.compile_model(example("rrp"), backend=backend)
    q, qd = np.random.default_rng(9).uniform(-1.0, 1.0, (2, 5, 3))
    whole, C = np.full((5, 3, 10), np.nan), np.full((5, 3, 3), np.nan)
    terms = model.lagrange_terms(q, out=whole)
    assert [part.shape for part in terms] == [(5, 3, 3), (5, 3, 3), (5, 3, 3), (5, 3)]
    assert all(np.shares_memory(part, whole) for part in terms)
    assert model.coriolis_matrix(q, qd, out=C) is C
    one = q[2].tolist(), qd[2].tolist()
    of_one = (*model.lagrange_terms(one[0]), model.coriolis_matrix(*one))
    for part, of_batch in zip(of_one, (*terms, C), strict=True):
        np.testing.assert_allclose(part, of_batch[2], rtol=0, atol=1e-14)
    assert np.isnan(model.coriolis_matrix(q[0], [np.nan, 0.0, 0.0])).all()
    with refused("argument-shape", argument="q", expected="(3,) or (N, 3)"):
        model.lagrange_terms(q[0][:2])
    with refused("argument-shape", argument="out"):
        model.lagrange_terms(q[0], out=np.empty((3, 3)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coriolis_matrix(q, qd), C)


def test_operation_counts_and_loops() -> None:
    model = dyn_core.compile_model(example("rrp"), backend="python")
    assert model.operation_counts("lagrange_terms")["trig"] == 2
    with refused("function-unknown", function="lagrange"):
        model.operation_counts("lagrange")
    for program in OF_LAGRANGE.values():
        with refused("lagrange-form-with-loops", robot="five_bar"):
            program(loop_robot("five_bar"))


def test_emitted_code_gives_the_same_values(capsys: pytest.CaptureFixture[str]) -> None:
    robot = example("two_branch")
    program = OF_LAGRANGE["lagrange_terms"](robot)
    call: dict = {}
    exec(emitted(program, robot, "python"), call)
    q = np.random.default_rng(11).uniform(-1.0, 1.0, robot.dof)
    whole = np.empty(program.shape)
    dyn_core.compile_model(robot, backend="python").lagrange_terms(q, out=whole)
    np.testing.assert_allclose(call["lagrange_terms"](q.tolist()), whole, rtol=0, atol=1e-12)
    assert program.columns[7:9] == ("A:right_wrist", "B:waist:left_shoulder")
    for name in OF_LAGRANGE:
        assert main(["emit", str(ROBOTS / "rrp.urdf"), "--function", name, "--lang", "maple"]) == 0
        assert f"{name} := proc(q" in capsys.readouterr().out
