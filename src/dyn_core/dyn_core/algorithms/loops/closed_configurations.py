# SPDX-License-Identifier: Apache-2.0
"""Closed configurations, found by damped Gauss-Newton steps, and the reference near the assembly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.algorithms.loops.constraints import ConstraintArrays, independent_indices
from dyn_core.algorithms.loops.redundancy import almost_special
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.robot.robot import Robot

CLOSED = 1e-10  # Largest opening of a closed loop, in units of its size, and rad
_ITERATIONS = 60
_LARGEST_STEP = 0.3
_PROGRESS = 0.9
_STEPS = 8
_STEP = 0.08
_REGULAR = 0.1
_RANK = 1e-7  # Singular values below this fraction of the largest count as 0


def close_loops(constraints: ConstraintArrays, q: Array, movable: Sequence[int]) -> tuple[Array, Array]:
    """Close the loops of each sample (K, joints) by damped Gauss-Newton steps of the `movable` joints.

    Returns the positions reached, and the remaining opening of each sample.
    """
    columns = list(movable)
    q = q.copy()
    gap = _largest(constraints, q)
    moving = np.ones(len(q), dtype=bool)
    for _ in range(_ITERATIONS):
        active = moving & (gap > 1e-4 * CLOSED)
        if not active.any():
            break
        here = q[active]
        openings, _ = constraints.openings(here)
        step = -least_solution(constraints.rates(here)[:, :, columns], openings)
        length = np.abs(step).max(axis=1, initial=0.0)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(length, 1e-300))[:, np.newaxis]
        before = gap[active]
        best, best_gap = here, before
        damping = np.ones(len(here))
        for _ in range(8):  # halve the step of samples whose opening does not become smaller
            tried = here.copy()
            tried[:, columns] += damping[:, np.newaxis] * step * constraints.column_units[columns]
            left = _largest(constraints, tried)
            better = left < best_gap
            best = np.where(better[:, np.newaxis], tried, best)
            best_gap = np.where(better, left, best_gap)
            if (best_gap < before).all():
                break
            damping = np.where(best_gap < before, damping, 0.5 * damping)
        q[active], gap[active] = best, best_gap
        # Far from a solution, steps are limited in length; near a solution, the gap falls fast.
        moving[active] = (best_gap < _PROGRESS * before) | (length > _LARGEST_STEP) & (best_gap < before)
    return q, gap


def _largest(constraints: ConstraintArrays, q: Array) -> Array:
    """Opening of each sample and the other values that must be 0, as one number; infinite if not finite."""
    openings, others = constraints.openings(q)
    gap = np.sqrt((openings**2).sum(axis=1)) + np.abs(others).sum(axis=1)
    return np.where(np.isfinite(gap), gap, np.inf)


def least_solution(W: Array, b: Array) -> Array:
    """Solutions x of ``W x = b`` with the least norm, for matrices (K, rows, columns) and b (K, rows)."""
    found: Array = (np.linalg.pinv(W, rcond=_RANK) @ b[:, :, np.newaxis])[:, :, 0]
    return found


def ranks(W: Array) -> Array:
    """Ranks of matrices (K, rows, columns)."""
    if 0 in W.shape[1:]:
        return np.zeros(len(W), dtype=int)
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray((values > _RANK * np.maximum(values[:, :1], 1e-300)).sum(axis=1))


def nearby_configurations(
    constraints: ConstraintArrays, q: Array, count: int, passive: Sequence[int]
) -> Array:
    """Return closed configurations near a given one, by steps in the null space of the constraints.

    A sample stops before a singularity of the passive joints: another assembly mode is beyond it.
    """
    random = np.random.default_rng(0)
    least = _REGULAR * _regularity(constraints.rates(q[np.newaxis])[:, :, passive])
    samples = np.repeat(q[np.newaxis], count, axis=0)
    joints = range(len(q))
    direction = random.normal(size=samples.shape)
    for _ in range(_STEPS):
        W = constraints.rates(samples)
        free = direction - least_solution(W, (W @ direction[:, :, np.newaxis])[:, :, 0])
        length = np.abs(free).max(axis=1, keepdims=True)
        step = np.where(length > 1e-9, _STEP * free / np.maximum(length, 1e-300), 0.0)
        moved, gap = close_loops(constraints, samples + step * constraints.column_units, joints)
        regular = _regularity(constraints.rates(moved)[:, :, passive]) >= least
        samples = np.where((regular & (gap < CLOSED))[:, np.newaxis], moved, samples)
    return samples


def _regularity(W: Array) -> Array:
    """Ratio of the smallest to the largest singular value; 0 for matrices without rows or columns."""
    if 0 in W.shape[1:]:
        return np.zeros(len(W))
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray(values[:, -1] / np.maximum(values[:, 0], 1e-300))


# Reference configuration: closed, and at or near the assembly

NEAR = 0.5
"""Largest distance (rad, or sizes of the loops) of joints named in an assembly from closed positions."""


def closed_reference(constraints: ConstraintArrays) -> Array:
    """Return positions (rad or m) of the independent joints near the assembly that close the loops."""
    robot = constraints.robot
    start = _start(robot)
    named = {name for name, _ in robot.assembly}
    everything = range(len(start))
    passive = independent_indices(robot, 0)
    unnamed = [k for k, name in enumerate(robot.joint_names) if name not in named]
    found, gap = start, math.inf
    for movable in (passive, unnamed, everything):
        (found,), (gap,) = close_loops(constraints, start[np.newaxis], movable)
        if gap < CLOSED:
            break
    if gap >= CLOSED:
        raise _cannot_close(constraints, start, found)
    _check_near(constraints, start, found)
    return found


def _start(robot: Robot) -> Array:
    """Positions of the assembly; joints that it does not name are at 0 or at the nearest limit."""
    assembly = dict(robot.assembly)
    positions = []
    for j in robot.independent:
        joint = robot.joints[j - 1]
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        positions.append(assembly.get(joint.name, min(max(0.0, lower), upper)))
    return np.array(positions)


def worst_opening(constraints: ConstraintArrays, q: Array) -> Message:
    """Return which loop is most open in one configuration, and by how much."""
    size = constraints.size
    cut, apart, turned = max(constraints.gaps(q), key=lambda gap: math.hypot(gap[1] / size, gap[2]))
    return Message("loop-opening", loop=cut.name, gap=apart, angle=turned)


def _cannot_close(constraints: ConstraintArrays, start: Array, found: Array) -> DynError:
    robot = constraints.robot
    return DynError(
        "loops-open-in-assembly" if robot.assembly else "loops-open-at-zero",
        robot=robot.name,
        start_opening=worst_opening(constraints, start),
        nearest_opening=worst_opening(constraints, found),
        hint=almost_special(constraints, found),
        element=f"loop '{robot.loops[0].name}'",
    )


def _check_near(constraints: ConstraintArrays, start: Array, found: Array) -> None:
    robot = constraints.robot
    named = {name for name, _ in robot.assembly}
    away = np.abs(found - start) / constraints.column_units
    far = [k for k, name in enumerate(robot.joint_names) if name in named and away[k] > NEAR]
    if not far:
        return
    worst = max(far, key=lambda k: float(away[k]))
    joint = robot.joint(robot.joint_names[worst])
    raise DynError(
        "assembly-far-from-closed",
        robot=robot.name,
        opening=worst_opening(constraints, start),
        joint=joint.name,
        closed=found[worst],
        unit=joint.position_unit,
        given=start[worst],
        named=sorted(named),
        hint=almost_special(constraints, start),
        element=f"loop '{robot.loops[0].name}'",
    )
