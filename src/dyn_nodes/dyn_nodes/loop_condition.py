# SPDX-License-Identifier: Apache-2.0
"""How near to singularities of its loops a robot may be: parameters, and what becomes of data."""

from __future__ import annotations

import math

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.core.arrays import Array
from dyn_nodes.common.parameters import declare
from dyn_nodes.rejection import Rejection

_WITHIN = (1.0, 1e12)


def declared_condition_limits(node: Node) -> ConditionLimits:
    """Declare the parameters; DynError where they make no sense."""
    usual = ConditionLimits()
    greatest: float = declare(
        node,
        "loop_condition.max",
        usual.greatest,
        "Greatest condition number of the loops, of robots with loops: positions with a greater one, near a "
        "singularity, are refused as bad data is.",
        within=_WITHIN,
    )
    warning: float = declare(
        node,
        "loop_condition.warning",
        usual.warning,
        "Condition number of the loops above which /diagnostics warns.",
        within=_WITHIN,
    )
    if warning > greatest:
        raise DynError(
            f"loop_condition.warning is {warning:g}, above loop_condition.max, {greatest:g}: "
            "nothing would be warned of"
        )
    return ConditionLimits(greatest, warning)


def check_loops(guard: LoopGuard, q: Array, what: str) -> None:
    """Refuse positions (rad or m), (n,), of a message; a Rejection where the loops will not do there."""
    try:
        guard.check(q)
    except DynError as problem:
        raise Rejection(
            f"{what} cannot be used: {problem}", f"{what} at which the loops will not do"
        ) from problem


def condition_words(guard: LoopGuard) -> str:
    """Answer the last condition number for /diagnostics."""
    if guard.condition is None:
        return "none"
    return "the loops do not close" if math.isinf(guard.condition) else f"{guard.condition:.4g}"
