# SPDX-License-Identifier: Apache-2.0
"""``dyn base``: the base parameters of a robot."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any, get_args

from dyn_core.algorithms.base_parameters.combinations import BaseParameters
from dyn_core.algorithms.base_parameters.determination import Method, base_parameters
from dyn_core.algorithms.base_parameters.torque_effects import Mount
from dyn_core.cli.console import Output
from dyn_core.cli.options import Command, robot_of
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import always_zero, motor_of, parameter_unit


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    method = "by grouping rules (default), or by a QR decomposition of the regressor in random states"
    symbols = "write lengths of the robot as the symbols d3, r4, b5 of its geometric parameters (see dyn mdh)"
    mount = "the base is fixed (default), is tilted by various angles, or moves in a known way"
    parser.add_argument("--method", choices=get_args(Method), default="symbolic", help=method)
    parser.add_argument("--symbols", action="store_true", help=symbols)
    parser.add_argument("--mount", choices=get_args(Mount), default="fixed", help=mount)


def base(arguments: Namespace) -> Output:
    """Return the base parameters with their values, and the groups of the other parameters."""
    robot = robot_of(arguments)
    if arguments.symbols and arguments.method != "symbolic":
        raise DynError("option-needs-symbolic-method")
    zero = always_zero(robot)
    found = base_parameters(robot, arguments.method, arguments.mount, symbols=arguments.symbols, without=zero)
    values = found.values(dict(zip(robot.parameter_names, robot.parameters, strict=True))).tolist()
    units = [parameter_unit(name, robot) for name in found.kept]
    if arguments.json:
        return Output(_json(found, values, units))
    lines = _lines(found, values, units)
    if robot.elastic_joint_names:
        text = "stiffness, damping and rotors of elastic joints are not included"
        motors = "; motors behind springs have rotors, and no bodies" if motor_of(robot) else ""
        lines.append(f"springs: {text}{motors}")
    return Output(lines)


def _lines(found: BaseParameters, values: list[float], units: list[str]) -> list[str]:
    """Return a line for each base parameter, its value first, and lines about the other parameters."""
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
        lines.append(f"found by numbers only, not by a rule: {_listed(found.by_numbers)}")
    return lines


def _listed(names: Iterable[str]) -> str:
    return " ".join(names) or "none"


def _json(found: BaseParameters, values: list[float], units: list[str]) -> dict[str, Any]:
    terms = [
        {name: float(x) for name, x in zip(found.standard_names, row, strict=True) if x != 0.0}
        for row in found.matrix
    ]
    columns = zip(found.names, found.kept, found.expressions, terms, values, units, strict=True)
    return {
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


COMMAND = Command(
    description="Print the base parameters of a robot: independent combinations of inertial parameters "
    "that give all joint torques, with their values (SI units), then the parameters that are grouped in "
    "them and those that have no effect on any torque.",
    run=base,
    add_arguments=add_arguments,
    parameters=True,
)
