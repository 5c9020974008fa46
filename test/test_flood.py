# SPDX-License-Identifier: Apache-2.0
"""Floods: for each message or request that is handled, three more come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread
from typing import Any

import pytest
from ros_graph import Graph
from std_msgs.msg import String
from std_srvs.srv import Trigger

from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.managed_node import ManagedNode

MORE = 3


class Flood:
    """A thread that sends as fast as it can."""

    def __init__(self, send: Callable[[], object]) -> None:
        self._send = send
        self._count = 0
        self._ends = False
        self._sent = Condition()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ends = True
            thread.join()

    def _run(self) -> None:
        while not self._ends:
            self._send()
            with self._sent:
                self._count += 1
                self._sent.notify()
        with self._sent:
            self._sent.notify()

    def wait_for_more(self, *_: object) -> None:
        """Wait until more was sent."""
        with self._sent:
            enough = self._count + MORE
            self._sent.wait_for(lambda: self._ends or self._count >= enough)


class Slow(ManagedNode):
    """A node that handles a message, or a request, while more of them come."""

    def __init__(self, **options: Any) -> None:
        super().__init__("slow", **options)
        self.floods: list[str] = []
        self.texts: list[str] = []
        self.flood: Flood | None = None
        self.heard = self.create_subscription(String, "text", self._on_text, qos.EACH_SAMPLE)
        self.create_service(Trigger, "trigger", self._on_trigger)

    def open(self) -> None: ...

    def close(self) -> None: ...

    def _wait(self) -> None:
        if self.flood is not None:
            self.flood.wait_for_more()

    def _on_text(self, text: String) -> None:
        self._wait()
        self.texts.append(text.data)

    def _on_trigger(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._wait()
        response.success = True
        return response

    def tell_flood(self, topic: str) -> None:
        self.floods.append(topic)


@pytest.fixture
def slow(graph: Graph) -> Iterator[Slow]:
    node = Slow(context=graph.context, use_global_arguments=False)
    graph.executor.add_node(node)
    yield node
    node.end()
    node.destroy_node()


@pytest.mark.promise("flood-messages")
def test_messages_are_polled_until_the_flood_is_over(graph: Graph, slow: Slow) -> None:
    publisher = graph.node.create_publisher(String, "text", qos.COMMAND)
    graph.wait_for(publisher.get_subscription_count)
    slow.flood = Flood(lambda: publisher.publish(String(data="flood")))
    with slow.flood.running():
        graph.wait_for(lambda: slow.floods)
        assert slow.floods == ["/text"]
        assert slow.heard not in slow.subscriptions
        count = len(slow.texts)
        graph.wait_for(lambda: len(slow.texts) > count + 10)  # newer ones are still handled
    graph.wait_for(lambda: slow.heard in slow.subscriptions)
    publisher.publish(String(data="last"))
    graph.wait_for(lambda: "last" in slow.texts)


@pytest.mark.promise("flood-requests")
def test_requests_that_the_middleware_has_dropped_are_forgotten(graph: Graph, slow: Slow) -> None:
    assert slow._requests is not None
    backlog, forgotten = slow._requests._backlog, []
    forget = backlog._flooded
    backlog._flooded = lambda: (forgotten.append(True), forget())
    client = graph.node.create_client(Trigger, "trigger")
    graph.wait_for(client.service_is_ready)
    slow.flood = Flood(lambda: client.call_async(Trigger.Request()))
    with slow.flood.running():
        graph.wait_for(lambda: forgotten)
    slow.flood = None
    assert graph.call(client, Trigger.Request()).success
