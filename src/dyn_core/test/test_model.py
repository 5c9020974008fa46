# SPDX-License-Identifier: Apache-2.0
"""The model's functions: shapes, kinds of input, errors, NaN, pickling, threads."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
FUNCTIONS = (
    "inverse_dynamics",
    "bias_torques",
    "gravity_torques",
    "coriolis_torques",
    "inertial_torques",
    "friction_torques",
)


@pytest.fixture(scope="module", params=["rrp-c", "rx90-c", "two_branch-c", "two_branch-python"])
def model(request: pytest.FixtureRequest) -> dyn_core.Model:
    robot, backend = request.param.split("-")
    return dyn_core.compile_model(dyn_core.load_robot(ROBOTS / f"{robot}.urdf"), backend=backend)


def vectors(function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name in ("q", "qd", "qdd")]


def random_vectors(function, n: int, batch: int = 7) -> list[np.ndarray]:
    count = len(vectors(function))
    return list(np.random.default_rng(5).uniform(-2.0, 2.0, (count, batch, n)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batch_is_a_loop_of_single_samples(model: dyn_core.Model, name: str) -> None:
    function = getattr(model, name)
    args = random_vectors(function, len(model.joint_names))
    batch = function(*args)
    assert batch.shape == args[0].shape
    assert batch.dtype == np.float64
    singles = [function(*sample) for sample in zip(*args, strict=True)]
    np.testing.assert_allclose(batch, singles, rtol=1e-12, atol=1e-12)
    assert function(*(a[:0] for a in args)).shape == (0, len(model.joint_names))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_sequence_of_numbers_will_do(model: dyn_core.Model, name: str) -> None:
    function = getattr(model, name)
    n = len(model.joint_names)
    args = [list(range(1, n + 1))] * len(vectors(function))
    expected = function(*(np.array(a, dtype=np.float64) for a in args))
    for kind in (list, tuple, np.array, lambda a: np.array(a, dtype=np.float32)):
        np.testing.assert_array_equal(function(*map(kind, args)), expected)
    strided = [np.repeat(a, 2)[::2] for a in args]
    np.testing.assert_array_equal(function(*strided), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_out_takes_the_result(model: dyn_core.Model, name: str) -> None:
    function = getattr(model, name)
    for args in (random_vectors(function, len(model.joint_names)), None):
        given = args or [a[0] for a in random_vectors(function, len(model.joint_names))]
        expected = function(*given)
        out = np.full_like(expected, 99.0)
        assert function(*given, out=out) is out
        np.testing.assert_array_equal(out, expected)
        same = [given[0].copy(), *given[1:]]
        np.testing.assert_array_equal(function(*same, out=same[0]), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_out(model: dyn_core.Model, name: str) -> None:
    function = getattr(model, name)
    n = len(model.joint_names)
    args = [np.zeros(n)] * len(vectors(function))
    read_only = np.zeros(n)
    read_only.flags.writeable = False
    for out, message in (
        (np.zeros(n + 1), rf"^out: expected the shape \({n},\), but it has \({n + 1},\)"),
        (np.zeros(n, dtype=np.float32), "^out: expected an array of float64, but it is float32"),
        ([0.0] * n, "^out: expected an array of float64, but it is list"),
        (read_only, "^out: the array is read-only"),
    ):
        with pytest.raises(ValueError, match=message):
            function(*args, out=out)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_shapes_name_argument_and_shapes(model: dyn_core.Model, name: str) -> None:
    function = getattr(model, name)
    n = len(model.joint_names)
    names = vectors(function)
    for k, argument in enumerate(names):
        for shape in ((), (n + 1,), (2, n + 1), (2, 2, n)):
            args = [np.zeros(n)] * len(names)
            args[k] = np.zeros(shape)
            with pytest.raises(ValueError, match=f"^{argument}: expected the shape") as caught:
                function(*args)
            assert str(shape) in str(caught.value)
            assert f"({n},)" in str(caught.value)
        args[k] = ["one"] * n
        with pytest.raises(ValueError, match=f"^{argument}: expected numbers"):
            function(*args)
    for k, argument in enumerate(names[1:], start=1):
        args = [np.zeros((3, n))] * len(names)
        args[k] = np.zeros((4, n))
        with pytest.raises(ValueError, match=rf"^{argument}: .* \(3, {n}\) of {names[0]}, .* \(4, {n}\)"):
            function(*args)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_stays_in_its_sample(model: dyn_core.Model, bad: float) -> None:
    args = random_vectors(model.inverse_dynamics, len(model.joint_names))
    good = model.inverse_dynamics(*args)
    for argument in args:
        kept = argument[3, 1]
        argument[3, 1] = bad
        torques = model.inverse_dynamics(*args)
        single = model.inverse_dynamics(*(a[3] for a in args))
        argument[3, 1] = kept
        assert not np.isfinite(torques[3, 1])
        assert not np.isfinite(single[1])
        np.testing.assert_array_equal(np.delete(torques, 3, 0), np.delete(good, 3, 0))


def test_parts_sum_to_the_whole(model: dyn_core.Model) -> None:
    q, qd, qdd = random_vectors(model.inverse_dynamics, len(model.joint_names))
    parts = (
        model.inertial_torques(q, qdd)
        + model.coriolis_torques(q, qd)
        + model.gravity_torques(q)
        + model.friction_torques(qd)
    )
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), parts, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        model.bias_torques(q, qd), model.inverse_dynamics(q, qd, 0.0 * qdd), rtol=1e-12, atol=1e-12
    )


def test_friction_can_be_left_out(model: dyn_core.Model) -> None:
    q, qd, qdd = random_vectors(model.inverse_dynamics, len(model.joint_names))
    smooth = dyn_core.compile_model(model.robot, friction=False)
    difference = model.inverse_dynamics(q, qd, qdd) - smooth.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(difference, model.friction_torques(qd), atol=1e-11)
    np.testing.assert_array_equal(smooth.friction_torques(qd), 0.0)
    assert np.all(model.friction_torques(qd) * qd > 0.0)


def test_wrenches_per_sample_and_for_all_samples(model: dyn_core.Model) -> None:
    q, qd, qdd = random_vectors(model.inverse_dynamics, len(model.joint_names))
    random = np.random.default_rng(0)
    root, tip = model.robot.link_names[0], model.robot.link_names[-1]
    each, for_all = random.normal(size=(7, 6)), random.normal(size=6)
    batch = model.inverse_dynamics(q, qd, qdd, wrenches={tip: each, root: for_all})
    for k in range(7):
        single = model.inverse_dynamics(q[k], qd[k], qdd[k], wrenches={tip: each[k]})
        np.testing.assert_allclose(batch[k], single, rtol=1e-12, atol=1e-12)
    free = model.inverse_dynamics(q, qd, qdd)
    assert np.abs(batch - free).max() > 0.01


def test_wrong_wrenches(model: dyn_core.Model) -> None:
    n = len(model.joint_names)
    rest = np.zeros(n)
    with pytest.raises(dyn_core.DynError, match="has no link 'nose': its links are '"):
        model.inverse_dynamics(rest, rest, rest, wrenches={"nose": np.zeros(6)})
    for wrong in ([0.0] * 6, np.zeros(6)):
        with pytest.raises(ValueError, match=r"^wrenches: expected six numbers by name of link, but it is "):
            model.inverse_dynamics(rest, rest, rest, wrenches=wrong)
    tip = model.robot.link_names[-1]
    batch = np.zeros((3, n))
    with pytest.raises(ValueError, match=r"expected the shape \(6,\) or \(3, 6\), but it has \(2, 6\)"):
        model.inverse_dynamics(batch, batch, batch, wrenches={tip: np.zeros((2, 6))})
    message = rf"^wrenches\['{tip}'\]: expected the shape \(6,\), but it has \(5,\)"
    with pytest.raises(ValueError, match=message):
        model.inverse_dynamics(rest, rest, rest, wrenches={tip: np.zeros(5)})


def test_pickled_model_computes_the_same(model: dyn_core.Model) -> None:
    args = random_vectors(model.inverse_dynamics, len(model.joint_names))
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    np.testing.assert_array_equal(again.inverse_dynamics(*args), model.inverse_dynamics(*args))


def test_model_cannot_be_changed(model: dyn_core.Model) -> None:
    for owner, name in ((model, "friction"), (model.robot, "name"), (model.robot.joints[0], "mdh")):
        with pytest.raises(AttributeError):
            setattr(owner, name, None)


def test_many_threads_at_once(model: dyn_core.Model) -> None:
    samples = list(zip(*random_vectors(model.inverse_dynamics, len(model.joint_names), 64), strict=True))
    expected = [model.inverse_dynamics(*sample) for sample in samples]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda sample: model.inverse_dynamics(*sample), samples))
    np.testing.assert_array_equal(got, expected)
