# SPDX-License-Identifier: Apache-2.0
"""Motions from messages: joint states, references, controller states, trajectories with efforts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import DynError, Robot
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.laws.inverse_dynamics_control import Terms
from dyn_core.control.trajectories.loop_positions import PassiveAgreement
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.control.trajectories.trajectory import Samples, Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points
from dyn_core.robot.joints import Limits
from dyn_nodes.common.data_checks import LARGEST, Notice, Rejection, clipped, effort_excess
from dyn_nodes.common.decoding import MOST_POINTS
from dyn_nodes.common.messages.joint_reader import JointReader, Numbers
from dyn_nodes.common.messages.joint_state_bytes import JointStates

# Measured and desired motions

NOTHING: Mapping[str, float] = MappingProxyType({})


class GivenMotion(NamedTuple):
    """A desired motion as far as a message gives it, in the order of the robot's joints."""

    q: NDArray[np.float64]  # positions (rad or m), (n,)
    qd: NDArray[np.float64] | None  # velocities (rad/s or m/s), (n,), or None
    qdd: NDArray[np.float64] | None  # accelerations (rad/s^2 or m/s^2), (n,), or None
    passive: Mapping[str, float] = NOTHING  # given positions of passive joints (rad or m), by name

    @property
    def rests(self) -> bool:
        """Whether velocities and accelerations are given, and zero."""
        return all(values is not None and not values.any() for values in (self.qd, self.qdd))


class MeasuredMotion(NamedTuple):
    """A measured motion, in the order of the robot's joints."""

    q: NDArray[np.float64]  # positions (rad or m), (n,)
    qd: NDArray[np.float64] | None  # velocities (rad/s or m/s), (n,), or None


def measured_motion(message: JointStates, reader: JointReader, *, velocities: bool) -> MeasuredMotion:
    """Read a joint state, with velocities where they are requested and measured; Rejection if it is bad.

    joint_state_broadcaster publishes NaN where a driver does not measure the velocity.
    """
    q = reader.positions(message.name, message.position)
    return MeasuredMotion(q, reader.values_or_none(message.velocity, "velocity") if velocities else None)


def reference_motion(message: Any, reader: JointReader) -> GivenMotion:
    """Read a dyn_msgs/JointReference; Rejection if it cannot be used."""
    return _motion(reader, message.name, message.position, message.velocity, message.acceleration)


def read_motion(message: JointStates, reader: JointReader) -> GivenMotion:
    """Read a JointReference from a joint state of the same bytes, whose efforts are its accelerations."""
    return _motion(reader, message.name, message.position, message.velocity, message.effort)


def controller_motion(message: Any, reader: JointReader) -> GivenMotion:
    """Read the reference of a control_msgs/JointTrajectoryControllerState, once called `desired`."""
    point = message.reference if hasattr(message, "reference") else message.desired
    return _motion(reader, message.joint_names, point.positions, point.velocities, point.accelerations)


def _motion(
    reader: JointReader, names: Sequence[str], positions: Numbers, velocities: Numbers, accelerations: Numbers
) -> GivenMotion:
    return GivenMotion(
        reader.positions(names, positions),
        reader.values(velocities, "velocity") if len(velocities) else None,
        reader.values(accelerations, "acceleration") if len(accelerations) else None,
        reader.passive(positions),
    )


def check_passive(agreement: PassiveAgreement, given: GivenMotion) -> None:
    """Refuse a reference whose passive joints contradict the loops, with a Rejection."""
    if not given.passive:
        return
    names, values = zip(*given.passive.items(), strict=True)
    try:
        agreement.check(given.q[np.newaxis], names, np.array([values]))
    except DynError as problem:
        raise Rejection("passive-joints-contradict-loops", cause=problem) from problem


def sampling_times(trajectory: Trajectory, begin: float, period: float) -> NDArray[np.float64]:
    """Return the times of a trajectory after `begin`, one per period and its end (all s)."""
    count = int(np.ceil((trajectory.end - begin) / period - 1e-9))
    if count > MOST_POINTS:
        raise DynError("effort-points-too-many", duration=trajectory.end - begin, count=count)
    times: NDArray[np.float64] = begin + period * np.arange(1.0, count + 1.0)
    times[-1:] = trajectory.end
    return times


def held_at_the_end(samples: Samples) -> Samples:
    """Return samples whose last one has no acceleration if the joints rest there.

    Controllers hold the last efforts of a trajectory, when nothing decelerates any more.
    """
    if samples.qd[-1].any():
        return samples
    qdd = samples.qdd.copy()
    qdd[-1] = 0.0
    return samples._replace(qdd=qdd)


def efforts(
    samples: Samples | SmoothMotion,
    terms: Callable[[Motion | SmoothMotion], Terms],
    limits: EffortLimits,
    units: tuple[str, ...],
) -> tuple[NDArray[np.float64], Notice | None]:
    """Return the torques (N m or N), (N, n), of N motions within their limits, and the largest excess.

    Raises:
        DynError: torques exceed their limits and are withheld.
    """
    motion = samples if isinstance(samples, SmoothMotion) else Motion(samples.q, samples.qd, samples.qdd)
    made = terms(motion)
    wanted = made.total
    by_drive = [None] * len(wanted) if made.by_drive is None else list(made.by_drive)
    size = np.abs(wanted)
    if made.by_drive is not None:
        size = np.maximum(size, np.abs(wanted + made.by_drive))
    excess = size - limits.limits
    if not (excess > 0.0).any():
        return clipped(wanted, limits), None
    k = int(excess.max(axis=1).argmax())
    excess_at = effort_excess(wanted[k], limits, units, by_drive[k])
    beyond = Notice("point-effort-beyond-limit", point=k, cause=excess_at)
    rows = [limits.applied(row, own).torques for row, own in zip(wanted, by_drive, strict=True)]
    if any(row is None for row in rows):
        raise DynError(beyond.code, **beyond.values)
    return clipped(np.array(rows), limits), beyond


# Trajectories from messages, and back with efforts


def points_of(
    message: JointTrajectory,
    robot: Robot,
    agreement: PassiveAgreement,
    limits: Mapping[str, Limits] | None = None,
) -> TrajectoryPoints:
    """Return the points of a trajectory in the robot's coordinates; DynError where they are unusable.

    Passive joints in it are compared with the loops. `limits` are by joint; None for those of the robot.
    """
    points = message.points
    passive = [name for name in dict.fromkeys(message.joint_names) if name in agreement.names]
    checked = trajectory_points(
        (*robot.coordinate_names, *passive),
        message.joint_names,
        [seconds(point.time_from_start) for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
        robot.limits if limits is None else limits,
        efforts=[point.effort for point in points],
    )
    for what, rows in (("position", checked.q), ("velocity", checked.qd), ("acceleration", checked.qdd)):
        beyond = np.argwhere(np.abs(rows) > LARGEST)
        if len(beyond):
            k, j = beyond[0]
            values = {"point": k, "joint": checked.joint_names[j], "quantity": what, "given": rows[k, j]}
            raise DynError("trajectory-value-implausible", element=f"joint '{values['joint']}'", **values)
    if not passive:
        return checked
    n = robot.dof
    agreement.check(checked.q[:, :n], passive, checked.q[:, n:])
    own = (rows[:, :n] for rows in (checked.q, checked.qd, checked.qdd))
    return TrajectoryPoints(robot.coordinate_names, checked.times, *own)


def with_efforts(
    message: JointTrajectory, joint_names: Sequence[str], efforts: NDArray[np.float64]
) -> JointTrajectory:
    """Set the efforts of the points of a trajectory, and return it, with the joints that have efforts.

    The message is changed, because to create the points again would take long. `efforts` has a row for each
    point (N m or N), (N, n), in the order of `joint_names`.
    """
    order = _order(message, joint_names)
    if len(order) < len(message.joint_names):
        _drop_others(message, set(joint_names))
    for point, row in zip(message.points, efforts[:, order], strict=True):
        point.effort = doubles(row)
    return message


def sampled_trajectory(
    message: JointTrajectory,
    joint_names: Iterable[str],
    times: NDArray[np.float64],
    samples: Samples | SmoothMotion,
    efforts: NDArray[np.float64],
) -> JointTrajectory:
    """Return a trajectory with other points, with the start and the order of joints of a message.

    `times` are from its start (s), (N,); samples and efforts (N m or N), (N, n), are in the order of
    `joint_names`.
    """
    joint_names = tuple(joint_names)
    order = _order(message, joint_names)
    rows = zip(times.tolist(), samples.q, samples.qd, samples.qdd, efforts, strict=True)
    return JointTrajectory(
        header=message.header,
        joint_names=[joint_names[j] for j in order],
        points=[
            JointTrajectoryPoint(
                positions=doubles(q[order]),
                velocities=doubles(qd[order]),
                accelerations=doubles(qdd[order]),
                effort=doubles(effort[order]),
                time_from_start=duration_message(t),
            )
            for t, q, qd, qdd, effort in rows
        ],
    )


def _drop_others(message: JointTrajectory, joint_names: set[str]) -> None:
    """Remove the joints of a message whose names are not given."""
    kept = [k for k, name in enumerate(message.joint_names) if name in joint_names]
    for point in message.points:
        for part in ("positions", "velocities", "accelerations"):
            values = getattr(point, part)
            if len(values):
                setattr(point, part, array("d", [values[k] for k in kept]))
    message.joint_names = [message.joint_names[k] for k in kept]


def _order(message: JointTrajectory, joint_names: Iterable[str]) -> list[int]:
    """Return the index in `joint_names` of each joint of a message; other joints are left out."""
    index = {name: j for j, name in enumerate(joint_names)}
    return [index[name] for name in message.joint_names if name in index]


def seconds(duration: Duration) -> float:
    """Return a duration of a message in s."""
    return float(duration.sec + 1e-9 * duration.nanosec)


def duration_message(seconds: float) -> Duration:
    """Return a duration in s as a message."""
    whole, rest = divmod(round(1e9 * seconds), 10**9)
    return Duration(sec=whole, nanosec=rest)


def doubles(vector: NDArray[np.float64]) -> array[float]:
    """Return a vector as an array for a message."""
    return array("d", vector.tobytes())
