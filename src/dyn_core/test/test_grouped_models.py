# SPDX-License-Identifier: Apache-2.0
"""Models and robots with base parameters: the same results, from fewer operations."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from geometric_tables import (
    GENERAL_6R,
    LWR,
    PANDA,
    PUMA,
    RX90,
    STANFORD,
    Row,
    robot_of,
    with_random_parameters,
)
from random_drives import random_driven_urdf

import dyn_core
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
TABLES = {"rx90": RX90, "puma": PUMA, "stanford": STANFORD, "lwr": LWR, "panda": PANDA, "6R": GENERAL_6R}
FUNCTIONS = {
    "inverse_dynamics": 3,
    "bias_torques": 2,
    "gravity_torques": 1,
    "coriolis_torques": 2,
    "inertia_matrix": 1,
    "inertia_and_bias": 2,
    "regressor": 3,
}
FEWER = ("inverse_dynamics", "bias_torques", "coriolis_torques")


def states(n: int, count: int = 20) -> np.ndarray:
    return np.random.default_rng(4).uniform(-2.0, 2.0, (3, count, n))


def assert_same_functions(one: dyn_core.Model, other: dyn_core.Model) -> None:
    for function, count in FUNCTIONS.items():
        args = states(one.robot.dof)[:count]
        want = getattr(one, function)(*args)
        scale = max(np.abs(want).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(getattr(other, function)(*args), want, rtol=0.0, atol=1e-9 * scale)


def models(robot: Robot, kind: str, backend: str = "python") -> list[dyn_core.Model]:
    return [dyn_core.compile_model(robot, kind, backend, base_parameters=b) for b in (False, True)]


@pytest.mark.parametrize("kind", ["baked", "runtime"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_the_same_from_fewer_operations(table: list[Row], kind: str) -> None:
    plain, grouped = models(robot_of(table), kind)
    assert_same_functions(plain, grouped)
    for function in FEWER:
        before, after = (model.operation_counts(function) for model in (plain, grouped))
        assert after["mul"] < before["mul"]
        assert after["add"] < before["add"]


@pytest.mark.parametrize("kind", ["baked", "runtime"])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots_compiled(name: str, kind: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    plain, grouped = models(robot, kind, "auto")
    assert_same_functions(plain, grouped)
    q, qd, tau = states(robot.dof)
    qdd = plain.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(grouped.forward_dynamics(q, qd, tau), qdd, atol=1e-9 * np.abs(qdd).max())
    np.testing.assert_array_equal(grouped.parameters, plain.parameters)


def test_forward_dynamics_of_bodies_that_cannot_be() -> None:
    """Grouped bodies are none that exist, but have the inertia matrix of the robot."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    lighter = dyn_core.with_base_parameters(robot)
    assert lighter.bodies[6].M == 0.0
    q, qd, tau = states(robot.dof)
    one, other = (dyn_core.compile_model(r, backend="python") for r in (robot, lighter))
    want = one.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(other.forward_dynamics(q, qd, tau), want, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_robot_with_base_parameters(table: list[Row]) -> None:
    robot = robot_of(table)
    lighter = dyn_core.with_base_parameters(robot)
    found = dyn_core.base_parameters(robot)
    values = dict(zip(lighter.parameter_names, lighter.parameters, strict=True))
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    np.testing.assert_allclose([values[name] for name in found.kept], found.values(standard), atol=1e-12)
    assert {values[name] for name in {*found.no_effect, *found.grouped}} == {0.0}
    assert [joint.friction for joint in lighter.joints] == [joint.friction for joint in robot.joints]
    again = dyn_core.with_base_parameters(lighter)
    np.testing.assert_allclose(again.parameters, lighter.parameters, atol=1e-12)
    assert_same_functions(
        dyn_core.compile_model(robot, backend="python"), dyn_core.compile_model(lighter, backend="python")
    )


def test_parameters_gravity_and_payload_that_are_set() -> None:
    """Standard parameters go in and come out; grouping holds for any direction of gravity."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    plain, grouped = models(robot, "runtime")
    for other in (with_random_parameters(robot, 3), robot.with_payload("tool0", 3.0, (0.0, 0.1, 0.2))):
        for model in (plain, grouped):
            model.set_parameters(other.parameters, gravity=(3.0, -4.0, 8.0))
        np.testing.assert_array_equal(grouped.parameters, other.parameters)
        assert_same_functions(plain, grouped)
    for model in (plain, grouped):
        model.set_parameters({"YY6": 4.0, "Ia1": 2.0})
    assert_same_functions(plain, grouped)
    grouped.set_parameters(dyn_core.with_base_parameters(robot, "tilted").parameters)
    plain.set_parameters(robot.parameters)
    assert_same_functions(plain, grouped)


@pytest.mark.parametrize("kind", ["baked", "runtime"])
def test_wrenches_through_joints_are_those_of_the_robot(kind: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    plain, grouped = models(robot, kind)
    q, qd, qdd = states(robot.dof)
    wrenches = {"tool0": np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])}
    wrenches = {link: np.tile(w, (len(q), 1)) for link, w in wrenches.items()}
    for joint in ("joint_1", "joint_4"):
        want = plain.reaction_wrench(q, qd, qdd, joint, wrenches)
        np.testing.assert_allclose(grouped.reaction_wrench(q, qd, qdd, joint, wrenches), want, atol=1e-11)
    want = plain.inverse_dynamics(q, qd, qdd, wrenches)
    np.testing.assert_allclose(grouped.inverse_dynamics(q, qd, qdd, wrenches), want, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", ["baked", "runtime"])
def test_pickled(kind: str) -> None:
    _, grouped = models(dyn_core.load_robot(ROBOTS / "rrp.urdf"), kind)
    again = pickle.loads(pickle.dumps(grouped))
    assert again.base_parameters
    assert again.operation_counts("inverse_dynamics") == grouped.operation_counts("inverse_dynamics")
    assert_same_functions(grouped, again)


def test_without_rotors_and_friction() -> None:
    robot = robot_of(PUMA)
    plain, grouped = (
        dyn_core.compile_model(
            robot, "runtime", "python", friction=False, rotor_inertia=False, base_parameters=b
        )
        for b in (False, True)
    )
    assert_same_functions(plain, grouped)
    with pytest.raises(dyn_core.DynError, match="the model was compiled with rotor_inertia=False"):
        grouped.set_parameters({"Ia1": 1.0})


def test_nothing_is_left_of_what_cancels() -> None:
    """A round body: XX - YY is 0, and costs nothing."""
    robot = robot_of(RX90)
    names = [name for name in robot.parameter_names if name[:2] not in ("M6", "ZZ")]
    round_ = robot.with_parameters(dict.fromkeys(names, 0.0) | {"XX6": 0.1, "YY6": 0.1 + 1e-18})
    assert dyn_core.with_base_parameters(round_).bodies[6].XX == 0.0


def test_base_columns_of_the_regressor() -> None:
    robot = robot_of(PANDA)
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    found = dyn_core.base_parameters(robot)
    q, qd, qdd = states(robot.dof)
    Y = model.regressor(q, qd, qdd)[:, :, found.regressor_columns]
    values = found.values(dict(zip(robot.parameter_names, robot.parameters, strict=True)))
    want = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(Y @ values, want, rtol=0.0, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("seed", range(8))
def test_joints_that_mimic_others(seed: int) -> None:
    robot = dyn_core.load_robot(random_driven_urdf(seed, 6))
    for kind in ("baked", "runtime"):
        plain, grouped = models(robot, kind)
        assert_same_functions(plain, grouped)


def test_a_base_set_as_a_par_file() -> None:
    """What SYMORO+ writes as "robot-namebase.par" (sec. 5.8.1)."""
    lighter = dyn_core.with_base_parameters(dyn_core.load_robot(ROBOTS / "rx90.urdf"))
    again = dyn_core.load_robot(dyn_core.write_par(lighter))
    np.testing.assert_array_equal(again.parameters, lighter.parameters)
    with pytest.raises(dyn_core.DynError, match="has first moments but no mass, as base parameters have"):
        dyn_core.write_urdf(lighter)
