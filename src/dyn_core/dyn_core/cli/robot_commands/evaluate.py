# SPDX-License-Identifier: Apache-2.0
"""``dyn eval``: the value of a function in one state.

The robot has a fixed base or a moving base; the function may belong to a link.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dyn_core.cli.console import Output
from dyn_core.cli.function_arguments import (
    EVALUATED,
    OF_ELASTIC,
    OF_LINK,
    ON_BASE,
    VECTORS,
    add_base_vectors,
    add_link,
    all_joints,
    base_vector,
    link_and_axes,
    link_of,
    refuse_base_vectors,
    refuse_link,
)
from dyn_core.cli.options import (
    Command,
    Numbers,
    joint_vector,
    moving_kind,
    parametrised_robot,
    refuse_grouping,
    shown,
    standing,
    with_terms_of,
)
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, counted, listed
from dyn_core.model.fixed_base.compiled_model import compile_model
from dyn_core.model.fixed_base.elastic_joints import no_springs, result_names
from dyn_core.model.moving_base.argument_checks import refuse_given
from dyn_core.model.moving_base.compiled_model import compile_moving_base
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK
from dyn_core.model.moving_base.named_entries import result_entries
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import BaseKind, Robot

ELASTIC = "elastic_inverse_dynamics"
_JOINT_VECTORS = ("q", "qd", "qdd", "tau")
_BASE_VECTORS = ("pose", "V", "Vd", "F")
_TAKEN = EVALUATED | OF_ELASTIC | OF_LINK
_TAKEN_ON_BASE = ON_BASE | OF_BASE_LINK
"""Arguments of the functions on a fixed and on a moving base."""
_TAKE_FORCES = ("inverse_dynamics", "forward_dynamics")
"""Functions on a moving base that may get forces on the base."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    functions = tuple(dict.fromkeys((*_TAKEN, *ON_BASE)))
    parser.add_argument("function", choices=functions, metavar="FUNCTION", help=", ".join(functions))
    add_link(parser)
    for option, quantity in VECTORS.items():
        text = f"joint {quantity} in tree order, SI units (default: zeros)"
        parser.add_argument(option, action=Numbers, metavar="X ...", help=text)
    add_base_vectors(parser, _BASE_VECTORS)


def evaluate(arguments: Namespace) -> Output:
    """Return the value of a function in one state."""
    function = arguments.function
    robot = parametrised_robot(arguments)
    kind = moving_kind(robot, arguments)
    if kind is not None:
        refuse_grouping(arguments)
        return _evaluated_on_base(robot, kind, arguments)
    refuse_base_vectors(arguments, _BASE_VECTORS)
    if function not in _TAKEN:
        raise DynError("function-of-moving-base", function=function)
    _check_options(arguments)
    robot = with_terms_of(standing(robot, arguments), arguments)
    if function in OF_ELASTIC and not robot.elastic_joint_names:
        raise no_springs(robot)
    given = {name: _joint_vector(robot, name, arguments) for name in _JOINT_VECTORS}
    values = [given[name] for name in _TAKEN[function]]
    if function == "friction_torques" and robot.loops:
        values.append(given["q"])  # the velocities of the passive joints depend on it
    if function in OF_LINK:
        link, axes = link_and_axes(robot, arguments, function)
        return _evaluated_link(robot, function, link, axes, values, arguments.json)
    refuse_link(arguments, function)
    # One evaluation takes less time in Python than a compilation.
    value: Array = getattr(compile_model(robot, backend="python"), function)(*values)
    _check_finite(robot, function, value)
    if arguments.json:
        return Output(_entries(robot, function, value))
    if function == "regressor":
        return Output(_regressor_lines(robot, value))
    return Output(
        _lines(_rows(robot, function), value)
        if value.ndim == 2
        else _lines(_names(robot, function), value, _units(robot, function))
    )


def _check_options(arguments: Namespace) -> None:
    """Refuse accelerations for functions of torques, and torques for others.

    Any function of a motion may be given all of q, qd and qdd.
    """
    taken = _TAKEN[arguments.function]
    for name in ("tau", "qdd"):
        if getattr(arguments, name) is not None and name not in taken and (name == "tau" or "tau" in taken):
            expected = ", ".join(f"--{name}" for name in taken)
            raise DynError("option-not-taken", function=arguments.function, option=name, expected=expected)


def _joint_vector(robot: Robot, name: str, arguments: Namespace) -> list[float]:
    """Return a vector of the command line; the accelerations of an elastic robot are of rigid joints only."""
    names, which = robot.coordinate_names, all_joints(robot)
    if arguments.function == ELASTIC and name == "qdd" and robot.elastic_joint_names:
        names = tuple(name for name in names if name not in robot.elastic_joint_names)
        rigid = counted(len(names), "rigid joint")
        which = f"{ELASTIC} takes those of the {rigid} {listed(names, 12)}, and returns those of the others"
    return joint_vector(f"--{name}", getattr(arguments, name), len(names), which)


def _names(robot: Robot, function: str) -> tuple[str, ...]:
    """Return the joints of the entries, or of the rows, of a result."""
    return result_names(robot) if function == ELASTIC else robot.coordinate_names


def _rows(robot: Robot, function: str) -> tuple[str, ...]:
    """Return the names of the rows of a matrix: the joints, and the last row below an inertia matrix."""
    names = robot.coordinate_names
    return (*names, "bias_torques") if function == "inertia_and_bias" else names


def _check_finite(robot: Robot, function: str, value: Array) -> None:
    if function == "inertia_and_bias":
        _check_finite(robot, "inertia_matrix", value[:-1])
        _check_finite(robot, "bias_torques", value[-1])
        return
    quantities = {
        "forward_dynamics": "acceleration",
        "inertia_matrix": "inertia",
        ELASTIC: "torque or acceleration",
    }
    moves = function in ("forward_dynamics", ELASTIC)
    code = "joint-motion-not-finite" if moves else "joint-result-not-finite"
    for name, row in zip(_names(robot, function), value.tolist(), strict=True):
        for number in row if isinstance(row, list) else [row]:
            if not math.isfinite(number):
                raise DynError(code, quantity=quantities.get(function, "torque"), joint=name, given=number)


def _entries(robot: Robot, function: str, value: Array) -> dict[str, Any]:
    entries = {
        "robot": robot.name,
        "function": function,
        "joint_names": _names(robot, function),
        "values": value.tolist(),
    }
    if function == "regressor":
        entries["parameter_names"] = robot.parameter_names
    if function == "inertia_and_bias":
        entries["row_names"] = _rows(robot, function)
    if value.ndim == 1:
        entries["units"] = _units(robot, function)
    return entries


def _units(robot: Robot, function: str) -> list[str]:
    return [
        f"{joint.position_unit}/s^2"
        if function == "forward_dynamics" or (function == ELASTIC and joint.elastic)
        else joint.effort_unit
        for joint in map(robot.joint, _names(robot, function))
    ]


def _lines(names: Sequence[str], value: Array, units: Sequence[str] = ()) -> list[str]:
    """Return a line for each entry or row: its name, the numbers, and its unit."""
    width = max(map(len, names), default=0)
    rows = zip(names, value if value.ndim == 2 else value[:, None], units or [""] * len(names), strict=True)
    return [
        f"{name:<{width}}  {' '.join(f'{shown(x):14.6f}' for x in row)} {unit}".rstrip()
        for name, row, unit in rows
    ]


def _regressor_lines(robot: Robot, value: Array) -> list[str]:
    """Return a line for each entry that is not printed as 0: joint, parameter, value."""
    joints = max(map(len, robot.coordinate_names), default=0)
    parameters = max(map(len, robot.parameter_names), default=0)
    return [
        f"{joint:<{joints}}  {parameter:<{parameters}}  {shown(number):14.6f}"
        for joint, row in zip(robot.coordinate_names, value.tolist(), strict=True)
        for parameter, number in zip(robot.parameter_names, row, strict=True)
        if shown(number) != 0.0
    ]


# Functions of a robot on a moving base


def _evaluated_on_base(robot: Robot, kind: BaseKind, arguments: Namespace) -> Output:
    function = arguments.function
    check_function(function, kind, _TAKEN_ON_BASE)
    refuse_given(moving_base(robot, kind), function)
    _check_options_on_base(function, arguments)
    terms = {"friction": arguments.friction, "rotor_inertia": arguments.rotor_inertia}
    model = compile_moving_base(robot, kind, backend="python", **terms)
    base = model.base
    values = [
        joint_vector(f"--{name}", getattr(arguments, name), base.robot.dof)
        if name in _JOINT_VECTORS
        else base_vector(base, name, arguments)
        for name in _TAKEN_ON_BASE[function]
    ]
    of_link: dict[str, str] = {}
    if function in OF_BASE_LINK:
        of_link["link"] = link_of(base.robot, arguments, function)
        value: Array = getattr(model, function)(*values, of_link["link"])
        names, units = _link_rows(value), _link_units(function) or [""] * len(value)
    else:
        refuse_link(arguments, function)
        forces = {} if arguments.F is None else {"F": base_vector(base, "F", arguments)}
        value = getattr(model, function)(*values, **forces)
        entries = result_entries(base, function)
        names, units = [entry.name for entry in entries], [entry.unit for entry in entries]
    for name, row in zip(names, value, strict=True):
        if not np.isfinite(row).all():
            if name:
                raise DynError("entry-not-finite", entry=name, function=function)
            raise DynError("last-row-not-finite", function=function)
    if not arguments.json:
        return Output(_lines(names, value, units))
    return Output(
        {
            "robot": base.name,
            "base": {"kind": base.kind, "link": model.base_link},
            "function": function,
            **of_link,
            "joint_names": model.joint_names,
            "row_names": names,
            "values": value.tolist(),
            **({"units": units} if value.ndim == 1 else {}),
        }
    )


def check_function(function: str, kind: BaseKind, known: Iterable[str]) -> None:
    """Raise DynError where a function is not known for robots on a moving base."""
    if function not in known:
        raise DynError("function-of-fixed-base", function=function, base=kind, known=", ".join(known))


def _check_options_on_base(function: str, arguments: Namespace) -> None:
    """Refuse accelerations, forces and torques where they are not taken.

    Any function of a motion may be given all of pose, V, q, qd and qdd.
    """
    taken = (*_TAKEN_ON_BASE[function], *(("F",) if function in _TAKE_FORCES else ()))
    for name in ("Vd", "F", "tau", "qdd"):
        unused = name == "qdd" and "tau" not in taken
        if getattr(arguments, name) is not None and name not in taken and not unused:
            values: dict[str, Any] = {
                "function": function,
                "option": name,
                "expected": ", ".join(f"--{one}" for one in taken),
            }
            alternative = f"{function}_given_base"
            if name in _TAKEN_ON_BASE.get(alternative, ()):
                raise DynError("option-of-given-base", **values, alternative=alternative)
            raise DynError("option-not-on-moving-base", **values)


# Functions of a link

_LINK_UNITS = {
    "jacobian_dot_qd": ("m/s^2", "rad/s^2"),
    "link_velocity": ("m/s", "rad/s"),
    "link_acceleration": ("m/s^2", "rad/s^2"),
}


def _link_rows(value: Array) -> list[str]:
    """Return the names of the rows: of a placement, 4 x 4, or of a Jacobian or a motion, 6 rows."""
    if len(value) == 4:
        return ["x", "y", "z", ""]
    return [f"{part} {axis}" for part in ("linear", "angular") for axis in "xyz"]


def _link_units(function: str) -> list[str]:
    """Return the units of the 6 entries of a motion; none for matrices."""
    return [unit for unit in _LINK_UNITS.get(function, ()) for _ in range(3)]


def _evaluated_link(
    robot: Robot, function: str, link: str, axes: str, values: Sequence[list[float]], as_json: bool
) -> Output:
    value: Array = getattr(compile_model(robot, backend="python"), function)(*values, link, axes)
    if not np.isfinite(value).all():
        raise DynError("link-result-not-finite", function=function, link=link)
    units = _link_units(function)
    if not as_json:
        return Output(_lines(_link_rows(value), value, units))
    return Output(
        {
            "robot": robot.name,
            "function": function,
            "link": link,
            "expressed_in": axes,
            "joint_names": robot.coordinate_names,
            "values": value.tolist(),
            **({"units": units} if units else {}),
        }
    )


COMMAND = Command(
    description="Print the value of a dynamics function in one state, a line for each joint, in SI "
    "units; for the regressor a line for each entry that is not 0: joint, parameter, value. Of --q, --qd "
    "and --qdd a function uses its arguments; only forward_dynamics takes --tau. These options take one "
    "number for each joint: --q 0.1 -0.2 or --q=0.1,-0.2.",
    run=evaluate,
    add_arguments=add_arguments,
    parameters=True,
    terms=True,
    base="moving",
)
