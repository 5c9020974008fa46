# SPDX-License-Identifier: Apache-2.0
"""The link on the command line, for functions that belong to one, and what those are as programs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace

from dyn_core.cli.function_arguments import OF_LINK
from dyn_core.codegen.identifier import identifier
from dyn_core.codegen.traced_program import Program
from dyn_core.core.errors import DynError, listed
from dyn_core.model.fixed_base.link_functions import OF_LINKS
from dyn_core.robot.robot import Robot

_AXES = "on the axes of link"
_MEANING = {
    "forward_kinematics": ("placement of link", "lengths in m, 4 x 4, in the frame of link"),
    "jacobian": ("Jacobian of the frame of link", f"[linear; angular] = J qd, {_AXES}"),
    "jacobian_dot_qd": (
        "rate of the Jacobian times qd of link",
        f"[linear (m/s^2); angular (rad/s^2)], {_AXES}",
    ),
    "link_velocity": ("velocity of link", f"[linear (m/s); angular (rad/s)], {_AXES}"),
    "link_acceleration": ("acceleration of link", f"[linear (m/s^2); angular (rad/s^2)], {_AXES}"),
}


def add_link(parser: ArgumentParser) -> None:
    """Let a command take a link, and the link in whose frame, or on whose axes, the result is."""
    parser.add_argument(
        "--link", metavar="NAME", help=f"link of the URDF, for its functions: {', '.join(OF_LINK)}"
    )
    parser.add_argument(
        "--expressed-in",
        "--reference",
        metavar="NAME",
        help="link on whose axes the result is, of forward_kinematics in whose frame (default: the root)",
    )


def link_and_axes(robot: Robot, arguments: Namespace, function: str) -> tuple[str, str]:
    """Answer the names of the link and of the link whose axes count; DynError where they cannot be used."""
    link = _named_link(robot, arguments, function)
    axes = robot.link_names[0] if arguments.expressed_in is None else arguments.expressed_in
    return link, robot.link_frame(axes).name


def link_of(robot: Robot, arguments: Namespace, function: str) -> str:
    """Answer the name of the link of a robot on a moving base, on the axes of the world."""
    if arguments.expressed_in is not None:
        raise DynError(
            f"{function} of a robot on a moving base is on the axes of the world: leave out --expressed-in"
        )
    return _named_link(robot, arguments, function)


def _named_link(robot: Robot, arguments: Namespace, function: str) -> str:
    if arguments.link is None:
        raise DynError(
            f"{function} is a function of a link: name it with --link; "
            f"the links of robot '{robot.name}' are {listed(robot.link_names)}"
        )
    return robot.link_frame(arguments.link).name


def refuse_link(arguments: Namespace, function: str) -> None:
    """Stop where a link is given to a function that takes none."""
    for option, value in (("--link", arguments.link), ("--expressed-in", arguments.expressed_in)):
        if value is not None:
            raise DynError(
                f"{function} is no function of a link: leave out {option} {value!r}, "
                f"or choose one of {', '.join(OF_LINK)}"
            )


def link_program(robot: Robot, function: str, link: str, axes: str) -> Program:
    """Answer a function of a link as a program that is named after the link, and says what it computes."""
    what, how = _MEANING[function]
    name = "_".join(filter(None, (function, identifier(link))))
    if axes != robot.link_names[0]:
        name = "_".join(filter(None, (name, "in", identifier(axes))))
    documentation = f"{what} '{link}', {how} '{axes}'"
    return replace(OF_LINKS[function](robot, link, axes), name=name, documentation=documentation)
