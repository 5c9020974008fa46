# SPDX-License-Identifier: Apache-2.0
"""Services and actions that respond when their work is done, while the node goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, Literal

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse, ServerGoalHandle
from rclpy.task import Task

from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.goal_requests import Look, looked_at
from dyn_nodes.common.lifecycle.managed_node import ManagedNode


class DeferredResponse:
    """The response to one request, which is filled and then sent once, now or later."""

    def __init__(self, response: Any, send: Callable[[Any, Any], None]) -> None:
        """Prepare a response; `send` takes it with the header of the request."""
        self.response = response
        self._send = send
        self._lock = Lock()  # the header comes from the thread of the requests
        self._header: Any = None
        self._ready = False

    def send(self) -> None:
        """Send the response, or wait for the header of the request where it is not known yet."""
        with self._lock:
            self._ready = True
            self._go()

    def set_header(self, header: Any) -> None:
        """Set the header of the request."""
        with self._lock:
            self._header = header
            self._go()

    def _go(self) -> None:
        if self._ready and self._header is not None:
            self._send(self.response, self._header)


class DeferredService:
    """A service of a node whose responses are sent from the thread of the executor.

    A coroutine as callback does not work: the events executor sends the coroutine itself as the response.
    """

    def __init__(
        self, node: ManagedNode, kind: Any, name: str, requested: Callable[[Any, DeferredResponse], None]
    ) -> None:
        """Offer the service; `requested` takes each request with its response."""
        self._node = node
        self._requested = requested
        self._service = node.create_service(kind, name, self._on_request)
        self._send: Callable[[Any, Any], None] = self._service.send_response
        # The executor passes the return value of the callback and the header of the request to send_response.
        self._service.send_response = self._on_returned

    def close(self) -> None:
        """Close the service."""
        self._node.destroy_service(self._service)

    def _on_request(self, request: Any, response: Any) -> DeferredResponse:
        deferred = DeferredResponse(response, self._send)
        self._requested(request, deferred)
        return deferred

    def _on_returned(self, returned: Any, header: Any) -> None:
        if isinstance(returned, DeferredResponse):
            returned.set_header(header)
        else:
            # The callback has failed; the return value is the plain response.
            self._send(returned, header)


Outcome = Literal["succeed", "abort", "canceled"]
_RESULT_KEPT_S = 300
"""How long a client can ask for a result (s), unless the action says otherwise."""
MOST_GOALS = 1000
"""Most goals whose results are kept; one more is rejected."""


class Goal:
    """An accepted goal that has no result yet; `request` is the goal of the client."""

    def __init__(self, handle: ServerGoalHandle, finish: Callable[[ServerGoalHandle, Any], None]) -> None:
        """Take the handle of the goal; `finish` sends the result that its callback returns."""
        self.request: Any = handle.request
        self._handle = handle
        self._finish = finish

    @property
    def is_cancelled(self) -> bool:
        """Whether its client has cancelled it."""
        return bool(self._handle.is_cancel_requested)

    def tell(self, feedback: Any) -> None:
        """Send feedback."""
        self._handle.publish_feedback(feedback)

    def finish(self, outcome: Outcome, result: Any) -> None:
        """Send the result; `canceled` is for goals that a client has cancelled."""

        def execute(handle: ServerGoalHandle) -> Any:
            getattr(handle, outcome)()
            return result

        self._finish(self._handle, execute)


class _Server(ActionServer):
    """Goals are executed when their result is known."""

    def __init__(
        self, begin: Callable[[ServerGoalHandle], None], look: Look | None, *arguments: Any, **named: Any
    ) -> None:
        self._begin = begin
        super().__init__(*arguments, **named)
        if look is not None:
            self._action_type = looked_at(self._action_type, look)

    @property
    def kept(self) -> int:
        """Number of goals whose results are kept."""
        return len(self._goal_handles)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        self._begin(goal_handle)

    def finish(self, goal_handle: ServerGoalHandle, execute: Callable[[ServerGoalHandle], Any]) -> None:
        # At once and not in an executor, which may not spin again when the node ends. One step completes the
        # task, because nothing is awaited.
        self._result_futures[_id(goal_handle)]._set_executor(None)
        Task(self._execute_goal, (execute, goal_handle))()
        goal_handle._goal_request = None  # results are kept, and goals can be large


class DeferredAction:
    """An action of a node. All goals are accepted, because only a result can say why a goal is refused.

    Goals are taken in the thread of the requests, and handled by the executor of the node.

    A coroutine as callback that awaits the end would be resumed again and again: with the events executor,
    one waiting goal takes 98 % of a core. Here it takes nothing.
    """

    def __init__(
        self,
        node: ManagedNode,
        kind: Any,
        name: str,
        requested: Callable[[Goal], None],
        cancelled: Callable[[Goal], None],
        kept: int = _RESULT_KEPT_S,
        look: Look | None = None,
    ) -> None:
        """Offer the action; `cancelled` takes each goal without a result that a client cancels.

        Clients can ask for a result for the time `kept` (s). `look` looks at goals before they are built: a
        goal that it refuses has the reason as its request.
        """
        self._node = node
        self._name = name
        self._open: dict[bytes, Goal] = {}  # used by both threads
        self._requested = node.contained(requested)
        self._cancelled = node.contained(cancelled)
        self._server = _Server(
            self._on_goal,
            look,
            node,
            kind,
            name,
            execute_callback=lambda _: kind.Result(),
            goal_callback=self._on_request,
            cancel_callback=self._on_cancel,
            result_timeout=kept,
        )
        node.look_at_services()

    def close(self) -> None:
        """Close the action."""
        self._server.destroy()
        self._node.look_at_services()

    def _on_request(self, _: Any) -> GoalResponse:
        if self._server.kept < MOST_GOALS:
            return GoalResponse.ACCEPT
        problem = Notice("goals-too-many", action=self._name, limit=MOST_GOALS)
        self._node.in_executor(partial(self._node.drop, problem))
        return GoalResponse.REJECT

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        goal = Goal(handle, self._on_finish)
        self._open[_id(handle)] = goal
        self._node.in_executor(partial(self._requested, goal))

    def _on_finish(self, handle: ServerGoalHandle, execute: Callable[[ServerGoalHandle], Any]) -> None:
        self._open.pop(_id(handle), None)
        self._server.finish(handle, execute)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goal = self._open.get(_id(handle))
        if goal is None or self._node.executor is None:
            return CancelResponse.REJECT
        # The state of the goal changes after this callback.
        self._node.in_executor(partial(self._cancelled, goal), after_request=True)
        return CancelResponse.ACCEPT


def _id(handle: ServerGoalHandle) -> bytes:
    return bytes(handle.goal_id.uuid)
