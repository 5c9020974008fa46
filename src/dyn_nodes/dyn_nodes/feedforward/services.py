# SPDX-License-Identifier: Apache-2.0
"""Services and topics by which dynamic parameters and payloads of a node are changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dyn_core import DynError
from dyn_msgs.msg import DynamicParameters, Payload
from dyn_msgs.srv import SetDynamicParameters, SetPayload
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.parameter_message import blend_time_of, parameters_of
from dyn_nodes.feedforward.live_parameters import LiveParameters
from dyn_nodes.payload_message import payload_of


class ParameterInterface:
    """~/set_payload and ~/set_dynamic_parameters, and topics ~/payload and ~/dynamic_parameters."""

    def __init__(
        self,
        node: RobotNode[Any],
        live: Callable[[], LiveParameters | None],
        steady: Callable[[], float],
        blend_time: float,
    ) -> None:
        """Open services and topics.

        Args:
            node: the node.
            live: answers the parameters in use, None before there is a robot.
            steady: the clock of `live` (s).
            blend_time: how long a change takes where nobody says it (s).
        """
        self._node = node
        self._live = live
        self._steady = steady
        self._blend_time = blend_time
        self._services = [
            node.create_service(SetPayload, "~/set_payload", self._on_set_payload),
            node.create_service(SetDynamicParameters, "~/set_dynamic_parameters", self._on_set_parameters),
        ]
        self._subscriptions = [
            node.create_subscription(Payload, "~/payload", self._on_payload, qos.EACH_MESSAGE),
            node.create_subscription(
                DynamicParameters, "~/dynamic_parameters", self._on_parameters, qos.EACH_MESSAGE
            ),
        ]

    def close(self) -> None:
        """Close services and topics."""
        for service in self._services:
            self._node.destroy_service(service)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        return self._answer(
            response, lambda: self._set_payload(request.payload, self._time(request.blend_time))
        )

    def _on_set_parameters(
        self, request: SetDynamicParameters.Request, response: SetDynamicParameters.Response
    ) -> SetDynamicParameters.Response:
        return self._answer(
            response, lambda: self._set_parameters(request.parameters, self._time(request.blend_time))
        )

    def _on_payload(self, message: Payload) -> None:
        self._try("payload", "~/payload", lambda: self._set_payload(message, self._blend_time))

    def _on_parameters(self, message: DynamicParameters) -> None:
        self._try(
            "dynamic parameters",
            "~/dynamic_parameters",
            lambda: self._set_parameters(message, self._blend_time),
        )

    def _set_payload(self, message: Payload, duration: float) -> str:
        live = self._present()
        payload = payload_of(message)
        live.change(live.fitting.with_payload(payload), self._steady(), duration)
        return f"link '{payload.link}' holds {payload.mass:g} kg, blended over {duration:g} s"

    def _set_parameters(self, message: DynamicParameters, duration: float) -> str:
        live = self._present()
        values = parameters_of(message, live.fitting.robot)
        live.change(live.fitting.with_parameters(values), self._steady(), duration)
        return f"{len(values)} dynamic parameters set, blended over {duration:g} s"

    def _present(self) -> LiveParameters:
        live = self._live()
        if live is None:
            raise DynError("there is no robot yet")
        return live

    def _time(self, message: Any) -> float:
        return blend_time_of(message, self._blend_time)

    def _answer(self, response: Any, action: Callable[[], str]) -> Any:
        """Do what a service is for, and answer whether it was done."""
        try:
            self._node.get_logger().info(action())
        except DynError as problem:
            response.success, response.message = False, one_line(str(problem))
        else:
            response.success = True
        return response

    def _try(self, what: str, topic: str, action: Callable[[], str]) -> None:
        """Do what a message is for, or tell why it cannot be done."""
        try:
            action()
        except DynError as problem:
            self._node.refuse(f"{what} refused", topic, problem)
        else:
            self._node.count(f"{what} used")
