# SPDX-License-Identifier: Apache-2.0
"""``dyn base``: the base parameters of a robot."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import get_args

from dyn_core.algorithms.base_parameters.determination import Method, base_parameters
from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import robot_of
from dyn_core.core.errors import DynError
from dyn_core.grouping.base_parameters import BaseParameters
from dyn_core.grouping.effects import Mount
from dyn_core.model.always_zero import always_zero
from dyn_core.model.motor_of import motor_of
from dyn_core.model.parameter_unit import parameter_unit
from dyn_core.robot.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a method and what the base does."""
    parser.add_argument(
        "--method",
        choices=get_args(Method),
        default="symbolic",
        help="by grouping rules (default), or by a QR decomposition of the regressor in random states",
    )
    parser.add_argument(
        "--symbols",
        action="store_true",
        help="write lengths of the robot as the symbols d3, r4, b5 of its geometric parameters (see dyn mdh)",
    )
    parser.add_argument(
        "--mount",
        choices=get_args(Mount),
        default="fixed",
        help="the base stands still (default), or in various attitudes, or moves in any known way",
    )


def base(arguments: Namespace) -> Answer:
    """Answer the base parameters with their values, and what became of the others."""
    robot = robot_of(arguments)
    if arguments.symbols and arguments.method != "symbolic":
        raise DynError("--symbols goes with --method symbolic")
    zero = always_zero(robot)
    found = base_parameters(robot, arguments.method, arguments.mount, symbols=arguments.symbols, without=zero)
    values = found.values(dict(zip(robot.parameter_names, robot.parameters, strict=True))).tolist()
    units = [parameter_unit(name, robot) for name in found.kept]
    if arguments.json:
        return Answer(_json(found, values, units))
    return Answer("\n".join([_text(found, values, units), *_springs(robot)]))


def _text(found: BaseParameters, values: list[float], units: list[str]) -> str:
    """Answer a line for each base parameter, its value first, and what became of the others."""
    columns = zip(values, units, found.expressions, strict=True)
    lines = [f"{value:>12.6g} {unit:<6}  {expression}" for value, unit, expression in columns]
    rotors = sum(name.startswith("Ia") for name in found.kept)
    lines += [
        "",
        f"{len(found.kept)} base parameters of {len(found.standard_names)}: "
        f"{len(found.kept) - rotors} of bodies, {rotors} of rotors",
        f"grouped: {_listed(found.grouped)}",
        f"no effect: {_listed(found.no_effect)}",
    ]
    if found.by_numbers:
        lines.append(f"of these by numbers, as no rule says so: {_listed(found.by_numbers)}")
    return "\n".join(lines)


def _springs(robot: Robot) -> Iterator[str]:
    """Say what springs have to do with base parameters."""
    if robot.elastic_joint_names:
        what = "stiffness and damping are no part of them, and elastic joints have no rotors"
        if motor_of(robot):
            what += "; motors behind springs have rotors, and no bodies"
        yield f"springs: {what}"


def _listed(names: Iterable[str]) -> str:
    return " ".join(names) or "none"


def _json(found: BaseParameters, values: list[float], units: list[str]) -> str:
    terms = [
        {name: float(x) for name, x in zip(found.standard_names, row, strict=True) if x != 0.0}
        for row in found.matrix
    ]
    columns = zip(found.names, found.kept, found.expressions, terms, values, units, strict=True)
    answer = {
        "robot": found.robot_name,
        "method": found.method,
        "count": len(found.kept),
        "base_parameters": [
            {"name": name, "kept": kept, "expression": expression, "terms": own, "value": value, "unit": unit}
            for name, kept, expression, own, value, unit in columns
        ],
        "lengths": dict(found.lengths),
        "grouped": {name: list(into) for name, into in found.grouped.items()},
        "no_effect": list(found.no_effect),
        "by_numbers": list(found.by_numbers),
    }
    return json.dumps(answer, indent=2)
