# SPDX-License-Identifier: Apache-2.0
"""Node `controller`: PID control of the joints with a feedforward, for robots without ros2_control.

Subscribes:
    joint_states (sensor_msgs/JointState): measured positions and velocities, matched by name.
    ~/reference (dyn_msgs/JointReference): desired motion at one instant, as a stream.
    ~/joint_trajectory (trajectory_msgs/JointTrajectory): desired motion; an empty one stops.
    ~/feedforward (dyn_msgs/JointTorques): torques to add, by name (`total`).
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it; a new one is
        loaded while running.
Acts:
    ~/follow_joint_trajectory (control_msgs/FollowJointTrajectory, or that of dyn_msgs where it is missing):
        as ~/joint_trajectory, with feedback, tolerances and a result.
Publishes:
    ~/torques (dyn_msgs/JointTorques): the torques; their terms are zero.
    ~/commands (std_msgs/Float64MultiArray): the same torques in a configured order of joints.
    /diagnostics (diagnostic_msgs/DiagnosticArray): messages used and refused, and what is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_core.control.watchdog import Status
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, Recipe
from dyn_nodes.common.messages.motion_message import check_passive, reference_motion
from dyn_nodes.common.torques.desired_motion import Kind
from dyn_nodes.common.torques.effort_messages import named_efforts
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.common.torques.torque_maker import CheckedTrajectory, Running
from dyn_nodes.common.torques.torque_node import Publishing, TorqueNode
from dyn_nodes.controller.joint_controller import JointController, made_controller
from dyn_nodes.controller.parameters import ControllerSettings, declare_controller_parameters

_FADING = (Status.RAMPING_DOWN, Status.STOPPED)


class Controller(TorqueNode[JointController]):
    """Publishes torques that hold joints at their references."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when they, or their robot, cannot be used."""
        super().__init__("controller", steady=steady, **node_options)
        given = declare_controller_parameters(self)
        self._settings = given.settings
        drive, timeout = given.settings.drive, given.settings.watch.timeout
        self.publishing = Publishing(
            timeout, given.rate, given.max_age, given.command_joints, drive.running_topic
        )
        self.start()

    def open(self) -> None:
        """Load the robot if the parameters give it, and open the topics."""
        self.open_outputs()
        self.open_diagnostics()
        if self._settings.gains.none:
            self.get_logger().warning(str(Notice("gains-zero")))
        self.open_robot()
        self.subscribe(
            JointState, "joint_states", self._on_joint_state, qos.EACH_SAMPLE, raw=True, newest=True
        )
        self.subscribe(JointReference, "~/reference", self._on_reference, qos.EACH_SAMPLE, newest=True)
        self.subscribe(
            JointTrajectory,
            "~/joint_trajectory",
            self.trajectories.on_message,
            qos.EACH_MESSAGE,
            raw=True,
        )
        self.subscribe(JointTorques, "~/feedforward", self._on_feedforward, qos.EACH_SAMPLE, newest=True)

    def settings_of(self, parameters: Any) -> ControllerSettings:
        """Return the settings of parameters; DynError where one is invalid."""
        return declare_controller_parameters(parameters).settings

    @property
    def recipe(self) -> Recipe:
        """Function that makes the controller of a robot."""
        return partial(made_controller, self._settings)

    def prepare(self, described: DescribedRobot) -> Running[JointController]:
        """Make the controller of a robot; DynError where the parameters do not fit it."""
        made = made_controller(self._settings, described)
        return self.running(made.maker.robot, made)

    def use(self, prepared: Running[JointController]) -> None:
        """Switch to another robot; the log says which inertia its gains are for, and their margin."""
        super().use(prepared)
        for notice in prepared.maker.feedback.notices:
            self.get_logger().info(str(notice))

    # Motions and torques.

    def measure(self, maker: JointController, q: Array, qd: Array | None, t: float) -> Output:
        """Return the torques for a measurement; warn where it makes the controller forget a motion."""
        had_motion = maker.desired.kind is not Kind.NOTHING
        output = maker.measure(q, qd, t, self.steady())
        if had_motion and maker.desired.kind is Kind.NOTHING:
            forgotten = Notice("motion-forgotten")
            self._complaints.say(forgotten, forgotten.code)
        return output

    def _on_reference(self, message: JointReference) -> None:
        running = self.active
        if running is None:
            return
        try:
            t = self.time_of("reference", message.header.stamp)
            given = reference_motion(message, running.references)
            check_passive(running.agreement, given)
            running.maker.refer(given, t, self.steady())
            self.trajectories.supersede("~/reference")
        except Rejection as problem:
            self.refuse("references refused", "~/reference", problem)
            return
        self.count("references used")

    def follow(
        self, running: Running[JointController], given: CheckedTrajectory, t: float, stamp: float | None
    ) -> None:
        """Follow a trajectory; an empty one stops."""
        running.maker.follow(given.points, t, stamp, self.steady(), given.planned)

    def _on_feedforward(self, message: JointTorques) -> None:
        running = self.active
        if running is None:
            return
        try:
            self.time_of("feedforward", message.header.stamp)
            torques = named_efforts("torques", running.robot.coordinate_names, message.name, message.total)
            self._refuse_compensated(message)
        except Rejection as problem:
            self.refuse("feedforward refused", "~/feedforward", problem)
            return
        running.maker.feed(torques, self.steady())
        self.count("feedforward used")

    def _refuse_compensated(self, message: JointTorques) -> None:
        """Refuse torques with a term that the drive adds, as the message says of itself, with a Rejection."""
        drive = self._settings.drive
        for term in sorted(drive.compensates):
            is_payload = term == "gravity" and not drive.knows_payload
            if not is_payload and any(getattr(message, term)):
                raise Rejection("feedforward-compensated-twice", term=term)

    # Diagnostics.

    def problem(self) -> Notice | None:
        """Return the present problem, for /diagnostics."""
        problem = super().problem()
        running = self.active
        if problem is None and running is not None and running.maker.feedforward_status in _FADING:
            return Notice("feedforward-stopped")
        return problem


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Controller, "controller", arguments)
