# SPDX-License-Identifier: Apache-2.0
"""Models whose parameters are set while they are in use."""

from __future__ import annotations

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from random_case import random_case

import dyn_core
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.model.fixed_base.dynamics_programs import tunable

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "inertia_matrix": 1,
    "inertia_and_bias": 2,
    "regressor": 3,
    "bias_torques": 2,
    "gravity_torques": 1,
    "coriolis_torques": 2,
    "friction_torques": 1,
}
GRAVITY = (1.0, -2.0, 9.0)


def runtime(robot: dyn_core.Robot, **options) -> dyn_core.Model:
    return dyn_core.compile_model(robot, "runtime", **options)


def load(name: str = "rrp", gravity=None) -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", gravity=gravity)


def states(n: int, count: int = 9) -> np.ndarray:
    return np.random.default_rng(4).uniform(-2.0, 2.0, (3, count, n))


def other_parameters(robot: dyn_core.Robot) -> np.ndarray:
    """Those of bodies that can be, so that direct dynamics are well-conditioned."""
    random = np.random.default_rng(8)
    values = np.array(robot.parameters).reshape(-1, 14)
    values[:, :10] *= random.uniform(1.0, 3.0, (len(values), 1))
    values[:, 10:] = random.uniform(0.1, 1.0, (len(values), 4))
    return values.ravel()


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_same_as_a_model_with_these_parameters_baked_in(name: str, backend: str) -> None:
    robot = load(name)
    model = runtime(robot, backend=backend)
    values = other_parameters(robot)
    for expected_robot in (robot, load(name, GRAVITY).with_parameters(values)):
        expected = dyn_core.compile_model(expected_robot, backend=backend)
        for function, count in FUNCTIONS.items():
            args = states(robot.dof)[:count]
            for sample in (args, args[:, 0]):
                want = getattr(expected, function)(*sample)
                scale = max(np.abs(want).max(initial=0.0), 1e-3)
                np.testing.assert_allclose(
                    getattr(model, function)(*sample), want, atol=1e-11 * scale, err_msg=function
                )
        np.testing.assert_array_equal(model.parameters, expected.parameters)
        np.testing.assert_array_equal(model.gravity, expected.gravity)
        model.set_parameters(values, gravity=GRAVITY)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_against_the_reference(seed: int) -> None:
    case = random_case(seed, 2 + 2 * seed, massless_leaves=False)
    start = case.robot.with_parameters([0.0] * len(case.robot.parameters))
    model = runtime(start, backend="python")
    model.set_parameters(case.robot.parameters)
    expected = dyn_core.compile_model(case.robot, backend="python")
    args = (case.q, case.qd, case.qdd)
    for function in ("inverse_dynamics", "forward_dynamics"):
        want = getattr(expected, function)(*args, wrenches=case.wrenches)
        np.testing.assert_allclose(
            getattr(model, function)(*args, wrenches=case.wrenches), want, atol=1e-9 * np.abs(want).max()
        )


def test_regressor_times_the_present_parameters_is_the_torque() -> None:
    model = runtime(load())
    model.set_parameters(other_parameters(model.robot), gravity=GRAVITY)
    q, qd, qdd = states(3)
    np.testing.assert_allclose(
        model.regressor(q, qd, qdd) @ model.parameters, model.inverse_dynamics(q, qd, qdd), rtol=1e-11
    )


def test_values_by_name_leave_the_others() -> None:
    model = runtime(load())
    before = model.parameters
    model.set_parameters({"M3": 7.0, "Fv1": 0.5})
    changed = dict(zip(model.parameter_names, model.parameters - before, strict=True))
    assert {name for name, value in changed.items() if value} == {"M3", "Fv1"}
    assert model.parameters[model.parameter_names.index("M3")] == 7.0
    model.set_parameters(gravity=(0, 0, 0))
    np.testing.assert_array_equal(model.gravity, 0.0)
    assert model.parameters[model.parameter_names.index("M3")] == 7.0


@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_function_that_was_kept_follows(backend: str) -> None:
    model = runtime(load(), backend=backend)
    torques, q = model.gravity_torques, states(3)[0]
    before = torques(q)
    model.set_parameters(2.0 * model.parameters)
    np.testing.assert_allclose(torques(q), 2.0 * before, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "gravity", "message"),
    [
        ({"M9": 1.0}, None, "there is no parameter 'M9': the parameters are 'XX1', 'XY1'"),
        ({"M2": np.nan}, None, "the parameter M2 is nan: give a finite number"),
        ({"M2": "heavy"}, None, "the parameter M2 is 'heavy': give a finite number"),
        ([1.0, 2.0], None, "2 parameters were given, but there are 42"),
        (np.ones((42, 2)), None, r"the parameter XX1 is array\(\[1., 1.\]\): give a finite number"),
        (None, (0.0, 0.0), r"gravity is \(0.0, 0.0\): give three numbers in m/s\^2"),
        (None, (0.0, 0.0, np.inf), r"gravity is \(0.0, 0.0, inf\): give three finite numbers"),
    ],
)
def test_wrong_values_change_nothing(values, gravity, message: str) -> None:
    model = runtime(load())
    before = model.parameters
    with pytest.raises(dyn_core.DynError, match=message):
        model.set_parameters(values, gravity)
    np.testing.assert_array_equal(model.parameters, before)
    np.testing.assert_array_equal(model.gravity, (0.0, 0.0, -9.81))


def test_baked_parameters_can_be_read_and_not_set() -> None:
    model = dyn_core.compile_model(load())
    np.testing.assert_array_equal(model.parameters, model.robot.parameters)
    np.testing.assert_array_equal(model.gravity, (0.0, 0.0, -9.81))
    with pytest.raises(
        dyn_core.DynError, match="of 'rrp' are baked in: compile it with parameters=\"runtime\""
    ):
        model.set_parameters({"M1": 1.0})


def test_terms_that_were_left_out_cannot_be_set() -> None:
    model = runtime(load(), friction=False, rotor_inertia=False)
    names = model.parameter_names
    left_out = [k for k, name in enumerate(names) if name[:2] in ("Ia", "Fv", "Fs", "Fo")]
    np.testing.assert_array_equal(model.parameters[left_out], 0.0)
    for name, option in (("Fs2", "friction"), ("Ia2", "rotor_inertia")):
        with pytest.raises(dyn_core.DynError, match=f"{name} is 1.0, but .* compiled with {option}=False"):
            model.set_parameters({name: 1.0})
    model.set_parameters(model.parameters)


def test_copies_have_parameters_of_their_own() -> None:
    model = runtime(load())
    model.set_parameters(other_parameters(model.robot), gravity=GRAVITY)
    q, qd, qdd = states(3)
    expected = model.inverse_dynamics(q, qd, qdd)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(again.inverse_dynamics(q, qd, qdd), expected)
        again.set_parameters(0.0 * model.parameters)
        np.testing.assert_array_equal(again.inverse_dynamics(q, qd, qdd), 0.0)
        np.testing.assert_array_equal(model.inverse_dynamics(q, qd, qdd), expected)


def test_no_call_sees_half_a_change() -> None:
    """One thread swaps between two sets of parameters while others compute, single samples and batches."""
    model = runtime(load("rx90"))
    sets = [np.array(model.robot.parameters), other_parameters(model.robot)]
    states_ = states(6, 200)
    results = []
    for values in sets:
        model.set_parameters(values)
        results.append((model.inverse_dynamics(*states_), model.inverse_dynamics(*states_[:, 0])))
    done = Event()

    def swap() -> int:
        count = 0
        while not done.is_set():
            model.set_parameters(sets[count % 2])
            count += 1
        return count

    def compute(_: int) -> bool:
        batch, single = model.inverse_dynamics(*states_), model.inverse_dynamics(*states_[:, 0])
        return any(np.array_equal(batch, whole) for whole, _ in results) and any(
            np.array_equal(single, one) for _, one in results
        )

    with ThreadPoolExecutor(4) as pool:
        swapping = pool.submit(swap)
        try:
            assert all(pool.map(compute, range(3000)))
        finally:
            done.set()
        assert swapping.result() > 10


def test_calls_leave_no_references_behind() -> None:
    model = runtime(load())
    q, qd, qdd = states(3)
    prepared = model._tuning.prepared[0]
    before = sys.getrefcount(prepared)
    for _ in range(100):
        model.inverse_dynamics(q, qd, qdd)
        model.inverse_dynamics(q[0], qd[0], qdd[0])
        model.inverse_dynamics(list(q[0]), qd[0], qdd[0])
    assert sys.getrefcount(prepared) == before


def test_what_depends_on_parameters_alone_is_not_computed_at_each_call() -> None:
    symbolic = symbolic_robot(load("rx90"))
    whole = tunable(symbolic, "inverse_dynamics").operation_counts
    model = runtime(load("rx90"), backend="python")
    counts = model.operation_counts("inverse_dynamics")
    assert counts["mul"] <= whole["mul"]
    assert counts["add"] < whole["add"] - 10
    assert len(model._tuning.prepared[0]) > len(model.parameters) + 3


KINDS = ("baked", "runtime")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_robot_without_inertia_has_no_forward_dynamics(kind: str, backend: str) -> None:
    """Its program divides by zero, and runs all the same, as in positions where a joint moves no inertia."""
    robot = load()
    massless = robot.with_parameters([0.0] * len(robot.parameters))
    q, qd, tau = states(3)
    model = dyn_core.compile_model(massless, kind, backend)
    for arguments in ((q, qd, tau), (q[0], qd[0], tau[0])):
        with pytest.raises(
            dyn_core.DynError, match="no inertia resists the joints 'turn', 'lift', 'stretch'"
        ):
            model.forward_dynamics(*arguments)
        accelerations = model._functions["forward_dynamics"].run(model._prepared, *arguments)
        assert not np.isfinite(accelerations).any()


@pytest.mark.parametrize("backend", ["c", "python"])
def test_forward_dynamics_are_there_as_soon_as_joints_are_resisted(backend: str) -> None:
    robot = load()
    q, qd, tau = states(3)
    expected = dyn_core.compile_model(robot, backend=backend).forward_dynamics(q, qd, tau)
    model = dyn_core.compile_model(robot, "runtime", backend)
    for _ in range(2):
        model.set_parameters(robot.parameters, gravity=robot.gravity)
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), expected, rtol=1e-9, atol=1e-9)
        model.set_parameters([0.0] * len(robot.parameters))
        again = pickle.loads(pickle.dumps(model))
        for without in (model, again):
            without.set_parameters(gravity=(0.0, 0.0, 1.0))
            with pytest.raises(dyn_core.DynError, match="robot 'rrp' has no forward dynamics"):
                without.forward_dynamics(q, qd, tau)


PAYLOAD = """
  <link name="payload"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="2.5"/>
    <inertia ixx="0.05" ixy="0.01" ixz="-0.02" iyy="0.06" iyz="0.005" izz="0.04"/></inertial></link>
  <joint name="grip" type="fixed"><parent link="{link}"/><child link="payload"/></joint>
</robot>"""


@pytest.mark.parametrize("name", ["rx90", "two_branch"])
def test_payload(name: str) -> None:
    robot = load(name)
    for link in robot.link_names[:: max(1, len(robot.link_names) // 4)]:
        text = (ROBOTS / f"{name}.urdf").read_text().replace("</robot>", PAYLOAD.format(link=link))
        oracle = Oracle(text, robot.joint_names, robot.gravity)
        loaded = robot.with_payload(
            link, 2.5, centre=(0.1, -0.2, 0.3), inertia=(0.05, 0.01, -0.02, 0.06, 0.005, 0.04)
        )
        model = runtime(robot, backend="python", friction=False, rotor_inertia=False)
        frictionless = dyn_core.compile_model(loaded, friction=False, rotor_inertia=False, backend="python")
        model.set_parameters(frictionless.parameters)
        for q, qd, qdd in states(robot.dof, 3).transpose(1, 0, 2):
            expected = oracle.inverse_dynamics(q, qd, qdd, {})
            np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nose", 1.0), "robot 'rrp' has no link 'nose'"),
        (("{tip}", -1.0), "the mass of the payload of link '{tip}' is -1 kg: it cannot be negative"),
        (("{tip}", np.nan), "the mass of the payload of link '{tip}' is .*: give 1 finite number$"),
        (("{tip}", 1.0, (0.0, 0.0)), r"the centre of mass .* is \(0.0, 0.0\): give 3 finite numbers"),
        (("{tip}", 1.0, (0.0, 0.0, 0.0), "heavy"), "the inertia .* is 'heavy': give 6 finite numbers"),
        (
            ("{tip}", 1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 3.0)),
            "no body has the inertia of the payload of link '{tip}': a principal moment",
        ),
    ],
)
def test_wrong_payloads(arguments, message: str) -> None:
    robot = load()
    tip = robot.link_names[-1]
    link, *rest = arguments
    with pytest.raises(dyn_core.DynError, match=message.replace("{tip}", tip)):
        robot.with_payload(link.replace("{tip}", tip), *rest)
