# SPDX-License-Identifier: Apache-2.0
"""From a robot to its dynamics functions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.expr.analysis import operation_counts
from dyn_core.facade.model import Backend, Function, Model
from dyn_core.facade.programs import Terms, programs
from dyn_core.model.robot import Robot

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
    traced = programs(robot, Terms(friction, rotor_inertia), _documentation())
    counts = {name: operation_counts(program.results) for name, program in traced.items()}
    if backend != "python":
        # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
        from dyn_core.codegen.c_backend import c_functions
        from dyn_core.codegen.compiler import NoCompiler

        try:
            compiled: dict[str, Function] = dict(zip(traced, c_functions(list(traced.values())), strict=True))
            return Model(robot, friction, rotor_inertia, "c", compiled, counts)
        except NoCompiler as problem:
            if backend == "c":
                raise
            _log.warning("the model of '%s' runs in Python, which is slower: %s", robot.name, problem)
    interpreted: dict[str, Function] = {name: PythonFunction(program) for name, program in traced.items()}
    return Model(robot, friction, rotor_inertia, "python", interpreted, counts)


def _documentation() -> dict[str, str]:
    """What `help` shows of the compiled functions: what the class says of them."""
    methods = {name: method for name, method in vars(Model).items() if inspect.isfunction(method)}
    return {name: f"{name}{_signature(method)}\n--\n\n{method.__doc__}" for name, method in methods.items()}


def _signature(method: Callable[..., object]) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    words = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
    return f"({', '.join(words)})"
