# SPDX-License-Identifier: Apache-2.0
"""Calls that are computed at once answer what the others do: by position, by name, with `out`."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
LINK = "hand"


@pytest.fixture(scope="module", params=["baked-c", "runtime-c", "baked-python"])
def model(request: pytest.FixtureRequest) -> dyn_core.Model:
    parameters, backend = request.param.split("-")
    return dyn_core.compile_model(
        dyn_core.load_robot(ROBOTS / "rx90.urdf"), parameters, backend, links=[LINK]
    )


def states(count: int | None) -> dict[str, np.ndarray]:
    shape = (3, 6) if count is None else (3, count, 6)
    return dict(zip(("q", "qd", "qdd"), np.random.default_rng(2).uniform(-2.0, 2.0, shape), strict=True))


@pytest.mark.parametrize("count", [None, 0, 1, 19])
def test_by_name_in_any_order_and_with_out(model: dyn_core.Model, count: int | None) -> None:
    given = states(count)
    expected = model.inverse_dynamics(given["q"], given["qd"], given["qdd"])
    for names in permutations(given):
        by_name = {name: given[name] for name in names}
        np.testing.assert_array_equal(model.inverse_dynamics(**by_name), expected)
        out = np.full_like(expected, 7.0)
        assert model.inverse_dynamics(out=out, **by_name) is out
        np.testing.assert_array_equal(out, expected)
    out = np.full_like(expected, 7.0)
    assert model.inverse_dynamics(given["q"], qdd=given["qdd"], out=out, qd=given["qd"]) is out
    np.testing.assert_array_equal(out, expected)
    assert model.inverse_dynamics(given["q"], given["qd"], given["qdd"], None, out) is out


def test_out_that_is_an_input_or_overlaps_it(model: dyn_core.Model) -> None:
    for count in (None, 19):
        given = states(count)
        expected = model.inverse_dynamics(**given)
        for name in given:
            same = {key: value.copy() for key, value in given.items()}
            np.testing.assert_array_equal(model.inverse_dynamics(**same, out=same[name]), expected)
    memory = np.zeros(9)
    memory[:6] = states(None)["q"]
    expected = model.gravity_torques(memory[:6].copy())
    np.testing.assert_array_equal(model.gravity_torques(memory[:6], out=memory[3:]), expected)


def test_out_of_other_layouts(model: dyn_core.Model) -> None:
    given = states(5)
    expected = model.inverse_dynamics(**given)
    for out in (np.zeros((5, 6), order="F"), np.zeros((10, 12))[::2, ::2], np.zeros((6, 5)).T):
        assert model.inverse_dynamics(**given, out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_numbers_that_are_not_aligned(model: dyn_core.Model) -> None:
    given = states(None)
    expected = model.inverse_dynamics(**given)
    odd = {name: np.zeros(1, dtype=[("id", "u1"), ("x", "f8", 6)]) for name in given}
    for name, value in given.items():
        odd[name]["x"] = value
    np.testing.assert_array_equal(
        model.inverse_dynamics(*(odd[name]["x"][0] for name in ("q", "qd", "qdd"))), expected
    )
    out = np.zeros(1, dtype=[("id", "u1"), ("x", "f8", 6)])["x"][0]
    assert not out.flags.aligned
    assert model.inverse_dynamics(**given, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_subclasses_and_masked_arrays_are_arrays(model: dyn_core.Model) -> None:
    given = states(4)
    expected = model.gravity_torques(given["q"])
    np.testing.assert_array_equal(model.gravity_torques(np.ma.array(given["q"])), expected)
    np.testing.assert_array_equal(model.gravity_torques(np.matrix(given["q"])), expected)


@pytest.mark.parametrize("count", [None, 5])
def test_functions_of_links_take_out(model: dyn_core.Model, count: int | None) -> None:
    given = states(count)
    for name, vectors in (
        ("forward_kinematics", ("q",)),
        ("jacobian", ("q",)),
        ("jacobian_dot_qd", ("q", "qd")),
        ("link_velocity", ("q", "qd")),
        ("link_acceleration", ("q", "qd", "qdd")),
    ):
        function, args = getattr(model, name), [given[vector] for vector in vectors]
        expected = function(*args, LINK)
        out = np.full_like(expected, 7.0)
        assert function(*args, LINK, out=out) is out
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(function(*map(list, args), LINK), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "wrong", [{"q": 1}, {"p": 1}, {"q": 1, "qd": 1, "qdd": 1, "tau": 1}, {"q": 1, "qd": 1, "out": None}]
)
def test_wrong_names_are_python_errors(model: dyn_core.Model, wrong: dict[str, object]) -> None:
    given = {name: np.zeros(6) if value is not None else None for name, value in wrong.items()}
    with pytest.raises(TypeError):
        model.inverse_dynamics(**given)
    with pytest.raises(TypeError):
        model.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), q=np.zeros(6))


def test_a_pickled_model_keeps_its_compiled_links(model: dyn_core.Model) -> None:
    import pickle

    assert pickle.loads(pickle.dumps(model)).compiled_links == (LINK,)


def test_models_are_equal_while_their_parameters_are() -> None:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    a, b = (dyn_core.compile_model(robot, "runtime", "python") for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    b.set_parameters({"M3": 99.0})
    assert a != b


def test_a_robot_is_no_path() -> None:
    with pytest.raises(ValueError, match=r"^robot: expected what load_robot answers, but it is str"):
        dyn_core.compile_model("arm.urdf")  # type: ignore[arg-type]
