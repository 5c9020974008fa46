# SPDX-License-Identifier: Apache-2.0
"""A joint: how link j moves on its antecedent, its friction, its rotor and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from dyn_core.model.elasticity import Elasticity
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.symbolic.vec3 import Vec3


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
    """Range of a joint; None where it is not known.

    Attributes:
        lower: least position (rad or m).
        upper: greatest position (rad or m).
        velocity: greatest speed (rad/s or m/s).
        effort: greatest torque or force (N m or N).
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: ``q_j = multiplier q_leader + offset``.

    Attributes:
        leader: number of the joint that is followed, which follows none itself; 0 where the joint
            follows nothing and stands still at `offset`.
        multiplier: speed of the joint over that of its leader; 0 where there is no leader.
        offset: position of the joint where its leader is at 0 (rad or m).
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
        origin: iPj (m), the origin of frame j in frame a(j) at q = 0. It is what `mdh` gives,
            kept because it cannot be had back from `mdh` where two axes are almost parallel:
            there b and r are large, their sum is small, and the digits of the sum are lost.
        mu: 1 where the joint has an actuator of its own, 0 where it is passive or follows another.
        friction: friction of the joint and its transmission.
        Ia: inertia of the rotor and gears, seen at the joint (kg m^2, or kg for a prismatic joint).
        limits: range of the joint.
        mimic: what the joint follows; None where it moves by itself.
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
