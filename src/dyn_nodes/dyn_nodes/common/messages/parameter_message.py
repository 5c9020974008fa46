# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters from messages."""

from __future__ import annotations

from collections import Counter

from builtin_interfaces.msg import Duration

from dyn_core import DynError, Robot
from dyn_msgs.msg import DynamicParameters
from dyn_nodes.common.data_checks import culprit, too_large


def parameters_of(message: DynamicParameters, robot: Robot) -> dict[str, float]:
    """Answer dynamic parameters by name; DynError where they are not those of the robot.

    A name or hash that is empty is not compared.
    """
    for what, theirs, ours in (
        ("description", message.description_hash, robot.description_hash),
        ("robot", message.robot_name, robot.name),
    ):
        if theirs and theirs != ours:
            raise DynError(f"the parameters belong to {what} '{theirs}', in use is {what} '{ours}'")
    if len(message.name) != len(message.value):
        raise DynError(f"there are {len(message.name)} parameter names but {len(message.value)} values")
    if not message.name:
        raise DynError("there are no parameters")
    values = dict(zip(message.name, message.value, strict=True))
    if len(values) < len(message.name):
        repeated = next(name for name, count in Counter(message.name).items() if count > 1)
        raise DynError(f"parameter '{repeated}' is named more than once")
    if too_large(message.value):
        k = culprit(message.value)
        raise DynError(f"parameter '{message.name[k]}' is {message.value[k]}: no body has it")
    return values


def blend_time_of(message: Duration, configured: float) -> float:
    """Answer a time (s), the configured one where the message says zero; DynError where it is negative."""
    seconds = float(message.sec + 1e-9 * message.nanosec)
    if seconds < 0.0:
        raise DynError(f"the blend time is {seconds:g} s: give one >= 0")
    return seconds or configured
