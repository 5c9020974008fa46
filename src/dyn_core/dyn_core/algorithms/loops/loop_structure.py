# SPDX-License-Identifier: Apache-2.0
"""Structure of the loops: branches, degrees of freedom, actuation, and order of the passive joints.

The analysis evaluates closed configurations near the assembly. It finds the degrees of freedom, the
redundant constraints, the passive joints that are a constant linear combination of actuated ones (as in
parallelograms), and the order in which the others are solved for. It is numeric, and done once before
tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.block_solver import Block, block_triangular
from dyn_core.algorithms.loops.closed_configurations import closed_reference, nearby_configurations, ranks
from dyn_core.algorithms.loops.constraints import ConstraintArrays, independent_indices
from dyn_core.algorithms.loops.redundancy import almost_special
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Friction
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import lineage
from dyn_core.robot.robot import Robot

Pattern = npt.NDArray[np.bool_]

SAMPLES = 24
_SAME = 1e-8  # Differences below this are rounding errors


@dataclass(frozen=True)
class LinearPassive:
    """A passive joint with ``q = constant + sum of coefficients q_a`` in every configuration."""

    joint: int  # its number
    coefficients: tuple[tuple[int, float], ...]  # actuated joints and their coefficients, if not 0
    constant: float  # position (rad or m) with the actuated joints at 0


@dataclass(frozen=True)
class Structure:
    """The relations that determine the passive joints from the actuated ones."""

    cuts: tuple[CutJoint, ...]  # the cut joints
    reference: tuple[float, ...]  # closed positions of the independent joints (rad or m)
    size: float  # length (m) that compares with an angle of 1 rad
    linear: tuple[LinearPassive, ...]  # the passive joints that follow by a constant linear relation
    unknown: tuple[int, ...]  # numbers of the other passive joints
    rows: tuple[int, ...]  # indices of the constraints that determine them, among those of all loops
    blocks: tuple[Block, ...]  # the order of solution; a block has indices into `rows` and `unknown`


def structure(robot: Robot) -> Structure:
    """Return the structure of the loops of a robot; raise DynError if they are open or badly actuated."""
    return _structure(geometry_of(robot), True)


def whole_structure(robot: Robot) -> Structure:
    """Return the structure with constraints for all passive joints, without linear relations.

    The forces in the cut joints and the distance to singularities depend on all constraints.
    """
    return _structure(geometry_of(robot), False)


def geometry_of(robot: Robot) -> Robot:
    """Return the robot without masses, friction, rotors and gravity, on which its loops do not depend."""
    joints = tuple(replace(joint, friction=Friction(), Ia=0.0) for joint in robot.joints)
    bodies = (InertialParameters(),) * len(robot.bodies)
    return replace(robot, joints=joints, bodies=bodies, gravity=(0.0, 0.0, 0.0))


@lru_cache(maxsize=32)
def _structure(robot: Robot, linear_relations: bool) -> Structure:
    constraints = ConstraintArrays(robot)
    reference = closed_reference(constraints)
    active = independent_indices(robot, 1)
    passive = independent_indices(robot, 0)
    samples = nearby_configurations(constraints, reference, SAMPLES, passive)
    W = constraints.rates(samples)
    check_actuation(constraints, W, reference)
    check_regular(constraints, reference)
    regular = ranks(W[:, :, passive]) == len(passive)
    linear = []
    if linear_relations:
        G = -np.linalg.pinv(W[regular][:, :, passive]) @ W[regular][:, :, active]
        linear = _linear_passives(constraints, samples[regular], G, active, passive)
    known = {found.joint for found in linear}
    unknown = [k for k in passive if robot.independent[k] not in known]
    rows = _kept_rows(W, unknown) if unknown else []
    pattern: Pattern = np.any(np.abs(W[:, :, unknown][:, rows]) > _SAME, axis=0)
    blocks = block_triangular([list(map(bool, row)) for row in pattern], len(unknown)) or ()

    def sparse_first(block: Block) -> tuple[int, ...]:
        """Unknowns of a block in the order of the least fill-in of elimination."""
        of_rows = pattern[list(block.rows)].sum(axis=0)
        return tuple(sorted(block.columns, key=lambda c: (int(of_rows[c]), c)))

    return Structure(
        constraints.cuts,
        tuple(reference.tolist()),
        constraints.size,
        tuple(linear),
        tuple(robot.independent[k] for k in unknown),
        tuple(rows),
        tuple(block._replace(columns=sparse_first(block)) for block in blocks),
    )


def _linear_passives(
    constraints: ConstraintArrays, q: Array, G: Array, active: Sequence[int], passive: Sequence[int]
) -> list[LinearPassive]:
    """Passive joints whose rates are the same combination of actuated rates in all samples."""
    robot, found = constraints.robot, []
    units = constraints.column_units
    for row, k in enumerate(passive):
        g = G[:, row] * units[k] / units[active]
        mean = g.mean(axis=0)
        whole = np.round(mean)
        mean = np.where(np.abs(mean - whole) < _SAME, whole, mean)
        if np.abs(g - mean).max() > _SAME * max(1.0, float(np.abs(mean).max(initial=0.0))):
            continue
        rest = q[:, k] - q[:, active] @ mean
        constant = float(rest[0])
        if np.abs(rest - constant).max() > _SAME * units[k]:
            continue
        pairs = zip(active, mean.tolist(), strict=True)
        coefficients = tuple((robot.independent[i], value) for i, value in pairs if value != 0.0)
        found.append(LinearPassive(robot.independent[k], coefficients, _snapped(float(rest.mean()))))
    return found


def _snapped(angle: float) -> float:
    """Return the angle; replace it by a multiple of pi/4 if it differs from it by rounding only."""
    multiple = round(angle / (0.25 * np.pi)) * 0.25 * np.pi
    return float(multiple) if abs(angle - multiple) < 1e-12 else angle


def _kept_rows(W: Array, unknown: Sequence[int]) -> list[int]:
    """Indices of the constraints of the unknown joints that are not a constant combination of others.

    Rows are redundant if they are dependent with the same coefficients in all samples. These are the
    rows across the plane of a planar loop, and, if loops share links, the rows of a loop that the other
    loops close.
    """
    own = W[:, :, unknown]
    stacked = np.moveaxis(own, 1, 0).reshape(W.shape[1], -1)
    scale = float(np.abs(stacked).max(initial=0.0))
    kept: list[int] = []
    basis: list[Array] = []
    # Rows with the fewest joints come first: they are the cheapest.
    order = sorted(
        range(len(stacked)), key=lambda row: (int((np.abs(own[:, row]) > _SAME).any(axis=0).sum()), row)
    )
    for row in order:
        rest = stacked[row].copy()
        for _ in range(2):
            for direction in basis:
                rest -= (direction @ rest) * direction
        length = float(np.linalg.norm(rest))
        if length > 1e-7 * scale * np.sqrt(stacked.shape[1]):
            kept.append(row)
            basis.append(rest / length)
    return sorted(kept)


# Branches of a loop (SYMORO+ 2003, sec. 1.5)


@dataclass(frozen=True)
class Branches:
    """The two branches of a loop, from its root to the cut joint."""

    root: int  # number of the last body that both branches share; 0 is the base
    parent: tuple[int, ...]  # numbers of the joints from the root to the parent's side of the cut joint
    child: tuple[int, ...]  # numbers of the joints from the root to the child's side


def branches(robot: Robot, cut: CutJoint) -> Branches:
    """Return the branches of the loop that a cut joint closes."""
    from_P, from_C = lineage(robot, cut.P.body), lineage(robot, cut.C.body)
    root = next((j for j in from_P if j in from_C), 0)
    parent = tuple(j for j in reversed(from_P) if j not in from_C)
    child = tuple(j for j in reversed(from_C) if j not in from_P)
    return Branches(root, parent, child)


def joint_to_cut(robot: Robot, found: Branches) -> int | None:
    """Return the passive joint at which a cut makes the lengths of the branches most equal, if any is better.

    Branches of similar length make the dynamic model cheap. Actuated joints and joints that mimic others
    cannot be cut.
    """
    chain_joints: list[list[int] | None] = [*_joint_groups(robot, found.parent), None]
    chain_joints += reversed(_joint_groups(robot, found.child))
    present = chain_joints.index(None)
    best, least = None, abs(2 * present - (len(chain_joints) - 1))
    for position, joints in enumerate(chain_joints):
        difference = abs(2 * position - (len(chain_joints) - 1))
        if joints is None or len(joints) > 1 or difference >= least:
            continue
        joint = robot.joints[joints[0] - 1]
        if joint.mu == 0 and joint.mimic is None:
            best, least = joints[0], difference
    return best


def _joint_groups(robot: Robot, branch: tuple[int, ...]) -> list[list[int]]:
    """Return the joints of a branch; the joints of one planar or floating joint form a group."""
    # The number of a joint is the key of a joint that is not part of a compound one.
    compounds = groupby(branch, key=lambda j: robot.joints[j - 1].name.rpartition("/")[0] or j)
    return [list(group) for _, group in compounds]


# Actuation


def degrees_of_freedom(W: Array) -> int:
    """Independent joints minus independent constraints W (K, constraints, joints) of a regular robot."""
    return int(W.shape[2] - ranks(W).max(initial=0))


def check_actuation(constraints: ConstraintArrays, W: Array, reference: Array) -> None:
    """Raise DynError if the actuated joints do not determine the others, or contradict one another."""
    robot = constraints.robot
    dof, N = degrees_of_freedom(W), len(robot.coordinates)
    passive = independent_indices(robot, 0)
    rank = int(ranks(W[:, :, passive]).max(initial=0))
    counts: dict[str, Any] = {
        "robot": robot.name,
        "joints": len(robot.independent),
        "constraints": len(robot.independent) - dof,
        "freedom": dof,
        "element": f"loop '{robot.loops[0].name}'",
    }
    if dof < N:
        raise DynError(
            "loops-overactuated",
            actuated=N,
            actuated_joints=robot.actuated_joint_names,
            excess=N - dof,
            hint=almost_special(constraints, reference),
            **counts,
        )
    free = _undetermined(constraints, W, passive)
    if dof > N and _is_stuck(constraints, reference, N):
        check_regular(constraints, reference)
    if dof > N and N:
        raise DynError(
            "loops-underactuated",
            actuated=N,
            actuated_joints=robot.actuated_joint_names,
            deficit=dof - N,
            free=free,
            **counts,
        )
    if dof > N:
        raise DynError("loops-without-actuated-joints", deficit=dof, free=free, **counts)
    if rank < len(passive):
        raise DynError(
            "actuated-joints-dependent",
            passive=len(passive),
            rank=rank,
            actuated_joints=robot.actuated_joint_names,
            free=free,
            **counts,
        )


def _is_stuck(constraints: ConstraintArrays, reference: Array, N: int) -> bool:
    """True if the robot has more than N degrees of freedom only at the reference, as with stretched links.

    No closed configuration near it is found, but open ones also give the rank of the constraints.
    """
    random = np.random.default_rng(0).uniform(-0.1, 0.1, (8, len(reference)))
    return degrees_of_freedom(constraints.rates(reference + random * constraints.column_units)) <= N


SINGULAR = 1e-5
"""Smallest ratio of the smallest to the largest singular value of regular constraints.

A singular closed configuration is known only to the square root of the rounding error.
"""


def check_regular(constraints: ConstraintArrays, reference: Array) -> None:
    """Raise DynError if the closed reference configuration, where every continuation begins, is singular."""
    robot = constraints.robot
    passive = independent_indices(robot, 0)
    if not passive:
        return
    W_p = constraints.rates(reference[np.newaxis])[0][:, passive]
    values = np.linalg.svd(W_p, compute_uv=False)
    rank = int((values > SINGULAR * values[0]).sum())
    if rank == len(passive):
        return
    positions = ", ".join(
        f"{name} = {value:.4g}" for name, value in zip(robot.joint_names, reference.tolist(), strict=True)
    )
    raise DynError(
        "assembly-singular" if robot.assembly else "zero-configuration-singular",
        robot=robot.name,
        positions=positions,
        passive=len(passive),
        rank=rank,
        element=f"loop '{robot.loops[0].name}'",
    )


def _undetermined(constraints: ConstraintArrays, W: Array, passive: list[int]) -> list[str]:
    """Names of the passive joints that can move while the actuated joints are held."""
    robot = constraints.robot
    if not passive:
        return []
    best = int(np.argmax(ranks(W[:, :, passive])))
    _, values, V = np.linalg.svd(W[best][:, passive])
    rank = int((values > 1e-7 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    moving = np.abs(V[rank:]).max(axis=0, initial=0.0)
    return [robot.joint_names[k] for k, share in zip(passive, moving, strict=True) if share > 1e-6]
