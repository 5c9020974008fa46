# SPDX-License-Identifier: Apache-2.0
"""The two branches of a loop, and at which of its joints it is best cut (SYMORO+ 2003, sec. 1.5)."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.geometry.path import lineage
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class Branches:
    """What leads from the root of a loop, the last body that both sides of the cut have, to the cut.

    Attributes:
        root: number of that body; 0 is the base.
        parent: numbers of the joints from there to the parent's side of the cut joint.
        child: the same for the child's side.
    """

    root: int
    parent: tuple[int, ...]
    child: tuple[int, ...]


def branches(robot: Robot, cut: CutJoint) -> Branches:
    """Answer the branches of the loop that a cut joint closes."""
    from_P, from_C = lineage(robot, cut.P.body), lineage(robot, cut.C.body)
    root = next((j for j in from_P if j in from_C), 0)
    parent = tuple(j for j in reversed(from_P) if j not in from_C)
    child = tuple(j for j in reversed(from_C) if j not in from_P)
    return Branches(root, parent, child)


def joint_to_cut(robot: Robot, found: Branches) -> int | None:
    """Answer the passive joint at which a cut leaves branches of the most equal lengths.

    Lengths of branches that differ little make the dynamic model cheap. Actuated joints, and those that
    follow others, cannot be cut.

    Returns:
        number of the joint; None where the present cut is as good as any.
    """
    around: list[list[int] | None] = [*_links(robot, found.parent), None]
    around += reversed(_links(robot, found.child))
    present = around.index(None)
    best, least = None, abs(2 * present - (len(around) - 1))
    for place, joints in enumerate(around):
        difference = abs(2 * place - (len(around) - 1))
        if joints is None or len(joints) > 1 or difference >= least:
            continue
        joint = robot.joints[joints[0] - 1]
        if joint.mu == 0 and joint.mimic is None:
            best, least = joints[0], difference
    return best


def _links(robot: Robot, branch: tuple[int, ...]) -> list[list[int]]:
    """Answer the joints of a branch, those together that a planar or floating joint was made into."""
    links: list[list[int]] = []
    before = ""
    for j in branch:
        compound = robot.joints[j - 1].name.rpartition("/")[0]
        if compound and compound == before:
            links[-1].append(j)
        else:
            links.append([j])
        before = compound
    return links
