# SPDX-License-Identifier: Apache-2.0
"""Output of motions to a controller, as whole trajectories or point by point."""

from __future__ import annotations

from typing import Any

from rclpy.publisher import Publisher
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import DynError
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_msgs.msg import JointReference
from dyn_nodes.common import qos
from dyn_nodes.common.decoding import MOST_POINTS
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.messages.message_stamps import StampClock
from dyn_nodes.common.messages.motion_message import doubles, duration_message
from dyn_nodes.identification.parameters import OutputKind


class MotionOutput:
    """Publishes motions."""

    def __init__(self, node: RobotNode[Any], kind: OutputKind, stamps: StampClock) -> None:
        """Open the topic of a kind of output."""
        self._whole = kind == "trajectory"
        self._stamps = stamps
        # Not lifecycle publishers: after the deactivation, the robot is still brought to rest.
        self._publisher: Publisher = (
            node.publisher(JointTrajectory, "~/joint_trajectory", qos.EACH_MESSAGE)
            if self._whole
            else node.publisher(JointReference, "~/reference", qos.COMMAND)
        )

    def check(self, points: TrajectoryPoints | None = None) -> None:
        """Raise DynError where there is no subscriber, or the points are too many for a message."""
        if not self._publisher.get_subscription_count():
            raise DynError("output-without-subscriber", topic=self._publisher.topic_name)
        if self._whole and points is not None and len(points.times) > MOST_POINTS:
            count, duration = len(points.times), points.times[-1]
            raise DynError("motion-points-too-many", duration=duration, count=count, limit=MOST_POINTS)

    def send_trajectory(self, points: TrajectoryPoints, begin: float) -> None:
        """Send a trajectory, whose times count from `begin` (s); nothing where references are sent."""
        if not self._whole:
            return
        rows = zip(points.times.tolist(), points.q, points.qd, points.qdd, strict=True)
        message = JointTrajectory(
            header=Header(stamp=self._stamps.stamp_at(begin)),
            joint_names=list(points.joint_names),
            points=[
                JointTrajectoryPoint(
                    positions=doubles(q),
                    velocities=doubles(qd),
                    accelerations=doubles(qdd),
                    time_from_start=duration_message(t),
                )
                for t, q, qd, qdd in rows
            ],
        )
        self._publisher.publish(message)

    def send_reference(self, names: tuple[str, ...], motion: Motion, t: float) -> None:
        """Send the reference for time t (s); nothing where whole trajectories are sent."""
        if self._whole:
            return
        message = JointReference(
            header=Header(stamp=self._stamps.stamp_at(t)),
            name=list(names),
            position=doubles(motion.q),
            velocity=doubles(motion.qd),
            acceleration=doubles(motion.qdd),
        )
        self._publisher.publish(message)
