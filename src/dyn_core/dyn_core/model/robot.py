# SPDX-License-Identifier: Apache-2.0
"""The robot: everything that the algorithms know about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dyn_core.errors import DynError, listed
from dyn_core.linalg import mat3
from dyn_core.linalg.transform import Transform
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.inertial_parameters import InertialParameters
from dyn_core.model.joint import Joint, Limits
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.mdh_table import mdh_table


@dataclass(frozen=True)
class Robot:
    """A tree of bodies 0 (the base) to n, where joint j carries body j and a(j) < j.

    Attributes:
        name: name of the robot.
        joints: the n joints; joint j of the notation is ``joints[j - 1]``.
        bodies: inertial parameters of the n + 1 bodies, each in the frame of its body.
        link_frames: the links of the URDF, in tree order; the first is the root.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
        T_root_0: placement of frame 0 in the frame of the root link.
        description_hash: SHA-256 of the URDF text, in hexadecimal.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[InertialParameters, ...]
    link_frames: tuple[LinkFrame, ...]
    gravity: Vec3
    T_root_0: Transform
    description_hash: str

    @property
    def dof(self) -> int:
        """Number of joint positions."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector."""
        return tuple(joint.name for joint in self.joints)

    @property
    def actuated_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have an actuator."""
        return tuple(joint.name for joint in self.joints if joint.mu == 1)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links of the URDF, in tree order."""
        return tuple(frame.name for frame in self.link_frames)

    @property
    def limits(self) -> dict[str, Limits]:
        """Limits by name of joint."""
        return {joint.name: joint.limits for joint in self.joints}

    @property
    def gravity_0(self) -> Vec3:
        """Acceleration of gravity in frame 0 (m/s^2)."""
        return mat3.mul_vec(mat3.transpose(self.T_root_0.R), self.gravity)

    def link_frame(self, name: str) -> LinkFrame:
        """Frame of the link of that name; DynError where there is none."""
        for frame in self.link_frames:
            if frame.name == name:
                return frame
        raise DynError(
            f"robot '{self.name}' has no link '{name}': its links are {listed(self.link_names)}",
            element=f"link '{name}'",
        )

    def with_rotor_inertias(self, Ia: Mapping[str, float]) -> Robot:
        """Answer the same robot with rotor inertias, seen at the joints, by name (kg m^2 or kg)."""
        for name, value in Ia.items():
            if name not in self.joint_names:
                raise DynError(
                    f"robot '{self.name}' has no joint '{name}': its joints are {listed(self.joint_names)}",
                    element=f"joint '{name}'",
                )
            if not 0.0 <= value < math.inf:
                raise DynError(
                    f"the rotor inertia of joint '{name}' is {value}: give a finite number >= 0",
                    element=f"joint '{name}'",
                )
        joints = (replace(joint, Ia=Ia.get(joint.name, joint.Ia)) for joint in self.joints)
        return replace(self, joints=tuple(joints))

    def with_bodies(self, bodies: Sequence[InertialParameters]) -> Robot:
        """Answer the same robot with other inertial parameters of its bodies 0 to n."""
        return replace(self, bodies=tuple(bodies))

    def mdh_table(self) -> str:
        """Answer the table of the geometric parameters as text: angles in rad, lengths in m."""
        return mdh_table(self.joints)
