# SPDX-License-Identifier: Apache-2.0
"""What a node tells on /diagnostics: whether all is well, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

PERIOD_S = 1.0


class Failure(NamedTuple):
    """A lasting problem that is an error and not a warning.

    Attributes:
        sentence: what is wrong.
    """

    sentence: str


class Diagnostics:
    """State and counts of a node, published once a second (REP 107), and at once when it gets worse."""

    def __init__(
        self,
        node: Node,
        lasting_problem: Callable[[], str | Failure | None],
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
        self._told = DiagnosticStatus.OK
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # Not the node's clock, which may be a simulated one that stands still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD_S, self._publish, clock=steady)

    def count(self, what: str, problem: str | None = None) -> None:
        """Add one to a count; a problem makes the next message, which comes at once, a warning."""
        self._counts[what] = self._counts.get(what, 0) + 1
        if problem is not None:
            self._passing_problem = problem
            if self._told == DiagnosticStatus.OK:
                self._tell(*self._state())

    def look_again(self) -> None:
        """Publish at once if the level is another one than was told last."""
        level, message = self._state()
        if level != self._told:
            self._tell(level, message)

    def close(self) -> None:
        """Stop publishing."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        self._tell(*self._state())
        self._passing_problem = None

    def _state(self) -> tuple[bytes, str]:
        lasting = self._lasting_problem()
        if isinstance(lasting, Failure):
            return DiagnosticStatus.ERROR, lasting.sentence
        problem = self._passing_problem or lasting
        return (DiagnosticStatus.WARN, problem) if problem else (DiagnosticStatus.OK, "in order")

    def _tell(self, level: bytes, message: str) -> None:
        values = {**self._counts, **self._values()}
        status = DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=message,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
        self._told = level
