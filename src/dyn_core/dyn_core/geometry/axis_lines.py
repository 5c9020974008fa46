# SPDX-License-Identifier: Apache-2.0
"""The line in space that each joint axis is."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.geometry.joint_tree import JointTree
from dyn_core.geometry.tolerance import ROUNDING
from dyn_core.linalg.transform import Transform, apply
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class AxisLine:
    """A joint axis.

    Attributes:
        direction: unit vector.
        point: a point of the axis (m); None for a prismatic axis that may go anywhere.
    """

    direction: Vec3
    point: Vec3 | None


def placed(T_a_b: Transform, line: AxisLine) -> AxisLine:
    """Answer in frame a a line that is given in frame b."""
    point = None if line.point is None else apply(T_a_b, line.point)
    return AxisLine(mat3.mul_vec(T_a_b.R, line.direction), point)


def parallel(a: Vec3, b: Vec3) -> bool:
    """Tell whether two unit vectors are parallel or opposite, up to rounding."""
    return vec3.norm(vec3.cross(a, b)) <= ROUNDING


def axis_lines(tree: JointTree) -> list[AxisLine]:
    """Answer the line of each joint in the joint's own URDF frame.

    The axis of a revolute joint goes through the origin of its URDF frame. That of a prismatic
    joint is put on the axis of its first child where the two are parallel, and is free otherwise.
    """
    first_child = tree.first_child()
    lines: dict[int, AxisLine] = {}
    for j in range(len(tree.joints), 0, -1):
        joint = tree.joints[j - 1].urdf
        direction = vec3.unit(joint.axis)
        point: Vec3 | None = None
        if joint.type != "prismatic":
            point = vec3.ZERO
        elif j in first_child:
            k = first_child[j]
            child = placed(tree.joints[k - 1].T_antecedent_joint, lines[k])
            point = child.point if parallel(direction, child.direction) else None
        lines[j] = AxisLine(direction, point)
    return [lines[j] for j in range(1, len(tree.joints) + 1)]
