# SPDX-License-Identifier: Apache-2.0
"""``dyn emit``: a function of a robot as source code."""

from __future__ import annotations

from argparse import Namespace

from dyn_core.cli.answer import Answer
from dyn_core.cli.output_file import write_whole
from dyn_core.cli.robot_options import dynamic_robot_of
from dyn_core.codegen.languages import emitted
from dyn_core.dynamics.unresisted import no_forward_dynamics, unresisted_joints
from dyn_core.facade.programs import traced


def emit(arguments: Namespace) -> Answer:
    """Answer the source, or write it to the file that was asked for and answer nothing."""
    robot = dynamic_robot_of(arguments)
    program = traced(robot, arguments.function)
    unresisted = unresisted_joints(robot) if arguments.function == "forward_dynamics" else ()
    if unresisted:
        raise no_forward_dynamics(robot, unresisted)
    text = emitted(program, robot, arguments.lang)
    if arguments.output is None:
        return Answer(text.removesuffix("\n"))
    write_whole(arguments.output, text)
    return Answer("")
