# SPDX-License-Identifier: Apache-2.0
"""Models that compile only named functions at once, and other functions at their first use."""

from __future__ import annotations

import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from refusals import refused
from robots import ROBOTS, example, loop_robot

import dyn_core
from dyn_core.model import builder
from dyn_core.model.built_model import BuiltModel

PARAMETERS = pytest.mark.parametrize("parameters", ["baked", "runtime"])
BACKENDS = pytest.mark.parametrize("backend", ["c", "python"])
POSE = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
RRP = example("rrp")


def compiled(model: BuiltModel) -> tuple[str, ...]:
    return model._functions.made


def states(count: int = 3, size: int = 3) -> list[np.ndarray]:
    return list(np.random.default_rng(3).uniform(-1.0, 1.0, (count, size)))


def check_same(models: tuple[BuiltModel, BuiltModel], name: str, *args: object, **options: object) -> None:
    ours, theirs = (getattr(model, name)(*args, **options) for model in models)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@BACKENDS
@PARAMETERS
def test_a_named_function_is_compiled_alone_and_another_at_its_first_use(
    parameters: str, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = dyn_core.compile_model(RRP, parameters, backend)
    q, qd, qdd = states()
    with caplog.at_level(logging.INFO, "dyn_core"):
        model = dyn_core.compile_model(RRP, parameters, backend, functions=("inverse_dynamics",))
        assert compiled(model) == ("inverse_dynamics",)
        check_same((model, whole), "inverse_dynamics", q, qd, qdd)
        assert not caplog.records
        assert "gravity_torques" not in vars(model)
        check_same((model, whole), "gravity_torques", q)
        assert "gravity_torques" in vars(model)
        model.gravity_torques(q)
    assert compiled(model) == ("inverse_dynamics", "gravity_torques")
    (message,) = (record.msg for record in caplog.records)
    assert message.code == "function-compiled-late"
    assert (message.values["robot"], message.values["function"]) == ("rrp", "gravity_torques")
    assert model == whole
    assert model.operation_counts("regressor") == whole.operation_counts("regressor")
    assert "regressor" not in compiled(model)
    check_same((model, whole), "inverse_dynamics", q, qd, qdd, {"slider": [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]})
    assert "external_torques" in compiled(model)


def test_a_slow_first_use_gives_a_warning(monkeypatch, caplog: pytest.LogCaptureFixture) -> None:
    for limit, level in ((0.0, logging.WARNING), (1e9, logging.INFO)):
        monkeypatch.setattr(builder, "LATE_S", limit)
        caplog.clear()
        with caplog.at_level(logging.INFO, "dyn_core"):
            dyn_core.compile_model(RRP, functions=()).friction_torques(np.zeros(3))
        assert [record.levelno for record in caplog.records] == [level]


@BACKENDS
def test_functions_compiled_late_have_the_present_parameters(backend: str) -> None:
    q, qd, x = states()
    robot = RRP.with_parameters(np.random.default_rng(5).uniform(0.5, 1.5, 14 * 3) * RRP.parameters)
    model = dyn_core.compile_model(RRP, "runtime", backend, functions=("coriolis_torques",))
    models = model, dyn_core.compile_model(RRP, "runtime", backend)
    functions = {"coriolis_torques": (q, qd), "gravity_torques": (q,)}
    functions |= dict.fromkeys(("inverse_dynamics", "forward_dynamics", "regressor"), (q, qd, x))
    for k, (function, arguments) in enumerate(functions.items()):
        first, second = (robot, RRP) if k % 2 else (RRP, robot)
        for present in (first, second):
            for each in models:
                each.set_parameters(present.parameters, gravity=(0.3, -0.2, -9.0))
            getattr(model, function)(*arguments)
        for name, given in list(functions.items())[: k + 1]:
            check_same(models, name, *given)
    assert set(compiled(model)) == {*functions, "inertia_matrix"}


def test_forward_dynamics_compiled_late_name_joints_without_inertia() -> None:
    massless = RRP.with_parameters([0.0] * len(RRP.parameters))
    for parameters in ("baked", "runtime"):
        model = dyn_core.compile_model(massless, parameters, functions=())
        with refused("joints-without-inertia"):
            model.forward_dynamics(*states())
    model.set_parameters(RRP.parameters)
    check_same((model, dyn_core.compile_model(RRP)), "forward_dynamics", *states())


@PARAMETERS
def test_many_threads_can_use_a_function_first(parameters: str, caplog) -> None:
    model = dyn_core.compile_model(RRP, parameters, functions=())
    start = threading.Barrier(4)

    def use(_: int) -> np.ndarray:
        start.wait(60)
        return model.inverse_dynamics(*states())

    with caplog.at_level(logging.INFO, "dyn_core"), ThreadPoolExecutor(4) as pool:
        results = list(pool.map(use, range(4)))
    assert len(caplog.records) == 1
    expected = dyn_core.compile_model(RRP, parameters).inverse_dynamics(*states())
    np.testing.assert_allclose(results, [expected] * 4, rtol=1e-13)


@PARAMETERS
def test_models_without_detours_are_compiled_late_too(parameters: str) -> None:
    robot = loop_robot("five_bar")
    model = dyn_core.compile_model(robot, parameters, detours=False, functions=("gravity_torques",))
    assert not model.detours
    other = dyn_core.compile_model(robot, parameters)
    q, qd, qdd = np.zeros((3, robot.dof))
    first = model.without_detours()
    check_same((first, other), "inverse_dynamics", q, qd, qdd)
    assert "inverse_dynamics" not in compiled(model)
    check_same((model, other), "inertia_matrix", q)
    check_same((first, other), "bias_torques", q, qd)
    if parameters == "runtime":
        for each in (model, first, other):
            each.set_parameters(2.0 * np.array(robot.parameters))
    for each in (model, first):
        check_same((each, other), "inertia_matrix", q)
        check_same((each, other), "inverse_dynamics", q, qd, qdd)


ELASTIC, GOUGH_STEWART = example("rx90", loops=ROBOTS / "rx90_elastic.yaml"), loop_robot("gough_stewart")
CASES: dict[str, tuple[dyn_core.Robot, Any, dict[str, Any], str]] = {
    "fixed": (RRP, dyn_core.compile_model, {}, "inverse_dynamics"),
    "elastic": (ELASTIC, dyn_core.compile_model, {"backend": "python"}, "gravity_torques"),
    "free": (example("planar_base"), dyn_core.compile_moving_base, {"base": "free"}, "momentum"),
    "parallel": (GOUGH_STEWART, dyn_core.compile_parallel, {"platform": "platform"}, "inverse_jacobian"),
}


@PARAMETERS
@pytest.mark.parametrize("kind", CASES)
def test_models_of_all_kinds(kind: str, parameters: str) -> None:
    """Pickle keeps the named functions; others are compiled late, with the present parameters."""
    robot, compile_it, options, name = CASES[kind]
    options = {**options, "parameters": parameters}
    models = tuple(compile_it(robot, functions=names, **options) for names in ((name,), None))
    if parameters == "runtime":
        for each in models:
            each.set_parameters({"M3": 7.0})
    again = pickle.loads(pickle.dumps(models[0]))
    assert again == models[0]
    for model in (models[0], again):
        assert compiled(model) == (name,)
        for function, arguments, forces in calls(kind, model):
            check_same((model, models[1]), function, *arguments, **forces)
    if kind == "elastic":
        assert compiled(again) == (name, "elastic_inverse_dynamics", "inertia_matrix", "spring_torques")
    if kind == "parallel":
        assert compiled(again) == (name, "jacobian")


def calls(kind: str, model: BuiltModel) -> list[tuple[str, tuple, dict[str, object]]]:
    if kind == "parallel":
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = model.structure.T_home
        np.testing.assert_allclose(model.jacobian(T) @ model.inverse_jacobian(T), np.eye(6), atol=1e-9)
        return [("jacobian", (T,), {}), ("inverse_jacobian", (T,), {})]
    q, qd, x = states(3, len(model.joint_names))
    if kind == "fixed":
        return [("inverse_dynamics", (q, qd, x), {}), ("gravity_torques", (q,), {})]
    if kind == "elastic":
        rigid = np.ones(len(model.rigid_joint_names))
        return [("elastic_inverse_dynamics", (q, qd, rigid), {}), ("spring_torques", (q, qd), {})]
    V, F = states(2, 6)
    moved = (POSE, V, q, qd)
    pushed = ("inverse_dynamics", (*moved, x), {"F": F})
    return [("forward_dynamics", (*moved, x), {}), pushed, ("momentum", moved, {})]


def test_unknown_function_names_are_refused() -> None:
    for kind, name in (("fixed", "torque"), ("free", "bias_torques"), ("parallel", "x")):
        robot, compile_it, options, known = CASES[kind]
        with refused("functions-unknown", function=name):
            compile_it(robot, functions=[known, name], **options)
    with refused("argument-type", argument="functions", expected="a sequence of names"):
        dyn_core.compile_model(RRP, functions="inverse_dynamics")
