# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters and payloads from messages."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from builtin_interfaces.msg import Duration

from dyn_core import DynError, Robot
from dyn_msgs.msg import DynamicParameters, Payload
from dyn_nodes.common.data_checks import too_large, worst_index


def parameters_of(message: DynamicParameters, robot: Robot) -> dict[str, float]:
    """Return dynamic parameters by name; DynError where they do not belong to the robot.

    An empty name or hash is not compared.
    """
    for what, theirs, ours in (
        ("description", message.description_hash, robot.description_hash),
        ("robot", message.robot_name, robot.name),
    ):
        if theirs and theirs != ours:
            raise DynError("parameters-of-another", kind=what, given=theirs, used=ours)
    if len(message.name) != len(message.value):
        raise DynError("parameter-counts-differ", names=len(message.name), count=len(message.value))
    if not message.name:
        raise DynError("parameters-empty")
    # More names than the robot has parameters are repeated or unknown, and so is one of the first.
    names = message.name[: len(robot.parameter_names) + 1]
    values = dict(zip(names, message.value, strict=False))
    if len(values) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DynError("parameter-repeated", parameter=repeated)
    if too_large(values.values()):
        k = worst_index(message.value[: len(names)])
        raise DynError("parameter-implausible", parameter=message.name[k], given=message.value[k])
    return values


def blend_time_of(message: Duration, configured: float) -> float:
    """Return a time (s): the configured one where the message has zero; DynError where it is negative."""
    seconds = float(message.sec + 1e-9 * message.nanosec)
    if seconds < 0.0:
        raise DynError("blend-time-negative", time=seconds)
    return seconds or configured


class PayloadValues(NamedTuple):
    """A body held by a link, as `Robot.with_payload` and `Simulator.set_payload` take it."""

    link: str
    mass: float  # its mass (kg)
    centre: tuple[float, float, float]  # its centre of mass in the frame of the link (m)
    # XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link (kg m^2)
    inertia: tuple[float, float, float, float, float, float]


def payload_of(message: Payload) -> PayloadValues:
    """Return the payload of a message; DynError where a number is implausibly large."""
    i = message.inertia
    centre = (i.com.x, i.com.y, i.com.z)
    inertia = (i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)
    if too_large((i.m, *centre, *inertia)):
        raise DynError(
            "payload-implausible", link=message.link_name, mass=i.m, centre=centre, inertia=inertia
        )
    return PayloadValues(message.link_name, i.m, centre, inertia)
