# SPDX-License-Identifier: Apache-2.0
"""Sizes of goals of ~/follow_joint_trajectory in the structures from which they are built."""

from __future__ import annotations

import ctypes

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.decoding import MOST_BYTES, MOST_NAMES, MOST_POINTS

_MOST_NAMES = MOST_NAMES[JointTrajectory]
_MOST_VALUES = MOST_BYTES[JointTrajectory] // 8
_LISTS_OF_POINT, _WORDS_OF_LIST, _WORDS_OF_POINT = 4, 3, 13
"""A point has four lists and a duration; a list is an address, a count and a capacity, of 8 bytes each."""


class _List(ctypes.Structure):
    """A list or a text of a message."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class _Trajectory(ctypes.Structure):
    """A JointTrajectory; a MultiDOFJointTrajectory has the same lists."""

    _fields_ = (
        ("sec", ctypes.c_int32),
        ("nanosec", ctypes.c_uint32),
        ("frame_id", _List),
        ("joint_names", _List),
        ("points", _List),
    )


class _Goal(ctypes.Structure):
    """A goal, but for its last duration."""

    _fields_ = (
        ("trajectory", _Trajectory),
        ("multi_dof_trajectory", _Trajectory),
        ("path_tolerance", _List),
        ("component_path_tolerance", _List),
        ("goal_tolerance", _List),
        ("component_goal_tolerance", _List),
    )


def goal_size_problem(address: int) -> Rejection | None:
    """Return why the goal at an address is too large, or None."""
    goal = _Goal.from_address(address)
    for trajectory in (goal.trajectory, goal.multi_dof_trajectory):
        if trajectory.points.size > MOST_POINTS:
            return Rejection("trajectory-points-too-many", count=trajectory.points.size, limit=MOST_POINTS)
    lists = {
        "joint_names": goal.trajectory.joint_names,
        "multi_dof_joint_names": goal.multi_dof_trajectory.joint_names,
        **{name: getattr(goal, name) for name, _ in _Goal._fields_[2:]},
    }
    for name, names in lists.items():
        if names.size > _MOST_NAMES:
            return Rejection("message-names-too-many", message=name, count=names.size, limit=_MOST_NAMES)
    values = _values(goal.trajectory.points)
    if values > _MOST_VALUES:
        return Rejection("message-too-large", message="goal", size=8 * values, limit=8 * _MOST_VALUES)
    return None


def _values(points: _List) -> int:
    """Return the number of positions, velocities, accelerations and efforts of points."""
    if not points.size:
        return 0
    words = (ctypes.c_uint64 * (_WORDS_OF_POINT * points.size)).from_address(points.data)
    table = np.frombuffer(words, dtype=np.uint64).reshape(points.size, _WORDS_OF_POINT)
    counts = table[:, 1 : _LISTS_OF_POINT * _WORDS_OF_LIST : _WORDS_OF_LIST]
    return int(counts.sum())
