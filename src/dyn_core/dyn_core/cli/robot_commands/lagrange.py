# SPDX-License-Identifier: Apache-2.0
"""``dyn lagrange``: the Lagrange form of a robot, in customised or expanded form."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import robot_of
from dyn_core.expansion.customised_listing import customised_listing
from dyn_core.expansion.expanded_listing import expanded_listing
from dyn_core.lagrange.listing import Listing, listing_latex, listing_text
from dyn_core.robot.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a form and a notation."""
    parser.add_argument(
        "--expanded",
        action="store_true",
        help="one expression for each entry, with simplified trigonometry, for at most four joints (default: "
        "intermediate variables, one operation each)",
    )
    parser.add_argument(
        "--tree",
        action="store_true",
        help="cut the loops: the form of the tree that is left, of all its joints",
    )
    parser.add_argument("--latex", action="store_true", help="write the expressions in LaTeX")
    parser.add_argument(
        "--base-parameters", action="store_true", help="group the inertial parameters (see dyn base)"
    )
    parser.add_argument(
        "--numbers",
        action="store_true",
        help="write the numbers of this robot in the place of symbols for parameters, lengths and gravity",
    )


def lagrange(arguments: Namespace) -> Answer:
    """Answer the matrices A, B, C and Q."""
    robot = robot_of(arguments)
    robot = robot.without_loops() if arguments.tree else robot
    form = arguments.base_parameters, arguments.numbers, arguments.latex
    if arguments.expanded:
        listing = expanded_listing(robot, *form, digits=15 if arguments.json else 6)
    else:
        listing = customised_listing(robot, *form)
    if arguments.json:
        return Answer(_json(listing, robot, arguments.expanded))
    return Answer(listing_latex(listing, robot) if arguments.latex else listing_text(listing, robot))


def _json(listing: Listing, robot: Robot, expanded: bool) -> str:
    answer = {
        "robot": robot.name,
        "form": "expanded" if expanded else "customised",
        "joint_names": [robot.joints[j - 1].name for j in listing.coordinates],
        "positions": [f"q{j}" for j in listing.coordinates],
        "definitions": dict(listing.definitions),
        "values": dict(listing.values),
        "statements": dict(listing.statements),
        "A": listing.A,
        "B": listing.B,
        "C": listing.C,
        "Q": listing.Q,
    }
    return json.dumps(answer, indent=2)
