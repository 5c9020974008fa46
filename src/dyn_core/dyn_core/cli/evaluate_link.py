# SPDX-License-Identifier: Apache-2.0
"""``dyn eval`` of a function of a link."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.options import shown
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.facade.compile import compile_model
from dyn_core.robot.robot import Robot

_UNITS = {
    "jacobian_dot_qd": ("m/s^2", "rad/s^2"),
    "link_velocity": ("m/s", "rad/s"),
    "link_acceleration": ("m/s^2", "rad/s^2"),
}
_ROWS = tuple(f"{part} {axis}" for part in ("linear", "angular") for axis in "xyz")


def evaluated_link(
    robot: Robot, function: str, link: str, axes: str, taken: Sequence[list[float]], as_json: bool
) -> Answer:
    """Answer the value of a function of a link in one state."""
    value: Array = getattr(compile_model(robot, backend="python"), function)(*taken, link, axes)
    if not np.isfinite(value).all():
        raise DynError(f"{function} of link '{link}' is not finite: the values given are too large")
    units = [unit for unit in _UNITS.get(function, ()) for _ in range(3)]
    if as_json:
        answer = {
            "robot": robot.name,
            "function": function,
            "link": link,
            "expressed_in": axes,
            "joint_names": robot.coordinate_names,
            "values": value.tolist(),
            **({"units": units} if units else {}),
        }
        return Answer(json.dumps(answer, indent=2, allow_nan=False))
    names = _ROWS if len(value) == len(_ROWS) else ("x", "y", "z", "")
    width = max(map(len, names))
    numbers = value.reshape((len(value), -1))
    lines = (
        f"{name:<{width}}  {' '.join(f'{shown(x):14.6f}' for x in row)} {unit}".rstrip()
        for name, row, unit in zip(names, numbers, units or [""] * len(value), strict=True)
    )
    return Answer("\n".join(lines))
