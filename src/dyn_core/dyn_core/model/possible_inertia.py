# SPDX-License-Identifier: Apache-2.0
"""Whether a body can have an inertia."""

from __future__ import annotations

from dyn_core.symbolic import mat3
from dyn_core.symbolic.mat3 import Mat3

INERTIA_TOLERANCE = 1e-4
"""Part of the largest moment by which an inertia may fail: URDFs have about four digits."""


def why_impossible(mass: float, J: Mat3) -> str | None:
    """Answer why no body can have this mass (kg) and inertia about its centre (kg m^2); None where one can.

    A body's inertia is J = tr(S) 1 - S, where S, the integral of r r^T over the mass, has no
    negative eigenvalue. That S = tr(J)/2 1 - J has none says both that J has none and that no
    principal moment exceeds the sum of the two others.
    """
    largest = max(abs(x) for row in J for x in row)
    if largest == 0.0:
        return None
    if mass == 0.0:
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
