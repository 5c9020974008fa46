# SPDX-License-Identifier: Apache-2.0
"""A longer way round: solutions that no straight line from the assembly leads to.

Where a straight line of positions of the actuated joints leaves what the loops allow, or meets a
singularity, others may not. What cannot be reached at all gets an error that says how far the loops
stay open.
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.errors import DynError
from dyn_core.loops.closing import CLOSED, closed_by
from dyn_core.loops.follow import Numbers, Scales, Step, follow
from dyn_core.loops.numbers import Numbers as Constraints
from dyn_core.loops.reference import worst_opening
from dyn_core.loops.structure import geometry_of, structure
from dyn_core.model.robot import Robot

DETOURS = 60
"""How many positions to go by are tried."""

_REACH = 1.5
"""How far beyond start and goal they may lie, in units of their distance."""


def searched(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> list[float] | None:
    """Answer a solution on the branch of a known one, by way of positions beside the straight line.

    Args:
        step: Newton's step.
        start: what is given, and the unknowns, of the known solution.
        given: what is given.
        scales: what is about as much as 1 rad.
    """
    found = follow(step, start, given, scales)
    random = np.random.default_rng(0)
    origin, goal = np.array(start[0]), np.array(given)
    spread = _REACH * max(float(np.abs(goal - origin).max(initial=0.0)), 0.5)
    for _ in range(DETOURS):
        if found is not None:
            return found
        middle = 0.5 * (origin + goal) + spread * random.uniform(-0.5, 0.5, len(goal))
        half = follow(step, start, middle.tolist(), scales)
        if half is not None:
            found = follow(step, (middle.tolist(), half), given, scales)
    return found


def does_not_close(robot: Robot, q_a: Numbers, sample: int | None) -> DynError:
    """Answer the error about positions of the actuated joints (rad or m) where the loops do not close.

    Args:
        robot: the robot.
        q_a: the positions.
        sample: number of the sample in a batch; None for a single one.
    """
    geometry = geometry_of(robot)
    constraints = Constraints(geometry)
    reference = np.array(structure(robot).reference)
    places = [robot.independent.index(j) for j in robot.coordinates]
    passive = [k for k in range(len(reference)) if k not in places]
    q = reference.copy()
    q[places] = q_a
    (found,), (gap,) = closed_by(constraints, q[np.newaxis], passive)
    joints = ", ".join(
        f"{joint.name} = {value:.4g} {joint.position_unit}"
        for joint, value in zip(robot.independent_joints, q_a, strict=True)
    )
    where = f"at {joints}" + ("" if sample is None else f" (sample {sample})")
    if gap < CLOSED and math.isfinite(gap):
        reason = (
            "they close there only beyond a singularity, in another assembly mode than that of the assembly"
        )
    else:
        reason = f"as near as they come, {worst_opening(constraints, found)}"
    return DynError(
        f"the loops of robot '{robot.name}' do not close {where}: {reason}: "
        "keep the actuated joints where the loops can close",
        element=f"loop '{robot.loops[0].name}'",
    )
