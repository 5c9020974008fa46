# SPDX-License-Identifier: Apache-2.0
"""Another robot while a node runs: from the topic robot_description, and by the service ~/load_model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from std_msgs.msg import String

from dyn_core import DynError
from dyn_msgs.srv import LoadModel
from dyn_nodes import messages, qos
from dyn_nodes.deferred_service import Answer, DeferredService
from dyn_nodes.managed_node import ManagedNode
from dyn_nodes.model_source import LoadedModel, compiled
from dyn_nodes.robot_source import RobotSource
from dyn_nodes.worker import PassedOver, Worker


@dataclass(frozen=True)
class _Request:
    """A robot to load.

    Attributes:
        text: the URDF; None for the source that the parameters give.
        unless_hash: of the description that need not be loaded; empty where it has to be in any case.
        answer: to the request of the service; None for the topic.
    """

    text: str | None
    unless_hash: str = ""
    answer: Answer | None = None


class Reload:
    """Loads robots in a thread; what is in use goes on until the next one is ready.

    Attributes:
        problem: why the last description of the topic is not in use; None where it is.
    """

    def __init__(
        self,
        node: ManagedNode,
        source: RobotSource,
        present: Callable[[], LoadedModel | None],
        use: Callable[[LoadedModel], None],
        *,
        from_topic: bool,
    ) -> None:
        """Open the service, and the topic if the robot comes from there.

        Args:
            node: the node.
            source: parameters that say where the robot comes from.
            present: answers the robot in use.
            use: takes another one from now on; DynError where it cannot.
            from_topic: whether the robot comes from the topic.
        """
        self.problem: str | None = None
        self._node = node
        self._source = source
        self._present = present
        self._use = use
        self._text: str | None = None
        self._closed = False
        self._from_topic = from_topic
        self._open_answers: list[Answer] = []
        self._worker: Worker[_Request, LoadedModel | None] = Worker(self._load, self._woken)
        self._service = DeferredService(node, LoadModel, "~/load_model", self._on_load_model)
        self._subscription = None
        if from_topic:
            self._subscription = node.create_subscription(
                String, "robot_description", self._on_description, qos.LATCHED
            )

    def close(self) -> None:
        """Close service and topic; what is being loaded is not used."""
        self._closed = True
        for answer in self._open_answers:
            self._respond(answer, DynError("the node was closed before the robot was loaded"))
        self._open_answers = []
        self._service.close()
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)

    def _load(self, request: _Request) -> LoadedModel | None:
        """Load a robot, in the thread; None where it is the one that need not be loaded."""
        if request.text is None:
            described = self._source.from_parameters()
        else:
            described = self._source.described(request.text)
        if described is None or described.robot.description_hash == request.unless_hash:
            return None
        return compiled(described, "runtime")

    def _woken(self) -> None:
        # What is asked for comes from callbacks, so there is an executor, unless the node is gone by now. A
        # guard condition would not do: the executor of events does not look at them.
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._on_outcomes)

    def _on_description(self, message: String) -> None:
        self._text = message.data
        present = self._present()
        self._worker.ask(
            _Request(message.data, unless_hash=present.robot.description_hash if present else "")
        )

    def _on_load_model(self, request: LoadModel.Request, answer: Answer) -> None:
        text = request.robot_description or (self._text if self._from_topic else None)
        if text is None and self._from_topic:
            self._respond(answer, DynError("nothing has come on the topic robot_description yet"))
            return
        self._open_answers.append(answer)
        self._worker.ask(_Request(text, answer=answer))

    def _respond(self, answer: Answer, problem: DynError | None) -> None:
        response = answer.response
        response.success = problem is None
        response.message = "" if problem is None else str(problem)
        present = self._present()
        if present is not None:
            response.model = messages.model_info(present, self._node.get_clock().now().to_msg())
        answer.send()

    def _on_outcomes(self) -> None:
        """Use what was loaded, or say why not."""
        if self._closed:
            return
        for request, loaded, problem in self._worker.outcomes():
            if loaded is not None:
                try:
                    self._use(loaded)
                except DynError as misfit:
                    problem = misfit
            if request.answer is not None:
                self._open_answers.remove(request.answer)
                self._respond(request.answer, problem)
            elif not isinstance(problem, PassedOver):
                self._say(problem)

    def _say(self, problem: DynError | None) -> None:
        self.problem = None
        if problem is not None:
            present = self._present()
            use = f"robot '{present.robot.name}' stays in use" if present else "still no robot"
            self.problem = f"robot_description cannot be used ({problem}); {use}"
            self._node.get_logger().error(self.problem)
