# SPDX-License-Identifier: Apache-2.0
"""Dynamics and operation counts of robots with elastic joints; the reference is Pinocchio with springs."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from depth import some
from elastic_oracle import EXAMPLES, TILTED, ElasticOracle, example, random_elastic, random_springs
from random_urdf import random_driven_urdf
from refusals import refused, refused_command
from robots import ROBOTS
from test_operation_counts import FUNCTIONS, GRAVITY, chain, growth

import dyn_core
from dyn_core.algorithms.dynamics.elastic_dynamics import elastic_inverse_dynamics
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.control.laws.inverse_dynamics_control import TorqueTerms
from dyn_core.model.fixed_base.dynamics_programs import _inverse_dynamics, kinds, traced
from dyn_core.model.fixed_base.elastic_joints import elastic_algorithms, rigid_and_elastic
from dyn_core.model.tunable_parameters import runnables
from dyn_core.robot.joints import Elasticity, Sigma
from dyn_core.robot.robot import Robot

AGREES = 1e-9
RX90 = (ROBOTS / "rx90.urdf", ROBOTS / "rx90_elastic.yaml")


def assert_close(got: np.ndarray, expected: np.ndarray, part: float = AGREES) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max(initial=0.0) <= part * np.abs(expected).max(initial=1e-300)


def states(seed: int, n: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, 3, n))


def assert_agrees(robot: Robot, oracle: ElasticOracle, model: dyn_core.Model, seed: int) -> None:
    """Compare all functions with springs, with wrenches and without."""
    assert model.joint_names == oracle.names
    rigid, elastic = rigid_and_elastic(robot)
    assert [model.joint_names[k] for k in rigid] == list(model.rigid_joint_names)
    assert [model.joint_names[k] for k in elastic] == list(model.elastic_joint_names)
    links = [frame.name for frame in robot.link_frames if not frame.name.endswith("motor_link")]
    pushed = {links[-1]: [1.0, -2.0, 3.0, 0.5, -0.7, 0.9], links[len(links) // 2]: [5, 4, 0.1, 0.2, -3, 1]}
    for q, qd, qdd in states(seed, robot.dof):
        for wrenches in (None, pushed):
            full, tau = oracle.elastic(q, qd, qdd[rigid], wrenches or {})
            got = model.elastic_inverse_dynamics(q, qd, qdd[rigid], wrenches)
            assert_close(got[: len(rigid)], tau[rigid])
            assert_close(got[len(rigid) :], full[elastic])
            assert_close(model.forward_dynamics(q, qd, tau, wrenches), full)
            assert_close(full, oracle.forward_dynamics(q, qd, tau, wrenches))
            expected = oracle.inverse_dynamics(q, qd, qdd, wrenches or {})
            assert_close(model.inverse_dynamics(q, qd, qdd, wrenches), expected)
        for bias in (model.bias_torques(q, qd), model.inertia_and_bias(q, qd)[-1]):
            assert_close(bias, oracle.inverse_dynamics(q, qd, 0.0 * q, {}))
        springs = oracle.springs(q, qd)
        assert_close(model.spring_torques(q, qd), springs)
        terms = model.inertial_torques(q, qdd) + model.coriolis_torques(q, qd) + model.gravity_torques(q)
        assert_close(terms + springs, oracle.inverse_dynamics(q, qd, qdd, {}))
        assert_close(model.regressor(q, qd, qdd) @ model.parameters, terms)


@pytest.mark.parametrize("seed", some(range(24), *range(1, 10)))
def test_random_trees(seed: int) -> None:
    robot, oracle = random_elastic(seed, 2 + seed % 9, chain=seed % 4 == 0)
    assert robot.elastic_joint_names
    options = {"parameters": "runtime" if seed % 3 == 2 else "baked", "base_parameters": seed % 5 == 4}
    assert_agrees(robot, oracle, dyn_core.compile_model(robot, backend="python", **options), seed)


def test_inertia_and_bias_include_springs() -> None:
    robot, oracle = random_elastic(5, 4)
    assert_agrees(robot, oracle, dyn_core.compile_model(robot, backend="python", method="mrnea"), seed=5)


def test_the_random_trees_cover_all_kinds_of_springs() -> None:
    found = Counter()
    for seed in range(24):
        robot, _ = random_elastic(seed, 2 + seed % 9, chain=seed % 4 == 0)
        for joint in robot.joints:
            if spring := joint.elastic:
                on_spring = joint.antecedent and robot.joints[joint.antecedent - 1].elastic
                has = map(bool, (spring.motor, spring.damping, spring.rest, on_spring))
                found.update((joint.sigma, k, value) for k, value in enumerate(has))
            elif not joint.name.endswith("_motor"):
                found["rotor"] += joint.Ia > 0.0
        carriers = [joint.antecedent for joint in robot.joints if not joint.name.endswith("_motor")]
        found["branches"] += len(set(carriers)) < len(carriers)
    wanted = {"rotor", "branches", *product(Sigma, range(4), (False, True))}
    assert {feature for feature in wanted if found[feature] < 2} == set()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_example_robots(name: str, parameters: str) -> None:
    robot, oracle = example(name, TILTED)
    model = dyn_core.compile_model(robot, parameters, "auto")
    if parameters == "runtime":  # parameters of another robot until they are set
        loaded = example(name)[0].with_payload(robot.link_names[-1], 4.0, (0.1, 0.0, 0.2))
        model = dyn_core.compile_model(loaded, parameters, "auto")
        model.set_parameters(robot.parameters, gravity=TILTED)
    assert_agrees(robot, oracle, model, seed=1)


@pytest.mark.parametrize("seed", some(range(8), 0, 1, 2))
def test_the_recursions_and_the_inertia_matrix_agree(seed: int) -> None:
    robot, _ = random_elastic(100 + seed, 7)
    robot = replace(robot, joints=tuple(replace(j, Ia=j.Ia + 0.3) for j in robot.joints))  # all with rotors
    algorithms = elastic_algorithms(robot, _inverse_dynamics)
    assert len(algorithms) == 2
    rigid, _ = rigid_and_elastic(robot)
    for q, qd, qdd in states(seed, robot.dof):
        args = [x.tolist() for x in (q, qd, qdd[rigid], np.cos(q))]
        assert_close(*(np.array(algorithm(robot, *args)) for algorithm in algorithms), 1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_functions_agree_with_friction_rotors_and_mimic_joints(seed: int) -> None:
    """Compare the functions with each other for one motion, as Pinocchio has no such joints."""
    urdf = re.sub(r' armature="[^"]*"', "", random_driven_urdf(seed, 8))
    names = dyn_core.load_robot(urdf, snap=0, gravity=TILTED).joint_names
    springs = random_springs(names, seed)
    side = {"elastic": springs, "rotor_inertia": {name: 0.2 for name in names if name not in springs}}
    robot = dyn_core.load_robot(urdf, loops=side, snap=0, gravity=TILTED)
    model = dyn_core.compile_model(robot, backend="python")
    places, elastic = rigid_and_elastic(robot)
    for q, qd, qdd in states(seed, robot.dof):
        if "forward_dynamics" in model._unresisted:
            with refused("joint-without-inertia"):
                model.forward_dynamics(q, qd, qdd)
            continue
        found = model.elastic_inverse_dynamics(q, qd, qdd[places])
        tau, full = np.zeros(robot.dof), qdd.copy()
        tau[places], full[elastic] = found[: len(places)], found[len(places) :]
        assert_close(model.inverse_dynamics(q, qd, full), tau)
        assert_close(model.forward_dynamics(q, qd, tau), full)


@pytest.fixture(scope="module", params=["c-baked", "c-runtime", "python-baked", "python-runtime"])
def machine(request: pytest.FixtureRequest) -> dyn_core.Model:
    backend, parameters = request.param.split("-")
    return dyn_core.compile_model(dyn_core.load_robot(*RX90), parameters, backend)


def test_batches_and_output_arrays(machine: dyn_core.Model) -> None:
    function = machine.elastic_inverse_dynamics
    q, qd, qdd = np.moveaxis(states(2, 12, 33), 1, 0)
    qdd = np.ascontiguousarray(qdd[:, :6])
    single = np.array([function(*s) for s in zip(q, qd, qdd, strict=True)])
    out = np.empty((33, 12))
    assert function(q, qd, qdd, out=out) is out
    for found in (out, function(q, qd, qdd), function(q.tolist(), qd.tolist(), qdd.tolist())):
        assert_close(found, single, 1e-12)
    wrenches = {"tool0": np.tile([1.0, 2.0, 3.0, 0.1, 0.2, 0.3], (33, 1))}
    assert function(q, qd, qdd, wrenches, out=out) is out
    assert_close(out[5], function(q[5], qd[5], qdd[5], {"tool0": wrenches["tool0"][5]}), 1e-12)
    assert function(q[:0], qd[:0], qdd[:0]).shape == (0, 12)
    with refused("argument-shape", argument="out"):
        function(q[0], qd[0], qdd[0], out=np.empty(6))


@pytest.mark.parametrize(("which", "bad"), product(range(3), (np.nan, np.inf)))
def test_values_that_are_not_finite_give_nan(machine: dyn_core.Model, which: int, bad: float) -> None:
    q, qd, qdd = np.moveaxis(states(3, 12, 3), 1, 0).copy()
    vectors = [q, qd, np.ascontiguousarray(qdd[:, :6])]
    vectors[which][1, 3] = bad
    found = machine.elastic_inverse_dynamics(*vectors)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()
    assert np.isnan(machine.elastic_inverse_dynamics(*(v[1] for v in vectors))).all()


def test_a_pickled_model_has_its_springs(machine: dyn_core.Model) -> None:
    again = pickle.loads(pickle.dumps(machine))
    q, qd, qdd = states(4, 12, 1)[0]
    for name, x in (("elastic_inverse_dynamics", qdd[:6]), ("forward_dynamics", qdd)):
        np.testing.assert_array_equal(getattr(again, name)(q, qd, x), getattr(machine, name)(q, qd, x))


def test_robots_without_springs() -> None:
    rrp = str(ROBOTS / "rrp.urdf")
    model = dyn_core.compile_model(dyn_core.load_robot(rrp), backend="python")
    zero = np.zeros(3)
    with refused("robot-without-springs", robot="rrp"):
        model.elastic_inverse_dynamics(zero, zero, zero)
    assert (model.rigid_joint_names, model.elastic_joint_names) == (model.joint_names, ())
    np.testing.assert_array_equal(model.spring_torques(zero, zero), zero)
    assert "elastic_inverse_dynamics" not in kinds(model.robot)
    emit = ("emit", rrp, "--function", "spring_torques", "--lang", "c")
    for command in (("eval", rrp, "elastic_inverse_dynamics"), emit):
        refused_command(command, "robot-without-springs", robot="rrp")


MASSLESS = """<robot name="light"><link name="a"/><link name="b"/><link name="c"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="d"/>
<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/></joint>
<joint name="j3" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_a_spring_that_moves_no_mass_is_refused(parameters: str) -> None:
    zero = np.zeros(3)
    robots = (dyn_core.load_robot(MASSLESS, {"elastic": {j: {"stiffness": 5.0}}}) for j in ("j3", "j2"))
    third, second = (dyn_core.compile_model(robot, parameters, "python") for robot in robots)
    for function, x in ((third.forward_dynamics, zero), (third.elastic_inverse_dynamics, zero[:2])):
        with refused("joint-without-inertia", robot="light", joints=["j3"]):
            function(zero, zero, x)
    # A rigid joint without inertia does not matter, as its acceleration is given.
    args = ([0.0, 0.1, 0.0], zero, [0.0, 0.0])
    np.testing.assert_allclose(second.elastic_inverse_dynamics(*args), [0.0, 0.0, -0.5], atol=1e-12)
    if parameters == "runtime":
        second.set_parameters(dict.fromkeys(("XX2", "YY2", "ZZ2"), 2.0))
        np.testing.assert_allclose(second.elastic_inverse_dynamics(*args), [0.0, 0.0, -0.25], atol=1e-12)


def test_functions_that_do_not_support_springs_refuse_them() -> None:
    robot = dyn_core.load_robot(*RX90)
    model = dyn_core.compile_model(robot, backend="python")
    for operation, function, given in (
        ("identification", dyn_core.base_columns, robot),
        ("excitation", dyn_core.excite, robot),
        ("a model with a moving base", dyn_core.compile_moving_base, robot),
        ("a torque in terms", TorqueTerms, model),
    ):
        with refused("elastic-joint-unsupported", operation=operation, joint="joint_1", robot="rx90"):
            function(given)


def elastic(robot: Robot, q: list, qd: list, qdd: list) -> list:
    return elastic_inverse_dynamics(robot, q, qd, qdd, [0.0] * robot.dof, GRAVITY, {})


def sprung(n: int, which: str) -> Robot:
    """A chain with springs in every second joint, or in all joints but the first."""
    robot = chain(n)
    joints = list(robot.joints)
    for k in range(1, n, 2 if which == "half" else 1):
        joints[k] = replace(joints[k], elastic=Elasticity(1e3, 0.1))
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("which", ["half", "most"])
def test_operations_grow_linearly(which: str) -> None:
    robots = partial(sprung, which=which)
    # Never more than direct dynamics, where all joints are free.
    assert growth(robots, elastic) <= growth(robots, FUNCTIONS["articulated"]) + 3


def test_the_algorithm_with_the_fewest_operations_is_used() -> None:
    for name in EXAMPLES:
        robot, _ = example(name)
        kind = kinds(robot)["elastic_inverse_dynamics"]
        algorithms = elastic_algorithms(robot, _inverse_dynamics)
        programs = [trace("f", partial(one, robot), kind.sizes, kind.shape) for one in algorithms]
        assert cost(traced(robot, "elastic_inverse_dynamics")) == min(map(cost, programs))


def cost(program: Program) -> int:
    counts = program.operation_counts
    return counts["mul"] + counts["add"] + 4 * counts["div"]


def test_compiled_programs_agree_with_python() -> None:
    robot, _ = example("high_speed_machine", TILTED)
    q, qd, qdd = np.moveaxis(states(6, 12, 9), 1, 0).copy()
    qdd = np.ascontiguousarray(qdd[:, :2])
    given = {"elastic_inverse_dynamics": (q, qd, qdd), "loaded_elastic_dynamics": (q, qd, qdd, np.sin(q))}
    for name, vectors in given.items():
        functions = (runnables([traced(robot, name)], backend)[0] for backend in ("c", "python"))
        assert_close(*(function.run((), *vectors) for function in functions), 1e-12)
