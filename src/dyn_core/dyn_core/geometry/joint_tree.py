# SPDX-License-Identifier: Apache-2.0
"""The tree of moving joints: fixed joints are merged into the bodies that carry them."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg.transform import IDENTITY, Transform, compose
from dyn_core.robot.description import UrdfDescription, UrdfJoint, UrdfLink
from dyn_core.symbolic.transform import placement


@dataclass(frozen=True)
class MovingJoint:
    """A joint that moves, with its placement in URDF's frames.

    Attributes:
        urdf: the joint.
        antecedent: index of the body that carries it; 0 is the base.
        T_antecedent_joint: placement at q = 0 of the joint's URDF frame in the URDF frame of the
            joint that moves the antecedent (of the root link, for the base).
    """

    urdf: UrdfJoint
    antecedent: int
    T_antecedent_joint: Transform


@dataclass(frozen=True)
class PlacedLink:
    """A link of body `body`, placed in the URDF frame of the joint that moves the body."""

    urdf: UrdfLink
    body: int
    T_joint_link: Transform


@dataclass(frozen=True)
class JointTree:
    """Joints 1 to n, and all links, depth first with children in document order."""

    joints: tuple[MovingJoint, ...]
    links: tuple[PlacedLink, ...]

    def first_child(self) -> dict[int, int]:
        """Answer, for every body that carries joints, the number of the first of them."""
        first: dict[int, int] = {}
        for j, joint in enumerate(self.joints, start=1):
            first.setdefault(joint.antecedent, j)
        return first


def joint_tree(description: UrdfDescription) -> JointTree:
    """Walk the tree from its root, number the moving joints, and place each link on its body."""
    link_by_name = {link.name: link for link in description.links}
    joints_of: dict[str, list[UrdfJoint]] = {}
    for joint in description.joints:
        joints_of.setdefault(joint.parent, []).append(joint)

    joints: list[MovingJoint] = []
    links = [PlacedLink(link_by_name[description.root], 0, IDENTITY)]
    ahead = [(joint, links[0]) for joint in reversed(joints_of.get(description.root, []))]
    while ahead:
        joint, parent = ahead.pop()
        T_body_joint = compose(parent.T_joint_link, placement(joint.origin))
        child = link_by_name[joint.child]
        if joint.type == "fixed":
            links.append(PlacedLink(child, parent.body, T_body_joint))
        else:
            joints.append(MovingJoint(joint, parent.body, T_body_joint))
            links.append(PlacedLink(child, len(joints), IDENTITY))
        ahead.extend((next_joint, links[-1]) for next_joint in reversed(joints_of.get(child.name, [])))
    return JointTree(tuple(joints), tuple(links))
