# SPDX-License-Identifier: Apache-2.0
"""Base parameters of random trees, and those of identification, by both methods and by Pinocchio."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from base_agreement import assert_methods_agree, assert_same_torques, rank
from example_robots import EMPTY, descriptions
from geometric_tables import LWR, PUMA, RX90, STANFORD, Row, random_gravity, random_rows, robot_of
from properties import examples, given, st
from random_urdf import EXACT_ANGLES, random_driven_urdf, random_urdf
from robots import ROBOTS
from simulated_truth import SIX, arm

import dyn_core
from dyn_core.algorithms.base_parameters.numeric_relations import random_regressor, random_states
from dyn_core.identification.regressor import base_columns as base_columns_module
from dyn_core.identification.regressor.base_columns import (
    BaseColumns,
    MotorCoupling,
    base_columns,
    coupling_columns,
)
from dyn_core.model.fixed_base import compiled_model as run_by
from dyn_core.model.tunable_parameters import runnables
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

seeds = st.integers(0, 2**32 - 1)
mounts = st.sampled_from(["fixed", "tilted", "moving"])


def random_robot(seed: int, joints: int, almost: bool = False) -> Robot:
    random = np.random.default_rng(seed)
    return robot_of(random_rows(random, joints, almost), random_gravity(random))


@examples(300)
@given(seed=seeds, joints=st.integers(1, 9), mount=mounts)
def test_both_methods_agree_with_each_other_and_with_random_data(seed: int, joints: int, mount: str) -> None:
    assert_methods_agree(random_robot(seed, joints), mount)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 9), mount=mounts)
def test_axes_that_are_almost_parallel_or_perpendicular(seed: int, joints: int, mount: str) -> None:
    """By 1e-3 and 1e-9 rad: columns are then almost dependent, and coefficients have fewer correct digits."""
    robot = random_robot(seed, joints, almost=True)
    for rotors in (True, False):
        found = [dyn_core.base_parameters(robot, method, mount, rotors) for method in ("symbolic", "numeric")]
        assert found[0].kept == found[1].kept
        for one in found:
            assert_same_torques(robot, one, mount)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 12), compound=st.booleans(), mount=mounts)
def test_both_methods_agree_on_random_descriptions(
    seed: int, joints: int, compound: bool, mount: str
) -> None:
    """Fixed, planar and floating joints, bodies without mass, and angles that are printed with rounding."""
    urdf = random_urdf(seed, joints, compound=compound)
    robot = dyn_core.load_robot(urdf, gravity=(1.0, -3.0, 9.0), snap=0)
    for method in ("symbolic", "numeric"):
        assert_same_torques(robot, dyn_core.base_parameters(robot, method, mount), mount)


@examples(100)
@given(seed=seeds, joints=st.integers(2, 10), mount=mounts)
def test_both_methods_agree_with_mimic_joints(seed: int, joints: int, mount: str) -> None:
    urdf = random_driven_urdf(seed, joints, angles=EXACT_ANGLES)
    coupled = assert_methods_agree(dyn_core.load_robot(urdf), mount)
    free = dyn_core.base_parameters(dyn_core.load_robot(urdf, mimic=False), mount=mount)
    assert set(coupled.kept) <= set(free.kept)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 9))
def test_base_parameters_grow_from_a_fixed_to_a_tilted_to_a_moving_base(seed: int, joints: int) -> None:
    """Those of a fixed base are among those of a tilted base, and these among those of a moving base."""
    robot = random_robot(seed, joints)
    found = [dyn_core.base_parameters(robot, mount=mount) for mount in ("fixed", "tilted", "moving")]
    for less, more in pairwise(found):
        within = less.matrix[:, more.columns] @ more.matrix
        scale = np.prod([max(1.0, np.abs(one.matrix).max(initial=0.0)) for one in (less, more)])
        np.testing.assert_allclose(within, less.matrix, rtol=0.0, atol=1e-9 * scale)


@examples(200)
@given(seed=seeds, joints=st.integers(1, 12))
def test_the_number_of_base_parameters_is_within_its_bound(seed: int, joints: int) -> None:
    """SYMORO+ 2003, theorem 4 of 4.2.3, with 4 instead of 5: a pendulum has ZZ, MX and MY."""
    robot = random_robot(seed, joints)
    found = dyn_core.base_parameters(robot, rotor_inertia=False)
    most = {Sigma.REVOLUTE: (7, 3), Sigma.PRISMATIC: (4, 1)}  # of other joints, and of the first ones
    assert len(found.kept) <= sum(most[joint.sigma][joint.antecedent == 0] for joint in robot.joints)


@examples(60)
@given(seed=seeds, joints=st.integers(1, 10), compound=st.booleans())
def test_the_number_is_the_rank_of_pinocchios_regressor(seed: int, joints: int, compound: bool) -> None:
    """On a fixed base, and on a moving base, for which Pinocchio has a free joint at the root."""
    import pinocchio as pin
    from pinocchio_oracle import Oracle
    from simple_joint_urdf import spelled_out

    urdf = random_urdf(seed, joints, compound=compound, angles=EXACT_ANGLES)
    random = np.random.default_rng(seed)
    gravity = random_gravity(random)
    robot = dyn_core.load_robot(urdf, gravity=gravity)
    samples = 24
    oracle = Oracle(urdf, robot.joint_names, gravity)
    Y = [oracle.regressor(*random.uniform(-2.0, 2.0, (3, robot.dof))) for _ in range(samples)]
    found = dyn_core.base_parameters(robot, rotor_inertia=False)
    assert rank(np.vstack(Y) if robot.dof else np.zeros((0, 0))) == len(found.kept)
    model = pin.buildModelFromXML(spelled_out(urdf), pin.JointModelFreeFlyer())
    model.gravity.linear = np.array(gravity)
    data = model.createData()
    rows = []
    for _ in range(samples):
        q = pin.integrate(model, pin.neutral(model), random.uniform(-2.0, 2.0, model.nv))
        v, a = random.uniform(-2.0, 2.0, (2, model.nv))
        rows.append(pin.computeJointTorqueRegressor(model, data, q, v, a)[6:, 10:])
    moving = dyn_core.base_parameters(robot, mount="moving", rotor_inertia=False)
    assert rank(np.vstack(rows)) == len(moving.kept)


@examples(40)
@given(seed=seeds, joints=st.integers(1, 6), mount=mounts)
def test_expressions_with_symbols_have_the_values_of_the_matrix(seed: int, joints: int, mount: str) -> None:
    """Polynomials in the lengths, with mimic joints, too."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, angles=EXACT_ANGLES))
    found = dyn_core.base_parameters(robot, mount=mount, symbols=True)
    assert found.coefficients is not None
    values = [[eval(x.text, {}, found.lengths) for x in row] for row in found.coefficients]
    scale = max(1.0, np.abs(found.matrix).max(initial=0.0))
    values = np.array(values, dtype=float).reshape(found.matrix.shape)
    np.testing.assert_allclose(values, found.matrix, rtol=0.0, atol=1e-9 * scale)


# Base parameters of identification have the same names and formulas as those of `base_parameters`.


URDFS = [*sorted(ROBOTS.glob("*.urdf")), *(path for path in descriptions() if path.name not in EMPTY)]


@pytest.fixture(autouse=True, scope="module")
def _in_python() -> Iterator[None]:
    """Run programs in Python: each of the many robots is called once only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_by, "runnable_programs", lambda robot, programs: runnables(programs, "python"))
        yield


def assert_same(robot: Robot) -> BaseColumns:
    found, told = base_columns(robot), dyn_core.base_parameters(robot)
    assert found.names == told.names
    assert found.expressions == told.expressions
    assert (found.standard_names, found.kept) == (told.standard_names, told.kept)
    return found


def assert_columns(robot: Robot, found: BaseColumns, couplings: tuple[MotorCoupling, ...] = ()) -> None:
    """The combined base columns are the columns of all standard parameters, in independent random states."""
    states = np.ascontiguousarray(random_states(robot, np.random.default_rng(5)).swapaxes(1, 2))
    motors = below_each_other(coupling_columns(robot, couplings, *states[1:]))
    W = np.hstack([random_regressor(robot, "fixed", seed=5), motors])
    columns = below_each_other(found.columns(*states))
    scale = max(1.0, np.abs(W).max(initial=0.0))
    np.testing.assert_allclose(columns @ found.matrix, W, rtol=0.0, atol=1e-9 * scale)


def below_each_other(columns: np.ndarray) -> np.ndarray:
    N, n, p = columns.shape
    return columns.transpose(1, 0, 2).reshape(N * n, p)


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_names_of_example_robots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program of them is compiled: some would take half a minute."""
    for name in ("trace", "run_by", "closed"):
        monkeypatch.setattr(base_columns_module, name, lambda *of: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path)
    assert_same(robot)


@pytest.mark.parametrize("table", [RX90, PUMA, STANFORD, LWR], ids=["rx90", "puma", "stanford", "lwr"])
def test_names_of_arms(table: list[Row]) -> None:
    """Upright and tilted: gravity along the first axis and perpendicular to it."""
    for gravity in ((0.0, 0.0, -9.81), (3.0, -4.0, -8.0)):
        robot = robot_of(table, gravity)
        assert_columns(robot, assert_same(robot))


@examples(40)
@given(seed=seeds, joints=st.integers(1, 7), almost=st.booleans())
def test_names_of_random_trees(seed: int, joints: int, almost: bool) -> None:
    """Revolute, prismatic and fixed joints, with gravity in any direction."""
    robot = random_robot(seed, joints, almost)
    assert_columns(robot, assert_same(robot))


@examples(20)
@given(seed=seeds, joints=st.integers(1, 7))
def test_names_where_joints_mimic_others(seed: int, joints: int) -> None:
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, angles=EXACT_ANGLES))
    assert_columns(robot, assert_same(robot))


def test_names_with_motors_of_one_and_of_two_joints() -> None:
    """The parameters of a motor of two joints come after those of bodies; the rotor of one joint is grouped.

    This motor turns at half the speed of joint 6, so its rotor adds a quarter to Iam6. Friction is not
    grouped with bodies.
    """
    robot, two = arm(SIX), MotorCoupling("6", {"joint_5": 1.0, "joint_6": -0.5})
    found, told = base_columns(robot, [two]), dyn_core.base_parameters(robot)
    assert found.names == (*told.names, "Iam6", "Fvm6", "Fsm6")
    assert found.expressions == (*told.expressions, "Iam6 = Iam6", "Fvm6 = Fvm6", "Fsm6 = Fsm6")
    assert_columns(robot, found, (two,))
    one = MotorCoupling("wrist", {"joint_6": 0.5})
    found = base_columns(robot, [one])
    assert found.kept == (*told.kept, "Fvmwrist", "Fsmwrist")
    k = found.kept.index("Ia6")
    assert (found.names[k], found.expressions[k]) == ("IaR6", "IaR6 = Ia6 + 0.25*Iamwrist")
    others = [text for j, text in enumerate(found.expressions[: len(told.kept)]) if j != k]
    assert others == [text for j, text in enumerate(told.expressions) if j != k]
    assert_columns(robot, found, (one,))
