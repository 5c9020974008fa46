# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: publishes the torques that hold the robot against gravity.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions, matched by name.
    robot_description (std_msgs/String, transient_local): URDF; a new one is loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): one for every good joint state, with its stamp.
    ~/model_info (dyn_msgs/ModelInfo, transient_local): the model in use.
    /diagnostics (diagnostic_msgs/DiagnosticArray): joint states used and refused, and why.
"""

from __future__ import annotations

import sys
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dyn_core import DynError
from dyn_msgs.msg import JointTorques, ModelInfo
from dyn_nodes import messages, qos
from dyn_nodes.diagnostics import Diagnostics
from dyn_nodes.joint_data import check_age, positions
from dyn_nodes.model_source import LoadedModel, load
from dyn_nodes.parameters import declare
from dyn_nodes.process import run
from dyn_nodes.rejection import Rejection

_WARN_EVERY_S = 5.0


class Feedforward(LifecycleNode):
    """Gravity torques for the measured position."""

    def __init__(self, **node_options: Any) -> None:
        """Declare the parameters and, with `autostart`, configure and activate.

        Raises DynError when the robot that the parameters name cannot be loaded and `autostart` is on.
        """
        super().__init__("feedforward", **node_options)
        self._autostart: bool = declare(
            self, "autostart", True, "Configure and activate at start, without a lifecycle manager."
        )
        self._description: str = declare(
            self,
            "robot_description",
            "",
            "Text of the URDF; empty: taken from description_file or the topic robot_description.",
        )
        self._description_file: str = declare(
            self,
            "description_file",
            "",
            "Path of a URDF file; empty: taken from robot_description (parameter or topic).",
        )
        self._gravity: list[float] = list(
            declare(
                self,
                "gravity",
                [0.0, 0.0, -9.81],
                "Acceleration of gravity in the frame of the root link, m/s^2.",
            )
        )
        self._max_age: float = declare(
            self,
            "max_age",
            0.1,
            "Joint states whose stamp is further from the node's clock than this, s, are not used.",
            within=(0.001, 60.0),
        )
        self._loaded: LoadedModel | None = None
        self._active = False
        if self._autostart:
            self._start()

    def _start(self) -> None:
        if self.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            raise self._problem
        self.trigger_activate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot if a parameter gives it, and open the topics."""
        try:
            self._load_from_parameters()
        except DynError as problem:
            self._problem = problem
            if not self._autostart:
                self.get_logger().error(f"cannot configure: {problem}")
            return TransitionCallbackReturn.FAILURE
        self._torques = self.create_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._model_info = self.create_publisher(ModelInfo, "~/model_info", qos.LATCHED)
        self._inputs = [
            self.create_subscription(String, "robot_description", self._on_description, qos.LATCHED),
            self.create_subscription(JointState, "joint_states", self._on_joint_state, qos.LATEST_SAMPLE),
        ]
        self._diagnostics = Diagnostics(self)
        self._announce()
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to publish."""
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop publishing."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot and close the topics."""
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self.destroy_publisher(self._torques)
        self.destroy_publisher(self._model_info)
        self._diagnostics.close()
        self._loaded = None
        return TransitionCallbackReturn.SUCCESS

    def _load_from_parameters(self) -> None:
        if self._description and self._description_file:
            raise DynError("both robot_description and description_file are set: leave one of them empty")
        if self._description and not self._description.lstrip().startswith("<"):
            raise DynError(
                "parameter robot_description is not the text of a URDF: "
                "give the path of a file as description_file"
            )
        source = self._description or self._description_file
        if source:
            self._loaded = load(source, self._gravity)

    def _announce(self) -> None:
        if self._loaded is None:
            self.get_logger().info("waiting for a robot on the topic robot_description")
            return
        robot = self._loaded.robot
        for sentence in self._loaded.warnings:
            self.get_logger().warning(sentence)
        self._model_info.publish(messages.model_info(self._loaded, self.get_clock().now().to_msg()))
        self.get_logger().info(f"using robot '{robot.name}' with {robot.dof} joints")

    def _on_description(self, message: String) -> None:
        present = self._loaded
        try:
            if not message.data.lstrip().startswith("<"):
                raise DynError("the message is not the text of a URDF")
            loaded = load(message.data, self._gravity)
        except DynError as problem:
            use = f"robot '{present.robot.name}' stays in use" if present else "still no robot"
            sentence = f"robot_description cannot be used ({problem}); {use}"
            self._diagnostics.problem(sentence)
            self.get_logger().error(sentence)
            return
        if present and present.robot.description_hash == loaded.robot.description_hash:
            return
        self._loaded = loaded
        self._announce()

    def _on_joint_state(self, message: JointState) -> None:
        loaded = self._loaded
        if loaded is None or not self._active:
            return
        try:
            age = self.get_clock().now() - Time.from_msg(message.header.stamp)
            check_age(age.nanoseconds * 1e-9, self._max_age)
            q = positions(message, loaded.model.joint_names)
            torques = messages.gravity_torques(loaded, q, message.header.stamp)
        except Rejection as problem:
            self._diagnostics.count("joint states refused")
            self._diagnostics.problem(str(problem))
            self.get_logger().warning(f"no torque published: {problem}", throttle_duration_sec=_WARN_EVERY_S)
            return
        self._torques.publish(torques)
        self._diagnostics.count("joint states answered")


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Feedforward, "feedforward", arguments)


if __name__ == "__main__":
    sys.exit(main())
