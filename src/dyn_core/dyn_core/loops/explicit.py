# SPDX-License-Identifier: Apache-2.0
"""The passive joints that follow from the actuated ones by an explicit relation, in words that are read.

In parallelograms passive joints are constant linear combinations of actuated ones: of the SR400
``theta3 = Pi/2 - theta2 + theta7`` (SYMORO+ 2003, secs. 2.2.4 and 2.3.8). The program finds these by
itself, see `structure`; here they get the names of the table of geometric parameters, whose columns
theta and r count from elsewhere than URDF does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dyn_core.algorithms.loops.dyads import Dyad, dyads
from dyn_core.algorithms.loops.loop_structure import LinearPassive, structure
from dyn_core.core.errors import DynError
from dyn_core.linalg.angle import wrapped
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh_table import angle_text, length_text
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class Relation:
    """A passive joint as a constant linear combination of actuated ones.

    Attributes:
        joint: name of the passive joint.
        coefficients: by name of actuated joint, its coefficient; others have none.
        constant: position of the passive joint (rad or m) with the actuated ones at 0, as URDF counts.
        text: the relation in URDF positions and names, such as ``knee = 0.5 - hip``.
        mdh: the same in the theta and r of the table of geometric parameters, whose angles are in
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
        """What is intersected."""
        return ("two circles", "a circle and a line", "two lines")[self.kind.count("P")]


@dataclass(frozen=True)
class ExplicitRelations:
    """How each passive joint of a robot with loops follows from the actuated ones.

    Attributes:
        relations: those that follow by a linear relation.
        iterated: names of the others, in groups that are solved for one after the other: Newton's method
            takes a step for all of them, in which the joints of a group need one another.
        closed_forms: those of the others that `explicit_positions` has in closed form, by loop.
    """

    relations: tuple[Relation, ...]
    iterated: tuple[tuple[str, ...], ...]
    closed_forms: tuple[ClosedForm, ...] = ()

    def __str__(self) -> str:
        """Answer a line for each passive joint or group of them."""
        lines = [f"{relation.mdh}    ({relation.text})" for relation in self.relations]
        lines += [f"{', '.join(group)}: by iteration" for group in self.iterated]
        lines += [
            f"{', '.join(form.joints)}: in closed form, too (loop '{form.loop}', {form.kind}: {form.figure})"
            for form in self.closed_forms
        ]
        return "\n".join(lines)


def explicit_relations(robot: Robot) -> ExplicitRelations:
    """Answer how each passive joint follows from the actuated ones: by what relation, or by iteration.

    Raises:
        DynError: the robot has no loops, they cannot be closed, or its actuated joints are too few, too
            many, or the wrong ones.
    """
    if not robot.loops:
        raise DynError(
            f"robot '{robot.name}' has no loops: give them in a side file, or in the URDF as <constraint>"
        )
    found = structure(robot)
    return ExplicitRelations(
        tuple(_relation(robot, linear) for linear in found.linear),
        tuple(
            tuple(robot.joints[found.unknown[c] - 1].name for c in block.columns) for block in found.blocks
        ),
        tuple(_closed_form(robot, dyad) for dyad in dyads(robot)),
    )


def _closed_form(robot: Robot, dyad: Dyad) -> ClosedForm:
    first, second = (robot.joints[j - 1].name for j in dyad.joints)
    return ClosedForm((first, second), robot.loops[dyad.loop].name, dyad.kind)


def _relation(robot: Robot, linear: LinearPassive) -> Relation:
    names = {j: robot.joints[j - 1].name for j, _ in linear.coefficients}
    passive = robot.joints[linear.joint - 1]
    turns = passive.sigma is Sigma.REVOLUTE
    constant = linear.constant + _zero(robot, linear.joint)
    constant -= sum(k * _zero(robot, j) for j, k in linear.coefficients)
    symbols = {j: f"{'theta' if robot.joints[j - 1].sigma is Sigma.REVOLUTE else 'r'}{j}" for j in names}
    left = f"{'theta' if turns else 'r'}{linear.joint}"
    in_table = angle_text(wrapped(constant)) if turns else length_text(constant)
    in_urdf = angle_text(linear.constant) if turns else length_text(linear.constant)
    terms = [(k, symbols[j]) for j, k in linear.coefficients]
    of_urdf = [(k, names[j]) for j, k in linear.coefficients]
    return Relation(
        joint=passive.name,
        coefficients={names[j]: k for j, k in linear.coefficients},
        constant=linear.constant,
        text=f"{passive.name} = {_sum(in_urdf, of_urdf)}",
        mdh=f"{left} = {_sum(in_table, terms)}",
    )


def _zero(robot: Robot, j: int) -> float:
    """Theta or r of a joint where URDF's position is 0 (rad or m)."""
    mdh = robot.joints[j - 1].mdh
    return mdh.theta if robot.joints[j - 1].sigma is Sigma.REVOLUTE else mdh.r


def _sum(constant: str, terms: list[tuple[float, str]]) -> str:
    """Answer ``Pi/2 - theta2 + 0.5*theta7``."""
    text = "" if constant == "0" and terms else constant
    for k, symbol in terms:
        size = symbol if abs(k) == 1.0 else f"{abs(k):.6g}*{symbol}"
        if not text:
            text = f"-{size}" if k < 0.0 else size
        else:
            text += f" - {size}" if k < 0.0 else f" + {size}"
    return text
