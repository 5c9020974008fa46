# SPDX-License-Identifier: Apache-2.0
"""Joint values in messages of bags, collected into streams by topic and set of joints."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, VELOCITY
from dyn_core.logs.reading_budget import ITEM_COST, Budget
from dyn_core.logs.recording import ColumnName, Stream

COMMAND = "command"
"""Quantity of commanded efforts."""
DATA = "data"
"""Quantity of numbers without names, in the order of a controller's joints."""
NANOSECOND = 1e-9
LATEST = 2**63
"""Least time stamp (ns) that bags cannot hold."""
RARE = 1e-3
"""Part of the messages of a topic below which a set of joints is ignored."""


class RawMessage(NamedTuple):
    """A recorded message that is not decoded.

    Attributes:
        topic: its topic.
        kind: its type.
        encoding: form of the definition of its type: ``ros2msg`` or ``ros2idl``.
        definition: definition of its type; empty if it is missing.
        received: time of its recording (ns).
        data: its contents as CDR.
    """

    topic: str
    kind: str
    encoding: str
    definition: str
    received: int
    data: bytes


class JointValues(NamedTuple):
    """Joint values of one message.

    Attributes:
        names: names of the joints; empty for numbers without names.
        values: quantities, each with one value per joint, or none.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, Sequence[float]], ...]


Extract: TypeAlias = Callable[[Any], JointValues]


def _joint_state(message: Any) -> JointValues:
    return JointValues(
        tuple(message.name),
        ((POSITION, message.position), (VELOCITY, message.velocity), (EFFORT, message.effort)),
    )


def _controller_state(message: Any) -> JointValues:
    """Return the measurement, which is called `actual` before ROS 2 Jazzy, and the output."""
    measured = getattr(message, "feedback", None) or message.actual
    output = getattr(message, "output", None)
    return JointValues(
        tuple(message.joint_names),
        (
            (POSITION, measured.positions),
            (VELOCITY, measured.velocities),
            (EFFORT, measured.effort),
            (COMMAND, () if output is None else output.effort),
        ),
    )


def _dynamic_joint_state(message: Any) -> JointValues:
    interfaces = [
        dict(zip(joint.interface_names, joint.values, strict=False)) for joint in message.interface_values
    ]
    return JointValues(
        tuple(message.joint_names),
        tuple(
            (quantity, [values.get(quantity, math.nan) for values in interfaces])
            for quantity in (POSITION, VELOCITY, EFFORT)
            if any(quantity in values for values in interfaces)
        ),
    )


EXTRACT: dict[str, Extract] = {
    "sensor_msgs/msg/JointState": _joint_state,
    "dyn_msgs/msg/JointTorques": lambda message: JointValues(
        tuple(message.name), ((COMMAND, message.total),)
    ),
    "control_msgs/msg/JointTrajectoryControllerState": _controller_state,
    "control_msgs/msg/DynamicJointState": _dynamic_joint_state,
    "std_msgs/msg/Float64MultiArray": lambda message: JointValues((), ((DATA, message.data),)),
}
"""Functions that return the joint values of each type of message."""


@dataclass(eq=False)
class _Rows:
    """Values of messages with the same joints and quantities."""

    names: tuple[str, ...]
    quantities: tuple[str, ...]
    values: array[float] = field(default_factory=lambda: array("d"))
    stamps: array[int] = field(default_factory=lambda: array("q"))
    received: array[int] = field(default_factory=lambda: array("q"))

    def columns(self) -> list[tuple[str, ColumnName | None]]:
        if not self.names:
            count = len(self.values) // max(len(self.stamps), 1)
            return [(f"{DATA}[{k}]", None) for k in range(count)]
        columns: list[tuple[str, ColumnName | None]] = []
        for quantity in self.quantities:
            is_command = quantity == COMMAND
            what = EFFORT if is_command else quantity
            columns += [
                (f"{quantity}.{name}", ColumnName(what, name, is_command=is_command)) for name in self.names
            ]
        return columns


class TopicRows:
    """Messages of one topic; the order of the joints may change, and each message may have only some."""

    def __init__(self, topic: str, budget: Budget) -> None:
        """Begin without messages; `budget` bounds the names of joints."""
        self._topic, self._budget = topic, budget
        self._rows: dict[tuple[tuple[str, ...], tuple[str, ...]], _Rows] = {}
        self._orders: dict[tuple[str, ...], tuple[tuple[str, ...], list[int]]] = {}
        self._first: dict[frozenset[str], tuple[str, ...]] = {}
        self.bad = 0
        self.values = 0
        self.messages = 0

    def add(self, message: JointValues, stamp: int, received: int) -> None:
        """Add the values of a message; `stamp` and `received` in ns."""
        self.messages += 1
        count = len(message.names)
        present = [(quantity, values) for quantity, values in message.values if len(values)]
        is_whole = not count or (
            (message.names in self._orders or len(set(message.names)) == count)
            and all(len(values) == count for _, values in present)
        )
        if not (present and is_whole and 0 <= stamp < LATEST and 0 <= received < LATEST):
            self.bad += 1
            return
        names, order = self._order(message.names) if count else ((), list(range(len(present[0][1]))))
        key = (names or (str(len(order)),), tuple(quantity for quantity, _ in present))
        rows = self._rows.get(key)
        if rows is None:
            self._budget.take(ITEM_COST)
            rows = self._rows[key] = _Rows(names, key[1])
        for _, values in present:
            # Numbers of a list are found sooner than those of an array of NumPy.
            numbers = values.tolist() if isinstance(values, np.ndarray) else values
            rows.values.extend([numbers[k] for k in order])
        rows.stamps.append(stamp)
        rows.received.append(received)
        self.values += len(present) * len(order)

    def _order(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[int]]:
        """Return the joints in their first order, and their indices in this message."""
        known = self._orders.get(names)
        if known is None:
            self._budget.take(ITEM_COST + 200 * len(names) + sum(map(len, names)))
            first = self._first.setdefault(frozenset(names), names)
            place = {name: k for k, name in enumerate(names)}
            known = self._orders[names] = (first, [place[name] for name in first])
        return known

    @property
    def orders(self) -> int:
        """Number of further orders of joints, beside the first of each set of joints."""
        return len(self._orders) - len(self._first)

    def streams(self) -> Iterator[Stream]:
        """Yield a stream for each set of joints, except for rare ones."""
        for rows in self._usual():
            columns = rows.columns()
            values = np.frombuffer(rows.values, dtype=np.float64).reshape(len(rows.stamps), len(columns))
            stamps, received = (
                np.frombuffer(times, dtype=np.int64) for times in (rows.stamps, rows.received)
            )
            if np.any(received[1:] < received[:-1]):  # files hold messages in the order of their writing
                order = np.argsort(received, kind="stable")
                values, stamps, received = values[order], stamps[order], received[order]
            time, epoch = _seconds(stamps, received)
            yield Stream(
                source=self._topic,
                names=tuple(name for name, _ in columns),
                values=values,
                time=time,
                epoch=epoch,
                meanings=tuple(meaning for _, meaning in columns),
            )

    def _usual(self) -> list[_Rows]:
        most = max((len(rows.stamps) for rows in self._rows.values()), default=0)
        return [rows for rows in self._rows.values() if len(rows.stamps) >= max(RARE * most, 2)]

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the messages."""
        usual = self._usual()
        kept = set(map(id, usual))
        rare = [rows for rows in self._rows.values() if id(rows) not in kept]
        if rare:
            count = sum(len(rows.stamps) for rows in rare)
            yield self._finding(Severity.WARNING, Message("topic-messages-rare", count=count))
        if self.bad:
            message = Message("topic-messages-malformed", count=self.bad, total=self.messages)
            yield self._finding(Severity.WARNING, message)
        if self.orders:
            yield self._finding(Severity.NOTE, Message("topic-joint-orders", count=self.orders + 1))
        sets = {tuple(sorted(rows.names)) for rows in usual}
        if len(sets) > 1:
            yield self._finding(Severity.NOTE, Message("topic-joint-sets", sets=sorted(sets)))

    def _finding(self, severity: Severity, message: Message) -> Finding:
        return Finding(severity, "topic", (self._topic,), message)


def _seconds(stamps: np.ndarray, received: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the times after the first one, and the first one (s); without stamps by the recorder's clock."""
    times = stamps if len(stamps) and stamps[0] and stamps[-1] != stamps[0] else received
    return (times - times[0]) * NANOSECOND, float(times[0]) * NANOSECOND
