# SPDX-License-Identifier: Apache-2.0
"""A node whose callbacks the test calls at simulated times: thousands of messages per second.

Published messages are recorded instead of sent. Each message goes through the wire format, so that the
node gets it as from DDS.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from builtin_interfaces.msg import Time
from message_makers import NAMES, Floats, Names, joint_state, reference, stamp_at, to_rest_at
from rclpy.context import Context
from rclpy.serialization import deserialize_message, serialize_message
from ros_graph import ros_context
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from sentence_patterns import Told
from simulation_client import overrides

from dyn_msgs.msg import JointReference
from dyn_nodes.common.lifecycle.managed_node import ManagedNode


class LooseNode:
    """A node, its clocks, and what it published, or what `tap` got as bytes instead, while it is not None."""

    def __init__(
        self,
        make_node: Callable[..., ManagedNode],
        context: Context,
        tap: Callable[[str, bytes], None] | None = None,
        **parameters: Any,
    ) -> None:
        self.tap = tap
        self.now, self.ros_now = 100.0, 10**12  # present steady time (s) and ROS time (ns)
        self.published: dict[str, list[Any]] = {}  # copies of all messages by topic, without the namespace
        given = {"parameter_overrides": overrides(use_sim_time=True, **parameters)}
        self.node = make_node(steady=lambda: self.now, context=context, use_global_arguments=False, **given)
        self.reconnect()
        self._tell_time()

    def reconnect(self) -> None:
        """Record publishers and subscriptions of the node; call it again after the node was reconfigured."""
        for publisher in self.node.publishers:
            self._record(publisher)
        self._heard = {subscription.topic_name: subscription for subscription in self.node.subscriptions}

    def _record(self, publisher: Any) -> None:
        kind = publisher.msg_type
        sent = self.published.setdefault(self._short(publisher.topic_name), [])

        def publish(message: Any) -> None:
            if isinstance(message, bytes | kind) and getattr(publisher, "is_activated", True):
                raw = message if isinstance(message, bytes) else serialize_message(message)
                if self.tap is None:
                    sent.append(deserialize_message(raw, kind))
                else:
                    self.tap(self._short(publisher.topic_name), raw)

        publisher.publish = publish

    def _short(self, topic: str) -> str:
        return topic.removeprefix(f"{self.node.get_fully_qualified_name()}/").lstrip("/")

    def send(self, topic: str, message: Any) -> None:
        self.send_raw(topic, serialize_message(message))

    def send_raw(self, topic: str, raw: bytes) -> None:
        """Have the node receive the bytes of a message."""
        name = topic if topic.startswith("/") else f"{self.node.get_fully_qualified_name()}/{topic}"
        heard = self._heard[name]
        heard.callback(raw if heard.raw else deserialize_message(raw, heard.msg_type))

    @property
    def heard_topics(self) -> dict[str, Any]:
        """The types of the topics that the node subscribes, but for descriptions and the clock."""
        own = f"{self.node.get_fully_qualified_name()}/"
        others = ("/clock", "/robot_description")
        return {
            name.removeprefix(own): heard.msg_type
            for name, heard in self._heard.items()
            if name not in others
        }

    def measure(self, q: Floats, qd: Floats = (), names: Names = NAMES) -> JointState:
        """Let the node receive a joint state of now, and return it."""
        self.send("/joint_states", message := joint_state(self.stamp, q, qd, names))
        return message

    def refer(self, q: Floats, qd: Floats = (), qdd: Floats = (), names: Names = NAMES) -> JointReference:
        """Let the node receive a reference of now, and return it."""
        self.send("reference", message := reference(self.stamp, q, qd, qdd, names))
        return message

    def go(self, goal: Floats, seconds: float, stamp: Time | None = None) -> None:
        self.send("joint_trajectory", to_rest_at(goal, seconds, stamp=stamp))

    @property
    def told(self) -> Told:
        return Told(self.published["diagnostics"][-1].status[0])

    def has_told(self, code: str, **values: Any) -> bool:
        """Return whether a status on /diagnostics was about a code with these values."""
        return any(Told(a.status[0]).about(code, **values) for a in self.published["diagnostics"])

    def hears(self, topic: str) -> bool:
        return topic in self._heard

    def service_request(self, service: str) -> Any:
        return self._service(service).srv_type.Request()

    def _service(self, service: str) -> Any:
        name = f"{self.node.get_fully_qualified_name()}/{service}"
        return next(s for s in self.node.services if s.service_name == name)

    def call(self, service: str, request: Any) -> Any:
        found = self._service(service)
        return found.callback(request, found.srv_type.Response())

    def pass_time(self, seconds: float) -> None:
        """Advance both clocks, in steps shorter than any timeout, and the timers with them."""
        steps = max(1, round(seconds / 0.01))
        for _ in range(steps):
            self.now += seconds / steps
            self.ros_now += round(1e9 * seconds / steps)
            self._tell_time()
            self.tick()

    def set_time(self, nanoseconds: int) -> None:
        self.ros_now = nanoseconds
        self._tell_time()

    def _tell_time(self) -> None:
        self._heard["/clock"].callback(Clock(clock=self.stamp))

    def tick(self) -> None:
        """Call each running timer once."""
        for timer in list(self.node.timers):
            if timer in self.node.timers and not timer.is_canceled():
                timer.callback()

    @property
    def stamp(self) -> Time:
        return stamp_at(self.ros_now)


Make = Callable[..., LooseNode]
"""Makes nodes with parameters, and keeps them until the end of the test."""


@contextmanager
def loose_node(make_node: Callable[..., ManagedNode], **parameters: Any) -> Iterator[LooseNode]:
    """Make a node that no executor spins; it is shut down at the end."""
    try:
        with ros_context() as context:
            loose = LooseNode(make_node, context, **parameters)
            try:
                yield loose
            finally:
                loose.node.end()
                loose.node.destroy_node()
    finally:
        # A lifecycle node stays in the ROS graph until it is not referenced any more.
        gc.collect()
