# SPDX-License-Identifier: Apache-2.0
"""What nodes with a robot have in common: where it comes from, topics that are closed again, complaints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic

from rclpy.lifecycle import LifecyclePublisher
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from dyn_core import DynError, Robot
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.diagnostics import Diagnostics, Failure
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import Done, Loaded, Prepared, Reload
from dyn_nodes.common.parameters import ignored_parameters
from dyn_nodes.complaints import Complaints
from dyn_nodes.polled import Polled
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot, RobotSource

_WARN_EVERY_S = 5.0


class RobotNode(ManagedNode, Generic[Prepared]):
    """A node whose robot comes from a parameter, a file or the topic robot_description.

    Subclasses declare their parameters, and then `start`.
    """

    def __init__(self, name: str, **node_options: Any) -> None:
        """Declare the parameters that say which robot it is."""
        self._unwatched: list[Subscription] = []
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **node_options)
        self._source = RobotSource(self)
        self._reload: Reload[Prepared] | None = None
        self._opened: list[Callable[[], object]] = []
        self._complaints = Complaints(lambda sentence: self.get_logger().warning(sentence), _WARN_EVERY_S)

    @property
    @abstractmethod
    def robot(self) -> Robot | None:
        """The robot in use."""

    @abstractmethod
    def prepare(self, described: DescribedRobot) -> Prepared:
        """Derive all that is needed of a robot; DynError if the parameters do not fit it.

        It may take long, is called in another thread while the node runs, and changes nothing.
        """

    @abstractmethod
    def use(self, prepared: Prepared) -> None:
        """Use another robot from now on; DynError if that is not possible, and nothing has changed."""

    @abstractmethod
    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, apart from there being no robot, for /diagnostics."""

    def values(self) -> dict[str, str]:
        """Answer what else is to be told on /diagnostics, by name."""
        return {}

    def start(self) -> None:
        """Name parameters that nobody knows; then start as all nodes do."""
        for name in ignored_parameters(self):
            self.get_logger().warning(f"there is no parameter '{name}': what was given is ignored")
        super().start()

    def open_diagnostics(self) -> None:
        """Begin to publish /diagnostics."""
        self._diagnostics = Diagnostics(self, self._lasting_problem, self.values)
        self._opened.append(self._diagnostics.close)

    def open_robot(self) -> DescribedRobot | None:
        """Use the robot of the parameters and answer it, or listen to the topic robot_description."""
        described = self._source.from_parameters()
        if described is not None:
            self._begin_to_use(Loaded(described, self.prepare(described)))
        else:
            self.get_logger().info("waiting for a robot on the topic robot_description")
        reload = Reload(
            self, self._source, self.prepare, self._begin_to_use, lambda: self.robot, from_topic=not described
        )
        self._opened.append(reload.close)
        self._reload = reload
        return described

    def load(self, text: str, done: Done) -> None:
        """Load another robot as `Reload.ask` does."""
        if self._reload is None:
            raise RuntimeError("open_robot has not been called")
        self._reload.ask(text, done)

    def close_all(self) -> None:
        """Close what was opened, the last first."""
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
    ) -> None:
        """Subscribe until `close_all`; with `raw`, to the bytes of messages."""
        subscription = self.create_subscription(kind, topic, callback, profile, raw=raw)
        self._opened.append(partial(self.destroy_subscription, subscription))

    def polled(self, kind: type, topic: str, profile: QoSProfile) -> Polled:
        """Answer a subscription to bytes of messages that are asked for, until `close_all`."""
        subscription = self.create_subscription(kind, topic, _never, profile, raw=True)
        self._unwatched.append(subscription)
        self._opened.append(partial(self._end_polled, subscription))
        return Polled(subscription)

    def _end_polled(self, subscription: Subscription) -> None:
        self._unwatched.remove(subscription)
        self.destroy_subscription(subscription)

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """What executors look at."""
        yield from (one for one in super().subscriptions if one not in self._unwatched)

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        """Answer a publisher that publishes in any state of the life cycle, until `close_all`."""
        publisher = self.create_publisher(kind, topic, profile)
        self._opened.append(partial(self.destroy_publisher, publisher))
        return publisher

    def lifecycle_publisher(self, kind: type, topic: str, profile: QoSProfile) -> LifecyclePublisher:
        """Answer a publisher that publishes while the node is active, until `close_all`."""
        publisher: LifecyclePublisher = self.create_lifecycle_publisher(kind, topic, profile)
        self._opened.append(partial(self.destroy_lifecycle_publisher, publisher))
        return publisher

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Offer a service until `close_all`."""
        service = self.create_service(kind, name, callback)
        self._opened.append(partial(self.destroy_service, service))

    def count(self, what: str, problem: str | None = None) -> None:
        """Count something for /diagnostics, and tell a problem there."""
        self._diagnostics.count(what, problem)

    def refuse(self, what: str, topic: str, problem: Rejection | DynError) -> None:
        """Count a message that is not used, and say why, in the log not too often.

        Args:
            what: what is counted: "commands refused".
            topic: where the message came from.
            problem: why it is not used.
        """
        sentence = one_line(f"{topic}: {problem}")
        cause = problem.cause if isinstance(problem, Rejection) else str(problem)
        self._complaints.say(sentence, f"{topic} {cause}")
        self._diagnostics.count(what, sentence)

    def _begin_to_use(self, loaded: Loaded[Prepared]) -> None:
        self.use(loaded.prepared)
        for sentence in loaded.described.warnings:
            self.get_logger().warning(sentence)

    def _lasting_problem(self) -> str | Failure | None:
        if self.failure is not None:
            return Failure(self.failure)
        if self._reload is not None and self._reload.problem is not None:
            return self._reload.problem
        if self.robot is None:
            return "no robot: nothing came on the topic robot_description"
        return self.problem() or self._namesake()

    def _namesake(self) -> str | None:
        """Answer a sentence if another node has the same name, or None."""
        ours = (self.get_name(), self.get_namespace())
        if self.get_node_names_and_namespaces().count(ours) < 2:
            return None
        return (
            f"another node is named {self.get_fully_qualified_name()}, too: what both publish is mixed "
            "(one that was killed is forgotten after some seconds)"
        )


def _never(_: bytes) -> None:
    """What nobody looks at calls nothing."""
