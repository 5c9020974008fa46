# SPDX-License-Identifier: Apache-2.0
"""From a robot to its dynamics functions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Literal

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.facade.model import Model
from dyn_core.facade.programs import kinds, traced, with_terms
from dyn_core.facade.runnable import Function
from dyn_core.model.robot import Robot

Backend = Literal["auto", "c", "python"]

_log = logging.getLogger("dyn_core")


def compile_model(
    robot: Robot, friction: bool = True, rotor_inertia: bool = True, backend: Backend = "auto"
) -> Model:
    """Answer the dynamics functions of a robot, written and compiled for it alone.

    Args:
        robot: the robot.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        backend: ``"c"``: compiled by the C compiler, and kept in the user's cache; ``"python"``:
            straight-line Python; ``"auto"``: C, or, with a warning in the log, Python where there
            is no compiler.

    Raises:
        NoCompiler: the backend ``"c"`` was asked for, and nothing can be compiled here.
    """
    if backend not in ("auto", "c", "python"):
        raise ValueError(f"backend: expected 'auto', 'c' or 'python', but it is {backend!r}")
    made_of = with_terms(robot, friction, rotor_inertia)
    shapes = {name: kind.shape for name, kind in kinds(made_of).items()}
    functions: dict[str, Function] | None = None
    if backend != "python":
        # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
        from dyn_core.codegen.c_backend import c_functions
        from dyn_core.codegen.compiler import NoCompiler

        documentation = _documentation()
        programs = [traced(made_of, name, documentation.get(name, "")) for name in shapes]
        try:
            functions = dict(zip(shapes, c_functions(programs), strict=True))
        except NoCompiler as problem:
            if backend == "c":
                raise
            _log.warning("the model of '%s' runs in Python, which is slower: %s", robot.name, problem)
    if functions is not None:
        return Model(robot, friction, rotor_inertia, "c", functions, shapes)
    functions = {
        name: PythonFunction(partial(traced, made_of, name), shape) for name, shape in shapes.items()
    }
    return Model(robot, friction, rotor_inertia, "python", functions, shapes)


def _documentation() -> dict[str, str]:
    """What `help` shows of the compiled functions: what the class says of them."""
    methods = {name: method for name, method in vars(Model).items() if inspect.isfunction(method)}
    return {name: f"{name}{_signature(method)}\n--\n\n{method.__doc__}" for name, method in methods.items()}


def _signature(method: Callable[..., object]) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    words = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    return f"({', '.join(words)})"
