# SPDX-License-Identifier: Apache-2.0
"""Service ~/apply: the last result goes to a node that computes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.task import Future
from std_srvs.srv import Trigger

from dyn_core import DynError, Robot
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import SetDynamicParameters
from dyn_nodes.apply_settings import ApplySettings
from dyn_nodes.deferred_service import Answer, DeferredService
from dyn_nodes.robot_node import RobotNode
from dyn_nodes.sleeping_timer import sleeping_timer

RECEIVER = "feedforward/set_dynamic_parameters"
"""The service that gets them, unless it is remapped."""


class Handover:
    """Hands results on, with the answer in words."""

    def __init__(
        self,
        node: RobotNode[Any],
        settings: ApplySettings,
        last: Callable[[], IdentificationResult | None],
    ) -> None:
        """Offer the service; `last` answers the last result."""
        self._node, self._settings, self._last = node, settings, last
        self._service = DeferredService(node, Trigger, "~/apply", self._on_request)
        self._client = node.create_client(SetDynamicParameters, RECEIVER)
        self._waiting: list[Callable[[bool, str], None]] = []
        self._late = sleeping_timer(node, settings.timeout, self._on_late)

    def close(self) -> None:
        """Offer it no more."""
        for say in list(self._waiting):
            say(False, "the node was closed before there was an answer")
        self._service.close()
        self._node.destroy_timer(self._late)
        self._node.destroy_client(self._client)

    def _on_request(self, request: Trigger.Request, answer: Answer) -> None:
        def say(success: bool, sentence: str) -> None:
            answer.response.success, answer.response.message = success, sentence
            answer.send()

        try:
            result = self._result(self._node.robot)
        except DynError as problem:
            say(False, str(problem))
            return
        self._hand_over(result, say)

    def _result(self, robot: Robot | None) -> IdentificationResult:
        result = self._last()
        if result is None:
            raise DynError("there is no result yet: identify first")
        if robot is None or result.parameters.description_hash != robot.description_hash:
            raise DynError(
                f"the result belongs to another description of robot '{result.parameters.robot_name}' than "
                "the one in use: identify again"
            )
        if not result.physically_consistent and not self._settings.impossible:
            raise DynError(
                "with this result a link would be no possible body: look at its report; the parameter "
                "apply.impossible allows it"
            )
        if not self._client.service_is_ready():
            raise DynError(
                f"there is no service {self._client.service_name}: is its node running, or remapped?"
            )
        return result

    def _on_late(self) -> None:
        for say in list(self._waiting):
            say(False, f"{self._client.service_name} has not answered in {self._settings.timeout:g} s")

    def _hand_over(self, result: IdentificationResult, say: Callable[[bool, str], None]) -> None:
        node, receiver = self._node, self._client.service_name
        blend = round(1e9 * self._settings.blend_time)
        request = SetDynamicParameters.Request(
            parameters=result.parameters,
            blend_time=Duration(sec=blend // 10**9, nanosec=blend % 10**9),
        )

        def once(success: bool, sentence: str) -> None:
            if once in self._waiting:
                self._waiting.remove(once)
                self._late.cancel()
                log = node.get_logger()
                (log.info if success else log.warning)(sentence)
                say(success, sentence)

        def answered(future: Future) -> None:
            response = future.result()
            if response.success:
                once(True, f"{receiver} has taken {len(result.parameters.name)} parameters")
            else:
                once(False, f"{receiver} has refused: {response.message}")

        self._waiting.append(once)
        self._late.reset()
        self._client.call_async(request).add_done_callback(answered)
