# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: publishes the torques that hold the robot against gravity.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions, matched by name.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): one for every good joint state, with its stamp.
    ~/model_info (dyn_msgs/ModelInfo, transient_local): the model in use.
    /diagnostics (diagnostic_msgs/DiagnosticArray): joint states used and refused, and what is wrong.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from rclpy.subscription import Subscription
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dyn_core import DynError
from dyn_core.io.source import is_xml_text
from dyn_core.model.gravity import checked_gravity
from dyn_msgs.msg import JointTorques, ModelInfo
from dyn_nodes import messages, qos
from dyn_nodes.diagnostics import Diagnostics
from dyn_nodes.joint_data import check_age, concerns, positions
from dyn_nodes.managed_node import ManagedNode
from dyn_nodes.model_source import LoadedModel, load
from dyn_nodes.parameters import declare
from dyn_nodes.process import run
from dyn_nodes.rejection import Rejection

_WARN_EVERY_S = 5.0
_SILENCE_S = 1.0


class Feedforward(ManagedNode):
    """Gravity torques for the measured position."""

    def __init__(self, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when the robot that they name cannot be used."""
        super().__init__("feedforward", **node_options)
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
        self._on_limit: str = declare(
            self,
            "on_limit",
            "clip",
            "What happens to a torque above the effort limit of its joint: 'clip' holds it at the limit, "
            "'withhold' publishes no torques for that joint state.",
        )
        self._inputs: list[Subscription] = []
        self._loaded: LoadedModel | None = None
        self._bad_description: str | None = None
        self._last_answer_s = time.monotonic()
        self.start()

    def open(self) -> None:
        """Check the parameters, load the robot if they give it, and open the topics."""
        checked_gravity(self._gravity)
        if self._on_limit not in ("clip", "withhold"):
            raise DynError(f"parameter on_limit is '{self._on_limit}': choose 'clip' or 'withhold'")
        source = self._source_from_parameters()
        if source:
            self._loaded = load(source, self._gravity)
        self._torques = self.create_lifecycle_publisher(JointTorques, "~/torques", qos.COMMAND)
        self._model_info = self.create_publisher(ModelInfo, "~/model_info", qos.LATCHED)
        self._diagnostics = Diagnostics(self, self._lasting_problem)
        self._inputs = [
            self.create_subscription(JointState, "joint_states", self._on_joint_state, qos.LATEST_SAMPLE)
        ]
        if not source:
            self._inputs.append(
                self.create_subscription(String, "robot_description", self._on_description, qos.LATCHED)
            )
        self._last_answer_s = time.monotonic()
        self._announce()

    def close(self) -> None:
        """Close the topics and forget the robot."""
        if self._inputs:
            for subscription in self._inputs:
                self.destroy_subscription(subscription)
            self._inputs = []
            self.destroy_lifecycle_publisher(self._torques)
            self.destroy_publisher(self._model_info)
            self._diagnostics.close()
        self._loaded = None
        self._bad_description = None

    def _source_from_parameters(self) -> str:
        if self._description and self._description_file:
            raise DynError("both robot_description and description_file are set: leave one of them empty")
        if self._description and not is_xml_text(self._description):
            raise DynError(
                "parameter robot_description is not the text of a URDF: "
                "give the path of a file as description_file"
            )
        return self._description or self._description_file

    def _announce(self) -> None:
        if self._loaded is None:
            self.get_logger().info("waiting for a robot on the topic robot_description")
            return
        robot = self._loaded.robot
        for sentence in self._loaded.warnings:
            self.get_logger().warning(sentence)
        self._model_info.publish(messages.model_info(self._loaded, self.get_clock().now().to_msg()))
        self.get_logger().info(f"using robot '{robot.name}' with {robot.dof} joints")

    def _lasting_problem(self) -> str | None:
        """What is wrong at the moment, for /diagnostics."""
        if self._bad_description is not None:
            return self._bad_description
        if self._loaded is None:
            return "no robot: nothing came on the topic robot_description"
        silence_s = time.monotonic() - self._last_answer_s
        if self._torques.is_activated and silence_s > _SILENCE_S:
            return f"no torques for {silence_s:.1f} s: no joint state that could be used"
        return None

    def _on_description(self, message: String) -> None:
        present = self._loaded
        try:
            if not is_xml_text(message.data):
                raise DynError("the message is not the text of a URDF")
            loaded = load(message.data, self._gravity)
        except DynError as problem:
            use = f"robot '{present.robot.name}' stays in use" if present else "still no robot"
            self._bad_description = f"robot_description cannot be used ({problem}); {use}"
            self.get_logger().error(self._bad_description)
            return
        self._bad_description = None
        if present and present.robot.description_hash == loaded.robot.description_hash:
            return
        self._loaded = loaded
        self._announce()

    def _on_joint_state(self, message: JointState) -> None:
        loaded = self._loaded
        if loaded is None or not self._torques.is_activated:
            return
        if not concerns(message, loaded.model.joint_names):
            return
        try:
            age = self.get_clock().now() - Time.from_msg(message.header.stamp)
            check_age(age.nanoseconds * 1e-9, self._max_age)
            q = positions(message, loaded.model.joint_names)
            torques = messages.gravity_torques(loaded, q, message.header.stamp)
            if torques.status == JointTorques.STATUS_LIMITED:
                self._report_limit(torques, loaded)
        except Rejection as problem:
            self._diagnostics.count("joint states refused", str(problem))
            self.get_logger().warning(f"no torque published: {problem}", throttle_duration_sec=_WARN_EVERY_S)
            return
        self._torques.publish(torques)
        self._diagnostics.count("joint states answered")
        self._last_answer_s = time.monotonic()

    def _report_limit(self, torques: JointTorques, loaded: LoadedModel) -> None:
        """Say which torque is above its limit; a Rejection if it is to be withheld."""
        sentence = messages.beyond_limit(torques, loaded)
        if self._on_limit == "withhold":
            raise Rejection(sentence)
        self._diagnostics.count("torques held at their limit", sentence)
        self.get_logger().warning(f"held at the limit: {sentence}", throttle_duration_sec=_WARN_EVERY_S)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Feedforward, "feedforward", arguments)


if __name__ == "__main__":
    sys.exit(main())
