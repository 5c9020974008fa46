# SPDX-License-Identifier: Apache-2.0
"""The robot on the command line: the argument and the options that all commands with a robot have."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path
from typing import Any

from dyn_core.cli.numbers import Once, numbers, tolerance
from dyn_core.cli.standard_input import source_of
from dyn_core.facade.load import load_robot
from dyn_core.facade.programs import grouped, with_terms
from dyn_core.io.snap import checked_snap
from dyn_core.model.robot import Robot
from dyn_core.results.load_parameters import load_parameters

GRAVITY = "--gravity"


def add_robot(parser: ArgumentParser, gravity: bool) -> None:
    """Let a command take a robot; with gravity, if its answer depends on that."""
    parser.add_argument("robot", metavar="ROBOT", help="path of a URDF or .par file; - for standard input")
    parser.add_argument(
        "--loops",
        metavar="FILE",
        help="side file (YAML) with loops, passive joints, rotor inertias, friction and springs",
    )
    parser.add_argument(
        "--snap",
        metavar="RAD",
        default="digits",
        help="make angles exact that are within this tolerance of a multiple of pi/4 (rad); 0: none; digits "
        "(default): those that are printed like a rounding of one",
    )
    if gravity:
        parser.add_argument(
            GRAVITY,
            action=Once,
            metavar="X Y Z",
            help="acceleration of gravity in the frame of the root link, m/s^2 (default: 0 0 -9.81, or that "
            "of the .par file)",
        )


def add_parameters(parser: ArgumentParser) -> None:
    """Let a command take identified parameters in the place of those of the description."""
    parser.add_argument(
        "--parameters",
        metavar="FILE",
        help="parameters.yaml that dyn identify has written, in the place of masses, inertias, rotors and "
        "friction of the description",
    )


def loading(arguments: Namespace) -> dict[str, Any]:
    """Answer how the robot is to be loaded, as arguments of `load_robot`; DynError for a mistake in them."""
    given = getattr(arguments, "gravity", None)
    return {
        # A path, so that no name of a file is taken for YAML text.
        "loops": None if arguments.loops is None else Path(arguments.loops),
        "gravity": None if given is None else numbers(GRAVITY, given, 3),
        "snap": "digits" if arguments.snap == "digits" else checked_snap(tolerance("--snap", arguments.snap)),
    }


def robot_of(arguments: Namespace) -> Robot:
    """Answer the robot that the command line describes."""
    options = loading(arguments)
    robot = load_robot(source_of(arguments.robot), **options)
    file = getattr(arguments, "parameters", None)
    return robot if file is None else load_parameters(file).applied_to(robot)


def add_terms(parser: ArgumentParser) -> None:
    """Let a command leave out friction or rotors, or group parameters."""
    for name in ("friction", "rotor-inertia"):
        parser.add_argument(
            f"--{name}",
            action=BooleanOptionalAction,
            default=True,
            help=f"with {name.replace('-', ' ')}, or without",
        )
    parser.add_argument(
        "--base-parameters",
        action="store_true",
        help="group the inertial parameters first: the same results from fewer operations",
    )


def dynamic_robot_of(arguments: Namespace) -> Robot:
    """Answer the robot with the terms that the command line wants."""
    robot = with_terms(robot_of(arguments), arguments.friction, arguments.rotor_inertia)
    return grouped(robot, arguments.base_parameters, gravity_changes=False)
