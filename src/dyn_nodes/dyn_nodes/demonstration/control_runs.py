# SPDX-License-Identifier: Apache-2.0
"""The runs of a demonstration: the same motion with several controls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from std_srvs.srv import Trigger

from dyn_core import DynError
from dyn_msgs.msg import DynamicParameters, ModelInfo
from dyn_msgs.srv import SetDynamicParameters
from dyn_nodes.common import qos
from dyn_nodes.demonstration.player import Fed, Player
from dyn_nodes.demonstration.recording import Recording, passive_joints
from dyn_nodes.demonstration.request import Progress, Stop
from dyn_nodes.demonstration.scene import Scene

_CONNECT_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 20.0
_ASK_AGAIN_S = 2.0
_SILENCE_LIMIT_S = 15.0
_FAULTS = ("control-", "simulation-halted")
"""Beginnings of the codes of nodes that have lost the robot."""
BASELINE = 1
"""Number of the run that the others are compared with: PD + gravity."""
SETTLE_S = 0.4
"""Simulated time for which the robot is held before each motion."""


@dataclass(frozen=True)
class Control:
    """The control of a run: what feedforward, by the description or by the true parameters."""

    title: str
    feedforward: Fed = "nothing"
    true_model: bool = False


def controls(error: float) -> tuple[Control, ...]:
    """Return the runs of a demonstration with a model error; `BASELINE` is what the others are compared with.

    All but the last use the model of the description, which is off by this error.
    """
    described = Control(f"PD + feedforward, model off by {100 * error:g} %", "motion")
    return (
        Control("PD alone"),
        Control("PD + gravity", "gravity"),
        *((described,) if error else ()),
        Control("PD + feedforward, true model", "motion", True),
    )


def check_followed(scene: Scene, recording: Recording) -> None:
    """Raise DynError where a joint was further from the reference than if it had stood still."""
    joints = scene.robot.independent_joints
    error = np.sqrt(np.mean((recording.desired - recording.measured) ** 2, axis=0))
    still = np.sqrt(np.mean((recording.desired - recording.desired[0]) ** 2, axis=0))
    lost = ~(error < still)
    if lost.any():
        j = int(lost.argmax())
        values: dict[str, Any] = {
            "run": recording.title,
            "joint": joints[j].name,
            "unit": joints[j].position_unit,
        }
        raise DynError("demonstration-tracking-lost", rms=error[j], still=still[j], **values)


class Performance:
    """Runs over the topics and services of a graph."""

    def __init__(
        self,
        node: Node,
        spin_once: Callable[[float], None],
        scene: Scene,
        check: Callable[[], None],
        stop: Stop,
        progress: Progress,
    ) -> None:
        """Open topics and services.

        Args:
            node: node of the demonstration.
            spin_once: handles a message if one comes within the given time (s).
            scene: the robot and its motion.
            check: raises when a node has ended.
            stop: detects that the user stops the program.
            progress: gets the stages.
        """
        self._progress = progress
        self._node, self._spin_once, self._check, self._stop = node, spin_once, check, stop
        self._scene = scene
        self._models: list[ModelInfo] = []
        self._title = ""
        self._fault: DynError | None = None
        passive = [joint.name for joint in passive_joints(scene.model)]
        self._player = Player(node, scene.robot.coordinate_names, passive, scene.motion, scene.request.rate)
        node.create_subscription(ModelInfo, "feedforward/model_info", self._models.append, qos.LATCHED)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._get_state = node.create_client(GetState, "feedforward/get_state")
        self._reset_service = node.create_client(Trigger, "simulation/reset")
        self._change_state = node.create_client(ChangeState, "feedforward/change_state")
        self._parameters = node.create_client(SetDynamicParameters, "feedforward/set_dynamic_parameters")

    def connect(self) -> None:
        """Wait until simulation and controller are connected; configure the feedforward, inactive."""
        state = self._state(_CONNECT_LIMIT_S)
        if state == State.PRIMARY_STATE_UNCONFIGURED:
            self._go(Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)
        elif state == State.PRIMARY_STATE_ACTIVE:
            self._go(Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE)
        player = self._player
        self._wait(lambda: player.time is not None, _CONNECT_LIMIT_S, "node-not-heard", node="simulation")
        is_ready = player.steps.service_is_ready
        self._wait(is_ready, _CONNECT_LIMIT_S, "service-not-offered", service="simulation/step")
        # At time 0 stamps are zero, which nodes read as missing.
        player.begin()
        self._wait(lambda: player.torques_heard, _CONNECT_LIMIT_S, "node-not-heard", node="controller")
        self._wait(lambda: player.references_heard, _CONNECT_LIMIT_S, "references-not-heard")

    @property
    def time(self) -> float:
        """Simulated time (s)."""
        return self._player.time or 0.0

    def run(self, control: Control) -> Recording:
        """Play the motion once; DynError where the robot does not follow it."""
        self._title = control.title
        feeds = control.feedforward != "nothing"
        if feeds and not self._models:
            self._progress("waiting for the node feedforward, which compiles the robot")
            # It compiled the robot during the runs without feedforward.
            self._wait(lambda: self._models, _CONNECT_LIMIT_S, "feedforward-without-robot")
        if control.true_model:
            self._send_parameters()
        if feeds and self._state() != State.PRIMARY_STATE_ACTIVE:
            self._go(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE)
        self._reset()
        player = self._player
        player.feedforward = control.feedforward
        player.play(SETTLE_S)
        began, duration = self.time, SETTLE_S + self._scene.request.duration
        while not player.over:
            self._wait_for_time()
            self._progress.of_run((self.time - began) / duration)
        recording = player.recording(control.title)
        if not len(recording.t):
            raise DynError("motion-without-joint-states")
        check_followed(self._scene, recording)
        return recording

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Note that the controller has given up, or that the simulated robot has diverged."""
        for status in message.status:
            values = {entry.key: entry.value for entry in status.values}
            node = status.name.rpartition("/")[2]
            is_fault = values.get("code", "").startswith(_FAULTS)
            if status.level == DiagnosticStatus.ERROR and is_fault and self._fault is None:
                told: dict[str, Any] = {"node": node, "run": self._title, "reason": status.message}
                self._fault = DynError("demonstration-diverged", **told)

    def _wait_for_time(self) -> None:
        """Wait until simulated time has advanced."""
        player = self._player
        before = player.time

        def advanced() -> bool:
            return bool(player.time != before or player.problem or player.over or self._fault)

        self._wait(advanced, _SILENCE_LIMIT_S, "simulated-time-stopped")
        if self._fault is not None:
            raise self._fault
        if player.problem is not None:
            raise player.problem

    def _reset(self) -> None:
        """Put the robot at the beginning of the motion, with brakes until the next torques."""
        response = self._call(self._reset_service, Trigger.Request())
        if not response.success:
            raise DynError("simulation-not-reset", reason=response.message)

    def _state(self, limit_s: float = _ANSWER_LIMIT_S) -> int:
        """Return the state of the life cycle of the feedforward."""
        return int(self._call(self._get_state, GetState.Request(), limit_s).current_state.id)

    def _go(self, transition: int, target: int) -> None:
        """Change the state of the life cycle of the feedforward."""
        request = ChangeState.Request(transition=Transition(id=transition))
        if not self._call(self._change_state, request).success and self._state() != target:
            raise DynError("transition-refused", node="feedforward", transition=transition)

    def _send_parameters(self) -> None:
        """Send the feedforward the true parameters, as from a perfect identification."""
        robot, real = self._scene.robot, self._scene.real
        parameters = DynamicParameters(
            robot_name=robot.name,
            description_hash=robot.description_hash,
            name=list(robot.parameter_names),
            value=list(real.parameters),
        )
        request = SetDynamicParameters.Request(parameters=parameters)
        request.blend_time.nanosec = 1_000_000
        response = self._call(self._parameters, request)
        if not response.success:
            raise DynError("true-parameters-refused", reason=response.message)

    def _call(self, client: Any, request: Any, limit_s: float = _ANSWER_LIMIT_S) -> Any:
        """Return the response of a service; the request has to be idempotent, as it is repeated."""
        name = client.srv_name
        self._wait(client.service_is_ready, limit_s, "service-not-offered", service=name)
        futures: list[Any] = []
        called = -math.inf

        def answered() -> bool:
            nonlocal called
            # A response is lost where the server has not discovered the client yet.
            if time.monotonic() - called > _ASK_AGAIN_S:
                futures.append(client.call_async(request))
                called = time.monotonic()
            return any(future.done() for future in futures)

        self._wait(answered, limit_s, "service-without-answer", service=name)
        return next(future.result() for future in futures if future.done())

    def _wait(self, condition: Callable[[], Any], limit_s: float, otherwise: str, **values: Any) -> None:
        """Handle messages until the condition holds; DynError with the code `otherwise` at the limit."""
        end = time.monotonic() + limit_s
        while not condition():
            self._stop.check()
            self._check()
            if time.monotonic() > end:
                raise DynError(otherwise, limit=limit_s, **values)
            self._spin_once(0.05)
