# SPDX-License-Identifier: Apache-2.0
"""The services and actions of a node in a thread of their own, so that no request delays the control path.

A request is taken, built and refused in that thread. What changes the node is done by its executor, one
request at a time: between two requests the executor gets to everything that came in meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread, current_thread
from typing import Any, cast

from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.service import Service
from rclpy.waitable import Waitable

from dyn_nodes.common.lifecycle.flood import Backlog

FOR_EVER_S = 3600.0
"""Without a limit, the events executor of rclpy 7.1.6 never returns from waiting."""
ERRORS_IN_A_ROW = 10
PAUSE_S = 0.02
"""An error of the client library is of one request. After so many in a row it may not be, as where the
middleware is broken: from then on there is a pause after each, which leaves the processor to others."""


def make_executor(context: Context | None = None) -> Executor:
    """Return a single-threaded executor: the events executor where rclpy has it.

    With the nodes `simulation` and `feedforward` in one process, 1 kHz and six joints, it takes 19 % of a
    core and 0.20 ms from joint state to torque. The other executor takes 78 % and 0.55 ms, because it builds
    a wait set for each message.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def nothing() -> None:
    """Do nothing."""


class _ServicesOf:
    """Services and actions of a node, for an executor, which takes it for a node without anything else."""

    executor: Executor | None = None
    subscriptions: Sequence[Any] = ()
    timers: Sequence[Any] = ()
    clients: Sequence[Any] = ()
    guards: Sequence[Any] = ()

    def __init__(self, services: Callable[[], list[Service]], actions: Callable[[], list[Waitable]]) -> None:
        self._services = services
        self._actions = actions
        self.paused = False

    @property
    def waitables(self) -> list[Waitable]:
        """The present action servers, or none during a pause."""
        return [] if self.paused else self._actions()

    @property
    def services(self) -> list[Service]:
        """The present services, or none during a pause."""
        return [] if self.paused else self._services()


class ServiceThread:
    """Serves the requests of one node until `end`."""

    def __init__(
        self,
        node: Node,
        services: Callable[[], list[Service]],
        failed: Callable[[Exception], None],
        actions: Callable[[], list[Waitable]] = list,
    ) -> None:
        """Serve `services` and `actions` of a node; its executor calls `failed` with errors of rclpy."""
        self._node = node
        self._failed = failed
        self._view = _ServicesOf(services, actions)
        self._done = Event()
        self._ended = Event()
        self._executor = make_executor(node.context)
        self._backlog = Backlog(lambda: self._executor, self._forget)
        self._executor.add_node(cast(Node, self._view))
        self._thread = Thread(target=self._run, daemon=True, name=f"services of {node.get_name()}")
        self._thread.start()

    def wake(self) -> None:
        """Look at the services again: one was added or removed."""
        self._executor.wake()

    def end(self) -> None:
        """Serve no more requests."""
        self._ended.set()
        self._executor.create_task(nothing)
        self._done.set()
        self._thread.join()
        self._executor.remove_node(cast(Node, self._view))
        self._executor.shutdown()

    @property
    def is_present(self) -> bool:
        """Whether this is called in the thread."""
        return current_thread() is self._thread

    def done_by_node(self, callback: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
        """Return what a callback of a service returns, which the executor of the node calls."""
        returned = [response]

        def act() -> None:
            try:
                returned[0] = callback(request, response)
            finally:
                self._done.set()

        self._done.clear()
        if not self._ended.is_set() and self.later(act):
            self._done.wait()
        return returned[0]

    def next(self, act: Callable[[], object]) -> None:
        """Call a function in the thread, after the request that it handles now."""
        self._executor.create_task(act)

    def later(self, act: Callable[[], object]) -> bool:
        """Have the executor of the node call a function; return whether there is one."""
        executor = self._node.executor
        if executor is not None:
            executor.create_task(act)
        return executor is not None

    def _forget(self) -> None:
        """Forget the events of requests: the middleware tells the executor again of those that are there."""
        self._pause(True)
        self._executor.create_task(self._pause, False)

    def _pause(self, paused: bool) -> None:
        self._view.paused = paused
        self._executor.wake()

    def _run(self) -> None:
        errors = 0
        while not self._ended.is_set() and self._node.context.ok():
            self._backlog.call()
            try:
                self._executor.spin_once(timeout_sec=FOR_EVER_S)
                errors = 0
            except Exception as error:  # a response of a closed service, a request that cannot be decoded
                errors += 1
                with contextlib.suppress(Exception):  # the node or its context ends
                    self.later(partial(self._failed, error))
                if errors >= ERRORS_IN_A_ROW:
                    self._ended.wait(PAUSE_S)
