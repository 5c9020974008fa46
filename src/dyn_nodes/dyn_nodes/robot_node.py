# SPDX-License-Identifier: Apache-2.0
"""What nodes with a robot have in common: where it comes from, topics that are closed again, complaints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from dyn_core import DynError, Robot
from dyn_nodes import qos
from dyn_nodes.complaints import Complaints
from dyn_nodes.diagnostics import Diagnostics, Failure
from dyn_nodes.managed_node import ManagedNode
from dyn_nodes.parameters import ignored_parameters
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot, RobotSource

_WARN_EVERY_S = 5.0


class RobotNode(ManagedNode):
    """A node whose robot comes from a parameter, a file or the topic robot_description.

    Subclasses declare their parameters, and then `start`.
    """

    def __init__(self, name: str, **node_options: Any) -> None:
        """Declare the parameters that say which robot it is."""
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **node_options)
        self._source = RobotSource(self)
        self._bad_description: str | None = None
        self._opened: list[Callable[[], object]] = []
        self._complaints = Complaints(lambda sentence: self.get_logger().warning(sentence), _WARN_EVERY_S)

    @property
    @abstractmethod
    def robot(self) -> Robot | None:
        """The robot in use."""

    @abstractmethod
    def use(self, described: DescribedRobot) -> None:
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
            self._begin_to_use(described)
        else:
            self.subscribe(String, "robot_description", self._on_description, qos.LATCHED)
            self.get_logger().info("waiting for a robot on the topic robot_description")
        return described

    def close_all(self) -> None:
        """Close what was opened, the last first."""
        while self._opened:
            self._opened.pop()()
        self._bad_description = None

    def subscribe(self, kind: type, topic: str, callback: Callable[[Any], None], profile: QoSProfile) -> None:
        """Subscribe until `close_all`."""
        subscription = self.create_subscription(kind, topic, callback, profile)
        self._opened.append(partial(self.destroy_subscription, subscription))

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        """Answer a publisher that publishes in any state of the life cycle, until `close_all`."""
        publisher = self.create_publisher(kind, topic, profile)
        self._opened.append(partial(self.destroy_publisher, publisher))
        return publisher

    def serve(self, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
        """Offer a service until `close_all`."""
        service = self.create_service(kind, name, callback)
        self._opened.append(partial(self.destroy_service, service))

    def refuse(self, what: str, topic: str, problem: Rejection | DynError) -> None:
        """Count a message that is not used, and say why, in the log not too often.

        Args:
            what: what is counted: "commands refused".
            topic: where the message came from.
            problem: why it is not used.
        """
        sentence = f"{topic}: {problem}"
        self._diagnostics.count(what, sentence)
        cause = problem.cause if isinstance(problem, Rejection) else str(problem)
        self._complaints.say(sentence, f"{topic} {cause}")

    def _begin_to_use(self, described: DescribedRobot) -> None:
        self.use(described)
        for sentence in described.warnings:
            self.get_logger().warning(sentence)

    def _on_description(self, message: String) -> None:
        present = self.robot
        try:
            described = self._source.described(message.data)
            self._bad_description = None
            if present is None or present.description_hash != described.robot.description_hash:
                self._begin_to_use(described)
        except DynError as problem:
            use = f"robot '{present.name}' stays in use" if present else "still no robot"
            self._bad_description = f"robot_description cannot be used ({problem}); {use}"
            self.get_logger().error(self._bad_description)

    def _lasting_problem(self) -> str | Failure | None:
        if self.failure is not None:
            return Failure(self.failure)
        if self._bad_description is not None:
            return self._bad_description
        if self.robot is None:
            return "no robot: nothing came on the topic robot_description"
        return self.problem()
