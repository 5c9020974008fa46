# SPDX-License-Identifier: Apache-2.0
"""Compiled C, generated Python and the algorithms on floats agree, in every kind of call."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.drive import drive_torques
from dyn_core.model.fixed_base.dynamics_programs import traced
from dyn_core.symbolic import scalar

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
NAMES = ("rrp", "rx90", "two_branch")


@pytest.fixture(scope="module", params=NAMES)
def robot(request: pytest.FixtureRequest) -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS / f"{request.param}.urdf")


@pytest.fixture(scope="module", params=["c", "python"])
def model(request: pytest.FixtureRequest, robot: dyn_core.Robot) -> dyn_core.Model:
    return dyn_core.compile_model(robot, backend=request.param)


def states(n: int, samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (3, samples, n))


def reference(robot: dyn_core.Robot, q, qd, qdd) -> list[float]:
    """The algorithm itself, on floats."""
    q, qd, qdd = (v.tolist() for v in (q, qd, qdd))
    rigid = inverse_dynamics(robot, q, qd, qdd, robot.gravity_0, {})
    return [a + b for a, b in zip(rigid, drive_torques(robot.joints, qd, qdd), strict=True)]


@pytest.mark.parametrize("samples", [1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 101])
def test_every_size_of_batch_is_the_algorithm_on_floats(model, robot, samples: int) -> None:
    q, qd, qdd = states(robot.dof, samples)
    expected = [reference(robot, *sample) for sample in zip(q, qd, qdd, strict=True)]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), expected, rtol=0, atol=1e-13 * scale)
    single = model.inverse_dynamics(q[0], qd[0], qdd[0])
    np.testing.assert_allclose(single, expected[0], rtol=0, atol=1e-13 * scale)


def test_no_samples_no_results(model, robot) -> None:
    none = np.empty((0, robot.dof))
    assert model.inverse_dynamics(none, none, none).shape == (0, robot.dof)


@pytest.mark.parametrize("kind", ["float32", "int", "list", "strided", "reversed", "fortran", "swapped"])
def test_other_kinds_of_array_are_converted(model, robot, kind: str) -> None:
    v = np.round(states(robot.dof, 20))
    convert = {
        "float32": lambda a: a.astype(np.float32),
        "int": lambda a: a.astype(int),
        "list": lambda a: a.tolist(),
        "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        "reversed": lambda a: a[:, ::-1].copy()[:, ::-1],
        "fortran": np.asfortranarray,
        "swapped": lambda a: a.astype(">f8"),
    }[kind]
    np.testing.assert_array_equal(
        model.inverse_dynamics(*map(convert, v)), model.inverse_dynamics(*map(np.ascontiguousarray, v))
    )


@pytest.mark.parametrize("name", ["inverse_dynamics", "regressor"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_spoils_its_sample_and_no_other(
    model, robot, value: float, name: str
) -> None:
    function = getattr(model, name)
    q, qd, qdd = states(robot.dof, 11)
    good = function(q, qd, qdd)
    for vector in (q, qd, qdd):
        for joint in range(robot.dof):
            kept = vector[5, joint]
            vector[5, joint] = value
            batch = function(q, qd, qdd)
            assert np.isnan(batch[5]).all()
            assert np.isnan(function(q[5], qd[5], qdd[5])).all()
            others = np.arange(11) != 5
            np.testing.assert_array_equal(batch[others], good[others])
            vector[5, joint] = kept


@pytest.mark.parametrize("samples", [None, 1, 7, 8, 9, 17])
def test_results_that_are_always_zero_are_written(robot, samples: int | None) -> None:
    """Whatever was in the array before: most entries of these regressors are 0 for every motion."""
    program = traced(robot, "regressor")
    zero = np.array([isinstance(result, float) and result == 0.0 for result in program.results])
    assert 2 * zero.sum() > len(zero)
    vectors = np.ascontiguousarray(states(robot.dof, samples or 1)[:, slice(None) if samples else 0])
    results = []
    for function in (load(program), PythonFunction(lambda: program, program.shape)):
        out = np.full((*vectors[0].shape[:-1], *program.shape), np.nan)
        function.into(*vectors, out)
        results.append(out)
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-13 * np.abs(results[1]).max())
    assert (results[0].reshape(-1, len(zero))[:, zero] == 0.0).all()


def test_results_may_go_where_the_inputs_are(model, robot) -> None:
    q, qd, qdd = states(robot.dof, 9)
    expected = model.inverse_dynamics(q, qd, qdd)
    assert model.inverse_dynamics(q, qd, qdd, out=q) is q
    np.testing.assert_array_equal(q, expected)


def test_angles_of_any_size(model, robot) -> None:
    """The compiled sine and cosine are exact near multiples of pi/2 and far from zero."""
    angles = [0.0, -0.0, 1e-300, 1e-9, np.pi / 4, np.pi / 2, np.pi, 1e3, 99999.0, 100001.0, 1e9, 1e17, -7e4]
    for angle in angles:
        q = np.full(robot.dof, angle)
        if any(joint.sigma for joint in robot.joints):
            q[[bool(joint.sigma) for joint in robot.joints]] = 0.1
        zero = np.zeros(robot.dof)
        expected = reference(robot, q, zero, zero)
        np.testing.assert_allclose(model.inverse_dynamics(q, zero, zero), expected, rtol=1e-12, atol=1e-11)


def test_sine_and_cosine_to_the_last_places() -> None:
    program = trace("angles", lambda x: [scalar.sin(x[0]), scalar.cos(x[0])], {"x": 1}, (2,))
    function = load(program)
    x = np.concatenate(
        [
            np.random.default_rng(0).uniform(-1e5, 1e5, 100_000),
            np.random.default_rng(1).uniform(-4.0, 4.0, 100_000),
            np.arange(-400, 401) * (np.pi / 4),
        ]
    )[:, None]
    out = np.empty((len(x), 2))
    function.into(np.ascontiguousarray(x), out)
    exact = np.hstack([np.sin(x), np.cos(x)])
    assert np.abs(out - exact).max() < 3e-16


def load(program: Program):
    from dyn_core.codegen.c_backend import c_functions

    return c_functions([program])[0]


def test_many_threads_at_once(model, robot) -> None:
    q, qd, qdd = states(robot.dof, 500)
    expected = model.inverse_dynamics(q, qd, qdd)

    def right(_: int) -> bool:
        return all(np.array_equal(model.inverse_dynamics(q, qd, qdd), expected) for _ in range(20))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(right, range(12)))


def test_a_batch_leaves_the_interpreter_to_others(robot) -> None:
    """While one thread computes a batch, another one runs Python; on a busy machine not at the first try."""
    model = dyn_core.compile_model(robot, backend="c")
    q, qd, qdd = states(robot.dof, 400_000)
    counts = []
    for _ in range(20):
        done = threading.Event()
        thread = threading.Thread(target=lambda done=done: (model.inverse_dynamics(q, qd, qdd), done.set()))
        count = 0
        thread.start()
        while not done.is_set():
            count += 1
        thread.join()
        counts.append(count)
        if count > 1000:
            return
    pytest.fail(f"while a batch was computed Python counted to {counts}, each time")


def test_help_shows_the_signature(model) -> None:
    import inspect

    assert str(inspect.signature(model.inverse_dynamics)) in (
        "(q, qd, qdd, wrenches=None, out=None)",
        "(q: 'npt.ArrayLike', qd: 'npt.ArrayLike', qdd: 'npt.ArrayLike', wrenches: "
        "'Mapping[str, npt.ArrayLike] | None' = None, out: 'Array | None' = None) -> 'Array'",
    )
    assert "Khalil 2010" in model.inverse_dynamics.__doc__


def test_import_is_light() -> None:
    code = "import sys, dyn_core; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
