# SPDX-License-Identifier: Apache-2.0
"""Trajectories from messages, and back with efforts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import DynError, Robot
from dyn_core.control.trajectory import Samples
from dyn_core.control.trajectory_points import TrajectoryPoints, trajectory_points
from dyn_core.model.joint import Limits
from dyn_nodes.plausible import LARGEST
from dyn_nodes.trajectory_efforts import MOST_POINTS


def points_of(
    message: JointTrajectory, robot: Robot, limits: Mapping[str, Limits] | None = None
) -> TrajectoryPoints:
    """Answer the points of a trajectory of a robot; DynError where they are none.

    Args:
        message: the trajectory.
        robot: the robot.
        limits: what points have to keep, by joint; None for the limits of the robot.
    """
    points = message.points
    if len(points) > MOST_POINTS:
        raise DynError(f"the trajectory has {len(points)} points: give at most {MOST_POINTS}")
    checked = trajectory_points(
        robot.coordinate_names,
        message.joint_names,
        [_seconds(point.time_from_start) for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
        robot.limits if limits is None else limits,
    )
    for what, rows in (("position", checked.q), ("velocity", checked.qd), ("acceleration", checked.qdd)):
        beyond = np.argwhere(np.abs(rows) > LARGEST)
        if len(beyond):
            k, j = beyond[0]
            raise DynError(
                f"trajectory point {k} gives joint '{checked.joint_names[j]}' the {what} {rows[k, j]}",
                element=f"joint '{checked.joint_names[j]}'",
            )
    return checked


def with_efforts(
    message: JointTrajectory, joint_names: Iterable[str], efforts: NDArray[np.float64]
) -> JointTrajectory:
    """Give the points of a trajectory these efforts, and answer it.

    Args:
        message: the trajectory, which is changed: to make as many points again would take long.
        joint_names: order of the efforts.
        efforts: one row for each point (N m or N), (N, n).
    """
    order = _order(message, joint_names)
    for point, row in zip(message.points, efforts[:, order], strict=True):
        point.effort = _doubles(row)
    return message


def sampled_trajectory(
    message: JointTrajectory,
    joint_names: Iterable[str],
    times: NDArray[np.float64],
    samples: Samples,
    efforts: NDArray[np.float64],
) -> JointTrajectory:
    """Answer a trajectory with other points.

    Args:
        message: the trajectory that was sampled, for its start and the order of its joints.
        joint_names: order of the samples.
        times: of the points, from the start of the trajectory (s), (N,).
        samples: the motion at these times.
        efforts: one row for each point (N m or N), (N, n).
    """
    order = _order(message, joint_names)
    rows = zip(times.tolist(), samples.q, samples.qd, samples.qdd, efforts, strict=True)
    return JointTrajectory(
        header=message.header,
        joint_names=message.joint_names,
        points=[
            JointTrajectoryPoint(
                positions=_doubles(q[order]),
                velocities=_doubles(qd[order]),
                accelerations=_doubles(qdd[order]),
                effort=_doubles(effort[order]),
                time_from_start=_duration(t),
            )
            for t, q, qd, qdd, effort in rows
        ],
    )


def _order(message: JointTrajectory, joint_names: Iterable[str]) -> list[int]:
    index = {name: j for j, name in enumerate(joint_names)}
    return [index[name] for name in message.joint_names]


def _seconds(duration: Duration) -> float:
    return float(duration.sec + 1e-9 * duration.nanosec)


def _duration(seconds: float) -> Duration:
    whole, rest = divmod(round(1e9 * seconds), 10**9)
    return Duration(sec=whole, nanosec=rest)


def _doubles(vector: NDArray[np.float64]) -> array[float]:
    return array("d", vector.tobytes())
