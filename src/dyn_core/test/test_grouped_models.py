# SPDX-License-Identifier: Apache-2.0
"""Models and robots with base parameters: the same results with fewer operations."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from depth import some
from geometric_tables import GENERAL_6R, LWR, PANDA, PUMA, RX90, STANFORD, robot_of, with_random_parameters
from random_urdf import random_driven_urdf
from refusals import refused
from robots import example

import dyn_core
from dyn_core.robot.robot import Robot

TABLES = {"rx90": RX90, "puma": PUMA, "stanford": STANFORD, "lwr": LWR, "panda": PANDA, "6R": GENERAL_6R}
FUNCTIONS = {
    **dict.fromkeys(("inverse_dynamics", "regressor"), 3),
    **dict.fromkeys(("bias_torques", "coriolis_torques", "inertia_and_bias"), 2),
    **dict.fromkeys(("gravity_torques", "inertia_matrix"), 1),
}
KINDS = pytest.mark.parametrize("kind", ["baked", "runtime"])


def states(n: int, count: int = 20) -> np.ndarray:
    return np.random.default_rng(4).uniform(-2.0, 2.0, (3, count, n))


def assert_same_functions(one: dyn_core.Model, other: dyn_core.Model) -> None:
    for function, count in FUNCTIONS.items():
        args = states(one.robot.dof)[:count]
        want = getattr(one, function)(*args)
        scale = max(np.abs(want).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(getattr(other, function)(*args), want, rtol=0.0, atol=1e-9 * scale)


def models(robot: Robot, kind: str, backend: str = "python", **options: bool) -> list[dyn_core.Model]:
    return [dyn_core.compile_model(robot, kind, backend, base_parameters=b, **options) for b in (False, True)]


def values_of(robot: Robot) -> dict[str, float]:
    return dict(zip(robot.parameter_names, robot.parameters, strict=True))


@KINDS
@pytest.mark.parametrize("name", some(TABLES, "rx90", "6R"))
def test_grouped_models_give_the_same_values_with_fewer_operations(name: str, kind: str) -> None:
    plain, grouped = models(robot_of(TABLES[name]), kind)
    assert_same_functions(plain, grouped)
    for function in ("inverse_dynamics", "bias_torques", "coriolis_torques"):
        before, after = (model.operation_counts(function) for model in (plain, grouped))
        assert after["mul"] < before["mul"]
        assert after["add"] < before["add"]


@KINDS
@pytest.mark.parametrize("name", some(["rrp", "rx90", "two_branch"], "rx90"))
def test_compiled_grouped_models_of_the_example_robots(name: str, kind: str) -> None:
    robot = example(name)
    plain, grouped = models(robot, kind, "auto")
    assert_same_functions(plain, grouped)
    q, qd, tau = states(robot.dof)
    qdd = plain.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(grouped.forward_dynamics(q, qd, tau), qdd, atol=1e-9 * np.abs(qdd).max())
    np.testing.assert_array_equal(grouped.parameters, plain.parameters)


def test_forward_dynamics_of_grouped_bodies() -> None:
    """Grouped bodies are physically impossible, but have the inertia matrix of the robot."""
    robot = example("rx90")
    lighter = dyn_core.with_base_parameters(robot)
    assert lighter.bodies[6].M == 0.0
    compiled = (dyn_core.compile_model(each, backend="python") for each in (robot, lighter))
    one, other = (model.forward_dynamics(*states(robot.dof)) for model in compiled)
    np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())
    # SYMORO+ writes these as "robot-namebase.par" (sec. 5.8.1)
    again = dyn_core.load_robot(dyn_core.write_par(lighter))
    np.testing.assert_array_equal(again.parameters, lighter.parameters)
    with refused("urdf-mass-missing"):
        dyn_core.write_urdf(lighter)


@pytest.mark.parametrize("name", some(TABLES, "stanford", "panda"))
def test_a_robot_with_base_parameters(name: str) -> None:
    robot = robot_of(TABLES[name])
    lighter = dyn_core.with_base_parameters(robot)
    found, values = dyn_core.base_parameters(robot), values_of(lighter)
    expected = found.values(values_of(robot))
    np.testing.assert_allclose([values[name] for name in found.kept], expected, atol=1e-12)
    assert {values[name] for name in {*found.no_effect, *found.grouped}} == {0.0}
    assert [joint.friction for joint in lighter.joints] == [joint.friction for joint in robot.joints]
    again = dyn_core.with_base_parameters(lighter)
    np.testing.assert_allclose(again.parameters, lighter.parameters, atol=1e-12)
    assert_same_functions(*(dyn_core.compile_model(each, backend="python") for each in (robot, lighter)))


def test_set_parameters_gravity_and_payload_of_grouped_models() -> None:
    """Users set and get standard parameters; the grouping holds for any direction of gravity."""
    robot = example("rx90")
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


@KINDS
def test_wrenches_through_joints_are_unchanged(kind: str) -> None:
    robot = example("rx90")
    plain, grouped = models(robot, kind)
    motion = states(robot.dof)
    wrenches = {"tool0": np.tile([1.0, 2.0, 3.0, 0.1, 0.2, 0.3], (motion.shape[1], 1))}
    for joint in ("joint_1", "joint_4"):
        want = plain.reaction_wrench(*motion, joint, wrenches)
        np.testing.assert_allclose(grouped.reaction_wrench(*motion, joint, wrenches), want, atol=1e-11)
    want = plain.inverse_dynamics(*motion, wrenches)
    np.testing.assert_allclose(grouped.inverse_dynamics(*motion, wrenches), want, rtol=0.0, atol=1e-10)


@KINDS
def test_a_grouped_model_can_be_pickled(kind: str) -> None:
    _, grouped = models(example("rrp"), kind)
    again = pickle.loads(pickle.dumps(grouped))
    assert again.base_parameters
    assert again.operation_counts("inverse_dynamics") == grouped.operation_counts("inverse_dynamics")
    assert_same_functions(grouped, again)


def test_without_rotors_and_friction() -> None:
    plain, grouped = models(robot_of(PUMA), "runtime", friction=False, rotor_inertia=False)
    assert_same_functions(plain, grouped)
    with refused("parameter-compiled-out", option="rotor_inertia"):
        grouped.set_parameters({"Ia1": 1.0})


def test_terms_that_cancel_cost_no_operations() -> None:
    """A round body: XX - YY is 0."""
    robot = robot_of(RX90)
    names = [name for name in robot.parameter_names if name[:2] not in ("M6", "ZZ")]
    round_ = robot.with_parameters(dict.fromkeys(names, 0.0) | {"XX6": 0.1, "YY6": 0.1 + 1e-18})
    assert dyn_core.with_base_parameters(round_).bodies[6].XX == 0.0


def test_base_columns_of_the_regressor() -> None:
    robot = robot_of(PANDA)
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    found = dyn_core.base_parameters(robot)
    Y = model.regressor(*states(robot.dof))[:, :, found.regressor_columns]
    want = model.inverse_dynamics(*states(robot.dof))
    torques = Y @ found.values(values_of(robot))
    np.testing.assert_allclose(torques, want, rtol=0.0, atol=1e-9 * np.abs(want).max())


@KINDS
@pytest.mark.parametrize("seed", some(range(8), 3, 7))
def test_joints_that_mimic_others(seed: int, kind: str) -> None:
    assert_same_functions(*models(dyn_core.load_robot(random_driven_urdf(seed, 6)), kind))
