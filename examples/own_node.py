# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 node around a model: torques against gravity for each joint state."""

from contextlib import suppress
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import dyn_core as dyn

RX90 = Path(__file__).parents[1] / "config" / "robots" / "rx90.urdf"


class GravityCompensation(Node):
    """Subscribes joint_states, publishes ~/commands in the order of the model's joints (N m)."""

    def __init__(self) -> None:
        """Compile the model before the first message arrives."""
        super().__init__("gravity_compensation")
        file = self.declare_parameter("description_file", str(RX90)).value
        self.model = dyn.compile_model(dyn.load_robot(file))
        self.commands = self.create_publisher(Float64MultiArray, "~/commands", 1)
        self.create_subscription(JointState, "joint_states", self.on_state, qos_profile_sensor_data)

    def on_state(self, state: JointState) -> None:
        """Publish the torques of a joint state that has all joints, in any order."""
        positions = dict(zip(state.name, state.position, strict=False))  # rad
        if positions.keys() >= set(self.model.joint_names):
            tau = self.model.gravity_torques([positions[name] for name in self.model.joint_names])
            self.commands.publish(Float64MultiArray(data=tau.tolist()))


rclpy.init()
with suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(GravityCompensation())
