# SPDX-License-Identifier: Apache-2.0
"""From a parallel robot to its dynamics functions."""

from __future__ import annotations

from functools import partial
from typing import Literal

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.compile_options import Backend, Parameters, check_options, documentation, tuning_of
from dyn_core.facade.runnable import runnables
from dyn_core.facade.symbolic_robot import SymbolicRobot, symbolic_robot
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.parallel.compiled_model import ParallelModel
from dyn_core.model.parallel.dynamics_programs import parallel_kinds, parallel_program
from dyn_core.parallel.regroup import with_parallel_base_parameters
from dyn_core.robot.robot import Robot


def compile_parallel(
    robot: Robot,
    platform: str,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
    base_parameters: bool = False,
) -> ParallelModel:
    """Answer the dynamics functions of a parallel robot, in terms of the motion of its platform.

    Args:
        robot: the robot: passive joints place its platform, and loops connect legs to it (docs/parallel.md).
        platform: name of the link that is the platform.
        parameters: ``"baked"`` or ``"runtime"``, as for `compile_model`.
        backend: ``"auto"``, ``"c"`` or ``"python"``, as for `compile_model`.
        friction: whether the joints of the legs, passive ones too, have friction.
        rotor_inertia: whether the rotors have inertia.
        base_parameters: whether the inertial parameters are grouped first (see `parallel_base_parameters`),
            which changes no result, but for rounding, and leaves fewer operations.

    Raises:
        DynError: the robot is no parallel robot with this platform.
        NoCompiler: the backend ``"c"`` was asked for, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend)
    structure = parallel_robot(robot, platform)
    make = _baked if parameters == "baked" else _tunable
    return make(structure, backend, friction, rotor_inertia, bool(base_parameters))


def restored_parallel_model(
    robot: Robot,
    platform: str,
    backend: Literal["c", "python"],
    friction: bool,
    rotor_inertia: bool,
    base_parameters: bool,
    tuned: Array | None,
) -> ParallelModel:
    """Answer a model again from what `pickle` keeps of it."""
    parameters: Parameters = "baked" if tuned is None else "runtime"
    chosen: Backend = "auto" if backend == "c" else backend
    model = compile_parallel(robot, platform, parameters, chosen, friction, rotor_inertia, base_parameters)
    if tuned is not None:
        model.set_parameters(tuned[:-3], gravity=tuned[-3:])
    return model


def _terms(structure: ParallelRobot, friction: bool, rotor_inertia: bool) -> ParallelRobot:
    return structure.with_robot(with_terms(structure.robot, friction, rotor_inertia))


def _baked(
    structure: ParallelRobot, backend: Backend, friction: bool, rotor_inertia: bool, base_parameters: bool
) -> ParallelModel:
    """Answer a model with numbers for parameters."""

    def made_of() -> ParallelRobot:
        wanted = _terms(structure, friction, rotor_inertia)
        return with_parallel_base_parameters(wanted) if base_parameters else wanted

    traced = made_of()
    words = documentation(ParallelModel)
    names = list(parallel_kinds(structure))
    programs = [parallel_program(traced, name, words.get(name, ""), guarded=True) for name in names]
    compiled = None if backend == "python" else compiled_or_none(structure.robot, programs, backend)
    functions = dict(zip(names, compiled or runnables(programs, "python"), strict=True))
    used: Literal["c", "python"] = "c" if compiled else "python"
    program = partial(parallel_program, traced)
    return ParallelModel(
        structure, friction, rotor_inertia, base_parameters, used, functions, None, program, made_of
    )


def _tunable(
    structure: ParallelRobot, backend: Backend, friction: bool, rotor_inertia: bool, base_parameters: bool
) -> ParallelModel:
    """Answer a model with parameters that can be set."""

    def made_of() -> ParallelRobot:
        return _terms(structure, friction, rotor_inertia)

    def symbols() -> tuple[SymbolicRobot, ParallelRobot]:
        symbolic = symbolic_robot(structure.robot)
        wanted = structure.with_robot(with_terms(symbolic.robot, friction, rotor_inertia))
        return symbolic, with_parallel_base_parameters(wanted, "tilted") if base_parameters else wanted

    def program(name: str) -> Program:
        symbolic, traced = symbols()
        single = parallel_program(traced, name, graph=symbolic.graph)
        return staged([single], symbolic.parameters)[1][0]

    symbolic, traced = symbols()
    words = documentation(ParallelModel)
    names = list(parallel_kinds(structure))
    programs = [
        parallel_program(traced, name, words.get(name, ""), symbolic.graph, guarded=True) for name in names
    ]
    prepare, programs = staged(programs, symbolic.parameters)
    compiled = None if backend == "python" else compiled_or_none(structure.robot, programs, backend)
    functions = dict(zip(names, compiled or runnables(programs, "python"), strict=True))
    tuning = tuning_of(made_of().robot, runnables([prepare], "python")[0], friction, rotor_inertia)
    used: Literal["c", "python"] = "c" if compiled else "python"
    return ParallelModel(
        structure, friction, rotor_inertia, base_parameters, used, functions, tuning, program, made_of
    )
