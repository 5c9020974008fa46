# SPDX-License-Identifier: Apache-2.0
"""A longer way round: solutions that no straight line from the assembly leads to.

Where a straight line of positions of the actuated joints leaves what the loops allow, or meets a
singularity, others may not. What cannot be reached at all gets an error that says how far the loops
stay open.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import CLOSED, closed_by
from dyn_core.algorithms.loops.continuation import Numbers, Scales, Step, follow
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.core.errors import DynError
from dyn_core.loops.numbers import Array
from dyn_core.loops.numbers import Numbers as Constraints
from dyn_core.loops.reference import worst_opening
from dyn_core.loops.turns import after_turns
from dyn_core.robot.robot import Robot

DETOURS = 16
"""How many positions to go by are tried."""

ATTEMPTS = 100
"""How many steps each way may have."""

GUESSES = 8
"""From how many positions of the passive joints it is tried whether the loops close at all."""

_REACH = 1.5
"""How far beyond start and goal the positions to go by may lie, in units of their distance."""


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
    random = np.random.default_rng(0)
    start = after_turns(step, start, given, scales) or start
    origin, goal = np.array(start[0]), np.array(given)
    units = np.array(scales.given)
    units[np.isinf(units)] = 0.0  # what nothing depends on goes straight
    far = np.abs(goal - origin)[units > 0.0].max(initial=0.5)
    spread = _REACH * far * units
    for _ in range(DETOURS):
        middle = (0.5 * (origin + goal) + spread * random.uniform(-0.5, 0.5, len(goal))).tolist()
        half = follow(step, start, middle, scales, ATTEMPTS)
        found = None if half is None else follow(step, (middle, half), given, scales, ATTEMPTS)
        if found is not None:
            return found
    return None


def closes_somewhere(robot: Robot, q_a: Numbers) -> bool:
    """Tell whether the loops close at positions of the actuated joints, in whatever mode that is found.

    Args:
        robot: a robot as `geometry_of` answers it.
        q_a: the positions (rad or m).
    """
    _, gaps = _nearest(robot, q_a, GUESSES)
    return bool(gaps.min() < CLOSED)


def does_not_close(robot: Robot, q_a: Numbers, sample: int | None, why: bool = True) -> DynError:
    """Answer the error about positions of the actuated joints (rad or m) where the loops do not close.

    Args:
        robot: a robot as `geometry_of` answers it.
        q_a: the positions.
        sample: number of the sample in a batch; None for a single one.
        why: whether it says how far they stay open, which takes some time.
    """
    joints = ", ".join(
        f"{joint.name} = {value:.4g} {joint.position_unit}"
        for joint, value in zip(robot.independent_joints, q_a, strict=True)
    )
    where = f"at {joints}" + ("" if sample is None else f" (sample {sample})")
    return DynError(
        f"the loops of robot '{robot.name}' do not close {where}: {_reason(robot, q_a) if why else ''}"
        "keep the actuated joints where the loops can close",
        element=f"loop '{robot.loops[0].name}'",
    )


def _reason(robot: Robot, q_a: Numbers) -> str:
    closed, gaps = _nearest(robot, q_a, GUESSES)
    best = int(np.argmin(gaps))
    if not gaps[best] < CLOSED:
        return f"as near as they come, {worst_opening(Constraints(robot), closed[best])}: "
    if not same_side(robot, closed[gaps < CLOSED]).any():
        return (
            "they close there only in another assembly mode than that of the assembly, beyond a singularity: "
        )
    return (
        "they close there, but no way was found to there from the assembly on which they stay closed and "
        "do not become singular: "
    )


def same_side(robot: Robot, closed: Array) -> npt.NDArray[np.bool_]:
    """Tell which closed configurations may be on the same side of all singularities as the assembly.

    On a way between them on which no block of the constraints is singular, no determinant changes its sign.
    """
    found, constraints = structure(robot), Constraints(robot)
    columns = [robot.independent.index(j) for j in found.unknown]
    W = constraints.rates(np.concatenate([np.array(found.reference)[np.newaxis], closed]))
    W = W[:, :, columns][:, found.rows]
    same = np.ones(len(closed), dtype=bool)
    for block in found.blocks:
        if len(block.rows) == len(block.columns):
            signs = np.sign(np.linalg.det(W[:, block.rows][:, :, block.columns]))
            same &= signs[1:] == signs[0]
    return same


def _nearest(robot: Robot, q_a: Numbers, guesses: int) -> tuple[Array, Array]:
    """Configurations that come near to closing the loops, and how far they stay open."""
    reference = np.array(structure(robot).reference)
    places = [robot.independent.index(j) for j in robot.coordinates]
    passive = [k for k in range(len(reference)) if k not in places]
    constraints = Constraints(robot)
    q = np.repeat(reference[np.newaxis], guesses, axis=0)
    q[:, places] = q_a
    spread = constraints.column_units[passive] * np.random.default_rng(0).uniform(
        -1.5, 1.5, (guesses - 1, len(passive))
    )
    q[1:, passive] += spread
    return closed_by(constraints, q, passive)
