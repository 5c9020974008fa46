# SPDX-License-Identifier: Apache-2.0
"""An action whose results are sent when the work is done, while other callbacks of its node go on.

A coroutine as callback that awaits the end would do as well, but the executors of rclpy resume it again and
again: with that of events, a goal that waits takes 98 % of a core. Here it takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.task import Task

from dyn_nodes.common.lifecycle.managed_node import ManagedNode

Outcome = Literal["succeed", "abort", "canceled"]
_RESULT_KEPT_S = 300
"""How long a result can be asked for."""


class Goal:
    """A goal that was accepted, and has no result yet.

    Attributes:
        request: what is asked for.
    """

    def __init__(self, handle: ServerGoalHandle, finish: Callable[[ServerGoalHandle, Any], None]) -> None:
        """Take the handle of the goal; `finish` sends the result that its callback answers."""
        self.request: Any = handle.request
        self._handle = handle
        self._finish = finish

    def tell(self, feedback: Any) -> None:
        """Send how far it is."""
        self._handle.publish_feedback(feedback)

    def finish(self, outcome: Outcome, result: Any) -> None:
        """Send the result; `canceled` is for goals that a client has cancelled."""

        def answer(handle: ServerGoalHandle) -> Any:
            getattr(handle, outcome)()
            return result

        self._finish(self._handle, answer)

    def is_that_of(self, handle: ServerGoalHandle) -> bool:
        """Whether the handle is that of this goal."""
        return bool(bytes(handle.goal_id.uuid) == bytes(self._handle.goal_id.uuid))


class _Server(ActionServer):
    """Goals are executed when there is a result."""

    def __init__(self, begin: Callable[[ServerGoalHandle], None], *arguments: Any, **named: Any) -> None:
        self._begin = begin
        super().__init__(*arguments, **named)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        self._begin(goal_handle)

    def finish(self, goal_handle: ServerGoalHandle, answer: Callable[[ServerGoalHandle], Any]) -> None:
        # At once and not in the executor, which may go no further when the node ends. One step is all of it,
        # as nothing is awaited.
        Task(self._execute_goal, (answer, goal_handle))()


class DeferredAction:
    """An action of a node. All goals are accepted: only results can say why one is not pursued."""

    def __init__(
        self,
        node: ManagedNode,
        kind: Any,
        name: str,
        requested: Callable[[Goal], None],
        cancelled: Callable[[Goal], None],
    ) -> None:
        """Offer it.

        Args:
            node: the node.
            kind: type of the action.
            name: its name.
            requested: takes each goal.
            cancelled: takes each goal without a result that a client cancels.
        """
        self._node = node
        self._open: list[Goal] = []
        self._requested = node.contained(requested)
        self._cancelled = node.contained(cancelled)
        self._server = _Server(
            self._on_goal,
            node,
            kind,
            name,
            execute_callback=lambda _: kind.Result(),
            cancel_callback=self._on_cancel,
            result_timeout=_RESULT_KEPT_S,
        )

    def close(self) -> None:
        """Offer it no more."""
        self._server.destroy()

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        goal = Goal(handle, self._on_finish)
        self._open.append(goal)
        self._requested(goal)

    def _on_finish(self, handle: ServerGoalHandle, answer: Callable[[ServerGoalHandle], Any]) -> None:
        self._open = [goal for goal in self._open if not goal.is_that_of(handle)]
        self._server.finish(handle, answer)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goal = next((goal for goal in self._open if goal.is_that_of(handle)), None)
        executor = self._node.executor
        if goal is None or executor is None:
            return CancelResponse.REJECT
        # The state changes after this callback: what comes of it is done in the next one.
        executor.create_task(lambda: self._cancelled(goal))
        return CancelResponse.ACCEPT
