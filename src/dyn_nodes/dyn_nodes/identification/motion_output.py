# SPDX-License-Identifier: Apache-2.0
"""Where motions go: to a controller, whole or point by point."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import DynError
from dyn_core.control.motion import Motion
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_msgs.msg import JointReference
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.identification.parameters import OutputKind
from dyn_nodes.stamps import Stamps
from dyn_nodes.trajectory_efforts import MOST_POINTS


class MotionOutput:
    """Publishes what the robot is to do."""

    def __init__(self, node: RobotNode[Any], kind: OutputKind, stamps: Stamps) -> None:
        """Open the topic of that kind."""
        self._whole = kind == "trajectory"
        self._stamps = stamps
        # Not publishers of the life cycle: a robot that moves is brought to rest after the deactivation too.
        self._publisher: Publisher = (
            node.publisher(JointTrajectory, "~/joint_trajectory", qos.EACH_MESSAGE)
            if self._whole
            else node.publisher(JointReference, "~/reference", qos.COMMAND)
        )

    def check(self, points: TrajectoryPoints | None = None) -> None:
        """Raise a DynError where nobody listens, or the points are too many for a message."""
        if not self._publisher.get_subscription_count():
            raise DynError(
                f"nobody listens on {self._publisher.topic_name}: remap it to the topic of a controller"
            )
        if self._whole and points is not None and len(points.times) > MOST_POINTS:
            raise DynError(
                f"the motion lasts {points.times[-1]:.4g} s, which would be {len(points.times)} points of "
                f"{MOST_POINTS}: give a longer point_period, or fewer repetitions"
            )

    def send(self, points: TrajectoryPoints, begin: float) -> None:
        """Send points whose times count from `begin` (s); nothing where they go one by one."""
        if not self._whole:
            return
        names = list(points.joint_names)
        rows = zip(points.times.tolist(), points.q, points.qd, points.qdd, strict=True)
        message = JointTrajectory(
            header=Header(stamp=self._stamps.stamp_at(begin)),
            joint_names=names,
            points=[
                JointTrajectoryPoint(
                    positions=_doubles(q),
                    velocities=_doubles(qd),
                    accelerations=_doubles(qdd),
                    time_from_start=_duration(t),
                )
                for t, q, qd, qdd in rows
            ],
        )
        self._publisher.publish(message)

    def refer(self, names: tuple[str, ...], motion: Motion, t: float) -> None:
        """Send one point, for time t (s); nothing where they go together."""
        if self._whole:
            return
        self._publisher.publish(
            JointReference(
                header=Header(stamp=self._stamps.stamp_at(t)),
                name=list(names),
                position=_doubles(motion.q),
                velocity=_doubles(motion.qd),
                acceleration=_doubles(motion.qdd),
            )
        )


def _duration(seconds: float) -> Duration:
    whole, rest = divmod(round(1e9 * seconds), 10**9)
    return Duration(sec=whole, nanosec=rest)


def _doubles(vector: NDArray[np.float64]) -> array[float]:
    return array("d", vector.tobytes())
