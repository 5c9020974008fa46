# SPDX-License-Identifier: Apache-2.0
"""What all nodes of this package have in common: a life cycle that nothing can break."""

from __future__ import annotations

import contextlib
import traceback
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from dyn_core import DynError
from dyn_nodes.common.parameters import declare
from dyn_nodes.rcl_error import RCLError


class ManagedNode(LifecycleNode):
    """A lifecycle node that starts by itself if it is told to.

    Subclasses `open` what they need, and `close` it again: at cleanup, at shutdown and after an error.

    Attributes:
        failure: the unexpected error because of which the node is not active, in a sentence; or None.
    """

    def __init__(self, name: str, **node_options: Any) -> None:
        """Declare `autostart`."""
        super().__init__(name, **node_options)
        self._autostart: bool = declare(
            self, "autostart", True, "Configure and activate at start, without a lifecycle manager."
        )
        self._problem = DynError("the node could not be configured")
        self.failure: str | None = None
        self._guard_transitions()

    @abstractmethod
    def open(self) -> None:
        """Read the parameters and open the topics; DynError where that is not possible."""

    @abstractmethod
    def close(self) -> None:
        """Close whatever is open."""

    def start(self) -> None:
        """With `autostart`, configure and activate; DynError where that is not possible."""
        if self._autostart:
            if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
                raise self._problem
            self.trigger_activate()

    def end(self) -> None:
        """Go through the shutdown of the life cycle, unless that was done before."""
        with contextlib.suppress(RCLError):
            self.trigger_shutdown()

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, *args: Any, **named: Any) -> Any:
        """Subscribe; the callback cannot end the process."""
        return super().create_subscription(msg_type, topic, self.contained(callback), *args, **named)

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **named: Any) -> Any:
        """Make a timer; the callback cannot end the process."""
        return super().create_timer(timer_period_sec, self.contained(callback), *args, **named)

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, *args: Any, **named: Any) -> Any:
        """Offer a service; the callback cannot end the process."""
        return super().create_service(srv_type, srv_name, self.contained(callback), *args, **named)

    def fail(self, error: Exception) -> None:
        """Deactivate, because of an error that nobody expected; other nodes of the process go on."""
        self.failure = f"inactive because of an unexpected error, {type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        self.get_logger().error(f"an unexpected error, the node deactivates itself:\n{trace}")
        with contextlib.suppress(RCLError):  # where it is not active
            self.trigger_deactivate()

    def contained(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Answer a callback that has the node fail instead of raising."""

        def contained(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                if self.context.ok():
                    self.fail(error)
                return args[-1] if args else None  # the response, where it is a service

        return contained

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open, or say why not."""
        try:
            self.open()
        except DynError as problem:
            self._problem = problem
            if not self._autostart:
                self.get_logger().error(f"cannot configure: {problem}")
            self.close()
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget an earlier failure."""
        self.failure = None
        return super().on_activate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close."""
        self.close()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close, for good."""
        self.close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close, and be ready to be configured again."""
        self.get_logger().error(f"an unexpected error in state '{state.label}'")
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def _guard_transitions(self) -> None:
        """Answer a transition that the state does not allow; rclpy would let it end the process."""
        service = self._service_change_state
        change_state = service.callback

        def answer(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
            try:
                return change_state(request, response)
            except RCLError:
                wanted = request.transition.label or request.transition.id
                self.get_logger().warning(f"transition '{wanted}' is not possible in the present state")
                response.success = False
                return response

        service.callback = answer
