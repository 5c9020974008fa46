# SPDX-License-Identifier: Apache-2.0
"""Results of an identification as messages, and sent to another node by ~/apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Duration, Time
from rclpy.task import Future
from std_msgs.msg import Header

from dyn_core import DynError, Robot, load_parameters
from dyn_core.identification.estimators.physical_consistency import is_nearly_possible
from dyn_core.identification.online.recursive_estimator import Knowledge, online_standard
from dyn_msgs.msg import DynamicParameters, IdentificationResult
from dyn_msgs.srv import ApplyParameters, SetDynamicParameters
from dyn_nodes.common.data_checks import Notice, Problem, one_line
from dyn_nodes.common.lifecycle.deferred_response import DeferredResponse, DeferredService
from dyn_nodes.common.lifecycle.managed_node import sleeping_timer
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import caught_warnings
from dyn_nodes.common.lifecycle.worker import Worker
from dyn_nodes.common.messages.parameter_message import blend_time_of
from dyn_nodes.identification.computation_requests import possible_bodies
from dyn_nodes.identification.parameters import ApplySettings


def result_message(
    robot: Robot, result: Mapping[str, Any], stamp: Time, directory: str
) -> IdentificationResult:
    """Return the message of a result of `Estimate`."""
    fields = dict(result)
    names, values, deviations = (fields.pop(key) for key in ("name", "value", "standard_deviation"))
    parameters = parameter_message(robot, names, values, deviations, stamp, fields.pop("verdict"))
    return IdentificationResult(parameters=parameters, directory=directory, **fields)


def parameter_message(
    robot: Robot,
    names: list[str],
    values: list[float],
    deviations: list[float],
    stamp: Time,
    verdict: Sequence[str] = (),
) -> DynamicParameters:
    """Return values of parameters of a robot with their standard deviations, and the verdict on them."""
    return DynamicParameters(
        header=Header(stamp=stamp),
        robot_name=robot.name,
        description_hash=robot.description_hash,
        name=names,
        value=values,
        standard_deviation=deviations,
        verdict=list(verdict),
    )


RECEIVER = "feedforward/set_dynamic_parameters"
"""The service that receives parameters, unless it is remapped."""

Make = Callable[[], DynamicParameters]
"""Returns parameters of the robot in use, or raises DynError; may take long, and changes nothing."""


@dataclass(eq=False)
class _Application:
    """One request in progress: its response, and the pending call of the receiver."""

    deferred: DeferredResponse
    make: Make
    blend_time: float
    force: bool = False
    call: Future | None = None


class Handover:
    """Service ~/apply: passes parameters to another node, and its response back, one request at a time."""

    def __init__(
        self,
        node: RobotNode[Any],
        settings: ApplySettings,
        source: Callable[[ApplyParameters.Request], Make],
    ) -> None:
        """Offer the service; `source` returns what makes the requested parameters, or raises DynError."""
        self._node, self._settings, self._source = node, settings, source
        self._service = DeferredService(node, ApplyParameters, "~/apply", self._on_request)
        self._client = node.create_client(SetDynamicParameters, RECEIVER)
        self._worker: Worker[_Application, DynamicParameters] = Worker(lambda one: one.make(), self._woken)
        self._doing: _Application | None = None
        self._late = sleeping_timer(node, settings.timeout, self._on_late)

    def close(self) -> None:
        """Close the service."""
        self._end(False, Notice("node-closed-before-answer"))
        self._service.close()
        self._node.destroy_timer(self._late)
        self._node.destroy_client(self._client)

    def _on_request(self, request: ApplyParameters.Request, deferred: DeferredResponse) -> None:
        try:
            if self._doing is not None:
                raise DynError("handover-running")
            blend_time = blend_time_of(request.blend_time, self._settings.blend_time)
            make = self._source(request)
            if not self._client.service_is_ready():
                raise DynError("service-missing", service=self._client.service_name)
        except DynError as problem:
            _respond(deferred, False, problem)
            return
        self._doing = _Application(deferred, make, blend_time, request.force)
        self._late.reset()
        self._worker.ask(self._doing)

    def _woken(self) -> None:
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_made))

    def _on_made(self) -> None:
        for application, parameters, problem in self._worker.outcomes():
            if application is not self._doing:
                continue
            if problem is not None:
                self._end(False, problem)
            elif parameters is not None:
                self._hand_over(application, parameters)

    def _on_late(self) -> None:
        limit, call = self._settings.timeout, None if self._doing is None else self._doing.call
        if call is None:
            self._end(False, Notice("parameters-late", limit=limit))
            return
        self._client.remove_pending_request(call)
        self._end(False, Notice("service-silent", service=self._client.service_name, limit=limit))

    def _hand_over(self, application: _Application, parameters: DynamicParameters) -> None:
        receiver = self._client.service_name
        robot = self._node.robot
        if robot is None or robot.description_hash != parameters.description_hash:
            self._end(False, Notice("robot-replaced-meanwhile"))
            return
        if parameters.verdict:
            if not application.force:
                self._end(False, Notice("verdict-do-not-use", cause=parameters.verdict[0]))
                return
            forced = Notice("parameters-forced", cause=parameters.verdict[0])
            self._node.get_logger().warning(one_line(str(forced)))
        blend = round(1e9 * application.blend_time)
        blend_time = Duration(sec=blend // 10**9, nanosec=blend % 10**9)
        request = SetDynamicParameters.Request(
            parameters=parameters, blend_time=blend_time, force=application.force
        )

        def answered(future: Future) -> None:
            if application is not self._doing:
                return
            response = future.result()
            if response.success:
                taken = Notice("parameters-taken", service=receiver, count=len(parameters.name))
                self._end(True, taken, parameters)
            else:
                self._end(False, Notice("parameters-refused", service=receiver, reason=response.message))

        application.call = self._client.call_async(request)
        application.call.add_done_callback(answered)

    def _end(self, success: bool, outcome: Problem, parameters: DynamicParameters | None = None) -> None:
        application, self._doing = self._doing, None
        self._late.cancel()
        if application is not None:
            # Two calls, because rclpy ties the severity to the line of a call.
            if success:
                self._node.get_logger().info(one_line(str(outcome)))
            else:
                self._node.get_logger().warning(one_line(str(outcome)))
            _respond(application.deferred, success, outcome, parameters)


def _respond(
    deferred: DeferredResponse, success: bool, outcome: Problem, parameters: DynamicParameters | None = None
) -> None:
    response = deferred.response
    response.success, response.message = success, one_line(str(outcome))
    response.parameters = parameters or DynamicParameters()
    deferred.send()


def source_of(
    request: ApplyParameters.Request,
    robot: Robot | None,
    last: IdentificationResult | None,
    online: Callable[[], Knowledge],
    stamp: Time,
    *,
    impossible: bool,
) -> Make:
    """Return the function that makes the requested parameters.

    Args:
        request: the request.
        robot: the robot in use; None where there is none.
        last: the last result; None where there is none.
        online: returns the online estimate; DynError where it has not converged.
        stamp: the present.
        impossible: whether links may be physically impossible.

    Raises:
        DynError: there are no parameters, or they may not be sent.
    """
    kinds = (request.SOURCE_RESULT, request.SOURCE_ONLINE, request.SOURCE_FILE)
    if request.source not in kinds:
        raise DynError("source-unknown", given=request.source)
    if request.file and request.source != request.SOURCE_FILE:
        raise DynError("source-beside-file")
    if request.source == request.SOURCE_RESULT:
        if last is None:
            raise DynError("result-missing")
        if robot is None or last.parameters.description_hash != robot.description_hash:
            raise DynError("result-of-other-description", robot=last.parameters.robot_name)
        if not last.physically_consistent and not impossible:
            raise DynError("parameters-physically-impossible", given="this result")
        parameters = last.parameters
        return lambda: parameters
    if robot is None:
        raise DynError("robot-not-received")
    if request.source == request.SOURCE_ONLINE:
        knowledge = online()
        return lambda: _of_online(knowledge, stamp)
    if not request.file:
        raise DynError("source-without-file")
    return partial(_of_file, robot, request.file, stamp, impossible)


def _of_online(knowledge: Knowledge, stamp: Time) -> DynamicParameters:
    found = online_standard(knowledge)
    columns = (list(found.names), list(found.values), list(found.deviations))
    return parameter_message(knowledge.base.robot, *columns, stamp)


def _of_file(robot: Robot, path: str, stamp: Time, impossible: bool) -> DynamicParameters:
    # What speaks against them is in the message, and refuses them without force.
    with caught_warnings():
        found = load_parameters(path, force=True)
    found.applied_to(robot)
    values: Mapping[str, float] = found.values
    if not impossible and not possible_bodies(robot, values, is_nearly_possible):
        raise DynError("parameters-physically-impossible", given=f"'{path}'")
    names = list(robot.parameter_names)
    spreads = (found.deviations[name] for name in names)
    deviations = [math.inf if spread is None else spread for spread in spreads]
    verdict = [reason.text for reason in found.reasons]
    return parameter_message(robot, names, [values[name] for name in names], deviations, stamp, verdict)
