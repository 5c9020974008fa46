# SPDX-License-Identifier: Apache-2.0
"""``dyn eval`` of a function of a robot on a moving base."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Sequence

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import base_vector
from dyn_core.cli.function_arguments import ON_BASE
from dyn_core.cli.link_options import link_of, refuse_link
from dyn_core.cli.options import joint_vector, shown
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.facade.compile_moving_base import compile_moving_base
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.moving_base.argument_checks import refuse_given
from dyn_core.model.moving_base.compiled_model import MovingBaseModel
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK
from dyn_core.model.moving_base.named_entries import Entry, result_entries
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import Robot

_TAKEN = ON_BASE | OF_BASE_LINK
_JOINT_VECTORS = ("q", "qd", "qdd", "tau")
_PUSHED = ("inverse_dynamics", "forward_dynamics")
_LINK_UNITS = {"link_velocity": ("m/s", "rad/s"), "link_acceleration": ("m/s^2", "rad/s^2")}


def evaluated_on_base(robot: Robot, kind: BaseKind, arguments: Namespace) -> Answer:
    """Answer the value of a function in one state."""
    function = arguments.function
    check_function(function, kind, _TAKEN)
    refuse_given(moving_base(robot, kind), function)
    _check_options(function, arguments)
    # One evaluation is sooner done in Python than compiled.
    terms = {"friction": arguments.friction, "rotor_inertia": arguments.rotor_inertia}
    model = compile_moving_base(robot, kind, backend="python", **terms)
    base = model.base
    taken = [
        joint_vector(f"--{name}", getattr(arguments, name), base.robot.dof)
        if name in _JOINT_VECTORS
        else base_vector(base, name, arguments)
        for name in _TAKEN[function]
    ]
    if function in OF_BASE_LINK:
        link = link_of(base.robot, arguments, function)
        entries = _of_link(model, function)
        value: Array = getattr(model, function)(*taken, link)
        return _answered(model, function, value, entries, arguments.json, {"link": link})
    refuse_link(arguments, function)
    push = {} if arguments.F is None else {"F": base_vector(base, "F", arguments)}
    value = getattr(model, function)(*taken, **push)
    return _answered(model, function, value, result_entries(base, function), arguments.json, {})


def check_function(function: str, kind: BaseKind, known: Iterable[str]) -> None:
    """DynError where a function is not one of those of robots on a moving base."""
    if function not in known:
        raise DynError(
            f"{function} is a function of robots whose base stands still, and this one is {kind}: "
            f"give --base fixed, or one of {', '.join(known)}"
        )


def _check_options(function: str, arguments: Namespace) -> None:
    """Refuse accelerations, forces and torques where they are not taken.

    Any function of a motion may be given all of pose, V, q, qd and qdd.
    """
    taken = (*_TAKEN[function], *(("F",) if function in _PUSHED else ()))
    for name in ("Vd", "F", "tau", "qdd"):
        beside = name == "qdd" and "tau" not in taken
        if getattr(arguments, name) is not None and name not in taken and not beside:
            wanted = ", ".join(f"--{name}" for name in taken)
            given = f"{function}_given_base"
            if name in _TAKEN.get(given, ()):
                wanted += f", or take {given}, which does"
            raise DynError(f"{function} of a robot on a moving base does not take --{name}: give {wanted}")


def _of_link(model: MovingBaseModel, function: str) -> tuple[Entry, ...]:
    """What the entries, or the rows, of a result for a link are."""
    if function == "forward_kinematics":
        return tuple(Entry(name, "") for name in ("x", "y", "z", ""))
    linear, angular = _LINK_UNITS.get(function, ("", ""))
    pairs = (("linear", linear), ("angular", angular))
    return tuple(Entry(f"{part} {axis}", unit) for part, unit in pairs for axis in "xyz")


def _answered(
    model: MovingBaseModel,
    function: str,
    value: Array,
    entries: Sequence[Entry],
    as_json: bool,
    beside: dict[str, str],
) -> Answer:
    for entry, row in zip(entries, value.reshape((len(value), -1)), strict=True):
        if not np.isfinite(row).all():
            raise DynError(
                f"{entry.name or 'the last row'} of {function} is not finite: the values given are too large"
            )
    if as_json:
        answer = {
            "robot": model.base.name,
            "base": {"kind": model.base.kind, "link": model.base_link},
            "function": function,
            **beside,
            "joint_names": model.joint_names,
            "row_names": [entry.name for entry in entries],
            "values": value.tolist(),
            **({"units": [entry.unit for entry in entries]} if value.ndim == 1 else {}),
        }
        return Answer(json.dumps(answer, indent=2, allow_nan=False))
    width = max(len(entry.name) for entry in entries)
    rows = zip(entries, value.reshape((len(value), -1)), strict=True)
    return Answer(
        "\n".join(
            f"{entry.name:<{width}}  {' '.join(f'{shown(x):14.6f}' for x in row)} {entry.unit}".rstrip()
            for entry, row in rows
        )
    )
