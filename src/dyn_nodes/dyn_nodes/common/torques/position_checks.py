# SPDX-License-Identifier: Apache-2.0
"""Checks of positions: condition of loops, position range, jumps of measured positions."""

from __future__ import annotations

import math

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.control.command_limits import JumpLimit
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.core.arrays import Array
from dyn_core.robot.robot import Robot
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.parameters import declare

_WITHIN = (1.0, 1e12)


def declared_condition_limits(node: Node) -> ConditionLimits:
    """Declare the parameters; DynError where they contradict each other."""
    usual = ConditionLimits()
    text = "Greatest condition number of the loops; greater ones, near a singularity, are refused."
    greatest: float = declare(node, "loop_condition.max", usual.greatest, text, within=_WITHIN)
    text = "Condition number of the loops above which /diagnostics warns."
    warning: float = declare(node, "loop_condition.warning", usual.warning, text, within=_WITHIN)
    if warning > greatest:
        raise DynError("condition-limits-inverted", warning=warning, greatest=greatest)
    return ConditionLimits(greatest, warning)


def check_loops(guard: LoopGuard, q: Array, what: str) -> None:
    """Refuse positions (rad or m), (n,), of a message where loops do not close or are near a singularity."""
    try:
        guard.check(q)
    except DynError as problem:
        raise Rejection("position-leaves-loops", message=what, cause=problem) from problem


def condition_words(guard: LoopGuard) -> str:
    """Return the last condition number for /diagnostics."""
    if guard.condition is None:
        return "none"
    return "the loops do not close" if math.isinf(guard.condition) else f"{guard.condition:.4g}"


def loop_warning(guard: LoopGuard, whose: str) -> Notice:
    """Return a notice that loops are open or near a singularity at the "measured" or "desired" positions."""
    condition = guard.condition or math.inf
    if math.isinf(condition):
        return Notice("loops-open", positions=whose)
    return Notice("loops-near-singularity", positions=whose, given=condition, limit=guard.limits.warning)


_TOLERANCE = 0.01
"""Distance from the range that is tolerated (rad or m): ranges are rounded, and robots are calibrated."""


def outside(robot: Robot, q: Array) -> Notice | None:
    """Return a notice about the first joint outside its range at positions q (rad or m), (n,), or None."""
    for joint, value in zip(robot.independent_joints, q.tolist(), strict=True):
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        if not lower - _TOLERANCE <= value <= upper + _TOLERANCE:
            values = {"joint": joint.name, "given": value, "unit": joint.position_unit}
            return Notice("position-out-of-range", **values, lower=lower, upper=upper)
    return None


_FACTOR = 3.0
"""A position that moves faster than this many times the velocity limit is not accepted at once."""
_SLACK = 0.1
"""Distance that a joint may always move (rad or m)."""


class BelievedPositions:
    """Checks each measurement against the one before. State: the last accepted measurement.

    A single position that jumps may be an error of a sensor. Where the next one agrees with it, the robot
    has been moved. `last` has the stamp (s) and positions of the last accepted one; None before any.
    """

    def __init__(self, robot: Robot) -> None:
        """Begin without a measurement."""
        speeds = (joint.limits.velocity for joint in robot.independent_joints)
        # Descriptions give 0 where the limit is unknown.
        fastest = [_FACTOR * speed if speed else math.inf for speed in speeds]
        self._limit = JumpLimit(robot.coordinate_names, fastest, _SLACK)
        self.forget()

    def forget(self) -> None:
        """Accept the next measurement without a check."""
        self.last: tuple[float, Array] | None = None
        self._doubted: tuple[float, Array] | None = None

    def follows(self, t: float, q: Array) -> bool:
        """Take a measurement; return whether it continues the last one, or is a new beginning.

        Raises:
            Rejection: it is older than the last one, or may be an error of a sensor.
        """
        if self.last is None:
            self.last = t, q
            return False
        last_t, last_q = self.last
        if t < last_t:
            raise Rejection("message-out-of-order", message="joint state", time=last_t - t)
        doubted, self._doubted = self._doubted, None
        # The allowed distance does not grow with the time since a doubted position.
        jump = self._limit.jump(last_q, q, t - (last_t if doubted is None else doubted[0]))
        if jump is None:
            self.last = t, q
            return True
        if doubted is not None and self._limit.jump(doubted[1], q, t - doubted[0]) is None:
            self.last = t, q
            return False
        self._doubted = t, q
        raise Rejection("position-jumps", joint=jump.joint, distance=jump.step, duration=jump.dt)
