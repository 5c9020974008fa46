# SPDX-License-Identifier: Apache-2.0
"""Models whose parameters are changed while they are in use."""

from __future__ import annotations

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from depth import some
from pinocchio_oracle import Oracle
from random_case import assert_close, random_case
from refusals import refused
from robots import ROBOTS, example

import dyn_core
from dyn_core.model.fixed_base.dynamics_programs import symbolic_robot, traced_from

FUNCTIONS = {
    **dict.fromkeys(("inverse_dynamics", "forward_dynamics", "regressor"), 3),
    **dict.fromkeys(("inertia_and_bias", "bias_torques", "coriolis_torques"), 2),
    **dict.fromkeys(("inertia_matrix", "gravity_torques", "friction_torques"), 1),
}
"""Number of input vectors of each function."""
GRAVITY = (1.0, -2.0, 9.0)


def runtime(robot: dyn_core.Robot, **options) -> dyn_core.Model:
    return dyn_core.compile_model(robot, "runtime", **options)


def states(n: int, count: int = 9) -> np.ndarray:
    return np.random.default_rng(4).uniform(-2.0, 2.0, (3, count, n))


def other_parameters(robot: dyn_core.Robot) -> np.ndarray:
    """Physically possible parameters, so that direct dynamics are well-conditioned."""
    random = np.random.default_rng(8)
    values = np.array(robot.parameters).reshape(-1, 14)
    values[:, :10] *= random.uniform(1.0, 3.0, (len(values), 1))
    values[:, 10:] = random.uniform(0.1, 1.0, (len(values), 4))
    return values.ravel()


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", some(["rrp", "rx90", "two_branch"], "rrp", "rx90"))
def test_values_agree_with_a_model_that_has_these_parameters_baked_in(name: str, backend: str) -> None:
    robot = example(name)
    model = runtime(robot, backend=backend)
    values, kept = other_parameters(robot), model.gravity_torques
    motion = states(robot.dof)
    for expected_robot in (robot, example(name, gravity=GRAVITY).with_parameters(values)):
        expected = dyn_core.compile_model(expected_robot, backend=backend)
        for function, count in FUNCTIONS.items():
            for sample in (motion[:count], motion[:count, 0]):
                assert_close(getattr(model, function)(*sample), getattr(expected, function)(*sample), 1e-11)
        np.testing.assert_allclose(kept(motion[0]), expected.gravity_torques(motion[0]), rtol=1e-9, atol=1e-9)
        assert_close(model.regressor(*motion) @ model.parameters, model.inverse_dynamics(*motion), 1e-11)
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
    for function in ("inverse_dynamics", "forward_dynamics"):
        state = (case.q, case.qd, case.qdd, case.wrenches)
        assert_close(getattr(model, function)(*state), getattr(expected, function)(*state), 1e-9)


def test_values_by_name_leave_the_others_unchanged() -> None:
    model = runtime(example("rrp"))
    expected = dict(zip(model.parameter_names, model.parameters, strict=True)) | {"M3": 7.0, "Fv1": 0.5}
    model.set_parameters({"M3": 7.0, "Fv1": 0.5})
    np.testing.assert_array_equal(model.parameters, list(expected.values()))
    model.set_parameters(gravity=(0, 0, 0))
    np.testing.assert_array_equal(model.gravity, 0.0)
    np.testing.assert_array_equal(model.parameters, list(expected.values()))


def test_wrong_values_change_nothing() -> None:
    model = runtime(example("rrp"))
    before = model.parameters
    for values, gravity, code, details in (
        ({"M9": 1.0}, None, "parameter-unknown", {"unknown": ["M9"]}),
        ({"M2": np.nan}, None, "parameter-not-finite", {"parameter": "M2"}),
        ({"M2": "heavy"}, None, "parameter-not-finite", {"parameter": "M2", "given": "heavy"}),
        ([1.0, 2.0], None, "parameters-count", {"given": 2, "count": 42}),
        (np.ones((42, 2)), None, "parameter-not-finite", {"parameter": "XX1"}),
        (None, (0.0, 0.0), "setting-range", {"setting": "gravity", "given": (0.0, 0.0)}),
        (None, (0.0, 0.0, np.inf), "setting-range", {"setting": "gravity"}),
    ):
        with refused(code, **details):
            model.set_parameters(values, gravity)
        np.testing.assert_array_equal(model.parameters, before)
        np.testing.assert_array_equal(model.gravity, (0.0, 0.0, -9.81))


def test_baked_and_left_out_parameters_cannot_be_set() -> None:
    baked = dyn_core.compile_model(example("rrp"))
    np.testing.assert_array_equal(baked.parameters, baked.robot.parameters)
    np.testing.assert_array_equal(baked.gravity, (0.0, 0.0, -9.81))
    with refused("parameters-baked", robot="rrp"):
        baked.set_parameters({"M1": 1.0})
    model = runtime(example("rrp"), friction=False, rotor_inertia=False)
    terms = zip(model.parameter_names, model.parameters, strict=True)
    assert not any(value for name, value in terms if name[:2] in ("Ia", "Fv", "Fs", "Fo"))
    for name, option in (("Fs2", "friction"), ("Ia2", "rotor_inertia")):
        with refused("parameter-compiled-out", parameter=name, given=1.0, option=option):
            model.set_parameters({name: 1.0})
    model.set_parameters(model.parameters)


def test_copies_have_their_own_parameters() -> None:
    model = runtime(example("rrp"))
    model.set_parameters(other_parameters(model.robot), gravity=GRAVITY)
    motion = states(3)
    expected = model.inverse_dynamics(*motion)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(again.inverse_dynamics(*motion), expected)
        again.set_parameters(0.0 * model.parameters)
        np.testing.assert_array_equal(again.inverse_dynamics(*motion), 0.0)
        np.testing.assert_array_equal(model.inverse_dynamics(*motion), expected)


def test_no_call_sees_a_partial_change() -> None:
    """One thread swaps two sets of parameters while others compute single samples and batches."""
    model = runtime(example("rx90"))
    sets = [np.array(model.robot.parameters), other_parameters(model.robot)]
    motion = states(6, 200)
    done = Event()

    def torques() -> tuple[np.ndarray, np.ndarray]:
        return model.inverse_dynamics(*motion), model.inverse_dynamics(*motion[:, 0])

    results = []
    for values in sets:
        model.set_parameters(values)
        results.append(torques())

    def swap() -> int:
        count = 0
        while not done.is_set():
            model.set_parameters(sets[count % 2])
            count += 1
        return count

    def compute(_: int) -> bool:
        return all(
            any(np.array_equal(one, expected) for expected in of_sets)
            for one, of_sets in zip(torques(), zip(*results, strict=True), strict=True)
        )

    with ThreadPoolExecutor(4) as pool:
        swapping = pool.submit(swap)
        try:
            assert all(pool.map(compute, range(3000)))
        finally:
            done.set()
        assert swapping.result() > 10


def test_calls_leak_no_references() -> None:
    model = runtime(example("rrp"))
    motion = states(3)
    prepared = model._tuning.prepared[0]
    before = sys.getrefcount(prepared)
    for _ in range(100):
        model.inverse_dynamics(*motion)
        model.inverse_dynamics(*motion[:, 0])
        model.inverse_dynamics(list(motion[0, 0]), *motion[1:, 0])
    assert sys.getrefcount(prepared) == before


def test_terms_of_parameters_only_are_not_computed_at_each_call() -> None:
    whole = traced_from(symbolic_robot(example("rx90")), "inverse_dynamics").operation_counts
    model = runtime(example("rx90"), backend="python")
    counts = model.operation_counts("inverse_dynamics")
    assert counts["mul"] <= whole["mul"]
    assert counts["add"] < whole["add"] - 10
    assert len(model._tuning.prepared[0]) > len(model.parameters) + 3


@pytest.mark.parametrize("kind", ["baked", "runtime"])
@pytest.mark.parametrize("backend", ["c", "python"])
def test_forward_dynamics_work_as_soon_as_parameters_give_inertia(kind: str, backend: str) -> None:
    """Without inertia the program divides by zero, but still runs."""
    robot, motion = example("rrp"), states(3)
    massless = robot.with_parameters([0.0] * len(robot.parameters))
    model = dyn_core.compile_model(massless, kind, backend)
    for arguments in (motion, motion[:, 0]):
        with refused("joints-without-inertia", joints=["turn", "lift", "stretch"]):
            model.forward_dynamics(*arguments)
        accelerations = model._functions["forward_dynamics"].run(model._prepared, *arguments)
        assert not np.isfinite(accelerations).any()
    expected = dyn_core.compile_model(robot, backend=backend).forward_dynamics(*motion)
    for _ in range(2 if kind == "runtime" else 0):
        model.set_parameters(robot.parameters, gravity=robot.gravity)
        np.testing.assert_allclose(model.forward_dynamics(*motion), expected, rtol=1e-9, atol=1e-9)
        model.set_parameters([0.0] * len(robot.parameters))
        for without in (model, pickle.loads(pickle.dumps(model))):
            without.set_parameters(gravity=(0.0, 0.0, 1.0))
            with refused("joints-without-inertia", robot="rrp"):
                without.forward_dynamics(*motion)


PAYLOAD = """
  <link name="payload"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="2.5"/>
    <inertia ixx="0.05" ixy="0.01" ixz="-0.02" iyy="0.06" iyz="0.005" izz="0.04"/></inertial></link>
  <joint name="grip" type="fixed"><parent link="{link}"/><child link="payload"/></joint>
</robot>"""


@pytest.mark.parametrize("name", some(["rx90", "two_branch"], "rx90"))
def test_payload_changes_the_parameters_of_its_body(name: str) -> None:
    robot = example(name)
    for link in robot.link_names[:: max(1, len(robot.link_names) // 4)]:
        text = (ROBOTS / f"{name}.urdf").read_text().replace("</robot>", PAYLOAD.format(link=link))
        oracle = Oracle(text, robot.joint_names, robot.gravity)
        inertia = (0.05, 0.01, -0.02, 0.06, 0.005, 0.04)
        loaded = robot.with_payload(link, 2.5, centre=(0.1, -0.2, 0.3), inertia=inertia)
        model = runtime(robot, backend="python", friction=False, rotor_inertia=False)
        frictionless = dyn_core.compile_model(loaded, friction=False, rotor_inertia=False, backend="python")
        model.set_parameters(frictionless.parameters)
        for sample in states(robot.dof, 3).swapaxes(0, 1):
            expected = oracle.inverse_dynamics(*sample, {})
            np.testing.assert_allclose(model.inverse_dynamics(*sample), expected, rtol=1e-9, atol=1e-9)


def test_wrong_payloads_are_refused() -> None:
    for link, arguments, code, values in (
        ("nose", (1.0,), "link-unknown", {"robot": "rrp", "link": "nose"}),
        ("slider", (-1.0,), "held-mass-negative", {"link": "slider", "mass": -1.0}),
        ("slider", (np.nan,), "body-numbers-invalid", {"count": 1}),
        ("slider", (1.0, (0.0, 0.0)), "body-numbers-invalid", {"count": 3, "given": (0.0, 0.0)}),
        ("slider", (1.0, (0.0, 0.0, 0.0), "heavy"), "body-numbers-invalid", {"count": 6, "given": "heavy"}),
        ("slider", (1.0, (0.0,) * 3, (1.0, 0.0, 0.0, 1.0, 0.0, 3.0)), "held-inertia-impossible", {}),
    ):
        with refused(code, **values):
            example("rrp").with_payload(link, *arguments)
