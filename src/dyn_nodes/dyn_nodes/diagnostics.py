# SPDX-License-Identifier: Apache-2.0
"""What a node tells on /diagnostics: what it uses, what it refused, and why."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

PERIOD_S = 1.0


class Diagnostics:
    """Counts and last problem of a node, published once a second (REP 107)."""

    def __init__(self, node: Node) -> None:
        """Open /diagnostics and publish from now on."""
        self._node = node
        self._counts: dict[str, int] = {}
        self._problem: str | None = None
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._timer = node.create_timer(PERIOD_S, self._publish)

    def count(self, what: str) -> None:
        """Add one to a count, for example "joint states answered"."""
        self._counts[what] = self._counts.get(what, 0) + 1

    def problem(self, sentence: str) -> None:
        """Remember a problem; it makes the next message a warning."""
        self._problem = sentence

    def close(self) -> None:
        """Stop publishing."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [self._status(self._counts)]
        self._publisher.publish(array)
        self._problem = None

    def _status(self, counts: Mapping[str, int]) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=DiagnosticStatus.WARN if self._problem else DiagnosticStatus.OK,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=self._problem or "in order",
            values=[KeyValue(key=key, value=str(value)) for key, value in counts.items()],
        )
