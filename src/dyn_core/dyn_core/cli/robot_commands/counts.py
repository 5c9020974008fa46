# SPDX-License-Identifier: Apache-2.0
"""``dyn counts``: how many operations each function of a robot takes."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.cli.answer import Answer
from dyn_core.cli.forms import as_mapping, as_text, table_of_forms
from dyn_core.cli.function_arguments import OF_IDENTIFICATION
from dyn_core.cli.link_options import add_link, link_and_axes, link_of
from dyn_core.cli.robot_options import (
    STANDING,
    chosen_base,
    described_robot,
    refuse_grouping,
    robot_of,
    standing,
    with_wanted_terms,
)
from dyn_core.core.errors import DynError
from dyn_core.facade.closed import NEWTON_STEP, newton_program
from dyn_core.facade.elastic_programs import LOADED
from dyn_core.identification.programs import identification_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.fixed_base.link_functions import OF_LINKS
from dyn_core.model.moving_base.dynamics_programs import base_kinds, base_program, with_base_terms
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK, base_link_program
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.moving_base import moving_base

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
    robot = described_robot(arguments)
    kind = chosen_base(robot, arguments)
    if kind is not None:
        return _on_base(moving_base(robot, kind), arguments)
    robot = with_wanted_terms(standing(robot, arguments), arguments)
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
    return Answer(_lines(table))


def _on_base(described: MovingBase, arguments: Namespace) -> Answer:
    """Answer those of a robot whose base moves."""
    refuse_grouping(arguments)
    base = with_base_terms(described, arguments.friction, arguments.rotor_inertia)
    table = {name: base_program(base, name).operation_counts for name in base_kinds(base)}
    if arguments.link is not None or arguments.expressed_in is not None:
        links = {name: link_of(base.robot, arguments, name) for name in OF_BASE_LINK}
        table |= {name: base_link_program(base, name, link).operation_counts for name, link in links.items()}
    if arguments.json:
        of_base = {"kind": base.kind, "link": base.link.name}
        return Answer(json.dumps({"robot": base.name, "base": of_base, "operations": table}, indent=2))
    return Answer(_lines(table, f"on a {base.kind} base"))


def _lines(table: Mapping[str, Mapping[str, int]], head: str = "") -> str:
    width = max(map(len, (head, *table)))
    lines = [f"{head:<{width}}" + "".join(f"{column:>7}" for column in COLUMNS)]
    for name, row in table.items():
        lines.append(f"{name:<{width}}" + "".join(f"{row[column]:>7}" for column in COLUMNS))
    return "\n".join(lines)


def _forms(arguments: Namespace) -> Answer:
    if arguments.base not in (None, STANDING):
        raise DynError(f"--forms counts formulations for a base that stands still: give --base {STANDING}")
    if arguments.link is not None or arguments.expressed_in is not None:
        raise DynError("--forms counts no functions of links: leave out --link and --expressed-in")
    robot = with_wanted_terms(robot_of(arguments), arguments)
    table = table_of_forms(robot)
    if arguments.json:
        return Answer(json.dumps({"robot": robot.name, "operations": as_mapping(table)}, indent=2))
    return Answer(as_text(robot, table))
