# SPDX-License-Identifier: Apache-2.0
"""Recorded topics of one run as arrays, and the passive joints of loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_core import Model
from dyn_core.core.arrays import Array
from dyn_core.robot.joints import Joint

_ON_TIME_S = 1e-9
"""Resolution to which stamps are rounded (s)."""


class Efforts(NamedTuple):
    """Efforts at N times, (N, n) each (N m or N). Missing terms are NaN.

    The terms of the feedforward, their sum as sent, the torques of the PD controllers, their sum as sent, and
    the efforts that the robot reports.
    """

    inertial: Array
    coriolis: Array
    gravity: Array
    friction: Array
    feedforward: Array
    control: Array
    total: Array
    measured: Array


@dataclass(frozen=True, eq=False)
class Recording:
    """One run."""

    title: str  # name of the control
    t: Array  # time since the beginning of the motion (s), (N,)
    desired: Array  # reference at these times (rad or m), (N, n)
    measured: Array  # positions (rad or m), (N, n)
    velocity: Array  # velocities (rad/s or m/s), (N, n)
    efforts: Efforts  # efforts (N m or N)
    lost: int  # number of lost responses of the nodes
    passive: Array  # positions of the passive joints of loops (rad or m), (N, m)


def at_times(t: Array, stamps: Array, rows: Array) -> Array:
    """Return the row that is valid at each of N times (s): the last one before, (N, n); NaN before any.

    `t` are the times (s), (N,); `stamps` those of the rows (s), (M,), in any order; `rows` is (M, n).
    """
    found = np.full((len(t), rows.shape[1]), np.nan)
    order = np.argsort(stamps, kind="stable")
    last = np.searchsorted(stamps[order], t + _ON_TIME_S, side="right") - 1
    found[last >= 0] = rows[order][last[last >= 0]]
    return found


@dataclass(frozen=True, eq=False)
class PassiveMotion:
    """Passive joints during one run, (N, m) each; m is 0 for a robot without loops."""

    title: str  # name of the control
    t: Array  # time since the beginning of the motion (s), (N,)
    desired: Array  # positions by the reference (rad or m)
    measured: Array  # positions that the simulation published (rad or m)
    # their differences from the positions by the loops for the measured actuated joints (rad or m)
    apart: Array


def passive_joints(model: Model) -> tuple[Joint, ...]:
    """Return the passive joints of the loops of a robot."""
    return tuple(model.robot.joint(name) for name in model.passive_joint_names if model.robot.loops)


def passive_motions(model: Model, recordings: Sequence[Recording]) -> tuple[PassiveMotion, ...]:
    """Return the motion of passive joints in each run."""
    return tuple(_motion(model, recording) for recording in recordings)


def _motion(model: Model, recording: Recording) -> PassiveMotion:
    def followed(q: Array) -> Array:
        if not model.robot.loops:
            return np.empty((len(q), 0))
        found = model.solve_loops(q)
        assert isinstance(found, np.ndarray)
        return found

    measured = recording.passive
    apart = measured - followed(recording.measured)
    return PassiveMotion(recording.title, recording.t, followed(recording.desired), measured, apart)


def greatest(motions: Sequence[PassiveMotion]) -> Array:
    """Return the largest difference of each passive joint from its position by the loops (rad or m), (m,)."""
    return np.asarray(np.max([np.abs(motion.apart).max(axis=0) for motion in motions], axis=0))
