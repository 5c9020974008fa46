# SPDX-License-Identifier: Apache-2.0
"""Whether a robot with loops has as many actuated joints as degrees of freedom, and the right ones."""

from __future__ import annotations

import numpy as np

from dyn_core.errors import DynError, listed
from dyn_core.loops.closing import ranks
from dyn_core.loops.numbers import Array, Numbers


def degrees_of_freedom(W: Array) -> int:
    """Degrees of freedom of a robot: independent joints less independent constraints, where it is regular.

    Args:
        W: (K, constraints, independent joints) constraints in some closed configurations.
    """
    return int(W.shape[2] - ranks(W).max(initial=0))


def check_actuation(numbers: Numbers, W: Array) -> None:
    """DynError where the actuated joints do not determine the others, or contradict one another.

    Args:
        numbers: the constraints.
        W: (K, constraints, independent joints) constraints in some closed configurations.
    """
    robot = numbers.robot
    dof, N = degrees_of_freedom(W), len(robot.coordinates)
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    rank = int(ranks(W[:, :, passive]).max(initial=0))
    counted = (
        f"robot '{robot.name}' has {len(robot.independent)} joints in its tree and "
        f"{len(robot.independent) - dof} independent constraints of its loops, so {dof} degrees of freedom"
    )
    element = f"loop '{robot.loops[0].name}'"
    if dof < N:
        raise DynError(
            f"{counted}, but {N} actuated joints, {listed(robot.actuated_joint_names, 12)}: "
            f"it is over-actuated by {N - dof}; say under `passive` of the side file which have no actuator",
            element=element,
        )
    free = _undetermined(numbers, W, passive)
    if dof > N:
        raise DynError(
            f"{counted}, but {N} actuated joints, {listed(robot.actuated_joint_names, 12)}: it is "
            f"under-actuated by {dof - N}; nothing determines {listed(free)}, take such from `passive`",
            element=element,
        )
    if rank < len(passive):
        raise DynError(
            f"{counted}, as many as actuated joints, but these are the wrong ones: the constraints of the "
            f"{len(passive)} passive joints have rank {rank}; with {listed(robot.actuated_joint_names, 12)} "
            f"held, {listed(free)} still move",
            element=element,
        )


def check_regular(numbers: Numbers, reference: Array) -> None:
    """DynError where the reference is a singular configuration, from which no branch can be told."""
    robot = numbers.robot
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    (rank,) = ranks(numbers.rates(reference[np.newaxis])[:, :, passive])
    if rank < len(passive):
        raise DynError(
            f"robot '{robot.name}' is singular in its assembly: the constraints of its {len(passive)} "
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
