# SPDX-License-Identifier: Apache-2.0
"""Joints: MDH parameters, friction, limits, mimicry, elasticity, and the joints that close loops."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class MdhParameters:
    """Modified Denavit-Hartenberg parameters of frame j in frame i (Khalil 2010, sec. 2.1).

    ``iTj = Rot(z,gamma) Trans(z,b) Rot(x,alpha) Trans(x,d) Rot(z,theta) Trans(z,r)``, where the joint
    position q is added to theta (revolute) or to r (prismatic): the values here (rad, m) are those at q = 0.

    Attributes:
        gamma: angle from x_i to the common normal u_j of z_i and z_j, about z_i.
        b: distance from x_i to u_j along z_i.
        alpha: angle from z_i to z_j about u_j.
        d: distance from z_i to z_j along u_j.
        theta: angle from u_j to x_j about z_j.
        r: distance from u_j to x_j along z_j.
    """

    gamma: float
    b: float
    alpha: float
    d: float
    theta: float
    r: float


@dataclass(frozen=True)
class Elasticity:
    """A joint with a spring instead of an actuator: its torque is ``-K (dq - q0) - D d(dq)/dt``.

    dq is the position of the joint if the structure itself is elastic (Khalil 2010, eqs. (69), (70)), and
    that of the joint less that of its motor if the spring is between both (SYMORO+ 2003, sec. 3.3.2.5);
    the opposite torque acts on the motor.

    Attributes:
        stiffness: K (N m/rad or N/m).
        rest: q0, where the spring is at rest (rad or m).
        damping: D (N m s/rad or N s/m).
        motor: number of the joint of the motor; 0 without a motor.
        gear: speed of the motor's shaft over that of the joint (1, or rad/m for a prismatic joint).
    """

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    motor: int = 0
    gear: float = 1.0


class Sigma(IntEnum):
    """Type of a joint, as the seeds number it (SYMORO+ 2003, sec. 1.3)."""

    REVOLUTE = 0
    PRISMATIC = 1


@dataclass(frozen=True)
class Friction:
    """Resistance ``Fs sign(qd) + Fv qd + Fo`` to the motion (N m, or N for a prismatic joint).

    Attributes:
        Fv: viscous friction (N m s/rad or N s/m).
        Fs: Coulomb friction (N m or N).
        Fo: constant offset (N m or N).
    """

    Fv: float = 0.0
    Fs: float = 0.0
    Fo: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Range of position (rad or m), velocity (rad/s or m/s) and effort (N m or N); None if unknown."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


def position_range(limits: Limits) -> tuple[float, float]:
    """Return least and greatest position (rad or m), infinite where there is no limit."""
    lower, upper = limits.lower, limits.upper
    return (-math.inf if lower is None else lower, math.inf if upper is None else upper)


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: ``q_j = multiplier q_leader + offset``.

    Attributes:
        leader: number of the joint that is followed, which follows none itself; 0 for a joint that
            stands still at `offset`.
        multiplier: speed of the joint over that of its leader; 0 without a leader.
        offset: position of the joint with its leader at 0 (rad or m).
    """

    leader: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """Joint j, with the frame j that it carries.

    Attributes:
        name: name in the URDF.
        antecedent: a(j), the body that carries the joint; 0 is the base.
        sigma: type.
        mdh: the six parameters of frame j at q = 0.
        origin: iPj (m), the origin of frame j in frame a(j) at q = 0, as `mdh` gives it. It is kept because
            `mdh` loses its digits if two axes are almost parallel: there b and r are large and cancel.
        mu: 1 for a joint with an actuator of its own, 0 if it is passive or follows another.
        friction: friction of the joint and its transmission.
        Ia: inertia of the rotor and gears, seen at the joint (kg m^2, or kg for a prismatic joint).
        limits: range of the joint.
        mimic: the joint that it follows; None if it moves by itself.
        elastic: the spring that moves the joint; None for a rigid joint.
    """

    name: str
    antecedent: int
    sigma: Sigma
    mdh: MdhParameters
    origin: Vec3
    mu: int = 1
    friction: Friction = field(default_factory=Friction)
    Ia: float = 0.0
    limits: Limits = field(default_factory=Limits)
    mimic: Mimic | None = None
    elastic: Elasticity | None = None

    @property
    def position_unit(self) -> str:
        """Unit of its position."""
        return "m" if self.sigma is Sigma.PRISMATIC else "rad"

    @property
    def effort_unit(self) -> str:
        """Unit of its torque or force."""
        return "N" if self.sigma is Sigma.PRISMATIC else "N m"


# The joints that close loops, which are cut so that a tree remains (SYMORO+ 2003, sec. 1.5)


class LoopType(Enum):
    """Type of a cut joint."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    CYLINDRICAL = "cylindrical"
    PLANAR = "planar"
    FIXED = "fixed"


@dataclass(frozen=True)
class LoopEnd:
    """One side of a cut joint: the cut frame, placed in the frame of the link with that name."""

    link: str
    T_link_cut: Transform


@dataclass(frozen=True)
class CutFrame:
    """One of the two frames of a cut joint: MDH parameters in the frame of a body, at q = 0.

    `origin` is the origin of the frame in that of the body (m), kept as `Joint.origin` is.
    """

    antecedent: int
    mdh: MdhParameters
    origin: Vec3


@dataclass(frozen=True)
class Loop:
    """A cut joint between two links of the tree.

    In the closed loop with the joint at 0, the two cut frames coincide (those of a joint with an axis up to
    a turn that takes `child_axis` to `axis`).

    Attributes:
        name: name of the joint.
        type: type of the joint.
        parent: the side that the joint is described from.
        child: the other side.
        axis: unit vector along the joint's axis, or normal to its plane, in the parent's cut frame.
        child_axis: the same axis in the child's cut frame; of a universal joint its second axis.
        frames: frames k and k+B, which coincide in the closed loop: frame k from the parent's body, as the
            joint moves it, and frame k+B fixed on the child's (SYMORO+ 2003, sec. 1.5). They follow from
            the other attributes; None before they are computed.
    """

    name: str
    type: LoopType
    parent: LoopEnd
    child: LoopEnd
    axis: Vec3
    child_axis: Vec3
    frames: tuple[CutFrame, CutFrame] | None = field(default=None, compare=False)
