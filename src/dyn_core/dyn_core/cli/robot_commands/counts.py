# SPDX-License-Identifier: Apache-2.0
"""``dyn counts``: operations of each function of a robot.

With ``--forms``: operations of the formulations that the literature compares.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.cli.console import Output
from dyn_core.cli.function_arguments import OF_IDENTIFICATION, add_link, link_and_axes, link_of
from dyn_core.cli.options import (
    STANDING,
    Command,
    dynamic_robot_of,
    moving_kind,
    parametrised_robot,
    refuse_grouping,
    standing,
    with_terms_of,
)
from dyn_core.core.errors import DynError
from dyn_core.formulations.chain import chain_of
from dyn_core.formulations.operation_counts import (
    FORMS,
    PRODUCTION,
    Count,
    Operations,
    counted,
    polynomial,
    slope,
)
from dyn_core.identification.regressor.momentum_energy import identification_program
from dyn_core.model.fixed_base.closed_loops import NEWTON_STEP, newton_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.model.fixed_base.elastic_joints import LOADED
from dyn_core.model.fixed_base.link_functions import OF_LINKS
from dyn_core.model.moving_base.dynamics_programs import base_kinds, base_program, with_base_terms
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK, base_link_program
from dyn_core.robot.moving_base import MovingBase, moving_base
from dyn_core.robot.robot import Robot

COLUMNS = ("mul", "add", "div", "trig", "sqrt")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_link(parser)
    parser.add_argument(
        "--forms",
        action="store_true",
        help="count the formulations of dynamics that the literature compares, for 1 to 12 joints: as "
        "written, with symbols for all constants, and for this arm, whose joints repeat; takes a minute",
    )


def counts(arguments: Namespace) -> Output:
    """Return the operations of all functions, or of all formulations, as a table or as JSON."""
    if arguments.forms:
        return _forms(arguments)
    robot = parametrised_robot(arguments)
    kind = moving_kind(robot, arguments)
    if kind is not None:
        return _on_base(moving_base(robot, kind), arguments)
    robot = with_terms_of(standing(robot, arguments), arguments)
    table = {name: traced(robot, name).operation_counts for name in kinds(robot) if name != LOADED}
    if robot.loops and structure(robot).unknown:
        table[NEWTON_STEP] = newton_program(robot).operation_counts
    terms = {"friction": arguments.friction, "rotor_inertia": arguments.rotor_inertia}
    for name in () if robot.elastic_joint_names else OF_IDENTIFICATION:  # springs are not identified
        table[name] = identification_program(robot, name, **terms).operation_counts
    if arguments.link is not None or arguments.expressed_in is not None:
        names = {name: link_and_axes(robot, arguments, name) for name in OF_LINKS}
        table |= {name: OF_LINKS[name](robot, *links).operation_counts for name, links in names.items()}
    return Output({"robot": robot.name, "operations": table} if arguments.json else _lines(table))


def _on_base(described: MovingBase, arguments: Namespace) -> Output:
    """Return the operations of a robot on a moving base."""
    refuse_grouping(arguments)
    base = with_base_terms(described, arguments.friction, arguments.rotor_inertia)
    table = {name: base_program(base, name).operation_counts for name in base_kinds(base)}
    if arguments.link is not None or arguments.expressed_in is not None:
        links = {name: link_of(base.robot, arguments, name) for name in OF_BASE_LINK}
        table |= {name: base_link_program(base, name, link).operation_counts for name, link in links.items()}
    if not arguments.json:
        return Output(_lines(table, f"on a {base.kind} base"))
    of_base = {"kind": base.kind, "link": base.link.name}
    return Output({"robot": base.name, "base": of_base, "operations": table})


def _lines(table: Mapping[str, Mapping[str, int]], head: str = "") -> list[str]:
    width = max(map(len, (head, *table)))
    rows = {head: COLUMNS} | {name: tuple(row[column] for column in COLUMNS) for name, row in table.items()}
    return [f"{name:<{width}}" + "".join(f"{cell:>7}" for cell in row) for name, row in rows.items()]


# ``dyn counts --forms``: operations of the formulations that the literature compares

JOINTS = range(1, 13)
REGULAR = 4  # with this many joints and more, the growth is regular

FormCounts = Mapping[str, Mapping[str, Sequence[Count]]]


def _forms(arguments: Namespace) -> Output:
    if arguments.base not in (None, STANDING):
        raise DynError("forms-of-moving-base", base=STANDING)
    if arguments.link is not None or arguments.expressed_in is not None:
        raise DynError("forms-of-link")
    robot = dynamic_robot_of(arguments)
    table = table_of_forms(robot)
    return Output(
        {"robot": robot.name, "operations": as_mapping(table)} if arguments.json else as_text(robot, table)
    )


def table_of_forms(robot: Robot) -> FormCounts:
    """Count all formulations, by result and by name, for 1 to 12 joints.

    Raises:
        DynError: the robot has branches, no joints, or grouped parameters.
    """
    chain_of(robot)
    return {
        result: {
            name: [counted(result, name, n, robot) for n in JOINTS] for name in (*forms, *PRODUCTION[result])
        }
        for result, forms in FORMS.items()
    }


def as_mapping(table: FormCounts) -> dict[str, object]:
    """Return the table for JSON: ``[multiplications, additions]`` for each number of joints."""
    return {
        result: {
            name: {
                field: [None if x is None else list(x) for x in column]
                for field, column in zip(Count._fields, zip(*counts, strict=True), strict=True)
            }
            for name, counts in forms.items()
        }
        for result, forms in table.items()
    }


def as_text(robot: Robot, table: FormCounts) -> str:
    """Return the table as text: multiplications and additions together, and their growth."""
    titles = ("as written", "traced, all constants symbols", f"traced, '{robot.name}'")
    return "\n\n".join(
        _part(f"{result}, {title}", {name: [count[k] for count in counts] for name, counts in forms.items()})
        for result, forms in table.items()
        for k, title in enumerate(titles)
    )


def _part(title: str, rows: Mapping[str, Sequence[Operations | None]]) -> str:
    width = max(map(len, rows))
    lines = [title, f"{'joints':<{width}}" + "".join(f"{n:>8}" for n in JOINTS) + "  growth"]
    for name, operations in rows.items():
        totals = [x.total for x in operations if x is not None]
        if totals:
            lines.append(f"{name:<{width}}{''.join(f'{x:>8}' for x in totals)}  {growth(totals)}")
    return "\n".join(lines)


def growth(totals: Sequence[int]) -> str:
    """Return the first term of the polynomial, or else the exponent from 6 to 12 joints."""
    found = polynomial(totals[REGULAR - 1 :])
    if found is None:
        return f"n^{slope(totals[5], totals[11]):.2f}"
    power = "n" if found.degree == 1 else f"n^{found.degree}"
    return f"{power} / 3" if abs(3.0 * found.leading - 1.0) < 1e-9 else f"{found.leading:.4g} {power}"


COMMAND = Command(
    description="Print how many operations one evaluation of each dynamics function and identification "
    "model of a robot takes: multiplications, additions, divisions, sines and cosines, square roots.",
    run=counts,
    add_arguments=add_arguments,
    parameters=True,
    terms=True,
    base="moving",
)
