# SPDX-License-Identifier: Apache-2.0
"""Compiled C, generated Python and the algorithms on floats agree, in every kind of call."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from robots import example

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import drive_torques, inverse_dynamics
from dyn_core.codegen.c_source import c_functions
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import trace
from dyn_core.model.fixed_base.dynamics_programs import traced
from dyn_core.symbolic import scalar


@pytest.fixture(scope="module", params=["rrp", "rx90", "two_branch"])
def robot(request: pytest.FixtureRequest) -> dyn_core.Robot:
    return example(request.param)


@pytest.fixture(scope="module", params=["c", "python"])
def model(request: pytest.FixtureRequest, robot: dyn_core.Robot) -> dyn_core.Model:
    return dyn_core.compile_model(robot, backend=request.param)


def states(n: int, samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (3, samples, n))


def reference(robot: dyn_core.Robot, q, qd, qdd) -> list[float]:
    q, qd, qdd = np.array((q, qd, qdd)).tolist()
    rigid = inverse_dynamics(robot, q, qd, qdd, robot.gravity_0, {})
    return [a + b for a, b in zip(rigid, drive_torques(robot.joints, qd, qdd), strict=True)]


@pytest.mark.parametrize("samples", [1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 101])
def test_every_batch_size_gives_the_values_of_the_algorithm_on_floats(model, robot, samples: int) -> None:
    q, qd, qdd = states(robot.dof, samples)
    expected = [reference(robot, *sample) for sample in zip(q, qd, qdd, strict=True)]
    scale = np.abs(expected).max()
    found = [*model.inverse_dynamics(q, qd, qdd), model.inverse_dynamics(q[0], qd[0], qdd[0])]
    np.testing.assert_allclose(found, [*expected, expected[0]], rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("name", ["inverse_dynamics", "regressor"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_affects_only_its_sample(model, robot, value: float, name: str) -> None:
    function = getattr(model, name)
    good = function(*states(robot.dof, 11))
    for which, joint in np.ndindex(3, robot.dof):
        vectors = states(robot.dof, 11)
        vectors[which, 5, joint] = value
        batch = function(*vectors)
        assert np.isnan(batch[5]).all()
        assert np.isnan(function(*vectors[:, 5])).all()
        np.testing.assert_array_equal(np.delete(batch, 5, axis=0), np.delete(good, 5, axis=0))


@pytest.mark.parametrize("samples", [None, 1, 7, 8, 9, 17])
def test_results_that_are_always_zero_are_written(robot, samples: int | None) -> None:
    """The array may hold any values before; most entries of these regressors are 0 for every motion."""
    program = traced(robot, "regressor")
    zero = np.array([isinstance(result, float) and result == 0.0 for result in program.results])
    assert 2 * zero.sum() > len(zero)
    vectors = np.ascontiguousarray(states(robot.dof, samples or 1)[:, slice(None) if samples else 0])
    results = []
    for function in (c_functions([program])[0], PythonFunction(lambda: program, program.shape)):
        out = np.full((*vectors[0].shape[:-1], *program.shape), np.nan)
        function.into(*vectors, out)
        results.append(out)
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-13 * np.abs(results[1]).max())
    assert (results[0].reshape(-1, len(zero))[:, zero] == 0.0).all()


def test_angles_of_any_size(model, robot) -> None:
    angles = [0.0, -0.0, 1e-300, 1e-9, np.pi / 4, np.pi / 2, np.pi, 1e3, 99999.0, 100001.0, 1e9, 1e17, -7e4]
    zero = np.zeros(robot.dof)
    for angle in angles:
        q = np.array([0.1 if joint.sigma else angle for joint in robot.joints])
        expected = reference(robot, q, zero, zero)
        np.testing.assert_allclose(model.inverse_dynamics(q, zero, zero), expected, rtol=1e-12, atol=1e-11)


def test_sine_and_cosine_are_accurate_to_the_last_digits() -> None:
    program = trace("angles", lambda x: [scalar.sin(x[0]), scalar.cos(x[0])], {"x": 1}, (2,))
    random = np.random.default_rng(0)
    far, near = random.uniform(-1e5, 1e5, 100_000), random.uniform(-4.0, 4.0, 100_000)
    x = np.concatenate([far, near, np.arange(-400, 401) * (np.pi / 4)])[:, None]
    out = np.empty((len(x), 2))
    c_functions([program])[0].into(x, out)
    assert np.abs(out - np.hstack([np.sin(x), np.cos(x)])).max() < 3e-16


def test_many_threads_can_call_at_once(model, robot) -> None:
    q, qd, qdd = states(robot.dof, 500)
    expected = model.inverse_dynamics(q, qd, qdd)

    def right(_: int) -> bool:
        batches = all(np.array_equal(model.inverse_dynamics(q, qd, qdd), expected) for _ in range(20))
        samples = [model.inverse_dynamics(*sample) for sample in zip(q[:64], qd, qdd, strict=False)]
        return batches and np.allclose(samples, expected[:64], rtol=1e-12, atol=1e-11)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(right, range(12)))


def test_a_batch_releases_the_interpreter_lock(robot) -> None:
    """One thread computes a batch while another runs Python.

    On a busy machine this may take several tries.
    """
    model = dyn_core.compile_model(robot, backend="c")
    q, qd, qdd = states(robot.dof, 400_000)
    counts: list[int] = []
    while len(counts) < 20 and max(counts, default=0) <= 1000:
        thread = threading.Thread(target=model.inverse_dynamics, args=(q, qd, qdd))
        thread.start()
        counts.append(0)
        while thread.is_alive():
            counts[-1] += 1
    assert counts[-1] > 1000, f"while a batch was computed Python counted to {counts}, each time"


def test_help_shows_the_signature(model) -> None:
    parameters = inspect.signature(model.inverse_dynamics).parameters.values()
    empty = inspect.Parameter.empty
    expected = {"q": empty, "qd": empty, "qdd": empty, "wrenches": None, "out": None}
    assert {parameter.name: parameter.default for parameter in parameters} == expected
    assert "Khalil 2010" in model.inverse_dynamics.__doc__
