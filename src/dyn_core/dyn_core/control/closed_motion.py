# SPDX-License-Identifier: Apache-2.0
"""Motions of a robot with loops that keep the loops closed, and passive joints within their limits."""

from __future__ import annotations

import numpy as np

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.robot import Robot

CONDITION = ConditionLimits(greatest=100.0)
"""How near a singularity a motion may come: where nodes begin to warn."""


def assembly(robot: Robot) -> Array:
    """Answer the positions of the coordinates (rad or m), (n,), in the assembly; 0 without loops."""
    if not robot.loops:
        return np.zeros(robot.dof)
    at = dict(zip(robot.independent, structure(robot).reference, strict=True))
    return np.array([at[j] for j in robot.coordinates])


class ClosedMotions:
    """Tells what is wrong with motions. Those of robots without loops are never wrong."""

    def __init__(self, model: Model, *, part_of_range: float, part_of_speed: float) -> None:
        """Compile what closes the loops.

        Args:
            model: the robot.
            part_of_range: part of the ranges of passive joints that is used, about their middle.
            part_of_speed: part of their velocity limits that is used.
        """
        self._model = model
        self._guard = LoopGuard(model.robot, CONDITION)
        joints = [model.robot.joint(name) for name in model.passive_joint_names]
        self._lower = np.array(
            [-np.inf if joint.limits.lower is None else joint.limits.lower for joint in joints]
        )
        self._upper = np.array(
            [np.inf if joint.limits.upper is None else joint.limits.upper for joint in joints]
        )
        margin = 0.5 * (1.0 - part_of_range) * np.nan_to_num(self._upper - self._lower, posinf=0.0)
        self._lower, self._upper = self._lower + margin, self._upper - margin
        self._speed = part_of_speed * np.array([joint.limits.velocity or np.inf for joint in joints])

    def problem(self, motion: FourierMotion, t: Array) -> str | None:
        """Answer why a motion cannot be made, by what it is at N times (s); None where it can."""
        if not self._model.robot.loops:
            return None
        q, qd, _ = motion.at_many(t)
        found = self._guard.first_refused(np.ascontiguousarray(q))
        if found is not None:
            return found[1]
        passive, speed = self._model.solve_loops(q, qd)
        for values, lower, upper, what, per in (
            (passive, self._lower, self._upper, "at", ""),
            (speed, -self._speed, self._speed, "as fast as", "/s"),
        ):
            sample, k = np.unravel_index(
                int(np.maximum(lower - values, values - upper).argmax()), values.shape
            )
            if not lower[k] <= values[sample, k] <= upper[k]:
                joint = self._model.robot.joint(self._model.passive_joint_names[k])
                unit = f"{joint.position_unit}{per}"
                return (
                    f"passive joint '{joint.name}' would be {what} {values[sample, k]:.4g} {unit}, and "
                    f"{lower[k]:.4g} to {upper[k]:.4g} {unit} are used"
                )
        return None


def refuse(model: Model, why: str) -> DynError:
    """Answer the error for a robot of which no motion about its centre can be made."""
    return DynError(
        f"no motion of robot '{model.robot.name}' keeps its loops closed about the assembly: {why}: give an "
        "assembly in the middle of what the loops allow",
        element=f"loop '{model.robot.loops[0].name}'",
    )
