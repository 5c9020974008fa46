# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a robot: it tells its description and moving joints, and keeps the torques it gets."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String

from dyn_core.model.joint import Limits
from dyn_msgs.msg import JointTorques, ModelInfo
from dyn_nodes import qos
from dyn_nodes.model_source import LoadedModel

_LARGEST_SWING = 1.0
_ANGULAR_FREQUENCY = 0.7


@dataclass(frozen=True)
class Answer:
    """The torques that the node sent for one joint state."""

    q: NDArray[np.float64]
    torques: JointTorques
    latency_s: float


class DemoRobot(Node):
    """Publishes `robot_description` and, at each `move`, `joint_states`."""

    def __init__(self, description: str, loaded: LoadedModel) -> None:
        """Publish the description and listen to the node `feedforward`."""
        super().__init__("demo_robot")
        self._names = list(loaded.model.joint_names)
        self._ranges = [loaded.robot.limits[name] for name in self._names]
        self._awaited: dict[int, tuple[NDArray[np.float64], float]] = {}
        self._model_known = False
        self.sent = 0
        self.answers: list[Answer] = []
        self._description = self.create_publisher(String, "robot_description", qos.LATCHED)
        self._description.publish(String(data=description))
        self._states = self.create_publisher(JointState, "joint_states", qos.COMMAND)
        self.create_subscription(ModelInfo, "feedforward/model_info", self._on_model, qos.LATCHED)
        self.create_subscription(JointTorques, "feedforward/torques", self._on_torques, qos.COMMAND)

    @property
    def connected(self) -> bool:
        """Whether the node has our description, hears our joints, and is heard."""
        return (
            self._model_known
            and self._states.get_subscription_count() > 0
            and self.count_publishers("feedforward/torques") > 0
        )

    @property
    def unanswered(self) -> int:
        """Number of joint states for which no torques have come yet."""
        return len(self._awaited)

    def move(self, t: float) -> None:
        """Publish where the joints are at `t` s of a slow motion about the middle of their ranges."""
        q = np.array(
            [
                _middle(limits) + _swing(limits) * math.sin(_ANGULAR_FREQUENCY * t + j)
                for j, limits in enumerate(self._ranges)
            ]
        )
        now = self.get_clock().now()
        self._awaited[now.nanoseconds] = (q, time.monotonic())
        self._states.publish(
            JointState(header=Header(stamp=now.to_msg()), name=self._names, position=q.tolist())
        )
        self.sent += 1

    def _on_model(self, _: ModelInfo) -> None:
        self._model_known = True

    def _on_torques(self, message: JointTorques) -> None:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if stamp in self._awaited:
            q, sent_at = self._awaited.pop(stamp)
            self.answers.append(Answer(q, message, time.monotonic() - sent_at))


def _middle(limits: Limits) -> float:
    if limits.lower is None or limits.upper is None:
        return 0.0
    return 0.5 * (limits.lower + limits.upper)


def _swing(limits: Limits) -> float:
    if limits.lower is None or limits.upper is None:
        return _LARGEST_SWING
    return min(_LARGEST_SWING, 0.3 * (limits.upper - limits.lower))
