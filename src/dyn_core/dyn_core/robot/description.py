# SPDX-License-Identifier: Apache-2.0
"""A robot in URDF's own terms (http://wiki.ros.org/urdf/XML), before any modelling."""

from __future__ import annotations

from dataclasses import dataclass, field

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class UrdfOrigin:
    """Placement: position xyz (m) and fixed-axis angles rpy (rad), which the text says in `rpy_words`."""

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


@dataclass(frozen=True)
class UrdfLink:
    """A link; `inertial` is None where the URDF gives none."""

    name: str
    line: int
    inertial: UrdfInertial | None = None


@dataclass(frozen=True)
class UrdfLimit:
    """Limits of a joint (rad or m, rad/s or m/s, N m or N); None where not given."""

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None


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

    The text says the axis in `axis_words`. A planar joint moves in the plane normal to its axis; a
    floating joint has none. Neither has limits, friction, rotor or mimic.
    """

    name: str
    line: int
    type: str
    parent: str
    child: str
    origin: UrdfOrigin = field(default_factory=UrdfOrigin)
    axis: Triple = (1.0, 0.0, 0.0)
    axis_words: tuple[str, ...] = ()
    limit: UrdfLimit = field(default_factory=UrdfLimit)
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    mimic: UrdfMimic | None = None


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
    """Links and joints in document order, which together are known to form one tree.

    `remarks` are sentences about what had to be guessed, and `passive` are the names of joints
    without an actuator, some of which may not be joints of the robot. `part_rotor_inertias` are the
    rotor inertias (kg m^2 or kg) of the joints that planar and floating joints will be made of.
    `driven` are the names to which <ros2_control> gives a command interface, or <transmission> an
    actuator, some of which may be those of cut joints.
    """

    name: str
    root: str
    links: tuple[UrdfLink, ...]
    joints: tuple[UrdfJoint, ...]
    loops: tuple[UrdfLoop, ...] = ()
    passive: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    part_rotor_inertias: tuple[tuple[str, float], ...] = ()
    driven: tuple[str, ...] = ()
