# SPDX-License-Identifier: Apache-2.0
"""Description of the loops of a robot: branches, redundancy and explicit relations of passive joints.

In parallelograms, passive joints are constant linear combinations of actuated joints: for the SR400
``theta3 = Pi/2 - theta2 + theta7`` (SYMORO+ 2003, secs. 2.2.4 and 2.3.8). `loop_structure` finds them. This
module writes them with the names of the table of geometric parameters, whose theta and r have other zeros
than URDF positions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyn_core.algorithms.loops.closed_configurations import nearby_configurations, ranks
from dyn_core.algorithms.loops.constraints import ConstraintArrays, independent_indices
from dyn_core.algorithms.loops.dyads import dyads, mdh_at_zero
from dyn_core.algorithms.loops.loop_structure import (
    LinearPassive,
    branches,
    degrees_of_freedom,
    geometry_of,
    joint_to_cut,
    structure,
    whole_structure,
)
from dyn_core.algorithms.loops.redundancy import Redundancy, axes_of_loop, redundancy
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import LoopType, Sigma
from dyn_core.robot.mdh_table import angle_text, length_text
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import wrapped

_SAMPLES = 8


@dataclass(frozen=True)
class LoopDescription:
    """One loop.

    Attributes:
        name: name of the loop.
        type: type of its cut joint.
        links: links on the parent's and the child's side of the cut joint.
        root: first link of the body where both branches begin.
        branches: names of the joints of the parent's and of the child's branch, from the root.
        constraints: number of constraints of the cut joint.
        independent: number of these that are independent where the loop is regular.
        redundancy: why the others are redundant.
        better_cut: passive joint at which a cut would make the branches more equal; None if no cut is
            better than the present one. A cut at a joint of several variables, which takes these out of
            the model, has no better one.
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
        joints: number of joints of the tree that do not mimic another.
        constraints: number of independent constraints of all loops.
        dof: degrees of freedom, joints minus constraints; equal to the number of actuated joints.
        actuated: names of the actuated joints.
        passive: names of the passive joints.
        loops: each loop.
        relations: how the passive joints follow from the actuated ones.
        reference: joint positions (rad or m) of a closed configuration near the assembly.
        residual: largest opening of the loops there (m, rad).
        condition: condition number of the constraints of the passive joints there, with lengths in units
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
    """Describe the loops of a robot: branches, redundancy, degrees of freedom, explicit relations.

    Raises:
        DynError: the robot has no loops, they cannot be closed, or its actuated joints are too few, too
            many, or the wrong ones.
    """
    relations = explicit_relations(robot)
    found, numbers = whole_structure(robot), ConstraintArrays(geometry_of(robot))
    reference = np.array(found.reference)
    passive = independent_indices(robot, 0)
    W = numbers.rates(nearby_configurations(numbers, reference, _SAMPLES, passive))
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


def residual(numbers: ConstraintArrays, q: Array) -> tuple[float, float]:
    """Return the largest opening (m, rad) of the loops in one configuration (independent joints,)."""
    _, apart, turned = zip(*numbers.gaps(q), strict=True)
    return max(apart), max(turned)


def _condition(robot: Robot, numbers: ConstraintArrays, reference: Array) -> float:
    found = whole_structure(robot)
    columns = [robot.independent.index(j) for j in found.unknown]
    W = numbers.rates(reference[np.newaxis])[0][list(found.rows)]
    return float(np.linalg.cond(W[:, columns])) if columns else 1.0


def _described(
    robot: Robot, numbers: ConstraintArrays, reference: Array, W: Array, k: int
) -> LoopDescription:
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


# Explicit relations of passive joints


@dataclass(frozen=True)
class Relation:
    """A passive joint as a constant linear combination of actuated ones.

    Attributes:
        joint: name of the passive joint.
        coefficients: coefficients by name of the actuated joint, without those that are 0.
        constant: URDF position of the passive joint (rad or m) with the actuated joints at 0.
        text: the relation of URDF positions, such as ``knee = 0.5 - hip``.
        mdh: the relation in the theta and r of the table of geometric parameters, with angles in
            (-pi, pi], such as ``theta3 = Pi/2 - theta2 + theta7``.
    """

    joint: str
    coefficients: Mapping[str, float]
    constant: float
    text: str
    mdh: str


@dataclass(frozen=True)
class ClosedForm:
    """Two passive joints that a planar loop gives in closed form (`dyn_core.algorithms.loops.dyads`).

    Attributes:
        joints: their names.
        loop: name of the loop.
        kind: types of the two joints and the cut joint, ``R`` or ``P``, such as ``RRR``.
    """

    joints: tuple[str, str]
    loop: str
    kind: str

    @property
    def figure(self) -> str:
        """The two curves whose intersection is the solution."""
        return ("two circles", "a circle and a line", "two lines")[self.kind.count("P")]


@dataclass(frozen=True)
class ExplicitRelations:
    """How each passive joint of a robot with loops follows from the actuated ones.

    Attributes:
        relations: linear relations.
        iterated: names of the other passive joints, in groups that are solved one after the other. A step
            of Newton's method covers all groups; the joints of a group are solved together.
        closed_forms: closed forms of some of these joints, by loop, as used by `explicit_positions`.
    """

    relations: tuple[Relation, ...]
    iterated: tuple[tuple[str, ...], ...]
    closed_forms: tuple[ClosedForm, ...] = ()

    def __str__(self) -> str:
        lines = [f"{relation.mdh}    ({relation.text})" for relation in self.relations]
        lines += [f"{', '.join(group)}: by iteration" for group in self.iterated]
        lines += [
            f"{', '.join(form.joints)}: in closed form, too (loop '{form.loop}', {form.kind}: {form.figure})"
            for form in self.closed_forms
        ]
        return "\n".join(lines)


def explicit_relations(robot: Robot) -> ExplicitRelations:
    """Return how each passive joint follows from the actuated ones: by a relation or by iteration.

    Raises:
        DynError: the robot has no loops, they cannot be closed, or its actuated joints are too few, too
            many, or the wrong ones.
    """
    if not robot.loops:
        raise DynError("loops-missing", robot=robot.name)
    found = structure(robot)
    return ExplicitRelations(
        tuple(_relation(robot, linear) for linear in found.linear),
        tuple(
            tuple(robot.joints[found.unknown[c] - 1].name for c in block.columns) for block in found.blocks
        ),
        tuple(
            ClosedForm(
                (robot.joints[dyad.joints[0] - 1].name, robot.joints[dyad.joints[1] - 1].name),
                robot.loops[dyad.loop].name,
                dyad.kind,
            )
            for dyad in dyads(robot)
        ),
    )


def _relation(robot: Robot, linear: LinearPassive) -> Relation:
    coefficients = {robot.joints[j - 1].name: k for j, k in linear.coefficients}
    passive = robot.joints[linear.joint - 1]
    as_text = angle_text if passive.sigma is Sigma.REVOLUTE else length_text
    constant = linear.constant + mdh_at_zero(robot, linear.joint)
    constant -= sum(k * mdh_at_zero(robot, j) for j, k in linear.coefficients)
    constant = wrapped(constant) if passive.sigma is Sigma.REVOLUTE else constant

    def symbol(j: int) -> str:
        return f"{'theta' if robot.joints[j - 1].sigma is Sigma.REVOLUTE else 'r'}{j}"

    of_table = {symbol(j): k for j, k in linear.coefficients}
    return Relation(
        joint=passive.name,
        coefficients=coefficients,
        constant=linear.constant,
        text=f"{passive.name} = {_sum(as_text(linear.constant), coefficients)}",
        mdh=f"{symbol(linear.joint)} = {_sum(as_text(constant), of_table)}",
    )


def _sum(constant: str, terms: Mapping[str, float]) -> str:
    """Return a sum as text, such as ``Pi/2 - theta2 + 0.5*theta7``."""
    text = "" if constant == "0" and terms else f"{constant} "
    for symbol, k in terms.items():
        size = symbol if abs(k) == 1.0 else f"{abs(k):.6g}*{symbol}"
        text += f"- {size} " if k < 0.0 else f"+ {size} "
    return re.sub("^- ", "-", text.rstrip().removeprefix("+ "))
