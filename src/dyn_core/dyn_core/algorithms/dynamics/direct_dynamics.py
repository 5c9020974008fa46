# SPDX-License-Identifier: Apache-2.0
"""Inertia of a link whose carried joints are free to move (Khalil 2010, sec. 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Rotation, Step, Translation, others, turned_matrix

Vec6: TypeAlias = tuple[Scalar, ...]


class ArticulatedInertia(NamedTuple):
    """Blocks of the matrix J* of ``force = A vd + B wd`` and ``moment = B^T vd + C wd``.

    Attributes:
        A: symmetric; the mass times 1 of a rigid body (kg).
        B: minus the skew matrix of the first moments of a rigid body (kg m).
        C: symmetric; the inertia matrix of a rigid body (kg m^2).
    """

    A: Mat3
    B: Mat3
    C: Mat3

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        """Sum of two inertias in the same frame."""
        A, B, C = (mat3.add(a, b) for a, b in zip(self, other, strict=True))
        return ArticulatedInertia(A, B, C)


def of_body(body: InertialParameters) -> ArticulatedInertia:
    """Inertia of a rigid body: Khalil 2010, eq. (11)."""
    return ArticulatedInertia(mat3.scale(body.M, mat3.IDENTITY), mat3.skew(vec3.neg(body.MS)), body.J)


def column(inertia: ArticulatedInertia, sigma: Sigma) -> Vec6:
    """Product J* a with the axis screw of a joint, eq. (16): the column of its acceleration."""
    A, B, C = inertia
    if sigma is Sigma.REVOLUTE:
        return (*mat3.column(B, 2), *mat3.column(C, 2))
    return (*mat3.column(A, 2), *B[2])


def axis(sigma: Sigma) -> int:
    """Place of the joint's axis among the six components, linear first."""
    return 5 if sigma is Sigma.REVOLUTE else 2


def freed(
    inertia: ArticulatedInertia, sigma: Sigma, u: Vec6, u_over_H: Vec6, Ia_over_H: Scalar
) -> ArticulatedInertia:
    """Inertia that is seen through a joint: ``K = J* - u u^T / H``, Khalil 2010, eq. (37).

    The row and the column of the axis are ``u (1 - u_axis / H) = u Ia / H``, which is 0 without
    computation where the joint has no rotor inertia.

    Args:
        inertia: the articulated inertia J* of link j.
        sigma: type of the joint.
        u: J* a, `column` of the inertia.
        u_over_H: u divided by H, eq. (36).
        Ia_over_H: inertia of the rotor divided by H.
    """
    free = axis(sigma)

    def entry(value: Scalar, a: int, b: int) -> Scalar:
        if free in (a, b):
            return Ia_over_H * u[a if b == free else b]
        return value - u[min(a, b)] * u_over_H[max(a, b)]

    def block(values: Mat3, row: int, column: int) -> Mat3:
        rows = [tuple(entry(values[a][b], row + a, column + b) for b in range(3)) for a in range(3)]
        return ((*rows[0],), (*rows[1],), (*rows[2],))

    A, B, C = inertia
    return ArticulatedInertia(block(A, 0, 0), block(B, 0, 3), block(C, 3, 3))


def articulated_before(steps: Sequence[Step], inertia: ArticulatedInertia) -> ArticulatedInertia:
    """Inertia in the first frame of what is given in the last: ``jTi^T K jTi``, eq. (40)."""
    for step in reversed(steps):
        if isinstance(step, Rotation):
            A, B, C = (turned_matrix(step, block) for block in inertia)
            inertia = ArticulatedInertia(A, B, C)
        else:
            inertia = _shifted(step, inertia)
    return inertia


def _shifted(translation: Translation, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """Inertia about an origin that is nearer by p along one axis: ``B - A p^``, ``C + p^ B + (p^ B')^T``."""
    k, p = translation
    i, j = others(k)
    A, B, C = inertia
    columns = list(mat3.transpose(B))
    columns[i] = vec3.sub(columns[i], vec3.scale(p, A[j]))
    columns[j] = vec3.add(columns[j], vec3.scale(p, A[i]))
    after = mat3.from_columns(columns[0], columns[1], columns[2])
    D: list[list[Scalar]] = [list(row) for row in C]
    D[i][i] = C[i][i] - p * (B[j][i] + after[j][i])
    D[j][j] = C[j][j] + p * (B[i][j] + after[i][j])
    D[i][j] = D[j][i] = C[i][j] + p * (after[i][i] - B[j][j])
    D[i][k] = D[k][i] = C[k][i] - p * B[j][k]
    D[j][k] = D[k][j] = C[k][j] + p * B[i][k]
    return ArticulatedInertia(A, after, mat3.from_columns(*((x, y, z) for x, y, z in D)))
