# SPDX-License-Identifier: Apache-2.0
"""The base class of nodes with a robot: topics, services, polled subscriptions, refused messages."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecyclePublisher, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from dyn_core import DynError, Robot
from dyn_nodes.common.data_checks import Notice, Problem, Refusal, Rejection, cause_key, one_line
from dyn_nodes.common.decoding import decoding
from dyn_nodes.common.lifecycle.diagnostics import Complaints, Diagnostics
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import (
    DescribedRobot,
    Done,
    Loaded,
    Prepared,
    Recipe,
    Reload,
    RobotSource,
)
from dyn_nodes.common.parameters import ChangedParameters, ignored_parameters
from dyn_nodes.common.qos import PolledSubscription

_WARN_EVERY_S = 5.0


@dataclass(frozen=True)
class Change:
    """A change of live parameters that was checked."""

    is_current: Callable[[], bool]  # whether it was checked against what is in use
    apply: Callable[[], None]


class RobotNode(ManagedNode, Generic[Prepared]):
    """A node whose robot comes from a parameter, a file or the topic robot_description.

    Subclasses declare their parameters, and then call `start`.
    """

    def __init__(self, name: str, **node_options: Any) -> None:
        """Declare the parameters that select the robot."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **node_options)
        self._source = RobotSource(self)
        self._running: Prepared | None = None
        self._timer: Timer | None = None  # runs while the node is active
        self._reload: Reload[Prepared] | None = None
        self._opened: list[Callable[[], object]] = []
        self._has_diagnostics = False
        self._complaints = Complaints(lambda sentence: self.get_logger().warning(sentence), _WARN_EVERY_S)
        self._foreseen: tuple[dict[str, Any], Change | DynError] | None = None
        self._change: Change | None = None
        self._is_tunable = False  # parameters are also set while they are declared
        self.add_on_set_parameters_callback(self._check_set_parameters)
        self.add_post_set_parameters_callback(self._on_set_parameters)

    @property
    @abstractmethod
    def robot(self) -> Robot | None:
        """The robot in use."""

    @property
    def active(self) -> Prepared | None:
        """The robot in use and its parts, while the node is active."""
        return None if self._timer is None else self._running

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """Function that does the slow part of `prepare` in another process."""

    @abstractmethod
    def prepare(self, described: DescribedRobot) -> Prepared:
        """Prepare everything that depends on a robot; DynError if the parameters do not fit it.

        While the node runs, it is called in another thread, with the results of slow work of another process,
        and changes nothing.
        """

    @abstractmethod
    def use(self, prepared: Prepared) -> None:
        """Use another robot from now on; on a DynError nothing has changed."""

    @abstractmethod
    def problem(self) -> Notice | None:
        """Return the present problem for /diagnostics, apart from a missing robot."""

    def values(self) -> dict[str, str]:
        """Return more values for /diagnostics, by name."""
        return {}

    def start(self) -> None:
        """Warn of unknown parameters; then start as all nodes do."""
        for name in ignored_parameters(self):
            self.get_logger().warning(str(Notice("parameter-ignored", parameter=name)))
        self._is_tunable = True
        super().start()

    def open_diagnostics(self) -> None:
        """Begin to publish /diagnostics."""
        self._diagnostics = Diagnostics(self, self._lasting_problem, self.values)
        self._opened.append(self._diagnostics.close)
        self._has_diagnostics = True

    def open_robot(self) -> DescribedRobot | None:
        """Use the robot of the parameters and return it, or subscribe to the topic robot_description."""
        described = self._source.from_parameters()
        if described is not None:
            self._begin_to_use(Loaded(described, self.prepare(described)))
        else:
            self.get_logger().info("waiting for a robot on the topic robot_description")
        reload = Reload(
            self,
            self._source,
            self.recipe,
            self.prepare,
            self._begin_to_use,
            lambda: self.robot,
            from_topic=not described,
        )
        self._opened.append(reload.close)
        self._reload = reload
        return described

    def load(self, text: str, done: Done) -> None:
        """Load another robot as `Reload.ask` does."""
        assert self._reload is not None
        self._reload.ask(text, done)

    def on_close(self, close: Callable[[], object]) -> None:
        """Call a function at `close_all`."""
        self._opened.append(close)

    def finish(self) -> None:
        """Stop what runs while the node is active."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def close(self) -> None:
        """Stop, close everything that was opened, and forget the robot."""
        self.finish()
        self.close_all()
        self._running = None

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop what runs while the node is active."""
        self.finish()
        return super().on_deactivate(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the error on /diagnostics, and close."""
        if self._has_diagnostics:
            self.contained(self._diagnostics.look_again)()
        return super().on_error(state)

    def close_all(self) -> None:
        """Close everything that was opened, the last first."""
        self._has_diagnostics = False
        while self._opened:
            self._opened.pop()()
        self._reload = None

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        profile: QoSProfile,
        *,
        raw: bool = False,
        newest: bool = False,
    ) -> None:
        """Subscribe until `close_all`; with `raw`, the callback gets serialized messages.

        With `newest`, those are left out that newer ones have replaced before the node came to them.
        """

        def refuse(problem: Rejection) -> None:
            self.refuse("messages refused", topic, problem)

        take = callback if raw else decoding(kind, topic, callback, refuse)
        subscription = self.create_subscription(kind, topic, take, profile, raw=True, newest=newest)
        self._opened.append(partial(self.destroy_subscription, subscription))

    def polled_subscription(self, kind: type, topic: str, profile: QoSProfile) -> PolledSubscription:
        """Return a subscription to serialized messages that the node polls, until `close_all`."""
        subscription = self.create_subscription(kind, topic, _no_op, profile, raw=True)
        self.set_polled(subscription, True)
        self._opened.append(partial(self._close_polled, subscription))
        return PolledSubscription(subscription)

    def _close_polled(self, subscription: Subscription) -> None:
        self.set_polled(subscription, False)
        self.destroy_subscription(subscription)

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        """Return a publisher that publishes in any state of the life cycle, until `close_all`."""
        publisher = self.create_publisher(kind, topic, profile)
        self._opened.append(partial(self.destroy_publisher, publisher))
        return publisher

    def lifecycle_publisher(self, kind: type, topic: str, profile: QoSProfile) -> LifecyclePublisher:
        """Return a publisher that publishes while the node is active, until `close_all`."""
        publisher: LifecyclePublisher = self.create_lifecycle_publisher(kind, topic, profile)
        self._opened.append(partial(self.destroy_lifecycle_publisher, publisher))
        return publisher

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Offer a service until `close_all`."""
        service = self.create_service(kind, name, callback)
        self._opened.append(partial(self.destroy_service, service))

    def count(self, what: str, problem: Problem | None = None) -> None:
        """Add one to a count on /diagnostics; a problem is published there."""
        self._diagnostics.count(what, problem)

    def refuse(self, what: str, topic: str, problem: Rejection | DynError) -> None:
        """Count a refused message under `what`; log why it is refused, with a limited rate."""
        refusal = Refusal(topic, problem)
        self._complaints.say(refusal, (topic, cause_key(problem)))
        self._diagnostics.count(what, refusal)

    def tell_flood(self, topic: str) -> None:
        """Log that messages of a topic come faster than they are handled, with a limited rate; count it."""
        flood = Notice("messages-too-fast", topic=topic)
        self._complaints.say(flood, (topic, cause_key(flood)))
        if self._has_diagnostics:
            self._diagnostics.count("floods", flood)

    def drop(self, problem: Notice) -> None:
        """Log what is dropped with a limited rate, and count it on /diagnostics."""
        self._complaints.say(problem, cause_key(problem))
        if self._has_diagnostics:
            self._diagnostics.count("requests failed", problem)

    def _check_set_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse empty names, which rclpy lets pass, and another clock for a robot in use."""
        clock = self.get_parameter("use_sim_time").value
        for one in parameters:
            if not one.name:
                reason = Notice("parameter-ignored", parameter=one.name)
                return SetParametersResult(successful=False, reason=str(reason))
            if one.name == "use_sim_time" and one.value != clock and self.robot is not None:
                reason = Notice("clock-change-refused", robot=self.robot.name)
                return SetParametersResult(successful=False, reason=str(reason))
        live = self.live_names if self._is_tunable else ()
        changed = {one.name: one.value for one in parameters if one.name in live}
        try:
            self._change = self._change_to(changed) if changed else None
        except DynError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    def foresee(self, request: Any) -> None:
        """Check changes of live parameters, and do what is slow for them, beside the control."""
        with contextlib.suppress(Exception):  # what is wrong with a value is said when it is set
            given = {one.name: Parameter.from_parameter_msg(one).value for one in request.parameters}
            changed = {name: value for name, value in given.items() if name in self.live_names}
            self._foreseen = (changed, self._outcome(changed))

    def _outcome(self, changed: Mapping[str, Any]) -> Change | DynError:
        try:
            return self.change_of(ChangedParameters(self, changed))
        except DynError as problem:
            return problem

    def _change_to(self, changed: dict[str, Any]) -> Change:
        """Return what changed live parameters do; DynError where they cannot be used."""
        foreseen, self._foreseen = self._foreseen, None
        known = None if foreseen is None or foreseen[0] != changed else foreseen[1]
        if not isinstance(known, Change) or not known.is_current():
            known = self._outcome(changed)
        if isinstance(known, DynError):
            raise known
        return known

    def _on_set_parameters(self, parameters: list[Parameter]) -> None:
        change, self._change = self._change, None
        if change is not None:
            change.apply()
            names = ", ".join(f"{one.name} = {one.value}" for one in parameters)
            self.get_logger().info(one_line(f"changed: {names}"))

    def change_of(self, parameters: ChangedParameters) -> Change:
        """Return what changed live parameters do, without doing it; DynError where they cannot be used."""
        raise NotImplementedError

    def _begin_to_use(self, loaded: Loaded[Prepared]) -> None:
        self.use(loaded.prepared)
        if origin := loaded.described.parameters_from:
            self.get_logger().info(one_line(f"dynamic parameters are those of {origin}"))
        for sentence in loaded.described.warnings:
            self.get_logger().warning(sentence)

    def _lasting_problem(self) -> Notice | None:
        if self.failure is not None:
            return self.failure
        if self._reload is not None and self._reload.problem is not None:
            return self._reload.problem
        if self.robot is None:
            return Notice("robot-missing")
        return self.problem() or self._namesake()

    def _namesake(self) -> Notice | None:
        """Return a notice if another node has the same name, or None."""
        ours = (self.get_name(), self.get_namespace())
        if self.get_node_names_and_namespaces().count(ours) < 2:
            return None
        return Notice("node-name-taken", node=self.get_fully_qualified_name())


def _no_op(_: bytes) -> None:
    """No-op callback for polled subscriptions."""
