# SPDX-License-Identifier: Apache-2.0
"""The thread of services where the client library fails again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from threading import Event
from typing import Any, cast

import pytest
from rclpy.node import Node

from dyn_nodes.common.lifecycle import service_thread
from dyn_nodes.common.lifecycle.service_thread import ERRORS_IN_A_ROW, PAUSE_S, ServiceThread

COUNT = 3 * ERRORS_IN_A_ROW
GENEROUS_S = 60.0


class Failing:
    """An executor that fails, but for some of its calls."""

    def __init__(self, works: Callable[[int], bool]) -> None:
        self.times: list[float] = []
        self.enough = Event()
        self._works = works

    def spin_once(self, timeout_sec: float) -> None:
        self.times.append(time.monotonic())
        if len(self.times) >= COUNT:
            self.enough.set()
        if not self._works(len(self.times)):
            raise RuntimeError("of the test")

    def create_task(self, task: Callable[[], object]) -> None:
        task()

    def add_node(self, node: object) -> None:
        pass

    remove_node = add_node

    def shutdown(self) -> None:
        pass


class OfTest:
    """What the thread needs of a node, which does the tasks at once."""

    def __init__(self, executor: Failing) -> None:
        self.executor = self.context = executor
        executor.ok = lambda: True  # type: ignore[attr-defined]

    def get_name(self) -> str:
        return "test"


def pauses(works: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], list[Any]]:
    """Return the times between the calls of the client library, and the errors that the node was told."""
    executor, told = Failing(works), []
    monkeypatch.setattr(service_thread, "make_executor", lambda context: executor)
    thread = ServiceThread(cast(Node, OfTest(executor)), list, told.append)
    assert executor.enough.wait(GENEROUS_S)
    thread.end()
    times = executor.times
    return [b - a for a, b in pairwise(times)], told


def test_errors_in_a_row_are_told_and_come_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    between, told = pauses(lambda _: False, monkeypatch)
    assert len(told) >= COUNT
    assert min(between[ERRORS_IN_A_ROW - 1 : COUNT - 1]) > 0.9 * PAUSE_S


def test_errors_of_single_requests_delay_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortest pause shows it, also on a machine that stands still now and then."""
    between, told = pauses(lambda number: number % ERRORS_IN_A_ROW == 0, monkeypatch)
    assert told
    assert min(between[ERRORS_IN_A_ROW:]) < 0.5 * PAUSE_S
