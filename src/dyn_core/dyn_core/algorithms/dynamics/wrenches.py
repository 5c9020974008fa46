# SPDX-License-Identifier: Apache-2.0
"""Wrenches, and those transmitted through the cut joints of loops (SYMORO+ 2003, sec. 4.3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dyn_core.algorithms.loops.loop_structure import whole_structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.robot.joint_coupling import coordinate_torques
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import JointPlacement, transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Rotation, Step, shift_moment, turned
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class Wrench:
    """Force (N) and moment (N m) about the origin of the frame in which they are expressed."""

    force: Vec3
    moment: Vec3

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(vec3.add(self.force, other.force), vec3.add(self.moment, other.moment))

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The six components, force first."""
        return (*self.force, *self.moment)

    def along(self, sigma: Sigma) -> Scalar:
        """Component that a joint at the origin must provide, about or along z (N m or N)."""
        return self.moment[2] if sigma is Sigma.REVOLUTE else self.force[2]

    def powers(self, motions: Iterable[Screw]) -> list[Scalar]:
        """Powers of the wrench in several motions."""
        return [self.power(motion) for motion in motions]

    def power(self, motion: Screw) -> Scalar:
        """Power (W) of the wrench in a motion of the body about the same origin."""
        return vec3.dot(motion.linear, self.force) + vec3.dot(motion.angular, self.moment)


def wrench_on_antecedent(iTj: Transform, wrench: Wrench) -> Wrench:
    """Transform a wrench from frame j to frame i: Khalil 2010, eqs. (28) to (30)."""
    force = mat3.mul_vec(iTj.R, wrench.force)  # (28)
    moment = vec3.add(mat3.mul_vec(iTj.R, wrench.moment), vec3.cross(iTj.p, force))  # (30)
    return Wrench(force, moment)


def wrench_before(steps: Sequence[Step], wrench: Wrench) -> Wrench:
    """Transform a wrench from the last frame to the first: Khalil 2010, eqs. (28) to (30)."""
    force, moment = wrench.force, wrench.moment
    for step in reversed(steps):
        if isinstance(step, Rotation):
            force, moment = turned(step, force), turned(step, moment)
        else:
            moment = shift_moment(step, moment, force)
    return Wrench(force, moment)


def with_carried(
    robot: Robot, placements: Sequence[JointPlacement], wrenches: Sequence[Wrench]
) -> list[Wrench]:
    """Add to the wrench on each body those on all bodies that it carries: Khalil 2010, eqs. (28) to (30)."""
    total = list(wrenches)
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        total[i] = total[i] + wrench_before(placements[j - 1].steps, total[j])
    return total


# Wrenches through cut joints (SYMORO+ 2003, sec. 4.3.4)


@dataclass(frozen=True)
class CutWrench:
    """Wrench of the parent's side of a cut joint on the child's, about the origin of frame C."""

    cut: CutJoint  # the cut joint
    in_P: Wrench  # the wrench on the axes of frame P
    T_P_C: Transform  # placement of frame C in frame P

    @property
    def in_C(self) -> Wrench:
        """The wrench on the axes of frame C."""
        R_C_P = mat3.transpose(self.T_P_C.R)
        return Wrench(mat3.mul_vec(R_C_P, self.in_P.force), mat3.mul_vec(R_C_P, self.in_P.moment))

    def exerted(self) -> dict[int, Wrench]:
        """Wrenches that the two bodies exert through the cut joint, by body and in its frame."""
        force, moment = self.in_P.force, self.in_P.moment
        about_P = Wrench(force, vec3.add(moment, vec3.cross(self.T_P_C.p, force)))
        on_C = self.in_C
        by_C = Wrench(vec3.neg(on_C.force), vec3.neg(on_C.moment))
        return {
            self.cut.P.body: wrench_on_antecedent(self.cut.P.T_body_link, about_P),
            self.cut.C.body: wrench_on_antecedent(self.cut.C.T_body_link, by_C),
        }


def cut_wrenches(robot: Robot, q: Scalars, torques: Scalars) -> list[CutWrench]:
    """Wrenches through the cut joints, in the order of the loops: ``-lambda`` of eq. (4.37).

    The torques are those of the tree with open loops, at positions that close them. The motion does not
    determine the efforts of redundant constraints, such as those across the plane of a planar loop. They are
    taken as 0.
    """
    found = whole_structure(robot)
    position = dict(enumerate(q, start=1))
    x = [position[j] for j in found.unknown]
    passive = Passive(robot, found, [position[j] for j in robot.coordinates], x)
    multipliers = dict(zip(found.rows, passive.multipliers(coordinate_torques(robot, torques)), strict=True))
    wrenches, first = [], 0
    for cut in found.cuts:
        efforts = [-multipliers.get(first + row, 0.0) for row in range(cut.rows)]
        T_P_C = transform_between(robot, q, cut.P, cut.C)
        wrenches.append(CutWrench(cut, _wrench(cut, T_P_C, efforts), T_P_C))
        first += cut.rows
    return wrenches


def all_exerted(wrenches: Sequence[CutWrench], external: Mapping[int, Wrench]) -> dict[int, Wrench]:
    """Sum of the wrenches that bodies exert through cut joints and externally, by body and in its frame."""
    total = dict(external)
    for wrench in wrenches:
        for body, exerted in wrench.exerted().items():
            total[body] = total[body] + exerted if body in total else exerted
    return total


def _wrench(cut: CutJoint, T_P_C: Transform, efforts: Scalars) -> Wrench:
    """Wrench on the axes of P from the efforts of the constraints, in the order of the constraints."""
    force, moment = _spread(cut.linear, efforts), _spread(cut.angular, efforts[len(cut.linear) :])
    if cut.cosine is not None:
        x, y, _ = mat3.column(T_P_C.R, 2)
        moment = vec3.add(moment, vec3.scale(efforts[-1], (y, -x, 0.0)))
    return Wrench(force, moment)


def _spread(axes: Sequence[int], values: Scalars) -> Vec3:
    by_axis = dict(zip(axes, values, strict=False))
    return (by_axis.get(0, 0.0), by_axis.get(1, 0.0), by_axis.get(2, 0.0))
