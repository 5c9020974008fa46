# SPDX-License-Identifier: Apache-2.0
"""``dyn emit``: a function of a robot as source code."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial

from dyn_core.algorithms.dynamics.elastic_dynamics import motors
from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import only_on_base
from dyn_core.cli.console import write_whole
from dyn_core.cli.evaluate_base import check_function
from dyn_core.cli.function_arguments import (
    EMITTED,
    EMITTED_ON_BASE,
    OF_ELASTIC,
    OF_IDENTIFICATION,
    OF_LINK,
    OF_LOOPS,
    OF_MOTORS,
    ON_BASE,
)
from dyn_core.cli.link_options import add_link, link_and_axes, link_of, link_program, refuse_link
from dyn_core.cli.robot_options import (
    chosen_base,
    described_robot,
    refuse_grouping,
    standing,
    with_wanted_terms,
)
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.dynamics.unresisted import no_forward_dynamics
from dyn_core.facade.closed import newton_program
from dyn_core.facade.elastic_programs import no_motors, no_springs, result_names
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.facade.moving_base_sources import base_link_source, base_source
from dyn_core.facade.moving_base_unresisted import NEEDED, refuse_unresisted, unresisted_on_base
from dyn_core.facade.unresisted_coordinates import unresisted_coordinates
from dyn_core.identification.programs import identification_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.moving_base.argument_checks import refuse_given
from dyn_core.model.moving_base.dynamics_programs import coordinate_inertia, with_base_terms
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import Robot

_KNOWN = tuple(dict.fromkeys((*EMITTED, *ON_BASE, *EMITTED_ON_BASE)))
_PUSHED = "pushed_"


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a function, a language and a file."""
    parser.add_argument(
        "--function", required=True, choices=_KNOWN, metavar="FUNCTION", help=", ".join(_KNOWN)
    )
    add_link(parser)
    parser.add_argument("--lang", required=True, choices=LANGUAGES, metavar="LANG", help=", ".join(LANGUAGES))
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")


def emit(arguments: Namespace) -> Answer:
    """Answer the source, or write it to the file that was asked for and answer nothing."""
    program, robot = _program_and_robot(arguments)
    text = emitted(program, robot, arguments.lang)
    if arguments.output is None:
        return Answer(text.removesuffix("\n"))
    write_whole(arguments.output, text)
    return Answer("")


def _program_and_robot(arguments: Namespace) -> tuple[Program, Robot]:
    """Answer the program that was asked for, and the robot whose joints it is of."""
    robot = described_robot(arguments)
    kind = chosen_base(robot, arguments)
    if kind is not None:
        base = moving_base(robot, kind)
        return _on_base(base, arguments), base.robot
    if arguments.function not in EMITTED:
        raise only_on_base(arguments.function)
    robot = with_wanted_terms(standing(robot, arguments), arguments)
    return _program(robot, arguments), robot


def _on_base(described: MovingBase, arguments: Namespace) -> Program:
    """Answer the program of a robot whose base moves."""
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
