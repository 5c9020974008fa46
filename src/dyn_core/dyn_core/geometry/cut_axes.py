# SPDX-License-Identifier: Apache-2.0
"""Axes of cut joints, as axes that follow the last joint of a branch (SYMORO+ 2003, sec. 1.5)."""

from __future__ import annotations

from collections.abc import Iterable

from dyn_core.geometry.axis_lines import AxisLine
from dyn_core.geometry.joint_tree import JointTree, PlacedLink
from dyn_core.linalg.transform import compose
from dyn_core.robot.description import Triple, UrdfLoop, UrdfLoopEnd
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import placement

_WITHOUT_LINE = ("spherical", "fixed", "planar")
"""Types of cut joints that have no axis in space."""


def cut_axes(tree: JointTree, loops: Iterable[UrdfLoop]) -> dict[int, AxisLine]:
    """Answer by body at the end of a branch the axis of the cut joint on it.

    So x of the last frame of the branch lies along the common normal with the cut joint, as if that were
    the next joint. Bodies with joints of the tree, or with several cut joints, as platforms, are left
    out; so are links that are not there: whoever takes the loops up says so. Each line is given in the
    URDF frame of the joint that moves the body.
    """
    carries, links = tree.first_child(), {link.urdf.name: link for link in tree.links}
    found: dict[int, list[AxisLine | None]] = {}
    for loop in loops:
        axes = (loop.axis, loop.child_axis or loop.axis)
        for end, axis in zip((loop.parent, loop.child), axes, strict=True):
            link = links.get(end.link)
            if link is not None and link.body != 0 and link.body not in carries:
                line = None if loop.type in _WITHOUT_LINE else _line(link, end, axis)
                found.setdefault(link.body, []).append(line)
    return {body: lines[0] for body, lines in found.items() if len(lines) == 1 and lines[0] is not None}


def _line(link: PlacedLink, end: UrdfLoopEnd, axis: Triple) -> AxisLine:
    R, p = compose(link.T_joint_link, placement(end.origin))
    return AxisLine(mat3.mul_vec(R, vec3.unit(axis)), p)
