# SPDX-License-Identifier: Apache-2.0
"""``dyn counts``: how many operations each function of a robot takes."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from dyn_core.cli.answer import Answer
from dyn_core.cli.forms import as_mapping, as_text, table_of_forms
from dyn_core.cli.functions import OF_IDENTIFICATION
from dyn_core.cli.link_options import add_link, link_and_axes
from dyn_core.cli.robot_options import dynamic_robot_of
from dyn_core.errors import DynError
from dyn_core.facade.closed import NEWTON_STEP, newton_program
from dyn_core.facade.elastic_programs import LOADED
from dyn_core.facade.link_functions import OF_LINKS
from dyn_core.facade.programs import kinds, traced
from dyn_core.identification.programs import identification_program
from dyn_core.loops.structure import structure

COLUMNS = ("mul", "add", "div", "trig", "sqrt")


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command count functions of a link, or formulations of dynamics."""
    add_link(parser)
    parser.add_argument(
        "--forms",
        action="store_true",
        help="count the formulations of dynamics that the literature compares, for 1 to 12 joints: as they "
        "are written, with symbols for all constants, and for this arm, which goes on with itself; takes "
        "up to a minute",
    )


def counts(arguments: Namespace) -> Answer:
    """Answer the operations of all functions, or of all formulations, as a table or as JSON."""
    if arguments.forms:
        return _forms(arguments)
    robot = dynamic_robot_of(arguments)
    table = {name: traced(robot, name).operation_counts for name in kinds(robot) if name != LOADED}
    if robot.loops and structure(robot).unknown:
        table[NEWTON_STEP] = newton_program(robot).operation_counts
    terms = {"friction": arguments.friction, "rotor_inertia": arguments.rotor_inertia}
    for name in () if robot.elastic_joint_names else OF_IDENTIFICATION:  # which knows no springs
        table[name] = identification_program(robot, name, **terms).operation_counts
    if arguments.link is not None or arguments.expressed_in is not None:
        names = {name: link_and_axes(robot, arguments, name) for name in OF_LINKS}
        table |= {name: OF_LINKS[name](robot, *links).operation_counts for name, links in names.items()}
    if arguments.json:
        return Answer(json.dumps({"robot": robot.name, "operations": table}, indent=2))
    width = max(map(len, table))
    lines = [f"{'':<{width}}" + "".join(f"{column:>7}" for column in COLUMNS)]
    for name, row in table.items():
        lines.append(f"{name:<{width}}" + "".join(f"{row[column]:>7}" for column in COLUMNS))
    return Answer("\n".join(lines))


def _forms(arguments: Namespace) -> Answer:
    if arguments.link is not None or arguments.expressed_in is not None:
        raise DynError("--forms counts no functions of links: leave out --link and --expressed-in")
    robot = dynamic_robot_of(arguments)
    table = table_of_forms(robot)
    if arguments.json:
        return Answer(json.dumps({"robot": robot.name, "operations": as_mapping(table)}, indent=2))
    return Answer(as_text(robot, table))
