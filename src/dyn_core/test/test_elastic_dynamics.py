# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots with elastic joints, by Pinocchio and springs by hand; and what it costs."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from counting_scalar import inputs, operations
from elastic_oracle import EXAMPLES, TILTED, ElasticOracle, example, random_elastic, random_springs
from random_drives import random_driven_urdf
from test_operation_counts import GRAVITY, chain

import dyn_core
from dyn_core.cli.main import main
from dyn_core.codegen.traced_program import trace
from dyn_core.control.terms import TorqueTerms
from dyn_core.dynamics.articulated_dynamics import articulated_direct_dynamics
from dyn_core.dynamics.elastic_dynamics import elastic_inverse_dynamics
from dyn_core.facade.elastic_programs import elastic_algorithms, rigid_and_elastic
from dyn_core.facade.runnable import runnables
from dyn_core.model.elasticity import Elasticity
from dyn_core.model.fixed_base.dynamics_programs import _inverse_dynamics, kinds, traced
from dyn_core.model.standard_parameters import parametrised
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
AGREES = 1e-9


def assert_close(got: np.ndarray, expected: np.ndarray, part: float = AGREES) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max(initial=0.0) <= part * np.abs(expected).max(initial=1e-300)


def states(seed: int, n: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, 3, n))


def assert_agrees(robot: Robot, oracle: ElasticOracle, model: dyn_core.Model, seed: int) -> None:
    """All functions with springs, with wrenches and without."""
    assert model.joint_names == oracle.names
    rigid, elastic = rigid_and_elastic(robot)
    assert [model.joint_names[k] for k in rigid] == list(model.rigid_joint_names)
    assert [model.joint_names[k] for k in elastic] == list(model.elastic_joint_names)
    links = [frame.name for frame in robot.link_frames if not frame.name.endswith("motor_link")]
    pushed = {
        links[-1]: [1.0, -2.0, 3.0, 0.5, -0.7, 0.9],
        links[len(links) // 2]: [5.0, 4.0, 0.1, 0.2, -3.0, 1.0],
    }
    for q, qd, qdd in states(seed, robot.dof):
        for wrenches in (None, pushed):
            full, tau = oracle.elastic(q, qd, qdd[rigid], wrenches or {})
            got = model.elastic_inverse_dynamics(q, qd, qdd[rigid], wrenches)
            assert_close(got[: len(rigid)], tau[rigid])
            assert_close(got[len(rigid) :], full[elastic])
            assert_close(model.forward_dynamics(q, qd, tau, wrenches), full)
            expected = oracle.inverse_dynamics(q, qd, qdd, wrenches or {})
            assert_close(model.inverse_dynamics(q, qd, qdd, wrenches), expected)
        assert_close(model.bias_torques(q, qd), oracle.inverse_dynamics(q, qd, 0.0 * q, {}))
        assert_close(model.inertia_and_bias(q, qd)[-1], oracle.inverse_dynamics(q, qd, 0.0 * q, {}))
        springs = oracle.springs(q, qd)
        assert_close(model.spring_torques(q, qd), springs)
        terms = model.inertial_torques(q, qdd) + model.coriolis_torques(q, qd) + model.gravity_torques(q)
        assert_close(terms + springs, oracle.inverse_dynamics(q, qd, qdd, {}))
        assert_close(model.regressor(q, qd, qdd) @ model.parameters, terms)


@pytest.mark.parametrize("seed", range(24))
def test_random_trees(seed: int) -> None:
    robot, oracle = random_elastic(seed, 2 + seed % 9, chain=seed % 4 == 0)
    assert robot.elastic_joint_names
    parameters = "runtime" if seed % 3 == 2 else "baked"
    model = dyn_core.compile_model(robot, parameters, "python", base_parameters=seed % 5 == 4)
    assert_agrees(robot, oracle, model, seed)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_example_robots(name: str, parameters: str) -> None:
    robot, oracle = example(name, TILTED)
    model = dyn_core.compile_model(robot, parameters, "auto")
    assert_agrees(robot, oracle, model, seed=1)


@pytest.mark.parametrize("seed", range(8))
def test_the_recursions_and_the_inertia_matrix_say_the_same(seed: int) -> None:
    robot, _ = random_elastic(100 + seed, 7)
    robot = replace(robot, joints=tuple(replace(j, Ia=j.Ia + 0.3) for j in robot.joints))  # rotors everywhere
    algorithms = elastic_algorithms(robot, _inverse_dynamics)
    assert len(algorithms) == 2
    rigid, _ = rigid_and_elastic(robot)
    for q, qd, qdd in states(seed, robot.dof):
        extra = np.cos(q).tolist()
        one, other = (a(robot, q.tolist(), qd.tolist(), qdd[rigid].tolist(), extra) for a in algorithms)
        assert_close(np.array(one), np.array(other), 1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_friction_rotors_and_mimics(seed: int) -> None:
    """What the functions say of one motion fits together, where Pinocchio has no such joints."""
    urdf = random_driven_urdf(seed, 8)
    urdf = re.sub(r' armature="[^"]*"', "", urdf)
    rigid = dyn_core.load_robot(urdf, snap=0, gravity=TILTED)
    side = {"elastic": random_springs(rigid.joint_names, seed), "rotor_inertia": {}}
    loose = [name for name in rigid.joint_names if name not in side["elastic"]]
    side["rotor_inertia"] = dict.fromkeys(loose, 0.2)
    robot = dyn_core.load_robot(urdf, loops=side, snap=0, gravity=TILTED)
    model = dyn_core.compile_model(robot, backend="python")
    places, elastic = rigid_and_elastic(robot)
    unresisted = bool(model._unresisted)
    for q, qd, qdd in states(seed, robot.dof):
        if unresisted:
            with pytest.raises(dyn_core.DynError, match="no inertia resists"):
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
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=ROBOTS / "rx90_elastic.yaml")
    return dyn_core.compile_model(robot, parameters, backend)


def test_batches_and_places_for_results(machine: dyn_core.Model) -> None:
    q, qd, qdd = np.moveaxis(states(2, 12, 33), 1, 0)
    qdd = np.ascontiguousarray(qdd[:, :6])
    single = np.array([machine.elastic_inverse_dynamics(*s) for s in zip(q, qd, qdd, strict=True)])
    assert_close(machine.elastic_inverse_dynamics(q, qd, qdd), single, 1e-12)
    assert_close(machine.elastic_inverse_dynamics(q.tolist(), qd.tolist(), qdd.tolist()), single, 1e-12)
    out = np.empty((33, 12))
    assert machine.elastic_inverse_dynamics(q, qd, qdd, out=out) is out
    assert_close(out, single, 1e-12)
    wrenches = {"tool0": np.tile([1.0, 2.0, 3.0, 0.1, 0.2, 0.3], (33, 1))}
    pushed = machine.elastic_inverse_dynamics(q, qd, qdd, wrenches, out=out)
    assert pushed is out
    one = machine.elastic_inverse_dynamics(q[5], qd[5], qdd[5], {"tool0": wrenches["tool0"][5]})
    assert_close(pushed[5], one, 1e-12)
    assert machine.elastic_inverse_dynamics(q[:0], qd[:0], qdd[:0]).shape == (0, 12)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_gives_nan(machine: dyn_core.Model, which: int, bad: float) -> None:
    vectors = list(np.moveaxis(states(3, 12, 3), 1, 0).copy())
    vectors[2] = np.ascontiguousarray(vectors[2][:, :6])
    vectors[which][1, 3] = bad
    found = machine.elastic_inverse_dynamics(*vectors)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()
    assert np.isnan(machine.elastic_inverse_dynamics(*(v[1] for v in vectors))).all()


def test_wrong_shapes(machine: dyn_core.Model) -> None:
    q = np.zeros(12)
    with pytest.raises(
        ValueError, match=r"qdd: expected the shape \(6,\) of the rigid joints, but it has \(12,\)"
    ):
        machine.elastic_inverse_dynamics(q, q, q)
    with pytest.raises(ValueError, match=r"q: expected the shape \(12,\) or \(N, 12\), but it has \(6,\)"):
        machine.elastic_inverse_dynamics(q[:6], q, q[:6])
    with pytest.raises(ValueError, match=r"out: expected the shape \(12,\), but it has \(6,\)"):
        machine.elastic_inverse_dynamics(q, q, q[:6], out=np.empty(6))


def test_a_pickled_model_has_its_springs(machine: dyn_core.Model) -> None:
    again = pickle.loads(pickle.dumps(machine))
    q, qd, qdd = states(4, 12, 1)[0]
    np.testing.assert_array_equal(
        again.elastic_inverse_dynamics(q, qd, qdd[:6]), machine.elastic_inverse_dynamics(q, qd, qdd[:6])
    )
    np.testing.assert_array_equal(again.forward_dynamics(q, qd, qdd), machine.forward_dynamics(q, qd, qdd))


def test_parameters_that_change() -> None:
    robot, _ = example("rx90")
    model = dyn_core.compile_model(robot, "runtime", "python")
    loaded = robot.with_payload("tool0", 4.0, (0.1, 0.0, 0.2))
    model.set_parameters(loaded.parameters, gravity=TILTED)
    expected = dyn_core.compile_model(replace(loaded, gravity=TILTED), backend="python")
    q, qd, qdd = states(5, 12, 1)[0]
    args = (q, qd, qdd[:6])
    assert_close(model.elastic_inverse_dynamics(*args), expected.elastic_inverse_dynamics(*args), 1e-12)


def test_one_pass_has_springs_too() -> None:
    robot, oracle = random_elastic(5, 4)
    model = dyn_core.compile_model(robot, backend="python", method="mrnea")
    assert_agrees(robot, oracle, model, seed=5)


def test_robots_without_springs(capsys: pytest.CaptureFixture[str]) -> None:
    model = dyn_core.compile_model(dyn_core.load_robot(ROBOTS / "rrp.urdf"), backend="python")
    zero = np.zeros(3)
    sentence = (
        "robot 'rrp' has no elastic joints: use inverse_dynamics, or give springs under 'elastic' in its "
        "side file"
    )
    with pytest.raises(dyn_core.DynError) as caught:
        model.elastic_inverse_dynamics(zero, zero, zero)
    assert str(caught.value) == sentence
    assert (model.rigid_joint_names, model.elastic_joint_names) == (model.joint_names, ())
    np.testing.assert_array_equal(model.spring_torques(zero, zero), zero)
    assert "elastic_inverse_dynamics" not in kinds(model.robot)
    for command in (
        ["eval", str(ROBOTS / "rrp.urdf"), "elastic_inverse_dynamics"],
        ["emit", str(ROBOTS / "rrp.urdf"), "--function", "spring_torques", "--lang", "c"],
    ):
        assert main(command) == 1
        assert sentence in capsys.readouterr().err


MASSLESS = """<robot name="light"><link name="a"/><link name="b"/>
<link name="c"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="d"/>
<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/></joint>
<joint name="j3" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_a_spring_that_moves_no_mass(parameters: str) -> None:
    zero = np.zeros(3)
    robot = dyn_core.load_robot(MASSLESS, loops={"elastic": {"j3": {"stiffness": 5.0}}})
    model = dyn_core.compile_model(robot, parameters, "python")
    for call in (
        lambda: model.forward_dynamics(zero, zero, zero),
        lambda: model.elastic_inverse_dynamics(zero, zero, zero[:2]),
    ):
        with pytest.raises(dyn_core.DynError) as caught:
            call()
        assert str(caught.value) == (
            "robot 'light' has no forward dynamics: no inertia resists joint 'j3': give its link mass "
            "and inertia, or the joint a rotor inertia"
        )
    # What only a rigid joint lacks does not matter, as its acceleration is given.
    robot = dyn_core.load_robot(MASSLESS, loops={"elastic": {"j2": {"stiffness": 5.0}}})
    model = dyn_core.compile_model(robot, parameters, "python")
    found = model.elastic_inverse_dynamics([0.0, 0.1, 0.0], zero, [0.0, 0.0])
    np.testing.assert_allclose(found, [0.0, 0.0, -0.5], atol=1e-12)
    if parameters == "runtime":
        model.set_parameters(dict.fromkeys(("XX2", "YY2", "ZZ2"), 2.0))
        found = model.elastic_inverse_dynamics([0.0, 0.1, 0.0], zero, [0.0, 0.0])
        np.testing.assert_allclose(found, [0.0, 0.0, -0.25], atol=1e-12)


def test_what_knows_no_springs_says_so() -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=ROBOTS / "rx90_elastic.yaml")
    sentence = (
        "{} knows no springs, but joint 'joint_1' of robot 'rx90' is elastic: load the robot without "
        "'elastic' in its side file"
    )
    for what, call in {
        "identification": lambda: dyn_core.base_columns(robot),
        "excitation": lambda: dyn_core.excite(robot),
        "a model with a moving base": lambda: dyn_core.compile_moving_base(robot),
        "a torque in terms": lambda: TorqueTerms(dyn_core.compile_model(robot, backend="python")),
    }.items():
        with pytest.raises(dyn_core.DynError) as caught:
            call()
        assert str(caught.value) == sentence.format(what)


def counted(robot: Robot, direct: bool) -> Counter[str]:
    """Count with symbols for all inertial parameters."""
    n = robot.dof
    parameters = [p for p in robot.parameter_names if p[:2] not in ("Fs", "Fo", "Fv")]
    vectors = [f"{name}{j}" for name in ("q", "qd", "qdd") for j in range(n)]
    symbols = dict(zip([*vectors, *parameters], inputs(*vectors, *parameters), strict=True))
    values = [symbols.get(name, 0.0) for name in robot.parameter_names]
    joints, bodies = parametrised(robot.joints, values)
    robot = replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies))
    q, qd, qdd = ([symbols[f"{name}{j}"] for j in range(n)] for name in ("q", "qd", "qdd"))
    if direct:
        return operations(articulated_direct_dynamics(robot, q, qd, qdd, GRAVITY, {}))
    return operations(elastic_inverse_dynamics(robot, q, qd, qdd, [0.0] * n, GRAVITY, {}))


def sprung(n: int, which: str) -> Robot:
    """A chain of which joints have springs: every second one, or all but the first."""
    robot = chain(n)
    chosen = range(1, n, 2) if which == "half" else range(1, n)
    joints = [
        replace(j, elastic=Elasticity(1e3, 0.1)) if k in chosen else j for k, j in enumerate(robot.joints)
    ]
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("which", ["half", "most"])
def test_operations_grow_linearly(which: str) -> None:
    totals = {n: counted(sprung(n, which), direct=False).total() for n in (2, 4, 8, 16, 20, 32, 36)}
    per_joint = (totals[36] - totals[32]) / 4
    assert (totals[20] - totals[16]) / 4 == per_joint, totals
    assert totals[32] <= 32 * per_joint, totals
    # Never dearer than direct dynamics, which free all joints.
    assert (
        per_joint
        <= (counted(sprung(36, which), True).total() - counted(sprung(32, which), True).total()) / 4 + 3
    )


def test_the_one_with_the_fewest_operations_is_taken() -> None:
    for name in EXAMPLES:
        robot, _ = example(name)
        program = traced(robot, "elastic_inverse_dynamics")
        cheapest = min(
            operations_of(robot, algorithm) for algorithm in elastic_algorithms(robot, _inverse_dynamics)
        )
        counts = program.operation_counts
        assert counts["mul"] + counts["add"] + 4 * counts["div"] == cheapest


def operations_of(robot: Robot, algorithm) -> int:
    kind = kinds(robot)["elastic_inverse_dynamics"]
    counts = trace("f", partial(algorithm, robot), kind.sizes, kind.shape).operation_counts
    return counts["mul"] + counts["add"] + 4 * counts["div"]


def test_compiled_programs_are_those_of_python() -> None:
    robot, _ = example("high_speed_machine", TILTED)
    q, qd, qdd = np.moveaxis(states(6, 12, 9), 1, 0).copy()
    qdd = np.ascontiguousarray(qdd[:, :2])
    given = {"elastic_inverse_dynamics": (q, qd, qdd), "loaded_elastic_dynamics": (q, qd, qdd, np.sin(q))}
    for name, vectors in given.items():
        program = traced(robot, name)
        in_c, in_python = (runnables([program], backend)[0].run((), *vectors) for backend in ("c", "python"))
        assert_close(in_c, in_python, 1e-12)
