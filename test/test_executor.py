# SPDX-License-Identifier: Apache-2.0
"""The end of a process with idle nodes."""

from __future__ import annotations

from threading import Event, Thread
from unittest.mock import DEFAULT, Mock

from rclpy.context import Context
from rclpy.task import Future
from ros_graph import GENEROUS_S

from dyn_nodes.common.lifecycle.process import make_executor, spin_until


def test_idle_spinning_ends_on_shutdown(context: Context) -> None:
    executor, ended, waits = Mock(wraps=make_executor(context)), Future(), Event()
    executor.spin_once.side_effect = lambda **_: waits.set() or DEFAULT
    thread = Thread(target=spin_until, args=(executor, ended), daemon=True)
    thread.start()
    assert waits.wait(GENEROUS_S)
    ended.set_result(None)
    thread.join(GENEROUS_S)
    assert not thread.is_alive()
