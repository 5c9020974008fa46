# SPDX-License-Identifier: Apache-2.0
"""The robot on the command line: the argument and the options that all commands with a robot have."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path
from typing import Any

from dyn_core.cli.options import Once, numbers, tolerance
from dyn_core.cli.standard_input import source_of
from dyn_core.core.errors import DynError
from dyn_core.identification.output.parameter_file import load_parameters
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.fixed_base.dynamics_programs import grouped, with_terms
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import load_robot
from dyn_core.robot.urdf.conversion import checked_snap

GRAVITY = "--gravity"
STANDING = "fixed"
"""What --base is for a base that stands still."""


def add_robot(parser: ArgumentParser, gravity: bool) -> None:
    """Let a command take a robot; with gravity, if its answer depends on that."""
    parser.add_argument("robot", metavar="ROBOT", help="path of a URDF or .par file; - for standard input")
    parser.add_argument(
        "--loops",
        metavar="FILE",
        help="side file (YAML) with loops, passive joints, rotor inertias, friction, springs, and whether "
        "the base moves",
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


def add_base(parser: ArgumentParser, moving: bool) -> None:
    """Let a command take what the base does.

    Args:
        parser: the parser of the command.
        moving: whether the command has something to say of a base that moves.
    """
    kinds = {
        STANDING: "it stands still",
        "free": "it moves in all ways, as forces say",
        "planar": "in a plane",
        "given": "as something else moves it",
    }
    chosen = kinds if moving else {STANDING: "it stands still, whatever the side file says"}
    words = ", ".join(f"{kind}: {meaning}" for kind, meaning in chosen.items())
    default = " (default: what the side file says, else fixed)" if moving else ""
    parser.add_argument(
        "--base", action=Once, choices=tuple(chosen), metavar="KIND", help=f"the base; {words}{default}"
    )


def chosen_base(robot: Robot, arguments: Namespace) -> BaseKind | None:
    """Answer how the base moves, as the command line or else the side file says; None: it stands still."""
    if arguments.base == STANDING:
        return None
    kind: BaseKind | None = arguments.base or robot.base
    return kind


def refuse_grouping(arguments: Namespace) -> None:
    """DynError where parameters are to be grouped of a robot whose base moves."""
    if arguments.base_parameters:
        raise DynError(
            "--base-parameters keeps the torques of the joints, and not what moves the base: "
            f"leave it out, or give --base {STANDING}"
        )


def standing(robot: Robot, arguments: Namespace) -> Robot:
    """Answer a robot on a base that stands still; DynError where nothing but this command says so."""
    if robot.base is not None and arguments.base is None:
        raise DynError(
            f"the side file of robot '{robot.name}' says that its base moves (base: {robot.base}), and this "
            f"command knows none that does: give --base {STANDING} for a base that is held"
        )
    return robot.with_fixed_base()


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
    """Answer the robot that the command line describes, on a base that stands still."""
    return standing(described_robot(arguments), arguments)


def described_robot(arguments: Namespace) -> Robot:
    """Answer the robot that the command line describes, whatever its base does."""
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
    """Answer the robot, on a base that stands still, with the terms that the command line wants."""
    return with_wanted_terms(robot_of(arguments), arguments)


def with_wanted_terms(robot: Robot, arguments: Namespace) -> Robot:
    """Answer a robot on a base that stands still with the terms that the command line wants."""
    robot = with_terms(robot, arguments.friction, arguments.rotor_inertia)
    return grouped(robot, arguments.base_parameters, gravity_changes=False)
