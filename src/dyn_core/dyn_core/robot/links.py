# SPDX-License-Identifier: Apache-2.0
"""Links: frame, inertial parameters, physical consistency, and payload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dyn_core.core.errors import DynError
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.transform import Transform, compose
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class LinkFrame:
    """Frame of a URDF link, placed in the frame of its body; body 0 is the base.

    Links that fixed joints hold together share one body.
    """

    name: str
    body: int
    T_body_link: Transform


@dataclass(frozen=True)
class InertialParameters:
    """Inertia, first moments and mass, **about the frame origin** (Khalil 2010, eq. (11)).

    Attributes:
        XX, XY, XZ, YY, YZ, ZZ: inertia matrix J about the origin of the frame (kg m^2).
        MX, MY, MZ: first moments MS, the mass times the centre of mass (kg m).
        M: mass (kg).
    """

    XX: Scalar = 0.0
    XY: Scalar = 0.0
    XZ: Scalar = 0.0
    YY: Scalar = 0.0
    YZ: Scalar = 0.0
    ZZ: Scalar = 0.0
    MX: Scalar = 0.0
    MY: Scalar = 0.0
    MZ: Scalar = 0.0
    M: Scalar = 0.0

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The ten parameters in the order XX XY XZ YY YZ ZZ MX MY MZ M."""
        return (self.XX, self.XY, self.XZ, self.YY, self.YZ, self.ZZ, *self.MS, self.M)

    @property
    def J(self) -> Mat3:
        """Inertia matrix about the origin of the frame (kg m^2)."""
        return ((self.XX, self.XY, self.XZ), (self.XY, self.YY, self.YZ), (self.XZ, self.YZ, self.ZZ))

    @property
    def MS(self) -> Vec3:
        """First moments (kg m)."""
        return (self.MX, self.MY, self.MZ)


def about_origin(J: Mat3, MS: Vec3, M: Scalar) -> InertialParameters:
    """Return the parameters with an inertia matrix (kg m^2), first moments (kg m) and a mass (kg)."""
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = J
    return InertialParameters(XX, XY, XZ, YY, YZ, ZZ, *MS, M)


def in_frame(T_a_b: Transform, body: InertialParameters) -> InertialParameters:
    """Return the parameters in frame a of a body whose parameters are given in frame b.

    With s = R MS the first moments turned into a, and p the origin of b in a:
    ``J_a = R J_b R^T + 2 (p.s) 1 - p s^T - s p^T + M ((p.p) 1 - p p^T)`` and ``MS_a = s + M p``.
    """
    R, p = T_a_b
    s = mat3.mul_vec(R, body.MS)
    half_shift = vec3.add(s, vec3.scale(0.5 * body.M, p))
    mixed = mat3.outer(p, half_shift)
    shift = mat3.add(
        mat3.scale(2.0 * vec3.dot(p, half_shift), mat3.IDENTITY),
        mat3.scale(-1.0, mat3.add(mixed, mat3.transpose(mixed))),
    )
    J = mat3.add(mat3.mul(mat3.mul(R, body.J), mat3.transpose(R)), shift)
    return about_origin(J, vec3.add(s, vec3.scale(body.M, p)), body.M)


def merge(a: InertialParameters, b: InertialParameters) -> InertialParameters:
    """Return the parameters of two bodies that are fixed together, all in one frame."""
    return InertialParameters(*(x + y for x, y in zip(a.values, b.values, strict=True)))


INERTIA_TOLERANCE = 1e-4
"""Error that an inertia may have, as a part of its largest moment: URDFs have about four digits."""


def why_impossible(mass: float, J: Mat3) -> Literal["mass", "moments"] | None:
    """Return why no body has this mass (kg) and central inertia (kg m^2); None if one can have both.

    A body's inertia is J = tr(S) 1 - S, where S, the integral of r r^T over the mass, has no
    negative eigenvalue. That S = tr(J)/2 1 - J has none says both that J has none and that no
    principal moment exceeds the sum of the two others.
    """
    largest = max(abs(x) for row in J for x in row)
    if largest == 0.0:
        return None
    if mass == 0.0:
        return "mass"
    half_trace = 0.5 * (J[0][0] + J[1][1] + J[2][2])
    shift = half_trace + INERTIA_TOLERANCE * largest
    S = mat3.add(mat3.scale(shift, mat3.IDENTITY), mat3.scale(-1.0, J))
    # Sylvester's criterion: S is positive definite if its leading principal minors are positive.
    minor = S[0][0] * S[1][1] - S[0][1] * S[0][1]
    determinant = vec3.dot(S[0], vec3.cross(S[1], S[2]))
    return None if S[0][0] > 0.0 and minor > 0.0 and determinant > 0.0 else "moments"


def payload_parameters(
    link: LinkFrame, mass: float, centre: Sequence[float], inertia: Sequence[float]
) -> InertialParameters:
    """Return the inertial parameters of a payload, in the frame of the body that carries the link.

    Args:
        link: the link that holds it.
        mass: its mass (kg).
        centre: its centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link (kg m^2).
    """
    element = f"link '{link.name}'"
    owner = f"the payload of {element}"
    (m,) = _numbers(f"the mass of {owner}", (mass,), 1)
    x, y, z = _numbers(f"the centre of mass of {owner}", centre, 3)
    XX, XY, XZ, YY, YZ, ZZ = _numbers(f"the inertia of {owner}", inertia, 6)
    if m < 0.0:
        raise DynError("held-mass-negative", element=element, link=link.name, mass=m)
    reason = why_impossible(m, ((XX, XY, XZ), (XY, YY, YZ), (XZ, YZ, ZZ)))
    if reason == "mass":
        raise DynError("held-inertia-without-mass", element=element, link=link.name)
    if reason == "moments":
        raise DynError("held-inertia-impossible", element=element, link=link.name)
    central = InertialParameters(XX, XY, XZ, YY, YZ, ZZ, M=m)
    return in_frame(compose(link.T_body_link, Transform(mat3.IDENTITY, (x, y, z))), central)


def _numbers(what: str, values: Sequence[float], count: int) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise DynError("body-numbers-invalid", quantity=what, given=values, count=count)
    return numbers
