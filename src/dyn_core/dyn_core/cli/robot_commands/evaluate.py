# SPDX-License-Identifier: Apache-2.0
"""``dyn eval``: the value of a function in one state."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from typing import Any

from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import add_base_vectors, only_on_base, refuse_base_vectors
from dyn_core.cli.evaluate_base import evaluated_on_base
from dyn_core.cli.evaluate_link import evaluated_link
from dyn_core.cli.function_arguments import EVALUATED, OF_ELASTIC, OF_LINK, ON_BASE, VECTORS
from dyn_core.cli.link_options import add_link, link_and_axes, refuse_link
from dyn_core.cli.options import Once, all_joints, joint_vector, shown
from dyn_core.cli.robot_options import (
    chosen_base,
    described_robot,
    refuse_grouping,
    standing,
    with_wanted_terms,
)
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, counted, listed
from dyn_core.facade.compile import compile_model
from dyn_core.facade.elastic_programs import no_springs, result_names
from dyn_core.robot.robot import Robot

ELASTIC = "elastic_inverse_dynamics"
_VECTORS_OF_BASE = ("pose", "V", "Vd", "F")
_TAKEN = EVALUATED | OF_ELASTIC | OF_LINK


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a function and a state."""
    functions = tuple(dict.fromkeys((*_TAKEN, *ON_BASE)))
    parser.add_argument("function", choices=functions, metavar="FUNCTION", help=", ".join(functions))
    add_link(parser)
    for option, what in VECTORS.items():
        parser.add_argument(
            option,
            action=Once,
            metavar="X ...",
            help=f"joint {what} in tree order, SI units (default: zeros)",
        )
    add_base_vectors(parser, _VECTORS_OF_BASE)


def evaluate(arguments: Namespace) -> Answer:
    """Answer the value of a function in one state."""
    function = arguments.function
    robot = described_robot(arguments)
    kind = chosen_base(robot, arguments)
    if kind is not None:
        refuse_grouping(arguments)
        return evaluated_on_base(robot, kind, arguments)
    refuse_base_vectors(arguments, _VECTORS_OF_BASE)
    if function not in _TAKEN:
        raise only_on_base(function)
    _check_options(arguments)
    robot = with_wanted_terms(standing(robot, arguments), arguments)
    if function in OF_ELASTIC and not robot.elastic_joint_names:
        raise no_springs(robot)
    given = {
        name: joint_vector(
            f"--{name}",
            getattr(arguments, name),
            len(_joints(robot, function, name)),
            _which(robot, function, name),
        )
        for name in ("q", "qd", "qdd", "tau")
    }
    taken = [given[name] for name in _TAKEN[function]]
    if function == "friction_torques" and robot.loops:
        taken.append(given["q"])  # how fast the passive joints move depends on it
    if function in OF_LINK:
        link, axes = link_and_axes(robot, arguments, function)
        return evaluated_link(robot, function, link, axes, taken, arguments.json)
    refuse_link(arguments, function)
    # One evaluation is sooner done in Python than compiled.
    value: Array = getattr(compile_model(robot, backend="python"), function)(*taken)
    _check(robot, function, value)
    if arguments.json:
        return Answer(json.dumps(_answer(robot, function, value), indent=2, allow_nan=False))
    if function == "regressor":
        return Answer(_entries(robot, value))
    return Answer(_matrix(robot, function, value) if value.ndim == 2 else _vector(robot, function, value))


def _check_options(arguments: Namespace) -> None:
    """Refuse accelerations where torques are taken, and torques where they are not.

    Any function of a motion may be given all of q, qd and qdd.
    """
    taken = _TAKEN[arguments.function]
    for name in ("tau", "qdd"):
        if getattr(arguments, name) is not None and name not in taken and (name == "tau" or "tau" in taken):
            wanted = ", ".join(f"--{name}" for name in taken)
            raise DynError(f"{arguments.function} does not take --{name}: give {wanted}")


def _joints(robot: Robot, function: str, vector: str) -> tuple[str, ...]:
    """Names of the joints that a vector is of."""
    if function == ELASTIC and vector == "qdd":
        return tuple(name for name in robot.coordinate_names if name not in robot.elastic_joint_names)
    return robot.coordinate_names


def _which(robot: Robot, function: str, vector: str) -> str:
    """Answer which joints a vector is of, for a message."""
    names = _joints(robot, function, vector)
    if names == robot.coordinate_names:
        return all_joints(robot)
    rigid = counted(len(names), "rigid joint")
    return f"{function} takes those of the {rigid} {listed(names, 12)}, and answers those of the others"


def _names(robot: Robot, function: str) -> tuple[str, ...]:
    """Names of the joints that the entries, or the rows, of a result are of."""
    return result_names(robot) if function == ELASTIC else robot.coordinate_names


def _check(robot: Robot, function: str, value: Array) -> None:
    if function == "inertia_and_bias":
        _check(robot, "inertia_matrix", value[:-1])
        _check(robot, "bias_torques", value[-1])
        return
    what = {
        "forward_dynamics": "acceleration",
        "inertia_matrix": "inertia",
        ELASTIC: "torque or acceleration",
    }
    reason = "the values given are too large"
    if function in ("forward_dynamics", ELASTIC):
        reason += ", or a joint moves no mass"
    for name, row in zip(_names(robot, function), value.tolist(), strict=True):
        for number in row if isinstance(row, list) else [row]:
            if not math.isfinite(number):
                raise DynError(f"the {what.get(function, 'torque')} of joint '{name}' is {number}: {reason}")


def _answer(robot: Robot, function: str, value: Array) -> dict[str, Any]:
    answer = {
        "robot": robot.name,
        "function": function,
        "joint_names": _names(robot, function),
        "values": value.tolist(),
    }
    if function == "regressor":
        answer["parameter_names"] = robot.parameter_names
    if function == "inertia_and_bias":
        answer["row_names"] = _rows(robot, function)
    if value.ndim == 1:
        answer["units"] = _units(robot, function)
    return answer


def _units(robot: Robot, function: str) -> list[str]:
    joints = [robot.joint(name) for name in _names(robot, function)]
    return [
        f"{joint.position_unit}/s^2"
        if function == "forward_dynamics" or (function == ELASTIC and joint.elastic)
        else joint.effort_unit
        for joint in joints
    ]


def _vector(robot: Robot, function: str, value: Array) -> str:
    names = _names(robot, function)
    width = max(map(len, names), default=0)
    rows = zip(names, value.tolist(), _units(robot, function), strict=True)
    return "\n".join(f"{name:<{width}}  {shown(number):14.6f} {unit}" for name, number, unit in rows)


def _rows(robot: Robot, function: str) -> tuple[str, ...]:
    """Names of the rows of a matrix: those of the joints, and what is below the inertia matrix."""
    names = robot.coordinate_names
    return (*names, "bias_torques") if function == "inertia_and_bias" else names


def _matrix(robot: Robot, function: str, value: Array) -> str:
    names = _rows(robot, function)
    width = max(map(len, names), default=0)
    rows = zip(names, value.tolist(), strict=True)
    return "\n".join(f"{name:<{width}}  {' '.join(f'{shown(x):14.6f}' for x in row)}" for name, row in rows)


def _entries(robot: Robot, value: Array) -> str:
    """Answer a line for each entry that is not 0 as it is printed: joint, parameter, value."""
    joints = max(map(len, robot.coordinate_names), default=0)
    parameters = max(map(len, robot.parameter_names), default=0)
    return "\n".join(
        f"{joint:<{joints}}  {parameter:<{parameters}}  {shown(number):14.6f}"
        for joint, row in zip(robot.coordinate_names, value.tolist(), strict=True)
        for parameter, number in zip(robot.parameter_names, row, strict=True)
        if shown(number) != 0.0
    )
