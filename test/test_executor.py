# SPDX-License-Identifier: Apache-2.0
"""The end of a process whose nodes have nothing to do."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from ros_graph import GENEROUS_S

from dyn_nodes.executor import make_executor, spin_until


class Noted:
    """An executor that tells when it begins to wait."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self.waits = Event()

    def spin_once(self, timeout_sec: float) -> None:
        self.waits.set()
        self._executor.spin_once(timeout_sec=timeout_sec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


def test_spinning_ends_although_nothing_happens(ros_environment: dict[str, str]) -> None:
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    executor, ended = Noted(make_executor(context)), Future()
    thread = Thread(target=spin_until, args=(executor, ended), daemon=True)
    thread.start()
    assert executor.waits.wait(GENEROUS_S)
    ended.set_result(None)
    thread.join(GENEROUS_S)
    alive = thread.is_alive()
    context.try_shutdown()
    assert not alive
