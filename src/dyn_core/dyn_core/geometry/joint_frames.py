# SPDX-License-Identifier: Apache-2.0
"""The frames and MDH parameters of all joints of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyn_core.geometry.axis_lines import AxisLine, axis_lines, placed
from dyn_core.geometry.body_frame import body_frame, root_frame
from dyn_core.geometry.cut_axes import cut_axes
from dyn_core.geometry.joint_tree import JointTree
from dyn_core.geometry.tolerance import clean_length
from dyn_core.linalg.transform import IDENTITY, Transform, compose, inverse
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.description import UrdfLoop
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class JointFrame:
    """Frame j.

    Attributes:
        mdh: its parameters in frame a(j) at q = 0.
        origin: its origin in frame a(j) at q = 0 (m).
        T_urdf_frame: its placement in the URDF frame of joint j.
    """

    mdh: MdhParameters
    origin: Vec3
    T_urdf_frame: Transform


def joint_frames(tree: JointTree, loops: Sequence[UrdfLoop] = ()) -> tuple[Transform, list[JointFrame]]:
    """Answer the placement of frame 0 in the root link, and the frames 1 to n.

    The joints that close `loops` follow the last joints of their branches.
    """
    lines, first_child, cuts = axis_lines(tree), tree.first_child(), cut_axes(tree, loops)
    T_urdf_frame = [IDENTITY]
    frames: list[JointFrame] = []
    for j, (joint, line) in enumerate(zip(tree.joints, lines, strict=True), start=1):
        following = cuts.get(j)
        if j in first_child:
            k = first_child[j]
            following = placed(tree.joints[k - 1].T_antecedent_joint, lines[k - 1])
        if j == 1:
            T_urdf_before = body_frame(line, root_frame(line), following, _size(following))
            T_urdf_frame[0] = compose(joint.T_antecedent_joint, T_urdf_before)
            size = _size(following, T_urdf_before.p)
        else:
            T_before = T_urdf_frame[joint.antecedent]
            T_urdf_before = compose(inverse(joint.T_antecedent_joint), T_before)
            size = _size(following, joint.T_antecedent_joint.p, T_before.p)
        chosen = body_frame(line, T_urdf_before, following, size)
        frames.append(_frame(chosen, T_urdf_before, size))
        T_urdf_frame.append(frames[-1].T_urdf_frame)
    return T_urdf_frame[0], frames


def _size(following: AxisLine | None, *points: Vec3) -> float:
    """Answer the greatest coordinate (m) of what a frame is computed from."""
    if following is not None and following.point is not None:
        points = (*points, following.point)
    return max((abs(x) for point in points for x in point), default=0.0)


def _frame(T_urdf_chosen: Transform, T_urdf_before: Transform, size: float) -> JointFrame:
    """Name the parameters of a chosen frame, which from now on is exactly where they put it."""
    R, p = compose(inverse(T_urdf_before), T_urdf_chosen)
    mdh = mdh_from_transform(R, p, size)
    origin = (clean_length(p[0], size), clean_length(p[1], size), clean_length(p[2], size))
    exact = Transform(transform_from_mdh(mdh).R, origin)
    return JointFrame(mdh, origin, compose(T_urdf_before, exact))
