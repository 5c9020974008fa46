# SPDX-License-Identifier: Apache-2.0
"""What goes through the cut joints of loops, and so through the others (SYMORO+ 2003, sec. 4.3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dyn_core.algorithms.loops.loop_structure import whole_structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joint_coupling import coordinate_torques
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class CutWrench:
    """Wrench of the parent's side of a cut joint on the child's, about the origin of frame C.

    Attributes:
        cut: the cut joint.
        in_P: the wrench on the axes of frame P.
        T_P_C: placement of frame C in frame P.
    """

    cut: CutJoint
    in_P: Wrench
    T_P_C: Transform

    @property
    def in_C(self) -> Wrench:
        """The wrench on the axes of frame C."""
        R_C_P = mat3.transpose(self.T_P_C.R)
        return Wrench(mat3.mul_vec(R_C_P, self.in_P.force), mat3.mul_vec(R_C_P, self.in_P.moment))

    def exerted(self) -> dict[int, Wrench]:
        """What the two bodies exert through the cut joint, by body, in its frame."""
        force, moment = self.in_P.force, self.in_P.moment
        about_P = Wrench(force, vec3.add(moment, vec3.cross(self.T_P_C.p, force)))
        on_C = self.in_C
        by_C = Wrench(vec3.neg(on_C.force), vec3.neg(on_C.moment))
        return {
            self.cut.P.body: wrench_on_antecedent(self.cut.P.T_body_link, about_P),
            self.cut.C.body: wrench_on_antecedent(self.cut.C.T_body_link, by_C),
        }


def cut_wrenches(robot: Robot, q: Sequence[Scalar], torques: Sequence[Scalar]) -> list[CutWrench]:
    """Wrenches through the cut joints, in the order of the loops: ``-lambda`` of eq. (4.37).

    Where constraints are redundant, as across the plane of a planar loop, the motion does not determine
    them: those that say the same as others take no part.

    Args:
        robot: the robot.
        q: n positions of the joints of the tree, which close the loops (rad or m).
        torques: n torques that the joints of the tree would need if its loops were open (N m or N).
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
    """What bodies exert through cut joints, and otherwise, by body, in its frame."""
    total = dict(external)
    for wrench in wrenches:
        for body, exerted in wrench.exerted().items():
            total[body] = total[body] + exerted if body in total else exerted
    return total


def _wrench(cut: CutJoint, T_P_C: Transform, efforts: Sequence[Scalar]) -> Wrench:
    """Wrench on the axes of P from the efforts of the constraints, in their order."""
    force, moment = _spread(cut.linear, efforts), _spread(cut.angular, efforts[len(cut.linear) :])
    if cut.cosine is not None:
        x, y, _ = mat3.column(T_P_C.R, 2)
        moment = vec3.add(moment, vec3.scale(efforts[-1], (y, -x, 0.0)))
    return Wrench(force, moment)


def _spread(axes: Sequence[int], values: Sequence[Scalar]) -> Vec3:
    by_axis = dict(zip(axes, values, strict=False))
    return (by_axis.get(0, 0.0), by_axis.get(1, 0.0), by_axis.get(2, 0.0))
