# SPDX-License-Identifier: Apache-2.0
"""A node whose callbacks the test calls itself, at times that it sets: thousands of messages in a second.

What the node publishes is recorded instead of sent. Each message goes through the wire format, so that the
node gets it as from DDS.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.clock import ClockType
from rclpy.context import Context
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from simulated import overrides

from dyn_nodes.common.lifecycle.managed_node import ManagedNode


class LooseNode:
    """A node, its clocks, and what it published.

    Attributes:
        node: the node.
        now: the present on its steady clock (s).
        ros_now: the present on its ROS clock (ns).
        published: by topic, without the namespace of the node, copies of all messages.
    """

    def __init__(self, make_node: Callable[..., ManagedNode], context: Context, **parameters: Any) -> None:
        self.now = 100.0
        self.ros_now = 1_000_000_000_000
        self.published: dict[str, list[Any]] = {}
        self.node = make_node(
            steady=lambda: self.now,
            context=context,
            use_global_arguments=False,
            parameter_overrides=overrides(use_sim_time=True, **parameters),
        )
        self.reconnect()
        self._tell_time()

    def reconnect(self) -> None:
        """Record what the node publishes and subscribes; again after it was configured again."""
        for publisher in self.node.publishers:
            self._record(publisher)
        self._heard = {subscription.topic_name: subscription for subscription in self.node.subscriptions}

    def _record(self, publisher: Any) -> None:
        kind = publisher.msg_type
        sent = self.published.setdefault(self._short(publisher.topic_name), [])

        def publish(message: Any) -> None:
            if isinstance(message, bytes | kind) and getattr(publisher, "is_activated", True):
                raw = message if isinstance(message, bytes) else serialize_message(message)
                sent.append(deserialize_message(raw, kind))

        publisher.publish = publish

    def _short(self, topic: str) -> str:
        return topic.removeprefix(f"{self.node.get_fully_qualified_name()}/").lstrip("/")

    def send(self, topic: str, message: Any) -> None:
        """Have the node receive a message."""
        name = topic if topic.startswith("/") else f"{self.node.get_fully_qualified_name()}/{topic}"
        heard, raw = self._heard[name], serialize_message(message)
        heard.callback(raw if heard.raw else deserialize_message(raw, heard.msg_type))

    def hears(self, topic: str) -> bool:
        """Whether the node subscribes a topic."""
        return topic in self._heard

    def service_request(self, service: str) -> Any:
        """Answer an empty request of a service."""
        return self._service(service).srv_type.Request()

    def _service(self, service: str) -> Any:
        name = f"{self.node.get_fully_qualified_name()}/{service}"
        return next(s for s in self.node.services if s.service_name == name)

    def call(self, service: str, request: Any) -> Any:
        """Have the node serve a request."""
        found = self._service(service)
        return found.callback(request, found.srv_type.Response())

    def pass_time(self, seconds: float) -> None:
        """Let both clocks go on, in steps that no timeout is below, and the timers with them."""
        steps = max(1, round(seconds / 0.01))
        for _ in range(steps):
            self.now += seconds / steps
            self.ros_now += round(1e9 * seconds / steps)
            self._tell_time()
            self.tick()

    def set_time(self, nanoseconds: int) -> None:
        """Set the ROS clock alone."""
        self.ros_now = nanoseconds
        self._tell_time()

    def _tell_time(self) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.ros_now, 10**9)
        self._heard["/clock"].callback(message)

    def tick(self) -> None:
        """Call the timers that are running, each once."""
        for timer in list(self.node.timers):
            if timer in self.node.timers and not timer.is_canceled():
                timer.callback()

    @property
    def stamp(self) -> Any:
        """The present on the ROS clock."""
        return rclpy.time.Time(nanoseconds=self.ros_now, clock_type=ClockType.ROS_TIME).to_msg()


@contextmanager
def loose_node(make_node: Callable[..., ManagedNode], **parameters: Any) -> Iterator[LooseNode]:
    """Make a node that nothing spins; at the end it is shut down."""
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        loose = LooseNode(make_node, context, **parameters)
        try:
            yield loose
        finally:
            loose.node.end()
            loose.node.destroy_node()
    finally:
        context.try_shutdown()
        # A lifecycle node is seen by others until nothing refers to it.
        gc.collect()
