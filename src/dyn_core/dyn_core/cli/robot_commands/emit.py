# SPDX-License-Identifier: Apache-2.0
"""``dyn emit``: a function of a robot as source code."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial

from dyn_core.algorithms.dynamics.direct_dynamics import no_forward_dynamics
from dyn_core.algorithms.dynamics.elastic_dynamics import motors
from dyn_core.cli.console import Output, write_whole
from dyn_core.cli.function_arguments import (
    EMITTED,
    EMITTED_ON_BASE,
    OF_ELASTIC,
    OF_IDENTIFICATION,
    OF_LINK,
    OF_LOOPS,
    OF_MOTORS,
    ON_BASE,
    add_link,
    link_and_axes,
    link_of,
    link_program,
    refuse_link,
)
from dyn_core.cli.options import (
    Command,
    moving_kind,
    parametrised_robot,
    refuse_grouping,
    standing,
    with_terms_of,
)
from dyn_core.cli.robot_commands.evaluate import check_function
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.core.errors import DynError
from dyn_core.identification.regressor.momentum_energy import identification_program
from dyn_core.model.fixed_base.closed_loops import newton_program, unresisted_coordinates
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.fixed_base.elastic_joints import no_motors, no_springs, result_names
from dyn_core.model.fixed_base.lagrange_functions import OF_LAGRANGE
from dyn_core.model.moving_base.argument_checks import (
    NEEDED,
    refuse_given,
    refuse_unresisted,
    unresisted_on_base,
)
from dyn_core.model.moving_base.dynamics_programs import coordinate_inertia, with_base_terms
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK
from dyn_core.model.moving_base.named_entries import base_link_source, base_source
from dyn_core.robot.moving_base import MovingBase, moving_base
from dyn_core.robot.robot import Robot, refuse_springs

_KNOWN = tuple(dict.fromkeys((*EMITTED, *ON_BASE, *EMITTED_ON_BASE)))
_PUSHED = "pushed_"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    parser.add_argument(
        "--function", required=True, choices=_KNOWN, metavar="FUNCTION", help=", ".join(_KNOWN)
    )
    add_link(parser)
    parser.add_argument("--lang", required=True, choices=LANGUAGES, metavar="LANG", help=", ".join(LANGUAGES))
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")


def emit(arguments: Namespace) -> Output:
    """Return the source, or write it to the file that the command line names."""
    program, robot = _program_and_robot(arguments)
    text = emitted(program, robot, arguments.lang)
    if arguments.output is None:
        return Output(text.removesuffix("\n"))
    write_whole(arguments.output, text)
    return Output()


def _program_and_robot(arguments: Namespace) -> tuple[Program, Robot]:
    """Return the program of the function, and the robot of its joints."""
    robot = parametrised_robot(arguments)
    kind = moving_kind(robot, arguments)
    if kind is not None:
        base = moving_base(robot, kind)
        return _on_base(base, arguments), base.robot
    if arguments.function not in EMITTED:
        raise DynError("function-of-moving-base", function=arguments.function)
    robot = with_terms_of(standing(robot, arguments), arguments)
    return _program(robot, arguments), robot


def _on_base(described: MovingBase, arguments: Namespace) -> Program:
    """Return the program of a robot on a moving base."""
    function: str = arguments.function
    refuse_grouping(arguments)
    check_function(function, described.kind, (*ON_BASE, *EMITTED_ON_BASE, *OF_BASE_LINK))
    base = with_base_terms(described, arguments.friction, arguments.rotor_inertia)
    if function in OF_BASE_LINK:
        return base_link_source(base, function, link_of(base.robot, arguments, function))
    refuse_link(arguments, function)
    needed = function.removeprefix(_PUSHED)
    refuse_given(base, needed)
    if needed in NEEDED:
        refuse_unresisted(base, needed, unresisted_on_base(base, partial(coordinate_inertia, base))[needed])
    return base_source(base, function)


def _program(robot: Robot, arguments: Namespace) -> Program:
    """Return the program of the function."""
    function: str = arguments.function
    if function in OF_LINK:
        return link_program(robot, function, *link_and_axes(robot, arguments, function))
    refuse_link(arguments, function)
    if function in OF_LOOPS:
        return newton_program(robot)
    if function in OF_LAGRANGE:
        return OF_LAGRANGE[function](robot)
    if function in OF_IDENTIFICATION:
        refuse_springs(robot, "identification")
        terms = {"friction": arguments.friction, "rotor_inertia": arguments.rotor_inertia}
        return identification_program(robot, function, **terms)
    if function in OF_ELASTIC and not robot.elastic_joint_names:
        raise no_springs(robot)
    if function in OF_MOTORS and function not in kinds(robot):
        raise no_motors(robot)
    program = traced(robot, function)
    if function == "elastic_inverse_dynamics":
        names, rigid = result_names(robot), robot.dof - len(robot.elastic_joint_names)
        kinds_of_entries = ("torque",) * rigid + ("acceleration",) * (len(names) - rigid)
        entries = (f"{kind}:{name}" for kind, name in zip(kinds_of_entries, names, strict=True))
        program = replace(program, columns=tuple(entries))
    if function in OF_MOTORS:
        motor_names = tuple(robot.joints[number - 1].name for number in motors(robot))
        program = replace(program, columns=motor_names)
    unresisted = unresisted_coordinates(robot) if function == "forward_dynamics" else ()
    if unresisted:
        raise no_forward_dynamics(robot, unresisted)
    return program


COMMAND = Command(
    description="Write a dynamics function of a robot as source code with the numbers of this robot, "
    "which needs no other source.",
    run=emit,
    add_arguments=add_arguments,
    parameters=True,
    terms=True,
    json=False,
    base="moving",
)
