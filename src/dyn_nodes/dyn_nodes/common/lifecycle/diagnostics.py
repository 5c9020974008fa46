# SPDX-License-Identifier: Apache-2.0
"""Diagnostics on /diagnostics, and rate-limited warnings in the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from dyn_core.core.messages import catalogue, nearest
from dyn_nodes.common.data_checks import Notice, Problem, one_line, root_cause

_MOST = 10
"""Most causes that are warned of within the time after which a warning is repeated."""
_MORE = Notice("more-is-wrong")


class Complaints:
    """Warns of each cause at most once in some time: a problem at 1 kHz would flood the log.

    After some causes in that time, only one more warning says that there are others.
    """

    def __init__(
        self, warn: Callable[[str], object], every_s: float, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """Warn by `warn`, of each cause at most once every `every_s` of the clock `steady` (s)."""
        self._warn = warn
        self._every_s = every_s
        self._steady = steady
        self._warned: dict[Hashable, float] = {}

    def say(self, problem: object, cause: Hashable) -> bool:
        """Warn of a problem, unless its cause was warned of recently; return whether it was told."""
        now = self._steady()
        if (at := self._warned.get(cause)) is not None and now - at < self._every_s:
            return False
        # Causes can contain names from messages: old ones are dropped.
        self._warned = {c: at for c, at in self._warned.items() if now - at < self._every_s}
        told = len(self._warned) < _MOST
        if not told:
            cause, problem = _MORE, _MORE
        if cause not in self._warned:
            self._warned[cause] = now
            self._warn(one_line(str(problem)))
        return told


PERIOD_S = 1.0


class Failure(Notice):
    """A lasting problem that is an error and not a warning."""


class Notices(Notice):
    """Several notices in one message."""

    def __init__(self, notices: Sequence[Notice]) -> None:
        """Take at least one notice."""
        super().__init__(", ".join(notice.code for notice in notices))
        self.notices = notices

    def __str__(self) -> str:
        """Return the sentences of all notices."""
        return "; ".join(map(str, self.notices))


class Diagnostics:
    """State and counts of a node, published once a second (REP 107), and at once when the level rises."""

    def __init__(
        self,
        node: Node,
        lasting_problem: Callable[[], Notice | None],
        values: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Publish the lasting problem and more values from now on; `values` is called last."""
        self._node = node
        self._lasting_problem = lasting_problem
        self._values = values
        self._counts: dict[str, int] = {}
        self._passing_problem: Problem | None = None
        self._told = DiagnosticStatus.OK
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # A steady clock: the clock of the node may be a simulated one that stands still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PERIOD_S, self._publish, clock=steady)
        # Read the sentences, and what finds similar names, now: the first problem must not wait for that.
        catalogue()
        nearest("", ())

    def count(self, what: str, problem: Problem | None = None) -> None:
        """Add one to a count; a problem makes the next message a warning, which is published at once."""
        self._counts[what] = self._counts.get(what, 0) + 1
        if problem is not None:
            self._passing_problem = problem
            if self._told == DiagnosticStatus.OK:
                self._tell(*self._state())

    def look_again(self) -> None:
        """Publish at once if the level differs from the last published one."""
        level, problem = self._state()
        if level != self._told:
            self._tell(level, problem)

    def close(self) -> None:
        """Stop publishing."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _publish(self) -> None:
        self._tell(*self._state())
        self._passing_problem = None

    def _state(self) -> tuple[bytes, Problem | None]:
        lasting = self._lasting_problem()
        if isinstance(lasting, Failure):
            return DiagnosticStatus.ERROR, lasting
        problem = self._passing_problem or lasting
        return (DiagnosticStatus.OK if problem is None else DiagnosticStatus.WARN), problem

    def _tell(self, level: bytes, problem: Problem | None) -> None:
        values = {**self._counts, **self._values(), **_codes(problem)}
        status = DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message="in order" if problem is None else one_line(str(problem)),
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
        self._told = level


def _codes(problem: Problem | None) -> dict[str, str]:
    """Return the code of a problem and of its root cause, where they exist."""
    if problem is None or not problem.code:
        return {}
    cause = root_cause(problem)
    return {"code": problem.code, **({"cause": cause.code} if cause is not problem and cause.code else {})}
