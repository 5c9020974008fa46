# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: PID control of the joints with a feedforward, for robots without ros2_control.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions and velocities, matched by name.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): desired motion; an empty one stops.
    ~/feedforward (dyn_msgs/JointTorques): torques to add, by name (`total`).
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Publishes:
    ~/torques (dyn_msgs/JointTorques): the torques; their terms are zero.
    ~/commands (std_msgs/Float64MultiArray): the same torques in a configured order of joints.
    /diagnostics (diagnostic_msgs/DiagnosticArray): messages used and refused, and what is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_core.control.watchdog import Status
from dyn_core.geometry.build_elastic import without_springs
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.messages.motion_message import points_of
from dyn_nodes.common.torques.desired_motion import Kind
from dyn_nodes.common.torques.torque_node import Publishing, TorqueNode, nanoseconds_of
from dyn_nodes.controller.joint_controller import JointController
from dyn_nodes.controller_parameters import declare_controller_parameters
from dyn_nodes.joint_efforts import named_efforts
from dyn_nodes.motion_message import measured_motion, reference_motion
from dyn_nodes.passive_reference import check_passive
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.torque_maker import Running

_FADING = (Status.RAMPING_DOWN, Status.STOPPED)


class Controller(TorqueNode[JointController]):
    """Torques that hold joints at their references."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or the robot that they name, are bad.

        Args:
            steady: a clock that never goes back, for what is stale and for transitions (s).
            node_options: of the node.
        """
        super().__init__("controller", steady=steady, **node_options)
        given = declare_controller_parameters(self)
        self._settings = given.settings
        self.publishing = Publishing(
            given.settings.watch.timeout, given.rate, given.max_age, given.command_joints
        )
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self.open_outputs()
        self.open_diagnostics()
        if self._settings.gains.none:
            self.get_logger().warning("all gains are 0: nothing but the feedforward is sent")
        self.open_robot()
        self.subscribe(JointState, "joint_states", self._on_joint_state, qos.LATEST_SAMPLE, raw=True)
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.LATEST_SAMPLE)
        self.subscribe(JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.EACH_MESSAGE)
        self.subscribe(JointTorques, "~/feedforward", self._on_feedforward, qos.LATEST_SAMPLE)

    def prepare(self, described: DescribedRobot) -> Running[JointController]:
        """Make the controller of a robot; DynError where the parameters do not fit it."""
        robot = without_springs(described.robot)  # what its motors do not do shows in the error
        return self.running(robot, JointController(robot, self._settings))

    # Motions and torques.

    def _on_joint_state(self, raw: bytes) -> None:
        running = self.active
        if running is None:
            return
        try:
            message = self.joint_states.read(raw)
            if not running.states.concerns(message.name):
                return
            stamp = message.stamp
            t = self.time_of("joint state", stamp)
            q, qd = measured_motion(message, running.states, velocities=True)
            wanted = running.maker.desired.kind is not Kind.NOTHING
            output = running.maker.measure(q, qd, t, self.steady())
            if wanted and running.maker.desired.kind is Kind.NOTHING:
                self._complaints.say(
                    "joint states began anew: the desired motion is forgotten, "
                    "and the robot is held where it is until there is another",
                    "the desired motion is forgotten",
                )
        except Rejection as problem:
            self.withhold("joint states refused", "joint_states", problem)
            return
        self.answer(running, output, stamp)
        self.count("joint states used")

    def _on_reference(self, message: JointReference) -> None:
        running = self.active
        if running is None:
            return
        try:
            t = self.time_of("reference", message.header.stamp)
            given = reference_motion(message, running.references)
            check_passive(running.agreement, given)
            running.maker.refer(given, t, self.steady())
        except Rejection as problem:
            self.refuse("references refused", "~/reference", problem)
            return
        self.count("references used")

    def _on_trajectory(self, message: JointTrajectory) -> None:
        running = self.active
        if running is None:
            return
        self.heed_clock()
        stamp_ns = nanoseconds_of(message.header.stamp)
        stamp = self.time_from(stamp_ns) if stamp_ns else None
        try:
            points = points_of(message, running.robot, running.agreement) if message.points else None
            t = self.time_from(self.get_clock().now().nanoseconds)
            running.maker.follow(points, t, stamp, self.steady())
        except (DynError, Rejection) as problem:
            self.refuse("trajectories refused", "~/joint_trajectory", problem)
            return
        self.count("trajectories used")

    def _on_feedforward(self, message: JointTorques) -> None:
        running = self.active
        if running is None:
            return
        try:
            self.time_of("feedforward", message.header.stamp)
            torques = named_efforts("torques", running.robot.coordinate_names, message.name, message.total)
        except Rejection as problem:
            self.refuse("feedforward refused", "~/feedforward", problem)
            return
        running.maker.feed(torques, self.steady())
        self.count("feedforward used")

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        problem = super().problem()
        running = self.active
        if problem is None and running is not None and running.maker.feedforward_status in _FADING:
            return "no torques on ~/feedforward any more: they have faded out"
        return problem


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Controller, "controller", arguments)


if __name__ == "__main__":
    sys.exit(main())
