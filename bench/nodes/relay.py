# SPDX-License-Identifier: Apache-2.0
"""Baseline for the latency of `feedforward`: the same structure without computations and checks.

`python bench/nodes/relay.py`: a lifecycle node on the same executor that subscribes joint_states and
publishes ~/torques and ~/commands in the same quality of service. Messages are made once and filled again,
as those of `feedforward` are, and have the same size; the positions of the joint state are in them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.parameters import declare


class Relay(ManagedNode):
    """Publishes each joint state again, as torques and as commands."""

    def __init__(self) -> None:
        super().__init__("relay")
        what = "Have the subscription be reliable, other than that of the nodes."
        reliable = declare(self, "reliable", False, what)
        reliability = ReliabilityPolicy.RELIABLE if reliable else qos.EACH_SAMPLE.reliability
        self._profile = QoSProfile(depth=qos.EACH_SAMPLE.depth, reliability=reliability)
        self._active = False
        self._opened: list[Callable[[], object]] = []
        self.start()

    def open(self) -> None:
        self._torques = self.create_lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._commands = self.create_lifecycle_publisher(Float64MultiArray, "~/commands", qos.COMMAND)
        self._message = JointTorques()
        self._command = Float64MultiArray(layout=MultiArrayLayout(dim=[MultiArrayDimension(label="joints")]))
        states = self.create_subscription(JointState, "joint_states", self._on_joint_state, self._profile)
        self._opened += [
            lambda: self.destroy_subscription(states),
            lambda: self.destroy_lifecycle_publisher(self._torques),
            lambda: self.destroy_lifecycle_publisher(self._commands),
        ]

    def close(self) -> None:
        while self._opened:
            self._opened.pop()()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = False
        return super().on_deactivate(state)

    def _on_joint_state(self, state: JointState) -> None:
        if not self._active:
            return
        message, numbers = self._message, state.position
        message.header.stamp = state.header.stamp
        if message.name != state.name:
            message.name = state.name
        message.inertial = message.coriolis = message.gravity = message.friction = message.total = numbers
        self._torques.publish(message)
        self._command.data = numbers
        self._commands.publish(self._command)


if __name__ == "__main__":
    sys.exit(run(Relay, "relay"))
