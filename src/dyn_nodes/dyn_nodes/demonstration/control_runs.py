# SPDX-License-Identifier: Apache-2.0
"""The demonstration from the first message to the last: the same motion, controlled in several ways."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from std_srvs.srv import Trigger

from dyn_msgs.msg import DynamicParameters, ModelInfo
from dyn_msgs.srv import SetDynamicParameters
from dyn_nodes.common import qos
from dyn_nodes.demonstration.passive import passive_joints
from dyn_nodes.demonstration.player import Player
from dyn_nodes.demonstration.recording import Recording
from dyn_nodes.demonstration.request import Stop
from dyn_nodes.demonstration.scene import RATE_HZ, Scene
from dyn_nodes.demonstration.stopped import DemoError

_CONNECT_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 20.0
_ASK_AGAIN_S = 2.0
_SILENCE_LIMIT_S = 15.0
SETTLE_S = 0.4
"""Simulated time for which the robot is held before each motion."""


@dataclass(frozen=True)
class Control:
    """How the robot is controlled in a run.

    Attributes:
        title: what this is called.
        feedforward: whether there is a feedforward.
        true_model: whether it is told what the parameters of the robot really are.
    """

    title: str
    feedforward: bool = False
    true_model: bool = False


def controls(scene: Scene) -> tuple[Control, ...]:
    """Answer the runs of a demonstration; the first is what the others are compared with."""
    alone, true = Control("PD alone"), Control("PD + feedforward, true model", True, True)
    error = scene.wish.model_error
    if not error:
        return (alone, true)
    return (alone, Control(f"PD + feedforward, model off by {100 * error:g} %", True), true)


class Performance:
    """One demonstration over the topics and services of a graph."""

    def __init__(
        self,
        node: Node,
        spin_once: Callable[[float], None],
        scene: Scene,
        check: Callable[[], None],
        stop: Stop,
    ) -> None:
        """Open topics and services.

        Args:
            node: of the demonstration.
            spin_once: handles a message if one comes within so many seconds.
            scene: what is demonstrated.
            check: raises when a node has ended.
            stop: the wish to end.
        """
        self._node = node
        self._spin_once = spin_once
        self._scene = scene
        self._check = check
        self._stop = stop
        self._models: list[ModelInfo] = []
        self._player = Player(
            node,
            scene.robot.coordinate_names,
            [joint.name for joint in passive_joints(scene.model)],
            scene.motion,
            RATE_HZ,
        )
        node.create_subscription(ModelInfo, "feedforward/model_info", self._models.append, qos.LATCHED)
        self._get_state = node.create_client(GetState, "feedforward/get_state")
        self._back = node.create_client(Trigger, "simulation/reset")
        self._change_state = node.create_client(ChangeState, "feedforward/change_state")
        self._parameters = node.create_client(SetDynamicParameters, "feedforward/set_dynamic_parameters")

    def connect(self) -> None:
        """Wait until simulation and controller hear and are heard, with the feedforward configured only."""
        state = self._state(_CONNECT_LIMIT_S)
        if state == State.PRIMARY_STATE_UNCONFIGURED:
            self._go(Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)
        elif state == State.PRIMARY_STATE_ACTIVE:
            self._go(Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE)
        player = self._player
        self._wait(lambda: player.time is not None, _CONNECT_LIMIT_S, "the node simulation was not heard")
        self._wait(
            player.steps.service_is_ready, _CONNECT_LIMIT_S, "the service simulation/step was not offered"
        )
        # At time 0 stamps are zero, which nodes take for none.
        player.begin()
        self._wait(lambda: player.torques_heard, _CONNECT_LIMIT_S, "the node controller was not heard")
        self._wait(
            lambda: player.references.get_subscription_count() >= 2,
            _CONNECT_LIMIT_S,
            "the nodes controller and feedforward do not both listen to the topic reference",
        )

    @property
    def time(self) -> float:
        """Simulated time (s)."""
        return self._player.time or 0.0

    def run(self, control: Control) -> Recording:
        """Play the motion once, from where it begins."""
        if control.feedforward:
            # It has compiled the robot while that moved without it.
            self._wait(lambda: self._models, _CONNECT_LIMIT_S, "the node feedforward got no robot")
        if control.true_model:
            self._tell_parameters()
        if control.feedforward and self._state() != State.PRIMARY_STATE_ACTIVE:
            self._go(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE)
        self._reset()
        player = self._player
        player.with_feedforward = control.feedforward
        player.play(SETTLE_S)
        while not player.over:
            self._wait_for_time()
        recording = player.recording(control.title)
        if not len(recording.t):
            raise DemoError("no joint state came during the motion")
        return recording

    def _wait_for_time(self) -> None:
        """Wait until simulated time has gone on."""
        player = self._player
        before = player.time
        self._wait(
            lambda: player.time != before or player.problem or player.over,
            _SILENCE_LIMIT_S,
            "simulated time did not go on",
        )
        if player.problem is not None:
            raise DemoError(player.problem)

    def _reset(self) -> None:
        """Put the robot where the motion begins, with brakes until the next torques."""
        answer = self._call(self._back, Trigger.Request())
        if not answer.success:
            raise DemoError(f"the node simulation could not be reset: {answer.message}")

    def _state(self, limit_s: float = _ANSWER_LIMIT_S) -> int:
        """Answer the state of the life cycle in which the feedforward is."""
        return int(self._call(self._get_state, GetState.Request(), limit_s).current_state.id)

    def _go(self, transition: int, target: int) -> None:
        """Have the feedforward go to a state of its life cycle."""
        request = ChangeState.Request(transition=Transition(id=transition))
        if not self._call(self._change_state, request).success and self._state() != target:
            raise DemoError(f"the node feedforward refused the transition {transition} of its life cycle")

    def _tell_parameters(self) -> None:
        """Tell the feedforward what an identification would have found, if it found everything."""
        robot, real = self._scene.robot, self._scene.real
        parameters = DynamicParameters(
            robot_name=robot.name,
            description_hash=robot.description_hash,
            name=list(robot.parameter_names),
            value=list(real.parameters),
        )
        request = SetDynamicParameters.Request(parameters=parameters)
        request.blend_time.nanosec = 1_000_000
        answer = self._call(self._parameters, request)
        if not answer.success:
            raise DemoError(f"the node feedforward refused the true parameters: {answer.message}")

    def _call(self, client: Any, request: Any, limit_s: float = _ANSWER_LIMIT_S) -> Any:
        """Answer what a service answers; it is asked again now and then, so twice must be as good as once."""
        name = client.srv_name
        self._wait(client.service_is_ready, limit_s, f"the service {name} was not offered")
        futures: list[Any] = []
        asked = -math.inf

        def answered() -> bool:
            nonlocal asked
            # An answer is lost where the server does not know yet who listens to it.
            if time.monotonic() - asked > _ASK_AGAIN_S:
                futures.append(client.call_async(request))
                asked = time.monotonic()
            return any(future.done() for future in futures)

        self._wait(answered, limit_s, f"the service {name} did not answer")
        return next(future.result() for future in futures if future.done())

    def _wait(self, condition: Callable[[], Any], limit_s: float, otherwise: str) -> None:
        """Handle messages until the condition holds."""
        end = time.monotonic() + limit_s
        while not condition():
            self._stop.check()
            self._check()
            if time.monotonic() > end:
                raise DemoError(f"{otherwise} within {limit_s:g} s")
            self._spin_once(0.05)
