# SPDX-License-Identifier: Apache-2.0
"""A robot in URDF's own terms (http://wiki.ros.org/urdf/XML), before any modelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_core.core.errors import ModelWarning
from dyn_core.robot.joints import Limits
from dyn_core.symbolic.mat3 import Mat3

Triple = tuple[float, float, float]

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of <inertia>."""

PART_NAMES: Mapping[str, tuple[str, ...]] = {
    "planar": ("x", "y", "theta"),
    "floating": ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll"),
}
"""Names of the simple joints of a planar or floating joint, after the name of the joint itself."""


@dataclass(frozen=True)
class UrdfOrigin:
    """Placement: position xyz (m) and fixed-axis angles rpy (rad), which the text gives as `rpy_words`."""

    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = (0.0, 0.0, 0.0)
    rpy_words: tuple[str, ...] = ()


@dataclass(frozen=True)
class UrdfInertial:
    """Mass (kg), and inertia (kg m^2) about the centre of mass in the axes of `origin`."""

    origin: UrdfOrigin
    mass: float
    ixx: float
    ixy: float
    ixz: float
    iyy: float
    iyz: float
    izz: float

    @property
    def moments(self) -> tuple[float, float, float, float, float, float]:
        """The six moments in the order of `MOMENTS`."""
        return (self.ixx, self.ixy, self.ixz, self.iyy, self.iyz, self.izz)

    @property
    def matrix(self) -> Mat3:
        """The inertia matrix."""
        return (
            (self.ixx, self.ixy, self.ixz),
            (self.ixy, self.iyy, self.iyz),
            (self.ixz, self.iyz, self.izz),
        )


@dataclass(frozen=True)
class UrdfLink:
    """A link; `inertial` is None where the URDF gives none."""

    name: str
    line: int
    inertial: UrdfInertial | None = None


@dataclass(frozen=True)
class UrdfMimic:
    """<mimic>: the position is ``multiplier`` times that of `joint`, plus `offset` (rad or m)."""

    joint: str
    line: int
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class UrdfJoint:
    """A joint between two links; `axis` is not zero, of any length, in the frame of the joint.

    The text gives the axis as `axis_words`. A planar joint moves in the plane normal to its axis; a
    floating joint has no axis. Neither has limits, friction, rotor or mimic. A joint that is
    `locked` stands at this position (rad or m).
    """

    name: str
    line: int
    type: str
    parent: str
    child: str
    origin: UrdfOrigin = field(default_factory=UrdfOrigin)
    axis: Triple = (1.0, 0.0, 0.0)
    axis_words: tuple[str, ...] = ()
    limit: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    mimic: UrdfMimic | None = None
    locked: float | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the simple joints that replace a planar or floating joint; empty for other joints."""
        return tuple(f"{self.name}/{part}" for part in PART_NAMES.get(self.type, ()))

    @property
    def part_links(self) -> tuple[str, ...]:
        """Names of the massless links between these simple joints."""
        return tuple(f"{part}_link" for part in self.parts[:-1])


@dataclass(frozen=True)
class UrdfLoopEnd:
    """One side of a cut joint: the cut frame `origin` on a link."""

    link: str
    origin: UrdfOrigin


@dataclass(frozen=True)
class UrdfLoop:
    """A cut joint; `child_axis` is None where it is `axis`, and `line` is 0 where there is no text."""

    name: str
    line: int
    type: str
    parent: UrdfLoopEnd
    child: UrdfLoopEnd
    axis: Triple = (0.0, 0.0, 1.0)
    child_axis: Triple | None = None


@dataclass(frozen=True)
class UrdfDescription:
    """Links and joints in document order, which together form one tree.

    `remarks` are warnings about guesses. `passive` are the names of joints without an actuator, and
    `driven` those to which <ros2_control> gives a command interface or <transmission> an actuator; either
    may contain names of cut joints or of no joint. `part_rotor_inertias` are the rotor inertias (kg m^2
    or kg) of the parts of planar and floating joints.
    """

    name: str
    root: str
    links: tuple[UrdfLink, ...]
    joints: tuple[UrdfJoint, ...]
    loops: tuple[UrdfLoop, ...] = ()
    passive: tuple[str, ...] = ()
    remarks: tuple[ModelWarning, ...] = ()
    part_rotor_inertias: tuple[tuple[str, float], ...] = ()
    driven: tuple[str, ...] = ()
