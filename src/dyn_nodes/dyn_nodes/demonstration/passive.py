# SPDX-License-Identifier: Apache-2.0
"""Passive joints of loops in a demonstration: where the reference has them, and where the loops put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core import Model
from dyn_core.robot.joints import Joint
from dyn_nodes.demonstration.recording import Array, Recording


@dataclass(frozen=True, eq=False)
class PassiveMotion:
    """Passive joints during one run, (N, m) each; m is 0 for a robot without loops.

    Attributes:
        title: how the robot was controlled.
        t: time since the beginning of the motion (s), (N,).
        desired: positions that follow from the reference (rad or m).
        measured: positions that the simulation published (rad or m).
        apart: what these differ from where loops put them, by the measured actuated joints (rad or m).
    """

    title: str
    t: Array
    desired: Array
    measured: Array
    apart: Array


def passive_joints(model: Model) -> tuple[Joint, ...]:
    """Answer the passive joints of the loops of a robot."""
    return tuple(model.robot.joint(name) for name in model.passive_joint_names if model.robot.loops)


def passive_motions(model: Model, recordings: Sequence[Recording]) -> tuple[PassiveMotion, ...]:
    """Answer the motion of passive joints in each run."""
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
    """Answer how far each passive joint was at the most from where loops put it (rad or m), (m,)."""
    return np.asarray(np.max([np.abs(motion.apart).max(axis=0) for motion in motions], axis=0))
