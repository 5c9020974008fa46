# SPDX-License-Identifier: Apache-2.0
"""Whether a robot with loops has as many actuated joints as degrees of freedom, and the right ones."""

from __future__ import annotations

import numpy as np

from dyn_core.algorithms.loops.closed_configurations import ranks
from dyn_core.algorithms.loops.redundancy import almost_special
from dyn_core.core.errors import DynError, counted, listed
from dyn_core.loops.numbers import Array, Numbers


def degrees_of_freedom(W: Array) -> int:
    """Degrees of freedom of a robot: independent joints less independent constraints, where it is regular.

    Args:
        W: (K, constraints, independent joints) constraints in some closed configurations.
    """
    return int(W.shape[2] - ranks(W).max(initial=0))


def check_actuation(numbers: Numbers, W: Array, reference: Array) -> None:
    """DynError where the actuated joints do not determine the others, or contradict one another.

    Args:
        numbers: the constraints.
        W: (K, constraints, independent joints) constraints in some closed configurations.
        reference: (independent joints,) positions of one of them (rad or m).
    """
    robot = numbers.robot
    dof, N = degrees_of_freedom(W), len(robot.coordinates)
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    rank = int(ranks(W[:, :, passive]).max(initial=0))
    freedom = (
        f"robot '{robot.name}' has {counted(len(robot.independent), 'joint')} in its tree and "
        f"{counted(len(robot.independent) - dof, 'independent constraint')} of its loops, so "
        f"{counted(dof, 'degree of freedom', 'degrees of freedom')}"
    )
    actuated = f"{N} actuated joint{'' if N == 1 else 's'}"
    if N:
        actuated += f", {listed(robot.actuated_joint_names, 12)}"
    element = f"loop '{robot.loops[0].name}'"
    if dof < N:
        raise DynError(
            f"{freedom}, but {actuated}: it is over-actuated by {N - dof}; say under `passive` of the "
            f"side file which have no actuator{almost_special(numbers, reference)}",
            element=element,
        )
    free = _undetermined(numbers, W, passive)
    if dof > N and _is_stuck(numbers, reference, N):
        check_regular(numbers, reference)
    if dof > N:
        raise DynError(
            f"{freedom}, but {actuated}: it is "
            f"under-actuated by {dof - N}; nothing determines {listed(free)}, take such from `passive`",
            element=element,
        )
    if rank < len(passive):
        raise DynError(
            f"{freedom}, as many as actuated joints, but these are the wrong ones: the constraints of the "
            f"{len(passive)} passive joints have rank {rank}; with {listed(robot.actuated_joint_names, 12)} "
            f"held, {listed(free)} can still move",
            element=element,
        )


def _is_stuck(numbers: Numbers, reference: Array, N: int) -> bool:
    """Whether the robot has more degrees of freedom than N only where it is, as links that are stretched do.

    No closed configuration beside such a one is found; open ones tell the rank of the constraints as well.
    """
    random = np.random.default_rng(0).uniform(-0.1, 0.1, (8, len(reference)))
    return degrees_of_freedom(numbers.rates(reference + random * numbers.column_units)) <= N


SINGULAR = 1e-5
"""Smallest singular value, as part of the largest, of constraints that count as regular.

Of a closed configuration that is singular no more than the square root of the rounding can be known.
"""


def check_regular(numbers: Numbers, reference: Array) -> None:
    """DynError where the closed configuration that all others are reached from is singular.

    Args:
        numbers: the constraints.
        reference: (independent joints,) its positions (rad or m).
    """
    robot = numbers.robot
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    if not passive:
        return
    W_p = numbers.rates(reference[np.newaxis])[0][:, passive]
    values = np.linalg.svd(W_p, compute_uv=False)
    rank = int((values > SINGULAR * values[0]).sum())
    if rank == len(passive):
        return
    positions = ", ".join(
        f"{name} = {value:.4g}" for name, value in zip(robot.joint_names, reference.tolist(), strict=True)
    )
    where = "in its assembly" if robot.assembly else "in the closed configuration next to 0"
    raise DynError(
        f"robot '{robot.name}' is singular {where}, at {positions}: the constraints of its {len(passive)} "
        f"passive joints have rank {rank} there, so that nothing says which way they will go: give an "
        "assembly in which no loop is stretched or folded",
        element=f"loop '{robot.loops[0].name}'",
    )


def _undetermined(numbers: Numbers, W: Array, passive: list[int]) -> list[str]:
    """Names of the passive joints that can move while the actuated ones do not."""
    robot = numbers.robot
    if not passive:
        return []
    best = int(np.argmax(ranks(W[:, :, passive])))
    _, values, V = np.linalg.svd(W[best][:, passive])
    rank = int((values > 1e-7 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    moving = np.abs(V[rank:]).max(axis=0, initial=0.0)
    return [robot.joint_names[k] for k, share in zip(passive, moving, strict=True) if share > 1e-6]
