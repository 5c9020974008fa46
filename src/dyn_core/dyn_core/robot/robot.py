# SPDX-License-Identifier: Apache-2.0
"""Robot: the immutable data that all algorithms work on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from dyn_core.core.errors import DynError
from dyn_core.core.findings import Place
from dyn_core.robot.dynamic_parameters import (
    INERTIAL,
    parameter_names,
    parameter_values,
    parametrised,
    renewed,
)
from dyn_core.robot.joints import Joint, Limits, Loop, Sigma
from dyn_core.robot.links import InertialParameters, LinkFrame, merge, payload_parameters
from dyn_core.robot.mdh_table import mdh_table
from dyn_core.symbolic import mat3
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

if TYPE_CHECKING:
    from urdf_parser_py import urdf


BaseKind = Literal["free", "planar", "given"]
"""Motion of a base: in six directions, in a plane, or as another mechanism moves it."""

BASE_KINDS: tuple[BaseKind, ...] = ("free", "planar", "given")


@dataclass(frozen=True)
class Snapped:
    """A value of the description that was taken for the rounding of another.

    Attributes:
        element: owner of the value, e.g. ``joint 'elbow'``.
        parameter: name of the value, e.g. ``origin rpy[0]``.
        line: line of the element in the description, from 1.
        value: the value that was given (rad, or without unit for an axis).
        snapped_to: the value that is used.
        place: the element with its kind and its name.
    """

    element: str
    parameter: str
    line: int
    value: float
    snapped_to: float
    place: Place = field(default=Place(), compare=False, repr=False)

    def __str__(self) -> str:
        """Return the change on one line."""
        return f"{self.element} (line {self.line}): {self.parameter} {self.value!r} -> {self.snapped_to!r}"


DOWN: Vec3 = (0.0, 0.0, -9.81)
"""Default acceleration of gravity (m/s^2)."""


def checked_gravity(gravity: Iterable[float]) -> Vec3:
    """Return an acceleration of gravity (m/s^2) as three finite numbers; DynError if it is invalid."""
    try:
        x, y, z = (float(component) for component in gravity)
    except (TypeError, ValueError):
        expected = "three numbers in m/s^2"
        raise DynError("setting-range", setting="gravity", given=gravity, expected=expected) from None
    if not all(map(math.isfinite, (x, y, z))):
        expected = "three finite numbers in m/s^2"
        raise DynError("setting-range", setting="gravity", given=(x, y, z), expected=expected)
    return (x, y, z)


@dataclass(frozen=True, repr=False)
class Robot:
    """A tree of bodies 0 (the base) to n, where joint j carries body j and a(j) < j.

    Attributes:
        name: name of the robot.
        joints: the n joints of the tree; joint j of the notation is ``joints[j - 1]``. They include mimic
            joints (see `joint_coupling`).
        bodies: inertial parameters of the n + 1 bodies, each in the frame of its body.
        link_frames: the links of the URDF, in tree order; the first is the root.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
        T_root_0: placement of frame 0 in the frame of the root link.
        description_hash: SHA-256 of the URDF text, in hexadecimal.
        loops: the joints that were cut so that the tree remains.
        assembly: positions by joint (rad or m) near one configuration in which the loops are closed.
        snapped: values of the description that were taken for roundings.
        base: motion of the base in the side file; None if it has none. Functions for robots with a fixed
            base refuse such a robot: see `with_fixed_base`.
        locked: positions of the locked joints and of those that follow them (rad or m); they are not among
            `joints`.
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
    locked: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        """Return its name and size."""
        return f"<Robot '{self.name}', {len(self.joints)} joints, {len(self.link_frames)} links>"

    @property
    def independent(self) -> tuple[int, ...]:
        """Numbers of the joints that mimic no other: the joints of the tree that loops close."""
        return tuple(j for j, joint in enumerate(self.joints, start=1) if joint.mimic is None)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Numbers of the joints whose positions are the coordinates.

        They are the joints that mimic no other; in a robot with loops, the actuated ones among them.
        """
        return tuple(j for j in self.independent if not self.loops or self.joints[j - 1].mu == 1)

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
        return tuple(joint.name for joint in self.joints if joint.mimic is None)

    @property
    def actuated_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have an actuator, in tree order."""
        return tuple(joint.name for joint in self.joints if joint.mimic is None and joint.mu == 1)

    @property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that mimic no other and have no actuator, in tree order."""
        return tuple(joint.name for joint in self.joints if joint.mimic is None and joint.mu == 0)

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """Names of the joints with springs, in tree order."""
        return tuple(joint.name for joint in self.joints if joint.elastic is not None)

    @property
    def rigid_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that mimic no other and have no spring, in tree order."""
        return tuple(joint.name for joint in self.joints if joint.mimic is None and joint.elastic is None)

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
        """Limits by name of joint, including mimic joints."""
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
        """Return the frame of the link with that name; DynError if there is none."""
        for frame in self.link_frames:
            if frame.name == name:
                return frame
        element = f"link '{name}'"
        raise DynError("link-unknown", robot=self.name, link=name, known=self.link_names, element=element)

    def joint(self, name: str) -> Joint:
        """Return the joint with that name; DynError if there is none."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        names = tuple(joint.name for joint in self.joints)
        raise DynError("joint-unknown", robot=self.name, joint=name, known=names, element=f"joint '{name}'")

    def without_loops(self) -> Robot:
        """Return the tree that remains when the loops are cut, whose joints are all coordinates."""
        return replace(self, loops=(), assembly=())

    def with_rotor_inertias(self, Ia: Mapping[str, float]) -> Robot:
        """Return the same robot with rotor inertias, seen at the joints, by name (kg m^2 or kg)."""
        for name, value in Ia.items():
            self.joint(name)
            if not 0.0 <= value < math.inf:
                raise DynError("rotor-inertia-range", joint=name, given=value, element=f"joint '{name}'")
        joints = (replace(joint, Ia=Ia.get(joint.name, joint.Ia)) for joint in self.joints)
        return replace(self, joints=tuple(joints))

    def with_parameters(self, values: Mapping[str, float] | Iterable[float]) -> Robot:
        """Return the same robot with other dynamic parameters.

        Args:
            values: values of some parameters by name, or of all in order (SI units).
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
        """Return the same robot with a body that one of its links holds, in addition to what it holds.

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
        """Return the same robot on a fixed base, whatever its side file says.

        A planar or floating joint at its root stays a chain of simple joints.
        """
        return replace(self, base=None)

    def to_urdf(self) -> urdf.Robot:
        """Return the robot that `write_urdf` writes as one of urdf_parser_py, which `load_robot` reads.

        In addition to the attributes of urdf_parser_py, the dynamics of its joints have an `armature` (kg m^2
        or kg), and the robot has `constraints`, the joints that close loops. `to_xml_string` writes both.

        Raises:
            DynError: as `write_urdf`.
            ImportError: urdf_parser_py is not installed.

        Warns:
            ModelWarning: as `write_urdf`.
        """
        from dyn_core.robot.robot_files import urdf_objects

        return urdf_objects(self)

    def mdh_table(self) -> str:
        """Return the table of the geometric parameters as text: angles in rad, lengths in m.

        After the joints of the tree come the frames k of the cut joints, then their frames k+B, then the
        springs of elastic joints.
        """
        return mdh_table(self.joints, self.loops)


def motor_of(robot: Robot) -> dict[str, str]:
    """Return the names of the motors behind springs, by the names of the joints that they move."""
    return {
        joint.name: robot.joints[joint.elastic.motor - 1].name
        for joint in robot.joints
        if joint.elastic is not None and joint.elastic.motor
    }


_OF_MASS = {"M": "kg", "MX": "kg m", "MY": "kg m", "MZ": "kg m"}
_UNITS = _OF_MASS | {"Fv": "N m s/rad", "Fs": "N m", "Fo": "N m"}
_PRISMATIC_UNITS = _OF_MASS | {"Ia": "kg", "Fv": "N s/m", "Fs": "N", "Fo": "N"}


def parameter_unit(name: str, robot: Robot) -> str:
    """Return the unit of a parameter of `Robot.parameter_names`, which ends in the number of its joint."""
    letters = name.rstrip("0123456789")
    joint = robot.joints[int(name[len(letters) :]) - 1]
    units = _PRISMATIC_UNITS if joint.sigma is Sigma.PRISMATIC else _UNITS
    return units.get(letters, "kg m^2")


def always_zero(robot: Robot) -> frozenset[str]:
    """Return the names of the inertial parameters that springs and their motors do not have.

    An elastic joint has no rotor. A motor behind a spring is a rotor, and turns a body without mass.
    """
    zero: set[str] = set()
    for j, joint in enumerate(robot.joints, start=1):
        if joint.elastic is not None:
            zero.add(f"Ia{j}")
            if joint.elastic.motor:
                zero.update(f"{name}{joint.elastic.motor}" for name in INERTIAL)
    return frozenset(zero)


def refuse_springs(robot: Robot, what: str) -> None:
    """Raise a DynError if a robot has elastic joints; `what` cannot have them and begins the sentence."""
    for name in robot.elastic_joint_names:
        element = f"joint '{name}'"
        raise DynError(
            "elastic-joint-unsupported", operation=what, joint=name, robot=robot.name, element=element
        )


def refuse_moving_base(robot: Robot, what: str, instead: str = "") -> None:
    """Raise a DynError if a robot has a moving base by its side file.

    Args:
        robot: the robot.
        what: name of the operation that needs a fixed base, as the beginning of a sentence.
        instead: name of an alternative, as it follows "use"; "" without one.
    """
    if robot.base is not None:
        values: dict[str, Any] = {"operation": what, "robot": robot.name, "base": robot.base}
        if instead:
            raise DynError("moving-base-misplaced", alternative=instead, element="base", **values)
        raise DynError("moving-base-unsupported", element="base", **values)
