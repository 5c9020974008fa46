# SPDX-License-Identifier: Apache-2.0
"""Trajectories from messages, and back with efforts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import DynError, Robot
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.trajectories.trajectory import Samples
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points
from dyn_core.robot.joints import Limits
from dyn_nodes.common.data_checks import LARGEST
from dyn_nodes.trajectory_efforts import MOST_POINTS


def points_of(
    message: JointTrajectory,
    robot: Robot,
    agreement: PassiveAgreement,
    limits: Mapping[str, Limits] | None = None,
) -> TrajectoryPoints:
    """Answer the points of a trajectory of a robot, in its coordinates; DynError where they are none.

    Args:
        message: the trajectory; it may have passive joints, too.
        robot: the robot.
        agreement: compares their positions at the points with the loops.
        limits: what points have to keep, by joint; None for the limits of the robot.
    """
    points = message.points
    if len(points) > MOST_POINTS:
        raise DynError(f"the trajectory has {len(points)} points: give at most {MOST_POINTS}")
    passive = [name for name in dict.fromkeys(message.joint_names) if name in agreement.names]
    checked = trajectory_points(
        (*robot.coordinate_names, *passive),
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
    if not passive:
        return checked
    n = robot.dof
    agreement.check(checked.q[:, :n], passive, checked.q[:, n:])
    own = (rows[:, :n] for rows in (checked.q, checked.qd, checked.qdd))
    return TrajectoryPoints(robot.coordinate_names, checked.times, *own)


def with_efforts(
    message: JointTrajectory, joint_names: Sequence[str], efforts: NDArray[np.float64]
) -> JointTrajectory:
    """Give the points of a trajectory these efforts, and answer it, with the joints that have efforts.

    Args:
        message: the trajectory, which is changed: to make as many points again would take long.
        joint_names: order of the efforts.
        efforts: one row for each point (N m or N), (N, n).
    """
    order = _order(message, joint_names)
    if len(order) < len(message.joint_names):
        _drop_others(message, set(joint_names))
    for point, row in zip(message.points, efforts[:, order], strict=True):
        point.effort = _doubles(row)
    return message


def sampled_trajectory(
    message: JointTrajectory,
    joint_names: Iterable[str],
    times: NDArray[np.float64],
    samples: Samples | SmoothMotion,
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
    joint_names = tuple(joint_names)
    order = _order(message, joint_names)
    rows = zip(times.tolist(), samples.q, samples.qd, samples.qdd, efforts, strict=True)
    return JointTrajectory(
        header=message.header,
        joint_names=[joint_names[j] for j in order],
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


def _drop_others(message: JointTrajectory, joint_names: set[str]) -> None:
    """Leave the joints of a message that have one of these names."""
    kept = [k for k, name in enumerate(message.joint_names) if name in joint_names]
    for point in message.points:
        for part in ("positions", "velocities", "accelerations"):
            values = getattr(point, part)
            if len(values):
                setattr(point, part, array("d", [values[k] for k in kept]))
    message.joint_names = [message.joint_names[k] for k in kept]


def _order(message: JointTrajectory, joint_names: Iterable[str]) -> list[int]:
    """Where the joints of a message are among those with one of these names, which it has all of."""
    index = {name: j for j, name in enumerate(joint_names)}
    return [index[name] for name in message.joint_names if name in index]


def _seconds(duration: Duration) -> float:
    return float(duration.sec + 1e-9 * duration.nanosec)


def _duration(seconds: float) -> Duration:
    whole, rest = divmod(round(1e9 * seconds), 10**9)
    return Duration(sec=whole, nanosec=rest)


def _doubles(vector: NDArray[np.float64]) -> array[float]:
    return array("d", vector.tobytes())
