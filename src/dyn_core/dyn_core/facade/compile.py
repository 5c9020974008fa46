# SPDX-License-Identifier: Apache-2.0
"""From a robot to its dynamics functions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.compile_options import Backend, Parameters, check_options, documentation, tuning_of
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.facade.search import Search
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.dynamics_programs import (
    Kind,
    Method,
    grouped,
    kinds,
    traced,
    tunable,
    with_terms,
)
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.robot.robot import Robot

_log = logging.getLogger("dyn_core")


def compile_model(
    robot: Robot,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
    links: Sequence[str] = (),
    base_parameters: bool = False,
    detours: bool = True,
    method: Method = "auto",
) -> Model:
    """Answer the dynamics functions of a robot, written and compiled for it alone.

    Args:
        robot: the robot.
        parameters: ``"baked"``: masses, inertias, friction, rotors and gravity are numbers in the code,
            which is fastest; ``"runtime"``: `Model.set_parameters` changes them.
        backend: ``"c"``: compiled by the C compiler, and kept in the user's cache; ``"python"``:
            straight-line Python; ``"auto"``: C, or, with a warning in the log, Python where there
            is no compiler.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        links: links whose placements, Jacobians and motions will be asked for: they are compiled now
            and not at the first call.
        base_parameters: whether the inertial parameters are grouped first (see `base_parameters`), which
            changes no result, but for rounding, and leaves fewer operations. What is set of a model with
            parameters ``"runtime"`` are the standard parameters all the same.
        detours: of a robot with loops, whether ways round are searched for to positions to which no straight
            line leads from the assembly, or from the last position if that is near. Where there are none this
            may take a second; a control loop, whose positions follow one another, misses nothing without.
        method: ``"auto"``: each function by the algorithm that has the fewest operations for this robot;
            ``"mrnea"``: inertia matrix and direct dynamics by the pass of the modified Newton-Euler
            recursion that gives inertia matrix and bias torques together.

    Raises:
        DynError: the side file of the robot says that its base moves: see `compile_moving_base`.
        NoCompiler: the backend ``"c"`` was asked for, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend)
    refuse_moving_base(robot, "compile_model", "compile_moving_base")
    if method not in ("auto", "mrnea"):
        raise ValueError(f"method: expected 'auto' or 'mrnea', but it is {method!r}")
    for link in links:
        robot.link_frame(link)
    make = _baked if parameters == "baked" else _tunable
    model = make(robot, backend, friction, rotor_inertia, bool(base_parameters), method)
    if robot.loops and not detours:
        model = model.without_detours()
    model.compile_links(links)
    return model


def restored_model(
    robot: Robot,
    backend: Literal["c", "python"],
    friction: bool,
    rotor_inertia: bool,
    tuned: Array | None,
    links: Sequence[str],
    base_parameters: bool,
    detours: bool,
    method: Method,
) -> Model:
    """Answer a model again from what `pickle` keeps of it.

    Where there was a compiler there may be none now: the answer is a slower model, and a warning in the log.

    Args:
        robot: the robot.
        backend: what computed.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        tuned: the parameters and gravity; None where they are baked in.
        links: links of which functions were compiled.
        base_parameters: whether parameters are grouped.
        detours: whether ways round are searched for.
        method: which algorithms compute.
    """
    parameters: Parameters = "baked" if tuned is None else "runtime"
    chosen: Backend = "auto" if backend == "c" else backend
    model = compile_model(
        robot, parameters, chosen, friction, rotor_inertia, links, base_parameters, detours, method
    )
    if tuned is not None:
        model.set_parameters(tuned[:-3], gravity=tuned[-3:])
    return model


def _baked(
    robot: Robot,
    backend: Backend,
    friction: bool,
    rotor_inertia: bool,
    base_parameters: bool,
    method: Method,
) -> Model:
    """Answer a model with numbers for parameters."""
    made_of = with_terms(robot, friction, rotor_inertia)
    functions = kinds(made_of)
    made_of = grouped(made_of, base_parameters, gravity_changes=False)
    if backend != "python":
        words = documentation(Model)
        programs = [traced(made_of, name, words.get(name, ""), method) for name in functions]
        compiled = compiled_or_none(robot, programs, backend)
        if compiled is not None:
            by_name = dict(zip(functions, compiled, strict=True))
            return Model(robot, friction, rotor_inertia, base_parameters, "c", by_name, None, method=method)
    lazy = {name: _when_called(made_of, name, kind, method) for name, kind in functions.items()}
    return Model(robot, friction, rotor_inertia, base_parameters, "python", lazy, None, method=method)


def _when_called(made_of: Robot, name: str, kind: Kind, method: Method) -> Runnable:
    """Answer a function in Python that is traced at its first call."""
    program = partial(traced, made_of, name, method=method)
    search = Search(program) if made_of.loops else None
    return Runnable(PythonFunction(program, kind.shape), kind.shape, tunable=False, search=search)


def _tunable(
    robot: Robot,
    backend: Backend,
    friction: bool,
    rotor_inertia: bool,
    base_parameters: bool,
    method: Method,
) -> Model:
    """Answer a model with parameters that can be set."""
    made_of = with_terms(robot, friction, rotor_inertia)
    words = documentation(Model)
    names = list(kinds(made_of))
    symbolic = symbolic_robot(made_of)
    # Symbols take the place of the terms that were left out, too.
    with_symbols = with_terms(symbolic.robot, friction, rotor_inertia)
    symbolic = replace(symbolic, robot=grouped(with_symbols, base_parameters, gravity_changes=True))
    programs = [tunable(symbolic, name, words.get(name, ""), method) for name in names]
    prepare, programs = staged(programs, symbolic.parameters)
    compiled = None if backend == "python" else compiled_or_none(robot, programs, backend)
    functions = dict(zip(names, compiled or runnables(programs, "python"), strict=True))
    tuning = tuning_of(made_of, runnables([prepare], "python")[0], friction, rotor_inertia)
    used: Literal["c", "python"] = "c" if compiled else "python"
    return Model(robot, friction, rotor_inertia, base_parameters, used, functions, tuning, method=method)


def compiled_or_none(robot: Robot, programs: Sequence[Program], backend: Backend) -> list[Runnable] | None:
    """Answer compiled programs; None, with a warning in the log, where this cannot be and need not be."""
    # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
    from dyn_core.codegen.compiler import NoCompiler

    try:
        return runnables(programs, "c")
    except NoCompiler as problem:
        if backend == "c":
            raise
        _log.warning("the model of '%s' runs in Python, which is slower: %s", robot.name, problem)
        return None
