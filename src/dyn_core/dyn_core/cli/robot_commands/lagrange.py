# SPDX-License-Identifier: Apache-2.0
"""``dyn lagrange``: the Lagrange form of a robot, in customised or expanded form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dyn_core.cli.console import Output, ProgressBar
from dyn_core.cli.options import Command, add_options, robot_of
from dyn_core.lagrange.expanded_form import expanded_listing
from dyn_core.lagrange.listing import customised_listing, listing_latex, listing_text


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_options(
        parser,
        (
            "--expanded",
            "",
            "one expression for each entry, with simplified trigonometry, for at most four joints (default: "
            "intermediate variables, one operation each)",
        ),
        ("--tree", "", "cut the loops: the form of the spanning tree, with all its joints"),
        ("--latex", "", "write the expressions in LaTeX"),
        ("--base-parameters", "", "group the inertial parameters (see dyn base)"),
        ("--numbers", "", "write numbers instead of symbols for parameters, lengths and gravity"),
    )


def lagrange(arguments: Namespace) -> Output:
    """Return the matrices A, B, C and Q."""
    robot = robot_of(arguments)
    robot = robot.without_loops() if arguments.tree else robot
    form = arguments.base_parameters, arguments.numbers, arguments.latex
    if arguments.expanded:
        with ProgressBar() as bar:
            bar("expanding and simplifying the expressions")
            listing = expanded_listing(robot, *form, digits=15 if arguments.json else 6)
    else:
        listing = customised_listing(robot, *form)
    if arguments.json:
        return Output(
            {
                "robot": robot.name,
                "form": "expanded" if arguments.expanded else "customised",
                "joint_names": [robot.joints[j - 1].name for j in listing.coordinates],
                "positions": [f"q{j}" for j in listing.coordinates],
                **{name: dict(getattr(listing, name)) for name in ("definitions", "values", "statements")},
                **{name: getattr(listing, name) for name in "ABCQ"},
            }
        )
    return Output(listing_latex(listing, robot) if arguments.latex else listing_text(listing, robot))


COMMAND = Command(
    description="Print the matrices of the Lagrange form tau = A qdd + B [qd qd] + C [qd^2] + Q of a "
    "robot, without friction, in symbols for positions, lengths, parameters and gravity that are not 0.",
    run=lagrange,
    add_arguments=add_arguments,
    parameters=True,
)
