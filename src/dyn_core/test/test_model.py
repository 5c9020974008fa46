# SPDX-License-Identifier: Apache-2.0
"""Functions of a model: against Pinocchio, shapes, input types, errors, calls by name and with `out`."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from refusals import refused
from robots import ROBOTS, example

import dyn_core

PARTS = ("bias", "gravity", "coriolis", "inertial", "friction")
LINK = "hand"


@pytest.fixture(scope="module", params=["rrp-c", "rx90-c", "two_branch-c", "two_branch-python"])
def model(request: pytest.FixtureRequest) -> dyn_core.Model:
    robot, backend = request.param.split("-")
    return dyn_core.compile_model(example(robot, snap=0), backend=backend)


@pytest.fixture(scope="module", params=["baked-c", "runtime-c", "baked-python"])
def rx90(request: pytest.FixtureRequest) -> dyn_core.Model:
    parameters, backend = request.param.split("-")
    return dyn_core.compile_model(example("rx90"), parameters, backend, links=[LINK])


@pytest.fixture(params=["inverse_dynamics", *(f"{part}_torques" for part in PARTS)])
def function(request: pytest.FixtureRequest, model: dyn_core.Model) -> Callable[..., np.ndarray]:
    function: Callable[..., np.ndarray] = getattr(model, request.param)
    return function


@pytest.fixture
def states(model: dyn_core.Model) -> np.ndarray:
    """Seven positions, velocities and accelerations."""
    return np.random.default_rng(5).uniform(-2.0, 2.0, (3, 7, len(model.joint_names)))


def vectors(function: Callable[..., np.ndarray]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name in ("q", "qd", "qdd")]


def named_states(count: int | None) -> dict[str, np.ndarray]:
    shape = (3, 6) if count is None else (3, count, 6)
    return dict(zip(("q", "qd", "qdd"), np.random.default_rng(2).uniform(-2.0, 2.0, shape), strict=True))


def test_a_batch_equals_single_samples_for_all_number_types(function, states: np.ndarray) -> None:
    args = states[: len(vectors(function))]
    batch = function(*args)
    assert (batch.shape, batch.dtype) == (args[0].shape, np.float64)
    singles = [function(*sample) for sample in args.swapaxes(0, 1)]
    np.testing.assert_allclose(batch, singles, rtol=1e-12, atol=1e-12)
    assert function(*args[:, :0]).shape == (0, args.shape[-1])
    whole = np.round(3.0 * args)
    for args in (whole, whole[:, 0]):
        expected = function(*args)
        for convert in (
            lambda a: a.tolist(),
            lambda a: tuple(a.tolist()),
            lambda a: a.astype(int),
            lambda a: a.astype(np.float32),
            lambda a: a.astype(">f8"),
            lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
            lambda a: a[..., ::-1].copy()[..., ::-1],
            np.asfortranarray,
        ):
            np.testing.assert_array_equal(function(*map(convert, args)), expected)


def test_out_takes_the_result(function, states: np.ndarray) -> None:
    for given in (states[: len(vectors(function))], states[: len(vectors(function)), 0]):
        expected = function(*given)
        out = np.full_like(expected, 99.0)
        assert function(*given, out=out) is out
        np.testing.assert_array_equal(out, expected)
        for k in range(len(given)):
            same = [vector.copy() for vector in given]
            assert function(*same, out=same[k]) is same[k]
            np.testing.assert_array_equal(same[k], expected)


def test_wrong_arguments_are_named(function, model: dyn_core.Model) -> None:
    names, n = vectors(function), len(model.joint_names)
    zeros = [np.zeros(n)] * len(names)
    read_only = np.zeros(n)
    read_only.flags.writeable = False
    for out, code, values in (
        (np.zeros(n + 1), "argument-shape", {"argument": "out", "expected": (n,), "given": (n + 1,)}),
        (np.zeros(n, dtype=np.float32), "argument-type", {"argument": "out", "given": np.dtype("f4")}),
        ([0.0] * n, "argument-type", {"argument": "out", "given": "list"}),
        (read_only, "array-read-only", {}),
    ):
        with refused(code, **values):
            function(*zeros, out=out)
    for k, argument in enumerate(names):
        before, after = zeros[:k], zeros[k + 1 :]
        for shape in ((), (n + 1,), (2, n + 1), (2, 2, n)):
            expected = f"({n},) or (N, {n})"
            with refused("argument-shape", argument=argument, given=shape, expected=expected):
                function(*before, np.zeros(shape), *after)
        with refused("argument-not-numbers", argument=argument):
            function(*before, ["one"] * n, *after)
        for given in (np.zeros(n, complex), [0.0j] * n, np.zeros((3, n), np.complex64)):
            with refused("argument-complex", argument=argument):
                function(*before, given, *after)
    for k, argument in enumerate(names[1:], start=1):
        args = [np.zeros((4 if i == k else 3, n)) for i in range(len(names))]
        values = {"argument": argument, "expected": (3, n), "given": (4, n), "reference": names[0]}
        with refused("argument-shapes-differ", **values):
            function(*args)


def test_terms_sum_to_the_total(model: dyn_core.Model, states: np.ndarray) -> None:
    q, qd, qdd = states
    parts = model.inertial_torques(q, qdd) + model.coriolis_torques(q, qd) + model.gravity_torques(q)
    whole = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(whole, parts + model.friction_torques(qd), rtol=1e-11, atol=1e-11)
    bias = model.inverse_dynamics(q, qd, 0.0 * qdd)
    np.testing.assert_allclose(model.bias_torques(q, qd), bias, rtol=1e-12, atol=1e-12)
    A = model.inertia_matrix(q)
    np.testing.assert_allclose(np.einsum("sij,sj->si", A, qdd) + bias, whole, rtol=1e-10, atol=1e-10)
    Y = model.regressor(q, qd, qdd)
    assert Y.shape == (7, len(model.joint_names), len(model.parameter_names))
    np.testing.assert_allclose(Y @ np.array(model.robot.parameters), whole, rtol=1e-10, atol=1e-10)


def test_without_friction_it_agrees_with_pinocchio(model: dyn_core.Model, states: np.ndarray) -> None:
    qd = states[1]
    smooth = dyn_core.compile_model(model.robot, friction=False, backend=model.backend)
    found = smooth.inverse_dynamics(*states)
    urdf = (ROBOTS / f"{model.robot.name}.urdf").read_text()
    oracle = Oracle(urdf, model.joint_names, model.robot.gravity)
    expected = [oracle.inverse_dynamics(*sample, {}) for sample in states.swapaxes(0, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    difference = model.inverse_dynamics(*states) - found
    np.testing.assert_allclose(difference, model.friction_torques(qd), atol=1e-11)
    np.testing.assert_array_equal(smooth.friction_torques(qd), 0.0)
    assert np.all(model.friction_torques(qd) * qd > 0.0)


def test_direct_dynamics_inverts_inverse_dynamics(model: dyn_core.Model, states: np.ndarray) -> None:
    q, qd, qdd = states
    for wrenches in (None, {model.robot.link_names[-1]: [1.0, -2.0, 3.0, 0.4, 0.5, -0.6]}):
        tau = model.inverse_dynamics(q, qd, qdd, wrenches)
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau, wrenches), qdd, rtol=0, atol=1e-9)
        single = model.forward_dynamics(q[0], qd[0], tau[0], wrenches)
        np.testing.assert_allclose(single, qdd[0], rtol=0, atol=1e-9)


def test_wrenches_per_sample_and_for_all_samples(model: dyn_core.Model, states: np.ndarray) -> None:
    random = np.random.default_rng(0)
    root, tip = model.robot.link_names[0], model.robot.link_names[-1]
    each, for_all = random.normal(size=(7, 6)), random.normal(size=6)
    batch = model.inverse_dynamics(*states, wrenches={tip: each, root: for_all})
    singles = [model.inverse_dynamics(*states[:, k], wrenches={tip: each[k]}) for k in range(7)]
    np.testing.assert_allclose(batch, singles, rtol=1e-12, atol=1e-12)
    assert np.abs(batch - model.inverse_dynamics(*states)).max() > 0.01


def test_wrong_wrenches(model: dyn_core.Model) -> None:
    tip, n = model.robot.link_names[-1], len(model.joint_names)
    six, argument = "six numbers by name of link", f"wrenches['{tip}']"
    for samples, wrenches, code, values in (
        ((), {"nose": np.zeros(6)}, "link-unknown", {"link": "nose"}),
        ((), [0.0] * 6, "argument-type", {"argument": "wrenches", "expected": six, "given": "list"}),
        ((), np.zeros(6), "argument-type", {"argument": "wrenches", "expected": six, "given": "ndarray"}),
        ((3,), {tip: np.zeros((2, 6))}, "argument-shape", {"expected": "(6,) or (3, 6)", "given": (2, 6)}),
        ((), {tip: np.zeros(5)}, "argument-shape", {"argument": argument, "expected": "(6,)", "given": (5,)}),
    ):
        with refused(code, **values):
            model.inverse_dynamics(*np.zeros((3, *samples, n)), wrenches=wrenches)


def test_a_model_can_be_pickled_and_is_immutable(model: dyn_core.Model, states: np.ndarray) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    np.testing.assert_array_equal(again.inverse_dynamics(*states), model.inverse_dynamics(*states))
    for owner, name in ((model, "friction"), (model.robot, "name"), (model.robot.joints[0], "mdh")):
        with pytest.raises(AttributeError):
            setattr(owner, name, None)


@pytest.mark.parametrize("count", [None, 0, 1, 19])
def test_by_name_in_any_order_and_with_out(rx90: dyn_core.Model, count: int | None) -> None:
    given = named_states(count)
    q, qd, qdd = given.values()
    expected = rx90.inverse_dynamics(q, qd, qdd)
    for names in permutations(given):
        by_name = {name: given[name] for name in names}
        np.testing.assert_array_equal(rx90.inverse_dynamics(**by_name), expected)
        out = np.full_like(expected, 7.0)
        assert rx90.inverse_dynamics(out=out, **by_name) is out
        np.testing.assert_array_equal(out, expected)
    out = np.full_like(expected, 7.0)
    assert rx90.inverse_dynamics(q, qdd=qdd, out=out, qd=qd) is out
    np.testing.assert_array_equal(out, expected)
    assert rx90.inverse_dynamics(q, qd, qdd, None, out) is out


def test_arrays_of_any_memory_layout_and_type(rx90: dyn_core.Model) -> None:
    single, batch = named_states(None), named_states(5)
    memory = np.zeros(9)
    memory[:6] = single["q"]
    expected = rx90.gravity_torques(memory[:6].copy())
    np.testing.assert_array_equal(rx90.gravity_torques(memory[:6], out=memory[3:]), expected)
    unaligned = np.zeros(4, dtype=[("id", "u1"), ("x", "f8", 6)])["x"]
    unaligned[:3] = list(single.values())
    assert not unaligned[3].flags.aligned
    np.testing.assert_array_equal(rx90.inverse_dynamics(*unaligned[:3]), rx90.inverse_dynamics(**single))
    strided, transposed = np.zeros((10, 12))[::2, ::2], np.zeros((6, 5)).T
    outs = (np.zeros((5, 6), order="F"), strided, transposed)
    for given, out in ((single, unaligned[3]), *((batch, out) for out in outs)):
        assert rx90.inverse_dynamics(**given, out=out) is out
        np.testing.assert_array_equal(out, rx90.inverse_dynamics(**given))
    for kind in (np.ma.array, np.matrix):
        q = batch["q"]
        np.testing.assert_array_equal(rx90.gravity_torques(kind(q)), rx90.gravity_torques(q))


@pytest.mark.parametrize("count", [None, 5])
def test_functions_of_links_take_out(rx90: dyn_core.Model, count: int | None) -> None:
    assert pickle.loads(pickle.dumps(rx90)).compiled_links == (LINK,)
    given = list(named_states(count).values())
    of_q, of_velocity = ("forward_kinematics", "jacobian"), ("jacobian_dot_qd", "link_velocity")
    inputs = {**dict.fromkeys(of_q, 1), **dict.fromkeys(of_velocity, 2), "link_acceleration": 3}
    for name, taken in inputs.items():
        function, args = getattr(rx90, name), given[:taken]
        expected = function(*args, LINK)
        out = np.full_like(expected, 7.0)
        assert function(*args, LINK, out=out) is out
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(function(*map(list, args), LINK), expected, rtol=1e-15)


def test_wrong_keyword_names_are_python_errors(rx90: dyn_core.Model) -> None:
    zeros = np.zeros(6)
    for wrong in ("q", "p", "q qd qdd tau", "q qd out"):
        with pytest.raises(TypeError):
            rx90.inverse_dynamics(**{name: None if name == "out" else zeros for name in wrong.split()})
    with pytest.raises(TypeError):
        rx90.inverse_dynamics(zeros, zeros, zeros, q=zeros)


def test_models_are_equal_if_their_parameters_are() -> None:
    a, b = (dyn_core.compile_model(example("rrp"), "runtime", "python") for _ in range(2))
    assert (a, hash(a)) == (b, hash(b))
    b.set_parameters({"M3": 99.0})
    assert a != b
    with refused("robot-type", given="str"):
        dyn_core.compile_model("arm.urdf")  # type: ignore[arg-type]
