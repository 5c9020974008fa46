# SPDX-License-Identifier: Apache-2.0
"""The base class of all nodes: a life cycle that no exception in a callback can end.

Also timers that sleep until they are reset, and the exception of the ROS 2 client library.
"""

from __future__ import annotations

import contextlib
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.action.server import ActionServer
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import Executor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rclpy.waitable import Waitable

from dyn_core import DynError
from dyn_nodes.common.data_checks import Notice, one_line
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.flood import GuardedCallback
from dyn_nodes.common.lifecycle.service_thread import ServiceThread
from dyn_nodes.common.parameters import declare

try:  # the exception of the ROS 2 client library below rclpy, which rclpy does not export
    from rclpy._rclpy_pybind11 import RCLError
except ImportError:  # RCLError is a subclass of RuntimeError in every version
    RCLError = RuntimeError

__all__ = ["RCLError"]


class ManagedNode(LifecycleNode):
    """A lifecycle node that can configure and activate itself at start.

    Subclasses implement `open` and `close`. `close` is called at cleanup, at shutdown and after an error.
    `failure` is the unexpected error that deactivated the node, or None.
    """

    _requests: ServiceThread | None = None
    profile_defaults: Mapping[str, Any] = MappingProxyType({})
    """Defaults of parameters, by name, that count more than those of the node."""

    def __init__(self, name: str, **node_options: Any) -> None:
        """Declare `autostart`."""
        self._polled: list[Subscription] = []
        self._guarded: dict[Subscription, GuardedCallback] = {}
        self.live_names: set[str] = set()  # parameters that can be changed while the node runs
        super().__init__(name, **node_options)
        self._autostart: bool = declare(
            self, "autostart", True, "Configure and activate at start, without a lifecycle manager."
        )
        self._problem = DynError("node-not-configured")
        self.failure: Failure | None = None
        self._guard_transitions()
        self._keep_errors_of_transitions()

    @abstractmethod
    def open(self) -> None:
        """Read the parameters and open the topics; DynError where this is not possible."""

    @abstractmethod
    def close(self) -> None:
        """Close everything that is open."""

    def start(self) -> None:
        """With `autostart`, configure and activate; DynError where this is not possible."""
        if self._autostart:
            for trigger in (self.trigger_configure, self.trigger_activate):
                if trigger() != TransitionCallbackReturn.SUCCESS:
                    raise self._problem

    def end(self) -> None:
        """Serve no more requests, and run the shutdown transition, unless this was done before."""
        self._serve_beside(None)
        with contextlib.suppress(RCLError):
            self.trigger_shutdown()

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, *args: Any, newest: bool = False, **named: Any
    ) -> Any:
        """Subscribe; neither an exception in the callback nor a flood of messages ends the process.

        `newest` is as for `GuardedCallback`.
        """
        guarded = GuardedCallback(self, self.contained(callback), newest=newest)
        subscription = super().create_subscription(msg_type, topic, guarded, *args, **named)
        guarded.watch(subscription)
        self._guarded[subscription] = guarded
        return subscription

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Close a subscription."""
        guarded = self._guarded.pop(subscription, None)
        if guarded is not None:
            guarded.end()
        destroyed: bool = super().destroy_subscription(subscription)
        return destroyed

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """The subscriptions that executors wait for."""
        yield from (one for one in super().subscriptions if one not in self._polled)

    def set_polled(self, subscription: Subscription, polled: bool) -> None:
        """Keep a subscription from executors, since something else takes its messages, or give it back."""
        if polled:
            self._polled.append(subscription)
        else:
            self._polled.remove(subscription)
        if self.executor is not None:
            self.executor.wake()

    def tell_flood(self, topic: str) -> None:
        """Log that messages of a topic come faster than they are handled."""
        self.get_logger().warning(str(Notice("messages-too-fast", topic=topic)))

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **named: Any) -> Any:
        """Create a timer; an exception in the callback does not end the process."""
        return super().create_timer(timer_period_sec, self.contained(callback), *args, **named)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer; an executor that has found it due before does not call it any more."""
        timer.callback = _no_op
        destroyed: bool = super().destroy_timer(timer)
        return destroyed

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, *args: Any, **named: Any) -> Any:
        """Offer a service; a request that its callback cannot handle is answered, and the node goes on."""
        answer = self._answering(callback, srv_name)
        service = super().create_service(srv_type, srv_name, answer, *args, **named)
        self.look_at_services()
        return service

    def destroy_service(self, service: Service) -> bool:
        """Close a service."""
        destroyed: bool = super().destroy_service(service)
        self.look_at_services()
        return destroyed

    def destroy_node(self) -> None:
        """Serve no more requests, and close everything."""
        self._serve_beside(None)
        super().destroy_node()

    @property
    def services(self) -> Iterator[Service]:
        """The services that the executor of the node waits for: none while a thread serves them."""
        if self._requests is None:
            yield from super().services

    @property
    def waitables(self) -> Iterator[Waitable]:
        """The events that the executor of the node waits for: no actions while a thread serves them."""
        served = () if self._requests is None else self._actions()
        yield from (one for one in super().waitables if one not in served)

    def _actions(self) -> list[Waitable]:
        return [one for one in super().waitables if isinstance(one, ActionServer)]

    @property
    def executor(self) -> Executor | None:
        """The executor of the node; requests are served beside it, in a thread, while there is one."""
        executor: Executor | None = super().executor
        return executor

    @executor.setter
    def executor(self, executor: Executor | None) -> None:
        self._serve_beside(executor)
        setter: Any = LifecycleNode.executor
        setter.fset(self, executor)

    def _serve_beside(self, executor: Executor | None) -> None:
        """Begin to serve requests in a thread beside an executor, or end that where it is None."""
        before, self._requests = self._requests, None
        if executor is None:
            if before is not None:
                before.end()
            return
        served = lambda: list(self._services), self.drop_undecodable, self._actions
        self._requests = before or ServiceThread(self, *served)

    def look_at_services(self) -> None:
        """Serve the present services and actions: one was added or removed."""
        if self._requests is not None:
            self._requests.wake()

    def fail(self, error: Exception) -> None:
        """Deactivate after an unexpected error; other nodes of the process go on."""
        self.failure = Failure("node-failed", error_type=type(error).__name__, reason=str(error))
        self.get_logger().error(str(Notice("node-deactivates-itself", trace=_trace(error))))
        with contextlib.suppress(RCLError):  # raised where the node is not active
            self.trigger_deactivate()

    def drop(self, problem: Notice) -> None:
        """Log a message or request that is dropped, because the client library or a service fails on it."""
        self.get_logger().error(str(problem))

    def drop_undecodable(self, error: Exception) -> None:
        """Drop what the client library raises an error for."""
        self.drop(Notice("message-undecodable", reason=one_line(f"{type(error).__name__}: {error}")))

    def contained(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback that calls `fail` instead of raising."""

        def contained(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                if self.context.ok():
                    self.fail(error)
                return args[-1] if args else None  # the response of a service

        return contained

    def _answering(self, callback: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return the callback of a service that answers a request on which it fails.

        rclpy serves parameters by this, too, and raises for values of unknown types. Requests that only read,
        or are too large, are answered in the thread of the requests.
        """

        def act(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except Exception as error:
                reason = one_line(f"{type(error).__name__}: {error}")
                if self.context.ok():
                    self.in_executor(
                        partial(self.drop, Notice("request-failed", service=name, reason=reason))
                    )
                return _refused(request, response, reason)

        def answer(request: Any, response: Any) -> Any:
            count, most = _entries(request), MOST_ENTRIES
            if isinstance(request, _SETTING) and not self._only_reads(request):
                most = MOST_WITH_CLOCK
            if count > most:
                refused = Notice("request-too-large", service=name, count=count, limit=most)
                self.in_executor(partial(self.drop, refused))
                return _refused(request, response, str(refused))
            requests = self._requests
            if requests is None or not requests.is_present or self._only_reads(request):
                return act(request, response)
            if isinstance(request, SetParameters.Request) and len(request.parameters) > 1:
                # One after the other, so that the node can work between them.
                for one in request.parameters:
                    part = answer(SetParameters.Request(parameters=[one]), SetParameters.Response())
                    response.results = [*response.results, *part.results]
                return response
            if isinstance(request, _SETTING):
                self.foresee(request)
            return requests.done_by_node(act, request, response)

        return answer

    def _only_reads(self, request: Any) -> bool:
        """Return whether a request changes nothing: parameters but the clock and live ones are read-only."""
        if isinstance(request, _SETTING):
            live = self.live_names | {"use_sim_time"}
            return all(parameter.name not in live for parameter in request.parameters)
        return isinstance(request, _READING)

    def foresee(self, request: Any) -> None:
        """Hook for the slow part of a change of parameters, in the thread of the requests."""

    def in_executor(self, act: Callable[[], object], *, after_request: bool = False) -> None:
        """Call a function in the executor of the node, which may be that of this thread.

        With `after_request`, it is called after the present request has been handled.
        """
        requests, executor = self._requests, self.executor
        if requests is not None and requests.is_present:
            then = partial(requests.later, act)
            requests.next(then) if after_request else then()
        elif after_request and executor is not None:
            executor.create_task(act)
        else:
            act()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the node, or log why it cannot be opened."""
        try:
            self.open()
        except DynError as problem:
            self._problem = problem
            if not self._autostart:
                self.get_logger().error(str(Notice("configuration-failed", cause=problem)))
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
        """Close for good."""
        self.close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close, and be ready to be configured again."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def _keep_errors_of_transitions(self) -> None:
        """Log unexpected errors of the callbacks of transitions, and keep them; rclpy drops them."""

        def kept(callback: Callable[[LifecycleState], Any]) -> Callable[[LifecycleState], Any]:
            def kept(state: LifecycleState) -> Any:
                try:
                    return callback(state)
                except Exception as error:
                    values: dict[str, Any] = {"error_type": type(error).__name__, "reason": str(error)}
                    self.failure = Failure("node-failed", **values)
                    self._problem = DynError("error-unexpected", **values)
                    notice = Notice("state-error", state=state.label, trace=_trace(error))
                    self.get_logger().error(str(notice))
                    return TransitionCallbackReturn.ERROR

            return kept

        self._callbacks = {state: kept(callback) for state, callback in self._callbacks.items()}

    def _guard_transitions(self) -> None:
        """Refuse transitions that the state does not allow; rclpy would end the process."""
        service = self._service_change_state
        change_state = service.callback

        def respond(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
            requests = self._requests
            if requests is not None and requests.is_present:
                return requests.done_by_node(respond, request, response)
            try:
                return change_state(request, response)
            except RCLError:
                transition = request.transition.label or request.transition.id
                self.get_logger().warning(str(Notice("transition-impossible", transition=transition)))
                response.success = False
                return response

        service.callback = respond


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


_READING = (
    DescribeParameters.Request,
    GetParameters.Request,
    GetParameterTypes.Request,
    ListParameters.Request,
)
_SETTING = (SetParameters.Request, SetParametersAtomically.Request)
MOST_ENTRIES = 10_000
"""Most names, values or parameters in a request to a service."""
MOST_WITH_CLOCK = 100
"""Most parameters in a request that also sets the clock, which the executor of the node does."""


def _entries(message: Any) -> int:
    """Return the length of the longest list in a request, or in the messages that it has."""
    longest = 0
    for field, kind in message.get_fields_and_field_types().items():
        if kind.endswith(("]", ">")):
            longest = max(longest, len(getattr(message, field)))
        elif "/" in kind:
            longest = max(longest, _entries(getattr(message, field)))
    return longest


def _no_op() -> None:
    """Do nothing."""


def _refused(request: Any, response: Any, reason: str) -> Any:
    """Fill the response to a request that could not be handled."""
    refused = SetParametersResult(successful=False, reason=reason)
    if isinstance(response, SetParameters.Response):
        done = len(response.results)
        response.results = [*response.results, *[refused] * (len(request.parameters) - done)]
    elif isinstance(response, SetParametersAtomically.Response):
        response.result = refused
    elif hasattr(response, "success"):
        response.success = False
        if hasattr(response, "message"):
            response.message = reason
    return response


def sleeping_timer(
    node: ManagedNode, period: float, callback: Callable[[], None], *, steady: bool = True
) -> Timer:
    """Return a timer of a period (s) that sleeps until `reset`, and again after `cancel`.

    The period is measured on a steady clock, or else on the clock of the node.
    """
    clock = Clock(clock_type=ClockType.STEADY_TIME) if steady else None
    timer: Timer = node.create_timer(period, callback, clock=clock)
    timer.cancel()
    return timer
