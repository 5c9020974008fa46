# SPDX-License-Identifier: Apache-2.0
"""What the loops of a robot are and do, for those who describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyn_core.algorithms.loops.closed_configurations import around, ranks
from dyn_core.algorithms.loops.loop_structure import geometry_of, whole_structure
from dyn_core.algorithms.loops.redundancy import Redundancy, axes_of_loop, redundancy
from dyn_core.loops.actuation import degrees_of_freedom
from dyn_core.loops.branches import branches, joint_to_cut
from dyn_core.loops.explicit import ExplicitRelations, explicit_relations
from dyn_core.loops.numbers import Array, Numbers
from dyn_core.model.loop import LoopType
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.robot import Robot

_SAMPLES = 8


@dataclass(frozen=True)
class LoopDescription:
    """One loop.

    Attributes:
        name: name of the loop.
        type: type of its cut joint.
        links: the links on the parent's and the child's side of the cut joint.
        root: first link of the body from which both branches begin.
        branches: names of the joints of the parent's and of the child's branch, from the root.
        constraints: number of constraints of the cut joint.
        independent: how many of them are independent where the loop is regular.
        redundancy: why not all of them are.
        better_cut: passive joint at which a cut would make the branches more equal; None where the
            present cut is as good as any, as it is at a joint of several variables, which leave the model.
    """

    name: str
    type: LoopType
    links: tuple[str, str]
    root: str
    branches: tuple[tuple[str, ...], tuple[str, ...]]
    constraints: int
    independent: int
    redundancy: Redundancy
    better_cut: str | None


@dataclass(frozen=True)
class LoopReport:
    """The loops of a robot.

    Attributes:
        robot: name of the robot.
        joints: number of joints of the tree that mimic no other.
        constraints: number of independent constraints of all loops.
        dof: degrees of freedom, joints less constraints: as many as actuated joints.
        actuated: names of the actuated joints.
        passive: names of the others.
        loops: each loop.
        relations: how the passive joints follow.
        reference: a closed configuration near the assembly: positions by joint (rad or m).
        residual: how far the loops are open there (m, rad).
        condition: condition number of the constraints for the passive joints there, with lengths in units
            of the size of the loops; large near a singularity.
    """

    robot: str
    joints: int
    constraints: int
    dof: int
    actuated: tuple[str, ...]
    passive: tuple[str, ...]
    loops: tuple[LoopDescription, ...]
    relations: ExplicitRelations
    reference: Mapping[str, float]
    residual: tuple[float, float]
    condition: float


def loop_report(robot: Robot) -> LoopReport:
    """Answer what the loops of a robot are: branches, redundancy, degrees of freedom, explicit relations.

    Raises:
        DynError: the robot has no loops, they cannot be closed, or its actuated joints are too few, too
            many, or the wrong ones.
    """
    relations = explicit_relations(robot)
    found, numbers = whole_structure(robot), Numbers(geometry_of(robot))
    reference = np.array(found.reference)
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    W = numbers.rates(around(numbers, reference, _SAMPLES, passive))
    dof = degrees_of_freedom(W)
    return LoopReport(
        robot=robot.name,
        joints=len(robot.independent),
        constraints=len(robot.independent) - dof,
        dof=dof,
        actuated=robot.coordinate_names,
        passive=robot.passive_joint_names,
        loops=tuple(_described(robot, numbers, reference, W, k) for k in range(len(robot.loops))),
        relations=relations,
        reference=dict(zip(robot.joint_names, found.reference, strict=True)),
        residual=residual(numbers, reference),
        condition=_condition(robot, numbers, reference),
    )


def residual(numbers: Numbers, q: Array) -> tuple[float, float]:
    """Answer how far (m, rad) the loops are open at most in one configuration (independent joints,)."""
    (openings,), _ = numbers.openings(q[np.newaxis])
    apart, turned, place = 0.0, 0.0, 0
    for cut in numbers.cuts:
        own = openings[place : place + cut.rows]
        place += cut.rows
        apart = max(apart, float(np.linalg.norm(own[: len(cut.linear)])) * numbers.size)
        turned = max(turned, float(np.linalg.norm(own[len(cut.linear) :])))
    return apart, turned


def _condition(robot: Robot, numbers: Numbers, reference: Array) -> float:
    found = whole_structure(robot)
    columns = [robot.independent.index(j) for j in found.unknown]
    if not columns:
        return 1.0
    W_p = numbers.rates(reference[np.newaxis])[0][list(found.rows)][:, columns]
    return float(np.linalg.cond(W_p))


def _described(robot: Robot, numbers: Numbers, reference: Array, W: Array, k: int) -> LoopDescription:
    loop, cut = robot.loops[k], numbers.cuts[k]
    first = sum(other.rows for other in numbers.cuts[:k])
    independent = int(ranks(W[:, first : first + cut.rows]).max())
    found = branches(robot, cut)
    simple = loop.type in (LoopType.REVOLUTE, LoopType.PRISMATIC)
    better = joint_to_cut(robot, found) if simple else None
    axes = axes_of_loop(robot, cut, loop.type, joint_positions(robot, reference.tolist()))
    parent, child = (tuple(robot.joints[j - 1].name for j in side) for side in (found.parent, found.child))
    return LoopDescription(
        name=loop.name,
        type=loop.type,
        links=(loop.parent.link, loop.child.link),
        root=next(frame.name for frame in robot.link_frames if frame.body == found.root),
        branches=(parent, child),
        constraints=cut.rows,
        independent=independent,
        redundancy=redundancy(axes, numbers.size, cut.rows, independent),
        better_cut=None if better is None else robot.joints[better - 1].name,
    )
