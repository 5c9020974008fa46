# SPDX-License-Identifier: Apache-2.0
"""Base parameters of identification are those of `base_parameters`: the same names, the same formulas."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from example_robots import EMPTY, descriptions
from geometric_tables import LWR, PUMA, RX90, STANFORD, Row, random_gravity, random_rows, robot_of
from properties import examples, given, st
from random_drives import random_driven_urdf
from random_urdf import EXACT_ANGLES
from simulated_truth import SIX, arm

import dyn_core
from dyn_core.algorithms.base_parameters.numeric_relations import random_regressor, random_states
from dyn_core.facade import run_by
from dyn_core.identification.motor_coupling import MotorCoupling, coupling_columns
from dyn_core.identification.regressor import base_columns as base_columns_module
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
URDFS = [*sorted(ROBOTS.glob("*.urdf")), *(path for path in descriptions() if path.name not in EMPTY)]

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True, scope="module")
def _in_python() -> Iterator[None]:
    """Programs of many robots run in Python: each is called once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_by, "compiled_or_none", lambda robot, programs, backend: None)
        yield


def assert_same(robot: Robot) -> BaseColumns:
    found, told = base_columns(robot), dyn_core.base_parameters(robot)
    assert found.names == told.names
    assert found.expressions == told.expressions
    assert (found.standard_names, found.kept) == (told.standard_names, told.kept)
    return found


def assert_columns(robot: Robot, found: BaseColumns, couplings: tuple[MotorCoupling, ...] = ()) -> None:
    """Columns of base parameters, combined, are those of all standard parameters in states of their own."""
    W = random_regressor(robot, "fixed", seed=5)
    states = np.ascontiguousarray(random_states(robot, np.random.default_rng(5)).swapaxes(1, 2))
    motors = below_each_other(coupling_columns(robot, couplings, *states[1:]))
    W = np.hstack([W, motors])
    columns = below_each_other(found.columns(*states))
    scale = max(1.0, np.abs(W).max(initial=0.0))
    np.testing.assert_allclose(columns @ found.matrix, W, rtol=0.0, atol=1e-9 * scale)


def below_each_other(columns: np.ndarray) -> np.ndarray:
    N, n, p = columns.shape
    return columns.transpose(1, 0, 2).reshape(N * n, p)


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_names_of_example_robots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program of them is made: some would take half a minute."""
    monkeypatch.setattr(base_columns_module, "trace", lambda *of: None)
    monkeypatch.setattr(base_columns_module, "run_by", lambda robot, program: None)
    monkeypatch.setattr(base_columns_module, "closed", lambda robot, program: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path)
    assert_same(robot)


@pytest.mark.parametrize("table", [RX90, PUMA, STANFORD, LWR], ids=["rx90", "puma", "stanford", "lwr"])
def test_names_of_arms(table: list[Row]) -> None:
    """Upright and tilted: gravity along the first axis and across it."""
    for gravity in ((0.0, 0.0, -9.81), (3.0, -4.0, -8.0)):
        robot = robot_of(table, gravity)
        assert_columns(robot, assert_same(robot))


@examples(40)
@given(seed=seeds, joints=st.integers(1, 7), almost=st.booleans())
def test_names_of_random_trees(seed: int, joints: int, almost: bool) -> None:
    """Revolute, prismatic and fixed joints, with gravity in any direction."""
    random = np.random.default_rng(seed)
    robot = robot_of(random_rows(random, joints, almost), random_gravity(random))
    assert_columns(robot, assert_same(robot))


@examples(20)
@given(seed=seeds, joints=st.integers(1, 7))
def test_names_where_joints_mimic_others(seed: int, joints: int) -> None:
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, angles=EXACT_ANGLES))
    assert_columns(robot, assert_same(robot))


def test_a_motor_of_two_joints_has_parameters_behind_those_of_bodies() -> None:
    robot, coupling = arm(SIX), MotorCoupling("6", {"joint_5": 1.0, "joint_6": -0.5})
    found, told = base_columns(robot, [coupling]), dyn_core.base_parameters(robot)
    assert found.names == (*told.names, "Iam6", "Fvm6", "Fsm6")
    assert found.expressions == (*told.expressions, "Iam6 = Iam6", "Fvm6 = Fvm6", "Fsm6 = Fsm6")
    assert_columns(robot, found, (coupling,))


def test_the_rotor_of_a_motor_of_one_joint_is_grouped() -> None:
    """At half the speed of joint 6, it is a quarter of Iam6 for that joint; friction is not for bodies."""
    robot, coupling = arm(SIX), MotorCoupling("wrist", {"joint_6": 0.5})
    found, told = base_columns(robot, [coupling]), dyn_core.base_parameters(robot)
    assert found.kept == (*told.kept, "Fvmwrist", "Fsmwrist")
    k = found.kept.index("Ia6")
    assert found.names[k] == "IaR6"
    assert found.expressions[k] == "IaR6 = Ia6 + 0.25*Iamwrist"
    others = [text for j, text in enumerate(found.expressions[: len(told.kept)]) if j != k]
    assert others == [text for j, text in enumerate(told.expressions) if j != k]
    assert_columns(robot, found, (coupling,))
