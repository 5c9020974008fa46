# SPDX-License-Identifier: Apache-2.0
"""What a subcommand of ``dyn`` is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import add_base, add_parameters, add_robot, add_terms

AddArguments: TypeAlias = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True)
class Command:
    """A subcommand, and which of the options that several have are its own, too.

    Attributes:
        name: its name.
        help: what it does, in a few words.
        description: what it does, in sentences.
        run: what it does.
        add_arguments: adds the arguments that no other subcommand has; None where there is none.
        robot: whether it takes a robot.
        gravity: whether its robot has a gravity that can be set.
        parameters: whether its robot takes identified parameters.
        terms: whether friction and rotors can be left out.
        json: whether it can print JSON.
        base: whether the base of its robot can be said to stand still, or to move, too; None: it does not
            matter.
    """

    name: str
    help: str
    description: str
    run: Callable[[argparse.Namespace], Answer]
    add_arguments: AddArguments | None = None
    robot: bool = True
    gravity: bool = True
    parameters: bool = False
    terms: bool = False
    json: bool = True
    base: Literal["standing", "moving"] | None = "standing"

    def add_to(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Add the subcommand to those of a parser."""
        parser = commands.add_parser(self.name, help=self.help, description=self.description)
        if self.robot:
            add_robot(parser, gravity=self.gravity)
        if self.robot and self.base is not None:
            add_base(parser, moving=self.base == "moving")
        if self.parameters:
            add_parameters(parser)
        if self.terms:
            add_terms(parser)
        if self.json:
            parser.add_argument("--json", action="store_true", help="print JSON")
        if self.add_arguments is not None:
            self.add_arguments(parser)
        parser.set_defaults(run=self.run)
