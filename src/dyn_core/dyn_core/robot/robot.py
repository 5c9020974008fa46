# SPDX-License-Identifier: Apache-2.0
"""The robot: everything that the algorithms know about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dyn_core.core.errors import DynError, listed
from dyn_core.linalg.transform import Transform
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.loop import Loop
from dyn_core.model.named_values import renewed
from dyn_core.model.payload import payload_parameters
from dyn_core.model.snapped import Snapped
from dyn_core.model.standard_parameters import parameter_names, parameter_values, parametrised
from dyn_core.robot.joints import Joint, Limits
from dyn_core.robot.links import InertialParameters, merge
from dyn_core.robot.mdh_table import mdh_table
from dyn_core.symbolic import mat3
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True, repr=False)
class Robot:
    """A tree of bodies 0 (the base) to n, where joint j carries body j and a(j) < j.

    Attributes:
        name: name of the robot.
        joints: the n joints of the tree; joint j of the notation is ``joints[j - 1]``. Those that
            mimic another joint are among them: see `coupling` for what this means.
        bodies: inertial parameters of the n + 1 bodies, each in the frame of its body.
        link_frames: the links of the URDF, in tree order; the first is the root.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
        T_root_0: placement of frame 0 in the frame of the root link.
        description_hash: SHA-256 of the URDF text, in hexadecimal.
        loops: the joints that were cut so that the tree remains.
        assembly: positions by joint (rad or m) near one configuration in which the loops are closed.
        snapped: what was taken for a rounding when the description was read.
        base: how a side file says that the base moves; None where it does not say. What takes a base as
            standing still refuses such a robot: see `with_fixed_base`.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[InertialParameters, ...]
    link_frames: tuple[LinkFrame, ...]
    gravity: Vec3
    T_root_0: Transform
    description_hash: str
    loops: tuple[Loop, ...] = ()
    assembly: tuple[tuple[str, float], ...] = ()
    snapped: tuple[Snapped, ...] = ()
    base: BaseKind | None = None

    def __repr__(self) -> str:
        """Answer its name and size."""
        return f"<Robot '{self.name}', {len(self.joints)} joints, {len(self.link_frames)} links>"

    @property
    def independent(self) -> tuple[int, ...]:
        """Numbers of the joints that mimic no other: the joints of the tree that loops close."""
        return tuple(j for j, joint in enumerate(self.joints, start=1) if joint.mimic is None)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Numbers of the joints whose positions are the coordinates.

        They are those that mimic no other, and where there are loops the actuated ones among them: the
        others follow.
        """
        if not self.loops:
            return self.independent
        return tuple(j for j in self.independent if self.joints[j - 1].mu == 1)

    @property
    def independent_joints(self) -> tuple[Joint, ...]:
        """Joints of the coordinates, in the order of every joint vector."""
        return tuple(self.joints[j - 1] for j in self.coordinates)

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the joints of the coordinates, in the order of every joint vector."""
        return tuple(joint.name for joint in self.independent_joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints of the tree that mimic no other, actuated and passive, in tree order."""
        return tuple(self.joints[j - 1].name for j in self.independent)

    @property
    def actuated_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have an actuator, in tree order."""
        return self._names_where(1)

    @property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that mimic no other and have no actuator, in tree order."""
        return self._names_where(0)

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that springs move, in tree order."""
        return tuple(joint.name for joint in self.joints if joint.elastic is not None)

    @property
    def rigid_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that mimic no other and that no spring moves, in tree order."""
        joints = (self.joints[j - 1] for j in self.independent)
        return tuple(joint.name for joint in joints if joint.elastic is None)

    def _names_where(self, mu: int) -> tuple[str, ...]:
        joints = (self.joints[j - 1] for j in self.independent)
        return tuple(joint.name for joint in joints if joint.mu == mu)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links of the URDF, in tree order."""
        return tuple(frame.name for frame in self.link_frames)

    @property
    def child_links(self) -> tuple[LinkFrame, ...]:
        """Child link of each joint of the tree, in the order of the joints: the first link of its body."""
        first = {frame.body: frame for frame in reversed(self.link_frames)}
        return tuple(first[j] for j in range(1, len(self.joints) + 1))

    @property
    def limits(self) -> dict[str, Limits]:
        """Limits by name of joint, of those too that mimic another."""
        return {joint.name: joint.limits for joint in self.joints}

    @property
    def gravity_0(self) -> Vec3:
        """Acceleration of gravity in frame 0 (m/s^2)."""
        return mat3.mul_vec(mat3.transpose(self.T_root_0.R), self.gravity)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the dynamic parameters, 14 for each joint: XX1 to ZZ1, MX1, MY1, MZ1, M1, Ia1, Fv1 ...."""
        return parameter_names(len(self.joints))

    @property
    def parameters(self) -> tuple[float, ...]:
        """Values of the dynamic parameters, in the order of their names (SI units)."""
        return parameter_values(self.joints, self.bodies[1:])

    def link_frame(self, name: str) -> LinkFrame:
        """Frame of the link of that name; DynError where there is none."""
        for frame in self.link_frames:
            if frame.name == name:
                return frame
        raise DynError(
            f"robot '{self.name}' has no link '{name}': its links are {listed(self.link_names)}",
            element=f"link '{name}'",
        )

    def joint(self, name: str) -> Joint:
        """Joint of that name; DynError where there is none."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        names = (joint.name for joint in self.joints)
        raise DynError(
            f"robot '{self.name}' has no joint '{name}': its joints are {listed(names)}",
            element=f"joint '{name}'",
        )

    def without_loops(self) -> Robot:
        """Answer the tree that is left when the loops are cut, all of whose joints are coordinates."""
        return replace(self, loops=(), assembly=())

    def with_rotor_inertias(self, Ia: Mapping[str, float]) -> Robot:
        """Answer the same robot with rotor inertias, seen at the joints, by name (kg m^2 or kg)."""
        for name, value in Ia.items():
            self.joint(name)
            if not 0.0 <= value < math.inf:
                raise DynError(
                    f"the rotor inertia of joint '{name}' is {value}: give a finite number >= 0",
                    element=f"joint '{name}'",
                )
        joints = (replace(joint, Ia=Ia.get(joint.name, joint.Ia)) for joint in self.joints)
        return replace(self, joints=tuple(joints))

    def with_parameters(self, values: Mapping[str, float] | Iterable[float]) -> Robot:
        """Answer the same robot with other dynamic parameters.

        Args:
            values: values by name, where what is not named stays, or all of them in order (SI units).
        """
        new = renewed(self.parameter_names, self.parameters, values)
        joints, bodies = parametrised(self.joints, new)
        return replace(self, joints=joints, bodies=(self.bodies[0], *bodies))

    def with_payload(
        self,
        link: str,
        mass: float,
        centre: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ) -> Robot:
        """Answer the same robot with a body that one of its links holds, beside what it holds already.

        Args:
            link: name of the link.
            mass: mass of the payload (kg).
            centre: its centre of mass in the frame of the link (m).
            inertia: XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link (kg m^2).
        """
        frame = self.link_frame(link)
        bodies = list(self.bodies)
        bodies[frame.body] = merge(bodies[frame.body], payload_parameters(frame, mass, centre, inertia))
        return replace(self, bodies=tuple(bodies))

    def with_fixed_base(self) -> Robot:
        """Answer the same robot on a base that stands still, whatever its side file says of it.

        A planar or floating joint at its root stays the chain of simple joints that it is.
        """
        return replace(self, base=None)

    def mdh_table(self) -> str:
        """Answer the table of the geometric parameters as text: angles in rad, lengths in m.

        After the joints of the tree come the frames k of the cut joints, then their frames k+B; below the
        table, the springs of elastic joints.
        """
        return mdh_table(self.joints, self.loops)
