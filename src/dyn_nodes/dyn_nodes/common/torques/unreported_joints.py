# SPDX-License-Identifier: Apache-2.0
"""Joints that no joint state ever has, as the fingers of an arm without its hand: they are held still."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dyn_core import DynError, Robot
from dyn_core.robot.joints import Limits
from dyn_core.robot.urdf.locked_joints import standing_position
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import RobotSource
from dyn_nodes.common.parameters import SECONDS, declare


class UnreportedJoints:
    """Locks joints that have not reported for `hold_unreported`, and releases them when they do.

    A joint has to have both limits, and most joints have to report. A joint that was released is never held
    again.
    """

    def __init__(self, node: RobotNode[Any], source: RobotSource, steady: Callable[[], float]) -> None:
        """Declare `hold_unreported`; `steady` is a clock that never goes back (s)."""
        text = (
            "Time after which joints with limits that no joint state has ever had are held still, s. "
            "They are locked at 0, or else in the middle of their range. 0: never."
        )
        self._after: float = declare(node, "hold_unreported", 2.0, text, within=SECONDS)
        self._node, self._source, self._steady = node, source, steady
        self._since: float | None = None
        self._released: set[str] = set()

    @property
    def held(self) -> bool:
        """Whether any joint is held."""
        return bool(self._source.held)

    def hold(self, robot: Robot, names: Sequence[str]) -> None:
        """Take note that joints of a robot have not reported yet; hold them after some time."""
        now = self._steady()
        if self._since is None:
            self._since = now
        if not self._after or now - self._since < self._after:
            return
        if self._source.held.keys() >= set(names):  # a robot without them is being loaded
            return
        few = 2 * len(names) < robot.dof
        if not few or not all(_has_range(robot.limits[name]) for name in names):
            return
        if not self._released.isdisjoint(names):
            return
        self._since = None
        at = {name: standing_position(robot.limits[name]) for name in names}
        self._source.held = self._source.held | at
        listed = ", ".join(f"'{name}' at {value:g}" for name, value in at.items())
        self._node.get_logger().warning(str(Notice("joints-held", joints=listed, time=self._after)))
        self._node.load("", self._told)

    def look_at(self, names: Sequence[str]) -> None:
        """Release the held joints that a joint state names."""
        back = [name for name in names if name in self._source.held]
        if not back:
            return
        self._released.update(back)
        self._source.held = {name: q for name, q in self._source.held.items() if name not in back}
        self._node.get_logger().warning(str(Notice("joints-released", joints=back)))
        self._node.load("", self._told)

    def _told(self, problem: DynError | None) -> None:
        if problem is not None:
            self._node.get_logger().error(str(Notice("robot-not-reloaded", cause=problem)))


def _has_range(limits: Limits) -> bool:
    return limits.lower is not None and limits.upper is not None
