# SPDX-License-Identifier: Apache-2.0
"""Services and topics that change the model, its dynamic parameters and its payloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Vector3
from std_msgs.msg import Header

from dyn_core import DynError
from dyn_msgs.msg import DynamicParameters, ModelInfo, Payload
from dyn_msgs.srv import LoadModel, SetDynamicParameters, SetPayload
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, one_line
from dyn_nodes.common.lifecycle.deferred_response import DeferredResponse, DeferredService
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import Done, LoadedModel
from dyn_nodes.common.messages.parameter_message import blend_time_of, parameters_of, payload_of
from dyn_nodes.feedforward.live_parameters import LiveParameters


def model_info(loaded: LoadedModel, stamp: Time) -> ModelInfo:
    """Return the description of the model in use."""
    robot = loaded.robot
    x, y, z = robot.gravity
    return ModelInfo(
        header=Header(stamp=stamp, frame_id=robot.link_names[0]),
        robot_name=robot.name,
        description_hash=robot.description_hash,
        degrees_of_freedom=robot.dof,
        joint_name=list(robot.coordinate_names),
        effort_unit=[joint.effort_unit for joint in robot.independent_joints],
        effort_limit=loaded.effort_limit.tolist(),
        gravity=Vector3(x=x, y=y, z=z),
    )


class ModelService:
    """The service, which responds when the robot is in use or refused."""

    def __init__(
        self, node: ManagedNode, ask: Callable[[str, Done], None], present: Callable[[], LoadedModel | None]
    ) -> None:
        """Offer the service; `ask` loads the robot of a text, and reports why it is not used, or None."""
        self._node = node
        self._ask = ask
        self._present = present
        self._service = DeferredService(node, LoadModel, "~/load_model", self._on_request)

    def close(self) -> None:
        """Close the service."""
        self._service.close()

    def _on_request(self, request: LoadModel.Request, deferred: DeferredResponse) -> None:
        def done(problem: DynError | None) -> None:
            response = deferred.response
            response.success = problem is None
            response.message = "" if problem is None else one_line(str(problem))
            present = self._present()
            if present is not None:
                response.model = model_info(present, self._node.get_clock().now().to_msg())
            deferred.send()

        self._ask(request.robot_description, done)


class ParameterInterface:
    """Services ~/set_payload, ~/set_dynamic_parameters and topics ~/payload, ~/dynamic_parameters."""

    def __init__(
        self,
        node: RobotNode[Any],
        live: Callable[[], LiveParameters | None],
        steady: Callable[[], float],
        blend_time: Callable[[], float],
        drive_is_told: Callable[[], bool],
    ) -> None:
        """Open services and topics; changes take `blend_time` (s) unless a request says otherwise.

        With `drive_is_told`, the drive adds gravity and has to be told of payloads: the log says so.
        """
        self._drive_is_told = drive_is_told
        self._node = node
        self._live = live
        self._steady = steady
        self._blend_time = blend_time
        node.serve(SetPayload, "~/set_payload", self._on_set_payload)
        node.serve(SetDynamicParameters, "~/set_dynamic_parameters", self._on_set_parameters)
        node.subscribe(Payload, "~/payload", self._on_payload, qos.EACH_MESSAGE)
        node.subscribe(DynamicParameters, "~/dynamic_parameters", self._on_parameters, qos.EACH_MESSAGE)

    def _on_set_payload(self, request: SetPayload.Request, response: Any) -> SetPayload.Response:
        return self._respond(response, request.blend_time, partial(self._set_payload, request.payload))

    def _on_set_parameters(
        self, request: SetDynamicParameters.Request, response: Any
    ) -> SetDynamicParameters.Response:
        change = partial(self._set_parameters, request.parameters, force=request.force)
        return self._respond(response, request.blend_time, change)

    def _on_payload(self, message: Payload) -> None:
        self._try("payload", "~/payload", partial(self._set_payload, message))

    def _on_parameters(self, message: DynamicParameters) -> None:
        self._try("dynamic parameters", "~/dynamic_parameters", partial(self._set_parameters, message))

    def _set_payload(self, message: Payload, duration: float) -> str:
        live = self._present()
        payload = payload_of(message)
        live.change(live.fitting.with_payload(payload), self._steady(), duration)
        if self._drive_is_told():
            self._node.get_logger().warning(str(Notice("payload-untold", link=payload.link)))
        return f"link '{payload.link}' holds {payload.mass:g} kg, blended over {duration:g} s"

    def _set_parameters(self, message: DynamicParameters, duration: float, *, force: bool = False) -> str:
        live = self._present()
        if message.verdict:
            if not force:
                raise DynError("verdict-do-not-use", cause=message.verdict[0])
            forced = Notice("parameters-forced", cause=message.verdict[0])
            self._node.get_logger().warning(one_line(str(forced)))
        values = parameters_of(message, live.fitting.robot)
        live.change(live.fitting.with_parameters(values), self._steady(), duration)
        return f"{len(values)} dynamic parameters set, blended over {duration:g} s"

    def _present(self) -> LiveParameters:
        live = self._live()
        if live is None:
            raise DynError("robot-not-loaded")
        return live

    def _respond(self, response: Any, blend_time: Duration, action: Callable[[float], str]) -> Any:
        """Do the action of a service in its blend time, and fill in whether it succeeded."""
        try:
            self._node.get_logger().info(action(blend_time_of(blend_time, self._blend_time())))
        except DynError as problem:
            response.success, response.message = False, one_line(str(problem))
        else:
            response.success = True
        return response

    def _try(self, what: str, topic: str, action: Callable[[float], str]) -> None:
        """Do the action of a message, or report why it is refused."""
        try:
            action(self._blend_time())
        except DynError as problem:
            self._node.refuse(f"{what} refused", topic, problem)
        else:
            self._node.count(f"{what} used")
