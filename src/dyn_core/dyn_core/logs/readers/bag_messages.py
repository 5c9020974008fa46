# SPDX-License-Identifier: Apache-2.0
"""Messages of one topic, collected into one stream for each set of joints."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dyn_core.core.errors import listed
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.bag_message import COMMAND, DATA, JointValues
from dyn_core.logs.recording import ColumnName
from dyn_core.logs.stream import Stream
from dyn_core.logs.units import EFFORT

NANOSECOND = 1e-9
LATEST = 2**63
"""Stamps (ns) that bags can hold."""
RARE = 1e-3
"""Part of the messages of a topic below which a set of joints is none of it."""


@dataclass(eq=False)
class _Rows:
    """Messages that name the same joints and have the same quantities."""

    names: tuple[str, ...]
    quantities: tuple[str, ...]
    values: array[float] = field(default_factory=lambda: array("d"))
    stamps: array[int] = field(default_factory=lambda: array("q"))
    received: array[int] = field(default_factory=lambda: array("q"))

    def columns(self) -> list[tuple[str, ColumnName | None]]:
        if not self.names:
            count = len(self.values) // max(len(self.stamps), 1)
            return [(f"{DATA}[{k}]", None) for k in range(count)]
        return [
            (
                f"{quantity}.{name}",
                ColumnName(EFFORT if quantity == COMMAND else quantity, name, is_wanted=quantity == COMMAND),
            )
            for quantity in self.quantities
            for name in self.names
        ]


class TopicRows:
    """The messages of one topic; joints may come in any order, and some in each message."""

    def __init__(self, topic: str) -> None:
        """Take the name of the topic."""
        self._topic = topic
        self._rows: dict[tuple[tuple[str, ...], tuple[str, ...]], _Rows] = {}
        self._orders: dict[tuple[str, ...], tuple[tuple[str, ...], list[int]]] = {}
        self.bad = 0
        self.values = 0
        self.messages = 0

    def add(self, said: JointValues, stamp: int, received: int) -> None:
        """Keep what a message says; `stamp` and `received` in ns."""
        self.messages += 1
        if not (0 <= stamp < LATEST and 0 <= received < LATEST):
            self.bad += 1
            return
        count = len(said.names)
        present = [(quantity, values) for quantity, values in said.values if len(values)]
        if said.names:
            if len(set(said.names)) != count or any(len(values) != count for _, values in present):
                self.bad += 1
                return
            names, order = self._order(said.names)
        else:
            names, order = (), list(range(len(present[0][1]))) if present else []
        if not present:
            self.bad += 1
            return
        key = (names or (str(len(order)),), tuple(quantity for quantity, _ in present))
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = _Rows(names, key[1])
        for _, values in present:
            rows.values.extend([values[k] for k in order])
        rows.stamps.append(stamp)
        rows.received.append(received)
        self.values += len(present) * len(order)

    def _order(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[int]]:
        """Answer the joints in the order that was seen first, and where they are in this message."""
        known = self._orders.get(names)
        if known is None:
            first = next((key[0] for key in self._rows if set(key[0]) == set(names)), names)
            known = self._orders[names] = (first, [names.index(name) for name in first])
        return known

    @property
    def orders(self) -> int:
        """How many messages are ordered in ways of their own, beside the first of each set of joints."""
        return len(self._orders) - len({frozenset(names) for names in self._orders})

    def streams(self) -> Iterator[Stream]:
        """Answer a stream for each set of joints that more than a few messages name."""
        for rows in self._usual():
            columns = rows.columns()
            values = np.frombuffer(rows.values, dtype=np.float64).reshape(len(rows.stamps), len(columns))
            time, epoch = _seconds(rows.stamps, rows.received)
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
        """Answer what is wrong with the messages."""
        usual = self._usual()
        rare = [rows for rows in self._rows.values() if rows not in usual]
        if rare:
            yield Finding(
                Severity.WARNING,
                "topic",
                (self._topic,),
                f"{sum(len(rows.stamps) for rows in rare)} messages name joints, or have values, that "
                "hardly any other "
                "has: they are left out",
            )
        if self.bad:
            yield Finding(
                Severity.WARNING,
                "topic",
                (self._topic,),
                f"{self.bad} of {self.messages} messages have no values, or not one for each name: they are "
                "left out",
            )
        if self.orders:
            yield Finding(
                Severity.NOTE,
                "topic",
                (self._topic,),
                f"joints come in {self.orders + 1} different orders: they are sorted by name of joint",
            )
        sets = {frozenset(rows.names) for rows in usual}
        if len(sets) > 1:
            yield Finding(
                Severity.NOTE,
                "topic",
                (self._topic,),
                "different messages name different joints, as when several nodes publish: "
                + "; ".join(listed(sorted(names), 4) for names in sets),
            )


def _seconds(stamps: array[int], received: array[int]) -> tuple[np.ndarray, float]:
    """Answer the times after the first, and the first (s), by the recorder's clock without stamps."""
    chosen = stamps if stamps and stamps[0] and stamps[-1] != stamps[0] else received
    times = np.frombuffer(chosen, dtype=np.int64)
    return (times - times[0]) * NANOSECOND, float(times[0]) * NANOSECOND
