# SPDX-License-Identifier: Apache-2.0
"""Make messages from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointReference

NAMES = ["turn", "lift", "stretch"]
"""Joints of the arm rrp."""
AT_ONCE = {"ramp_start": 0.0, "max_torque_rate": 0.0}
"""Parameters of nodes whose torques are those of the law at once."""
Names = Sequence[str]
Floats = Sequence[float]
_Moment = TypeVar("_Moment", Time, Duration)


def _from_nanoseconds(kind: type[_Moment], nanoseconds: int) -> _Moment:
    whole, rest = divmod(nanoseconds, 10**9)
    return kind(sec=whole, nanosec=rest)


def _floats(values: Floats) -> list[float]:
    return list(map(float, values))


def nanoseconds(moment: Time | Duration) -> int:
    return int(moment.sec * 10**9 + moment.nanosec)


def duration(seconds: float) -> Duration:
    return _from_nanoseconds(Duration, round(1e9 * seconds))


def stamp_at(nanoseconds: int) -> Time:
    return _from_nanoseconds(Time, nanoseconds)


def later(stamp: Time, seconds: float) -> Time:
    """Return a stamp this many seconds after another, or before it."""
    return stamp_at(nanoseconds(stamp) + round(1e9 * seconds))


def joint_state(stamp: Time, q: Floats, qd: Floats = (), names: Names = NAMES) -> JointState:
    return JointState(header=Header(stamp=stamp), name=list(names), position=_floats(q), velocity=_floats(qd))


def reference(
    stamp: Time, q: Floats, qd: Floats = (), qdd: Floats = (), names: Names = NAMES
) -> JointReference:
    rates = {"velocity": _floats(qd), "acceleration": _floats(qdd)}
    return JointReference(header=Header(stamp=stamp), name=list(names), position=_floats(q), **rates)


def point(t: float, q: Floats, qd: Floats = (), qdd: Floats = ()) -> JointTrajectoryPoint:
    rates = {"velocities": _floats(qd), "accelerations": _floats(qdd)}
    return JointTrajectoryPoint(positions=_floats(q), time_from_start=duration(t), **rates)


def trajectory(
    *points: JointTrajectoryPoint, names: Names = NAMES, stamp: Time | None = None
) -> JointTrajectory:
    return JointTrajectory(header=Header(stamp=stamp or Time()), joint_names=list(names), points=list(points))


def to_rest_at(
    goal: Floats, seconds: float, names: Names = NAMES, stamp: Time | None = None
) -> JointTrajectory:
    return trajectory(point(seconds, goal, [0.0] * len(goal)), names=names, stamp=stamp)
