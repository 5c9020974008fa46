# SPDX-License-Identifier: Apache-2.0
"""Another robot while a node runs, loaded in a thread: what is in use goes on until the next one is ready."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from std_msgs.msg import String

from dyn_core import DynError, Robot
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.worker import PassedOver, Worker
from dyn_nodes.robot_source import DescribedRobot, RobotSource

Prepared = TypeVar("Prepared")
Done = Callable[[DynError | None], object]


class Loaded(NamedTuple, Generic[Prepared]):
    """A robot that can be used.

    Attributes:
        described: the robot.
        prepared: all that the node derives from it.
    """

    described: DescribedRobot
    prepared: Prepared


@dataclass(frozen=True)
class _Request:
    """A robot to load.

    Attributes:
        text: the URDF; None for the source that the parameters give.
        unless_hash: of the description that need not be loaded; empty where it has to be in any case.
        done: is told why it is not used, or None where it is; None for the topic.
    """

    text: str | None
    unless_hash: str = ""
    done: Done | None = None


class Reload(Generic[Prepared]):
    """Loads robots that come on the topic robot_description, and those that are asked for.

    Attributes:
        problem: why the last description of the topic is not in use; None where it is.
    """

    def __init__(
        self,
        node: ManagedNode,
        source: RobotSource,
        prepare: Callable[[DescribedRobot], Prepared],
        use: Callable[[Loaded[Prepared]], None],
        present: Callable[[], Robot | None],
        *,
        from_topic: bool,
    ) -> None:
        """Listen to the topic if the robot comes from there.

        Args:
            node: the node.
            source: parameters that say where the robot comes from.
            prepare: derives what the node needs, in the thread; DynError where it cannot.
            use: takes another one from now on, in the executor; DynError where it cannot.
            present: answers the robot in use.
            from_topic: whether the robot comes from the topic.
        """
        self.problem: str | None = None
        self._node = node
        self._source = source
        self._prepare = prepare
        self._use = use
        self._present = present
        self._text: str | None = None
        self._closed = False
        self._from_topic = from_topic
        self._open: list[Done] = []
        self._pending = 0
        self._worker: Worker[_Request, Loaded[Prepared] | None] = Worker(self._load, self._woken)
        self._subscription = None
        if from_topic:
            self._subscription = node.create_subscription(
                String, "robot_description", self._on_description, qos.LATCHED
            )

    def ask(self, text: str, done: Done) -> None:
        """Load a robot, and tell `done` afterwards why it is not used, or None.

        Args:
            text: the URDF; empty for the source that is configured, which is read again.
            done: is called in the executor.
        """
        again = self._text if self._from_topic else None
        if not text and again is None and self._from_topic:
            done(DynError("nothing has come on the topic robot_description yet"))
            return
        self._open.append(done)
        self._ask(_Request(text or again, done=done))

    def close(self) -> None:
        """Close the topic; what is being loaded is not used."""
        self._closed = True
        for done in self._open:
            done(DynError("the node was closed before the robot was loaded"))
        self._open = []
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)

    def _load(self, request: _Request) -> Loaded[Prepared] | None:
        """Load a robot, in the thread; None where it is the one that need not be loaded."""
        if request.text is None:
            described = self._source.from_parameters()
        else:
            described = self._source.described(request.text)
        if described is None or described.robot.description_hash == request.unless_hash:
            return None
        self._node.get_logger().info(f"preparing robot '{described.robot.name}'")
        return Loaded(described, self._prepare(described))

    def _woken(self) -> None:
        # What is asked for comes from callbacks, so there is an executor, unless the node is gone by now. A
        # guard condition would not do: the executor of events does not look at them.
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_outcomes))

    def _on_description(self, message: String) -> None:
        self._text = message.data
        present = self._present()
        # While another is loaded, the present robot is not the one in use when it is this one's turn.
        skipped = present.description_hash if present and not self._pending else ""
        self._ask(_Request(message.data, unless_hash=skipped))

    def _ask(self, request: _Request) -> None:
        self._pending += 1
        self._worker.ask(request)

    def _on_outcomes(self) -> None:
        """Use what was loaded, or say why not."""
        if self._closed:
            return
        for request, loaded, problem in self._worker.outcomes():
            self._pending -= 1
            if loaded is not None:
                try:
                    self._use(loaded)
                except DynError as misfit:
                    problem = misfit
            if request.done is not None:
                self._open.remove(request.done)
                request.done(problem)
            elif not isinstance(problem, PassedOver):
                self._say(problem)

    def _say(self, problem: DynError | None) -> None:
        self.problem = None
        if problem is not None:
            present = self._present()
            use = f"robot '{present.name}' stays in use" if present else "still no robot"
            self.problem = one_line(f"robot_description cannot be used ({problem}); {use}")
            self._node.get_logger().error(self.problem)
