# SPDX-License-Identifier: Apache-2.0
"""Messages and requests that come faster than they are handled: what waits in the process stays bounded.

The middleware keeps a few messages of a topic. The events executor of rclpy keeps an event of some hundred
bytes for each message that came, also for those that the middleware has replaced, and handles events in their
order. A flood would take memory without bound, and everything else would wait longer and longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import Executor
from rclpy.subscription import Subscription
from rclpy.timer import Timer

MOST_WAITING = 50
"""Calls between a probe and its turn from which on there is a flood. Without a flood there are one or two."""
POLL_S = 0.001
POLLS = 1000
"""How often, and how many times, messages are polled before the executor calls for each of them again."""


class Backlog:
    """Finds that calls wait in an executor: a probe at the end of its queue does not get its turn."""

    def __init__(self, executor: Callable[[], Executor | None], flooded: Callable[[], None]) -> None:
        """Watch an executor, if there is one; call `flooded` for each flood."""
        self._executor = executor
        self._flooded = flooded
        self._calls = 0
        self._awaited = False

    def call(self) -> None:
        """Count a call of the executor."""
        self._calls += 1
        if self._calls < MOST_WAITING:
            return
        self._calls = 0
        if self._awaited:
            self._awaited = False
            self._flooded()
            return
        executor = self._executor()
        if executor is not None:
            self._awaited = True
            executor.create_task(self._turn)

    def _turn(self) -> None:
        self._calls = 0
        self._awaited = False


class PollingNode(Protocol):
    """What a node offers for subscriptions that are polled for some time."""

    @property
    def executor(self) -> Executor | None:
        """The executor of the node."""

    def set_polled(self, subscription: Subscription, polled: bool) -> None:
        """Keep a subscription from executors, or give it back to them."""

    def create_timer(self, timer_period_sec: float, callback: Callable[[], None], *, clock: Clock) -> Timer:
        """Create a timer."""

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer."""

    def drop_undecodable(self, error: Exception) -> None:
        """Drop what the client library raises an error for."""

    def tell_flood(self, topic: str) -> None:
        """Tell that messages of a topic are left out."""


class GuardedCallback:
    """The callback of a subscription, which is polled for a second when its messages come too fast.

    Meanwhile the middleware keeps as many messages as the depth of the subscription, and drops older ones.
    """

    def __init__(self, node: PollingNode, callback: Callable[..., object], *, newest: bool) -> None:
        """Guard a callback; with `newest`, which is for bytes, it gets the newest of the messages that wait.

        These are the newest of each length: several publishers of joint states have their own names.
        """
        self._node = node
        self._callback = callback
        self._newest = newest
        self._backlog = Backlog(lambda: node.executor, self._begin)
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None
        self._left = 0

    def __call__(self, message: Any) -> None:
        """Handle a message that the executor has taken."""
        for one in _newest_of((message, *self._waiting())) if self._newest else (message,):
            self._callback(one)
        if self._timer is None:
            self._backlog.call()

    def watch(self, subscription: Subscription) -> None:
        """Poll this subscription when there is a flood."""
        self._subscription = subscription

    def end(self) -> None:
        """Poll no more."""
        timer, self._timer = self._timer, None
        if timer is not None and self._subscription is not None:
            self._node.destroy_timer(timer)
            self._node.set_polled(self._subscription, False)

    def _begin(self) -> None:
        if self._subscription is None:
            return
        self._left = POLLS
        self._node.tell_flood(self._subscription.topic_name)
        self._node.set_polled(self._subscription, True)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(POLL_S, self._poll, clock=steady)

    def _poll(self) -> None:
        """Handle the messages that the middleware has kept, at most as many as it can keep."""
        for message in _newest_of(self._waiting()) if self._newest else self._waiting():
            self._callback(message)
            if self._timer is None:  # the callback has closed the subscription
                return
        self._left -= 1
        if self._left <= 0:
            self.end()

    def _waiting(self) -> Iterator[Any]:
        """Take the messages that the middleware has kept, at most as many as it can keep."""
        subscription = self._subscription
        if subscription is None:
            return
        for _ in range(subscription.qos_profile.depth or 1):
            try:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
            except Exception as error:  # bytes that are no message of this type
                self._node.drop_undecodable(error)
                return
            if taken is None:
                return
            yield taken[0]


def _newest_of(messages: Iterable[bytes]) -> Iterable[bytes]:
    """Return the last of the messages of each length."""
    return {len(message): message for message in messages}.values()
