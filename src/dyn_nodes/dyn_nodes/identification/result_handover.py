# SPDX-License-Identifier: Apache-2.0
"""Service ~/apply: parameters go to a node that computes with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.task import Future

from dyn_core import DynError
from dyn_msgs.msg import DynamicParameters
from dyn_msgs.srv import ApplyParameters, SetDynamicParameters
from dyn_nodes.apply_settings import ApplySettings
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.worker import Worker
from dyn_nodes.common.messages.parameter_message import blend_time_of
from dyn_nodes.deferred_service import Answer, DeferredService
from dyn_nodes.sleeping_timer import sleeping_timer

RECEIVER = "feedforward/set_dynamic_parameters"
"""The service that gets them, unless it is remapped."""

Make = Callable[[], DynamicParameters]
"""Answers parameters of the robot in use; it may take long, and changes nothing. DynError where there are
none."""


class _Application:
    """One request that is being done.

    Attributes:
        answer: its answer.
        make: makes the parameters.
        blend_time: how long torques take to them (s); 0 for what the receiver is configured to.
        call: what the receiver will answer, once it is asked.
    """

    def __init__(self, answer: Answer, make: Make, blend_time: float) -> None:
        self.answer, self.make, self.blend_time = answer, make, blend_time
        self.call: Future | None = None


class Handover:
    """Hands parameters on, with the answer in words. One request is done at a time."""

    def __init__(
        self,
        node: RobotNode[Any],
        settings: ApplySettings,
        source: Callable[[ApplyParameters.Request], Make],
    ) -> None:
        """Offer the service.

        Args:
            node: the node.
            settings: how.
            source: answers what makes the parameters that are asked for; DynError where there are none.
        """
        self._node, self._settings, self._source = node, settings, source
        self._service = DeferredService(node, ApplyParameters, "~/apply", self._on_request)
        self._client = node.create_client(SetDynamicParameters, RECEIVER)
        self._worker: Worker[_Application, DynamicParameters] = Worker(lambda one: one.make(), self._woken)
        self._doing: _Application | None = None
        self._late = sleeping_timer(node, settings.timeout, self._on_late)

    def close(self) -> None:
        """Offer it no more."""
        self._end(False, "the node was closed before there was an answer")
        self._service.close()
        self._node.destroy_timer(self._late)
        self._node.destroy_client(self._client)

    def _on_request(self, request: ApplyParameters.Request, answer: Answer) -> None:
        try:
            if self._doing is not None:
                raise DynError("parameters are being handed over: wait for the answer")
            blend_time = blend_time_of(request.blend_time, self._settings.blend_time)
            make = self._source(request)
            self._check_receiver()
        except DynError as problem:
            _say(answer, False, str(problem))
            return
        self._doing = _Application(answer, make, blend_time)
        self._late.reset()
        self._worker.ask(self._doing)

    def _check_receiver(self) -> None:
        if not self._client.service_is_ready():
            raise DynError(
                f"there is no service {self._client.service_name}: is its node running, or remapped?"
            )

    def _woken(self) -> None:
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_made))

    def _on_made(self) -> None:
        for application, parameters, problem in self._worker.outcomes():
            if application is not self._doing:
                continue
            if parameters is None:
                self._end(False, str(problem))
            else:
                self._hand_over(application, parameters)

    def _on_late(self) -> None:
        seconds = f"{self._settings.timeout:g} s"
        if self._doing is None or self._doing.call is None:
            self._end(False, f"the parameters were not there in {seconds}")
            return
        self._client.remove_pending_request(self._doing.call)
        receiver = self._client.service_name
        self._end(False, f"{receiver} has not answered in {seconds}: it may still take the parameters")

    def _hand_over(self, application: _Application, parameters: DynamicParameters) -> None:
        receiver = self._client.service_name
        robot = self._node.robot
        if robot is None or robot.description_hash != parameters.description_hash:
            self._end(False, "another robot description came meanwhile")
            return
        blend = round(1e9 * application.blend_time)
        request = SetDynamicParameters.Request(
            parameters=parameters, blend_time=Duration(sec=blend // 10**9, nanosec=blend % 10**9)
        )

        def answered(future: Future) -> None:
            if application is not self._doing:
                return
            response = future.result()
            if response.success:
                self._end(True, f"{receiver} has taken {len(parameters.name)} parameters", parameters)
            else:
                self._end(False, f"{receiver} has refused: {response.message}")

        application.call = self._client.call_async(request)
        application.call.add_done_callback(answered)

    def _end(self, success: bool, sentence: str, parameters: DynamicParameters | None = None) -> None:
        application, self._doing = self._doing, None
        self._late.cancel()
        if application is not None:
            # Each severity needs a line of its own: the logger of rclpy goes by them.
            if success:
                self._node.get_logger().info(one_line(sentence))
            else:
                self._node.get_logger().warning(one_line(sentence))
            _say(application.answer, success, sentence, parameters)


def _say(answer: Answer, success: bool, sentence: str, parameters: DynamicParameters | None = None) -> None:
    response = answer.response
    response.success, response.message = success, one_line(sentence)
    response.parameters = parameters or DynamicParameters()
    answer.send()
