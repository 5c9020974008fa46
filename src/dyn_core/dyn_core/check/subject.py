# SPDX-License-Identifier: Apache-2.0
"""What the checks look at: a robot, and the description that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dyn_core.robot.description import UrdfDescription, UrdfJoint
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot
from dyn_core.robot.xml_text import Element


@dataclass(frozen=True)
class Subject:
    """A robot to be checked.

    Attributes:
        robot: the robot.
        description: what its URDF says, with snapped angles; None where there is no URDF.
        xml: the URDF itself, for what the description leaves out; None where there is none.
        remarks: what the readers had to say.
    """

    robot: Robot
    description: UrdfDescription | None = None
    xml: Element | None = None
    remarks: tuple[str, ...] = ()

    def free_joints(self) -> Iterator[Joint]:
        """Answer the joints that mimic no other, driven or not."""
        return (self.robot.joints[j - 1] for j in self.robot.independent)

    def urdf_joints(self) -> tuple[UrdfJoint, ...]:
        """Answer the joints of the URDF; none where there is none."""
        return self.description.joints if self.description else ()

    def moving_urdf_joints(self) -> Iterator[UrdfJoint]:
        """Answer the joints of the URDF that are not fixed."""
        return (joint for joint in self.urdf_joints() if joint.type != "fixed")

    def elements(self, tag: str) -> Iterator[Element]:
        """Answer the elements of that name directly under <robot>."""
        return iter(()) if self.xml is None else self.xml.all(tag)
