# SPDX-License-Identifier: Apache-2.0
"""The ten standard inertial parameters of a body and how they change with the frame."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.linalg.transform import Transform
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


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
        return (
            (self.XX, self.XY, self.XZ),
            (self.XY, self.YY, self.YZ),
            (self.XZ, self.YZ, self.ZZ),
        )

    @property
    def MS(self) -> Vec3:
        """First moments (kg m)."""
        return (self.MX, self.MY, self.MZ)


def about_origin(J: Mat3, MS: Vec3, M: Scalar) -> InertialParameters:
    """Gather an inertia matrix (kg m^2), first moments (kg m) and a mass (kg) of one frame."""
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = J
    return InertialParameters(XX, XY, XZ, YY, YZ, ZZ, *MS, M)


def in_frame(T_a_b: Transform, body: InertialParameters) -> InertialParameters:
    """Parameters in frame a of a body whose parameters are given in frame b.

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
    """Parameters of two bodies that are fixed together, all in one frame."""
    return InertialParameters(*(x + y for x, y in zip(a.values, b.values, strict=True)))
