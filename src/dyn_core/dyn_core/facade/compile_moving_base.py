# SPDX-License-Identifier: Apache-2.0
"""From a robot whose base moves to its dynamics functions."""

from __future__ import annotations

from functools import partial
from typing import Literal

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.compile_options import (
    Backend,
    Parameters,
    check_options,
    documentation,
    tuning_of,
)
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.moving_base.compiled_model import MovingBaseModel
from dyn_core.model.moving_base.dynamics_programs import (
    base_kinds,
    base_program,
    symbolic_base,
    with_base_terms,
)
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import Robot


def compile_moving_base(
    robot: Robot,
    base: BaseKind | None = None,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
) -> MovingBaseModel:
    """Answer the dynamics functions of a robot whose base moves, written and compiled for it alone.

    The base is the child link of a planar or floating joint at the root of the URDF; without one it is the
    root link.

    Args:
        robot: the robot.
        base: ``"free"``: the base moves in all ways; ``"planar"``: in the plane of the planar joint at the
            root, or in the xy-plane of its link where there is none; ``"given"``: as something else moves
            it; None: as the side file (``base: free``) or else the joint at the root says.
        parameters: ``"baked"`` or ``"runtime"``, as for `compile_model`.
        backend: ``"auto"``, ``"c"`` or ``"python"``, as for `compile_model`.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.

    Raises:
        DynError: nothing says how the base moves, or it cannot be such a base; or a joint is elastic.
        NoCompiler: the backend ``"c"`` was asked for, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend)
    of_robot = moving_base(robot, base)
    make = _baked if parameters == "baked" else _tunable
    return make(of_robot, (robot, of_robot.kind), backend, friction, rotor_inertia)


def restored_moving_base_model(
    robot: Robot,
    base: BaseKind,
    backend: Literal["c", "python"],
    friction: bool,
    rotor_inertia: bool,
    tuned: Array | None,
) -> MovingBaseModel:
    """Answer a model again from what `pickle` keeps of it."""
    parameters: Parameters = "baked" if tuned is None else "runtime"
    chosen: Backend = "auto" if backend == "c" else backend
    model = compile_moving_base(robot, base, parameters, chosen, friction, rotor_inertia)
    if tuned is not None:
        model.set_parameters(tuned[:-3], gravity=tuned[-3:])
    return model


def _baked(
    base: MovingBase,
    source: tuple[Robot, BaseKind],
    backend: Backend,
    friction: bool,
    rotor_inertia: bool,
) -> MovingBaseModel:
    """Answer a model with numbers for parameters."""
    made_of = with_base_terms(base, friction, rotor_inertia)
    program = partial(base_program, made_of)
    kinds = base_kinds(base)
    if backend != "python":
        words = documentation(MovingBaseModel)
        programs = [program(name, words.get(name, "")) for name in kinds]
        compiled = compiled_or_none(base.robot, programs, backend)
        if compiled is not None:
            functions = dict(zip(kinds, compiled, strict=True))
            return MovingBaseModel(base, friction, rotor_inertia, "c", source, functions, None, program)
    lazy = {
        # Traced at its first call.
        name: Runnable(PythonFunction(partial(program, name), kind.shape), kind.shape, tunable=False)
        for name, kind in kinds.items()
    }
    return MovingBaseModel(base, friction, rotor_inertia, "python", source, lazy, None, program)


def _tunable(
    base: MovingBase,
    source: tuple[Robot, BaseKind],
    backend: Backend,
    friction: bool,
    rotor_inertia: bool,
) -> MovingBaseModel:
    """Answer a model with parameters that can be set."""
    made_of = with_base_terms(base, friction, rotor_inertia)

    def program(name: str) -> Program:
        symbolic = symbolic_base(made_of)
        traced = with_base_terms(symbolic.base, friction, rotor_inertia)
        single = base_program(traced, name, "", symbolic.graph, symbolic.parameters)
        return staged([single], symbolic.parameters)[1][0]

    symbolic = symbolic_base(made_of)
    # Symbols take the place of the terms that were left out, too.
    traced = with_base_terms(symbolic.base, friction, rotor_inertia)
    words = documentation(MovingBaseModel)
    names = list(base_kinds(base))
    programs = [
        base_program(traced, name, words.get(name, ""), symbolic.graph, symbolic.parameters) for name in names
    ]
    prepare, programs = staged(programs, symbolic.parameters)
    compiled = None if backend == "python" else compiled_or_none(base.robot, programs, backend)
    functions = dict(zip(names, compiled or runnables(programs, "python"), strict=True))
    used: Literal["c", "python"] = "c" if compiled else "python"
    tuning = tuning_of(made_of, runnables([prepare], "python")[0], friction, rotor_inertia)
    return MovingBaseModel(base, friction, rotor_inertia, used, source, functions, tuning, program)
