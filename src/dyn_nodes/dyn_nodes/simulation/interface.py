# SPDX-License-Identifier: Apache-2.0
"""Topics and services of the node `simulation`: commands, torques, wrenches, reset, pause, step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from dyn_core import DynError, Robot
from dyn_core.robot.robot import motor_of
from dyn_msgs.msg import JointTorques
from dyn_msgs.srv import SetPayload, SetSimulationState, StepSimulation
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, Rejection, one_line, plausible, worst_index
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.parameter_message import payload_of
from dyn_nodes.common.torques.effort_messages import named_efforts, with_motors
from dyn_nodes.simulation.simulated_robot import RunningSimulation, link_wrench
from dyn_nodes.simulation.time_stepping import SimulationLoop

_RIVAL_S = 0.5
"""Time within which commands from two topics are reported (s)."""


class SimulationInputs:
    """The topics; their messages act while there is a robot and the node is active."""

    def __init__(
        self,
        node: RobotNode[RunningSimulation],
        active: Callable[[], RunningSimulation | None],
        steady: Callable[[], float],
    ) -> None:
        """Subscribe; `active` returns the robot while the node is active."""
        self._node = node
        self._active = active
        self._steady = steady
        self._commanded: dict[str, float] = {}
        # Reliable: a command acts until the next one, so the last one may not be lost.
        node.subscribe(Float64MultiArray, "~/commands", self._on_commands, qos.EACH_MESSAGE, newest=True)
        node.subscribe(JointTorques, "~/torques", self._on_torques, qos.EACH_MESSAGE, newest=True)
        node.subscribe(WrenchStamped, "~/wrench", self._on_wrench, qos.EACH_SAMPLE)

    def _on_commands(self, message: Float64MultiArray) -> None:
        self._command("~/commands", lambda running: running.order.efforts(message.data))

    def _on_torques(self, message: JointTorques) -> None:
        self._command("~/torques", lambda running: self._exerted(running.robot.simulator.robot, message))

    def _exerted(self, robot: Robot, message: JointTorques) -> NDArray[np.float64]:
        """Return the efforts of the actuators for the torques of feedforward, which are of all joints.

        For a joint behind a spring, this is the torque of its motor. Efforts of passive joints are left out,
        with a warning.
        """
        names = with_motors(robot, message.name)
        efforts = named_efforts("torques", robot.coordinate_names, names, message.total)
        motors = motor_of(robot)
        lost = [
            j
            for j, joint in enumerate(robot.independent_joints)
            if efforts[j] and joint.mu != 1 and joint.name not in motors
        ]
        if lost:
            efforts[lost] = 0.0
            names = [robot.coordinate_names[j] for j in lost]
            problem = Rejection("efforts-without-actuators", joints=names)
            self._node.refuse("efforts without actuators", "~/torques", problem)
        return efforts

    def _command(self, topic: str, efforts: Callable[[RunningSimulation], Any]) -> None:
        running = self._active()
        if running is None:
            return
        try:
            running.robot.command(efforts(running))
        except Rejection as problem:
            self._node.refuse("commands refused", topic, problem)
            return
        now = self._steady()
        self._commanded[topic] = now
        rivals = [other for other, at in self._commanded.items() if other != topic and now - at < _RIVAL_S]
        if rivals:
            rival = Notice("commands-on-two-topics", topic=topic, other=rivals[0])
            self._node.count("commands on both topics", rival)
        self._node.count("commands")

    def _on_wrench(self, message: WrenchStamped) -> None:
        running = self._active()
        if running is None:
            return
        try:
            running.robot.push(link_wrench(message, running.described.robot))
        except Rejection as problem:
            self._node.refuse("wrenches refused", "~/wrench", problem)
            return
        self._node.count("wrenches")


_STEPPING_S = 1.0
"""Longest time of the service ~/step (s): a signal has to end the node in less than two."""


class SimulationServices:
    """The services; a response has a sentence where the request cannot be done."""

    def __init__(
        self,
        node: RobotNode[RunningSimulation],
        loop: SimulationLoop,
        running: Callable[[], RunningSimulation | None],
        active: Callable[[], RunningSimulation | None],
        steady: Callable[[], float],
    ) -> None:
        """Offer the services; `active` returns the robot while the node is active."""
        self._loop = loop
        self._running = running
        self._active = active
        self._steady = steady
        node.serve(Trigger, "~/reset", self._service(lambda running, _: running.robot.reset()))
        node.serve(SetSimulationState, "~/set_state", self._service(_place))
        node.serve(SetBool, "~/pause", self._on_pause)
        node.serve(StepSimulation, "~/step", self._on_step)
        node.serve(
            SetPayload,
            "~/set_payload",
            self._service(lambda running, request: running.robot.attach(*payload_of(request.payload))),
        )

    def _service(self, action: Callable[[RunningSimulation, Any], None]) -> Callable[[Any, Any], Any]:
        return lambda request, response: self._respond(response, lambda running: action(running, request))

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._loop.pause(request.data)
        response.success = True
        return response

    def _on_step(
        self, request: StepSimulation.Request, response: StepSimulation.Response
    ) -> StepSimulation.Response:
        """Simulate some periods at once, for a limited time, because no other callback runs meanwhile."""

        def step(running: RunningSimulation) -> None:
            if self._active() is None:
                raise DynError("node-inactive")
            if not self._loop.paused:
                raise DynError("simulation-running")
            if request.steps < 1:
                raise DynError("steps-zero")
            until = self._steady() + _STEPPING_S
            for k in range(request.steps):
                if self._steady() > until:
                    values = {"count": k, "steps": request.steps, "remaining": request.steps - k}
                    raise DynError("steps-incomplete", duration=_STEPPING_S, **values)
                self._loop.step(running.robot)
                if running.robot.fault is not None:
                    raise running.robot.fault.with_traceback(None)

        self._respond(response, step)
        response.time = self._loop.time
        return response

    def _respond(self, response: Any, action: Callable[[RunningSimulation], None]) -> Any:
        """Do the action of a service, and fill in whether it succeeded."""
        running = self._running()
        try:
            if running is None:
                raise DynError("robot-not-loaded")
            action(running)
        except (DynError, ValueError) as problem:
            response.success = False
            response.message = one_line(str(problem))
            return response
        response.success = True
        return response


def _place(running: RunningSimulation, request: SetSimulationState.Request) -> None:
    q = _by_joint("positions", request.name, request.position)
    at_rest = [0.0] * len(request.name)
    qd = _by_joint("velocities", request.name, request.velocity or at_rest)
    _check_speeds(running.described.robot, qd)
    running.robot.place(q, qd)


def _check_speeds(robot: Robot, qd: Mapping[str, float]) -> None:
    """Refuse velocities (rad/s or m/s) above the limits of joints; a limit of 0 is unknown."""
    for joint in robot.independent_joints:
        limit, rate = joint.limits.velocity, qd.get(joint.name, 0.0)
        if limit and abs(rate) > limit:
            unit = joint.position_unit
            raise DynError("velocity-beyond-limit", velocity=rate, unit=unit, joint=joint.name, limit=limit)


def _by_joint(what: str, names: list[str], values: Any) -> dict[str, float]:
    if len(values) != len(names):
        raise DynError("joint-counts-differ", names=len(names), count=len(values), quantity=what)
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DynError("joint-repeated", joint=repeated)
    if not plausible(values):
        k = worst_index(values)
        raise DynError("joint-value-implausible", quantity=what, joint=names[k], given=values[k])
    return dict(zip(names, values, strict=True))
