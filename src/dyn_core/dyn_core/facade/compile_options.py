# SPDX-License-Identifier: Apache-2.0
"""What the functions that compile models have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Literal

from dyn_core.facade.runnable import Runnable
from dyn_core.model.built_model import Described
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.robot.robot import Robot

Backend = Literal["auto", "c", "python"]
Parameters = Literal["baked", "runtime"]


def check_options(robot: Robot, parameters: str, backend: str) -> None:
    """Refuse what is no robot, and choices that there are not; ValueError."""
    if backend not in ("auto", "c", "python"):
        raise ValueError(f"backend: expected 'auto', 'c' or 'python', but it is {backend!r}")
    if parameters not in ("baked", "runtime"):
        raise ValueError(f"parameters: expected 'baked' or 'runtime', but it is {parameters!r}")
    if not isinstance(robot, Robot):
        raise ValueError(f"robot: expected what load_robot answers, but it is {type(robot).__name__}")


def tuning_of(robot: Described, prepare: Runnable, friction: bool, rotor_inertia: bool) -> Tuning:
    """Answer the parameters of a model that can be set, which begin with those of the robot.

    Args:
        robot: the robot, or that on a moving base, without the terms that are left out.
        prepare: computes what the programs are given from the parameters and gravity.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
    """
    options = {"friction": friction, "rotor_inertia": rotor_inertia}
    left_out = frozenset(option for option, wanted in options.items() if not wanted)
    tuning = Tuning(robot.parameter_names, prepare, left_out)
    tuning.renew(robot.parameters, robot.gravity)
    return tuning


def documentation(model: type) -> dict[str, str]:
    """Answer what `help` shows of compiled functions, by name: what the class of the model says of them."""
    methods = {name: method for name, method in vars(model).items() if inspect.isfunction(method)}
    return {name: f"{name}{_signature(method)}\n--\n\n{method.__doc__}" for name, method in methods.items()}


def _signature(method: Callable[..., object]) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    words = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    return f"({', '.join(words)})"
