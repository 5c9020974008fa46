# SPDX-License-Identifier: Apache-2.0
"""A service that answers when the work is done, while other callbacks of its node go on.

A coroutine as callback would do for the executors of rclpy.executors; that of events sends the coroutine
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dyn_nodes.common.lifecycle.managed_node import ManagedNode


class Answer:
    """The answer to one request, given now or later, once.

    Attributes:
        response: the message to fill before it is sent.
    """

    def __init__(self, response: Any, send: Callable[[Any, Any], None]) -> None:
        """Prepare an answer; `send` takes the response and the header of the request."""
        self.response = response
        self._send = send
        self._header: Any = None
        self._ready = False

    def send(self) -> None:
        """Send the response as it is, or as soon as it is known where to."""
        self._ready = True
        self._go()

    def address(self, header: Any) -> None:
        """Say where to."""
        self._header = header
        self._go()

    def _go(self) -> None:
        if self._ready and self._header is not None:
            self._send(self.response, self._header)


class DeferredService:
    """A service of a node, whose answers are sent from the thread of the executor."""

    def __init__(
        self, node: ManagedNode, kind: Any, name: str, requested: Callable[[Any, Answer], None]
    ) -> None:
        """Offer it; `requested` takes each request with its answer."""
        self._node = node
        self._requested = requested
        self._service = node.create_service(kind, name, self._on_request)
        self._send: Callable[[Any, Any], None] = self._service.send_response
        # The executor hands over here what the callback has returned, with the header of the request.
        self._service.send_response = self._on_returned

    def close(self) -> None:
        """Offer it no more."""
        self._node.destroy_service(self._service)

    def _on_request(self, request: Any, response: Any) -> Answer:
        answer = Answer(response, self._send)
        self._requested(request, answer)
        return answer

    def _on_returned(self, returned: Any, header: Any) -> None:
        if isinstance(returned, Answer):
            returned.address(header)
        else:
            # The callback has failed, and this is what a failing callback returns.
            self._send(returned, header)
