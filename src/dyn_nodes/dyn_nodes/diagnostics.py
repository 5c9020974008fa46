# SPDX-License-Identifier: Apache-2.0
"""What a node tells on /diagnostics: whether all is well, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

PERIOD_S = 1.0


class Diagnostics:
    """State and counts of a node, published once a second (REP 107)."""

    def __init__(
        self,
        node: Node,
        lasting_problem: Callable[[], str | None],
        values: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Publish from now on.

        Args:
            node: the node.
            lasting_problem: answers what is wrong at the moment, in a sentence, or None.
            values: answers what else is to be told, by name; it is called after `lasting_problem`.
        """
        self._node = node
        self._lasting_problem = lasting_problem
        self._values = values
        self._counts: dict[str, int] = {}
        self._passing_problem: str | None = None
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # Not the node's clock, which may be a simulated one that stands still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD_S, self._publish, clock=steady)

    def count(self, what: str, problem: str | None = None) -> None:
        """Add one to a count; a problem makes the next message a warning."""
        self._counts[what] = self._counts.get(what, 0) + 1
        if problem is not None:
            self._passing_problem = problem

    def close(self) -> None:
        """Stop publishing."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        problem = self._passing_problem or self._lasting_problem()
        self._passing_problem = None
        values = {**self._counts, **self._values()}
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if problem else DiagnosticStatus.OK,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=problem or "in order",
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
