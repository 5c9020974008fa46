# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters from URDF's <inertial>, and whether a body can have them."""

from __future__ import annotations

from dyn_core.geometry.rotations import placement
from dyn_core.io.description import UrdfInertial, UrdfLink
from dyn_core.linalg import mat3
from dyn_core.linalg.mat3 import Mat3
from dyn_core.linalg.transform import Transform, compose
from dyn_core.model.inertial_parameters import InertialParameters, in_frame

INERTIA_TOLERANCE = 1e-4
"""Part of the largest moment by which an inertia may fail: URDFs have about four digits."""


def inertia_matrix(inertial: UrdfInertial) -> Mat3:
    """Inertia about the centre of mass, in the axes of the <inertial> origin (kg m^2)."""
    return (
        (inertial.ixx, inertial.ixy, inertial.ixz),
        (inertial.ixy, inertial.iyy, inertial.iyz),
        (inertial.ixz, inertial.iyz, inertial.izz),
    )


def link_inertia(link: UrdfLink, T_body_link: Transform) -> InertialParameters:
    """Inertial parameters of a link in the frame of its body; zero where the URDF gives none."""
    if link.inertial is None:
        return InertialParameters()
    m = link.inertial
    central = InertialParameters(m.ixx, m.ixy, m.ixz, m.iyy, m.iyz, m.izz, M=m.mass)
    return in_frame(compose(T_body_link, placement(m.origin)), central)


def why_impossible(inertial: UrdfInertial) -> str | None:
    """Answer why no body can have this inertia; None where one can.

    A body's inertia is J = tr(S) 1 - S, where S, the integral of r r^T over the mass, has no
    negative eigenvalue. That S = tr(J)/2 1 - J has none says both that J has none and that no
    principal moment exceeds the sum of the two others.
    """
    J = inertia_matrix(inertial)
    largest = max(abs(x) for row in J for x in row)
    if largest == 0.0:
        return None
    if inertial.mass == 0.0:
        return "it has an inertia but no mass"
    half_trace = 0.5 * (J[0][0] + J[1][1] + J[2][2])
    shift = half_trace + INERTIA_TOLERANCE * largest
    S = mat3.add(mat3.scale(shift, mat3.IDENTITY), mat3.scale(-1.0, J))
    if _positive_definite(S):
        return None
    return "a principal moment is negative or exceeds the sum of the two others"


def _positive_definite(S: Mat3) -> bool:
    """Sylvester's criterion: the leading principal minors are positive."""
    (a, b, c), (_, d, e), (_, _, f) = S
    minor = a * d - b * b
    determinant = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c)
    return bool(a > 0.0 and minor > 0.0 and determinant > 0.0)
