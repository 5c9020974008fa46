# SPDX-License-Identifier: Apache-2.0
"""``dyn emit``: a function of a robot as source code."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace

from dyn_core.cli.answer import Answer
from dyn_core.cli.functions import EMITTED, OF_ELASTIC, OF_IDENTIFICATION, OF_LINK, OF_LOOPS, OF_MOTORS
from dyn_core.cli.link_options import add_link, link_and_axes, link_program, refuse_link
from dyn_core.cli.output_file import write_whole
from dyn_core.cli.robot_options import dynamic_robot_of
from dyn_core.codegen.languages import LANGUAGES, emitted
from dyn_core.codegen.program import Program
from dyn_core.dynamics.motor_motion import motors
from dyn_core.dynamics.unresisted import no_forward_dynamics
from dyn_core.facade.closed import newton_program
from dyn_core.facade.elastic_programs import no_motors, no_springs, result_names
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.facade.programs import kinds, traced
from dyn_core.facade.unresisted_coordinates import unresisted_coordinates
from dyn_core.identification.programs import identification_program
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.model.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a function, a language and a file."""
    parser.add_argument(
        "--function", required=True, choices=EMITTED, metavar="FUNCTION", help=", ".join(EMITTED)
    )
    add_link(parser)
    parser.add_argument("--lang", required=True, choices=LANGUAGES, metavar="LANG", help=", ".join(LANGUAGES))
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")


def emit(arguments: Namespace) -> Answer:
    """Answer the source, or write it to the file that was asked for and answer nothing."""
    robot = dynamic_robot_of(arguments)
    text = emitted(_program(robot, arguments), robot, arguments.lang)
    if arguments.output is None:
        return Answer(text.removesuffix("\n"))
    write_whole(arguments.output, text)
    return Answer("")


def _program(robot: Robot, arguments: Namespace) -> Program:
    """Answer the program of the function that was asked for."""
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
        program = replace(program, columns=_entries(robot))
    if function in OF_MOTORS:
        names = tuple(robot.joints[number - 1].name for number in motors(robot))
        program = replace(program, columns=names)
    unresisted = unresisted_coordinates(robot) if function == "forward_dynamics" else ()
    if unresisted:
        raise no_forward_dynamics(robot, unresisted)
    return program


def _entries(robot: Robot) -> tuple[str, ...]:
    """What the entries of the result of the inverse dynamics of elastic joints are."""
    rigid = robot.dof - len(robot.elastic_joint_names)
    names = result_names(robot)
    return (
        *(f"torque:{name}" for name in names[:rigid]),
        *(f"acceleration:{name}" for name in names[rigid:]),
    )
