# SPDX-License-Identifier: Apache-2.0
"""Steps: elementary displacements along or about one axis; every placement is a sequence of them.

An MDH placement is six steps (SYMORO+ 2003, eq. (1.3)). Moving a vector or an inertia over six steps
costs fewer operations than multiplying it by the matrix of all six: a rotation does not change the
component along its axis. A step, like a transform, takes coordinates in the frame after it to
coordinates in the frame before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, cos_sin, quarter_turns
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

X, Z = 0, 2


class Rotation(NamedTuple):
    """Rotation about an axis of the frame by the angle whose cosine and sine are c and s."""

    axis: int  # 0 for x, 1 for y, 2 for z
    c: Scalar  # cosine
    s: Scalar  # sine
    quarters: bool = False  # true if the angle is a constant multiple of pi/2, so that c and s are 0, 1 or -1


class Translation(NamedTuple):
    """Translation along an axis of the frame."""

    axis: int  # 0 for x, 1 for y, 2 for z
    length: Scalar  # displacement (m)


Step: TypeAlias = Rotation | Translation


def constant_rotation(axis: int, angle: float) -> tuple[Rotation, ...]:
    """Rotation by a constant angle (rad); no step for a multiple of 2 pi."""
    quarters = quarter_turns(angle)
    if quarters is not None and quarters % 4 == 0:
        return ()
    return (Rotation(axis, *cos_sin(angle), quarters is not None),)


def constant_translations(p: Vec3) -> tuple[Translation, ...]:
    """Steps of a constant translation (m); no step for a component that is 0."""
    return tuple(Translation(axis, length) for axis, length in enumerate(p) if length != 0.0)


def inverse(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps of the inverse displacement."""
    return tuple(_inverse_step(step) for step in reversed(tuple(steps)))


def _inverse_step(step: Step) -> Step:
    if isinstance(step, Rotation):
        return step._replace(s=-step.s)
    return Translation(step.axis, -step.length)


def others(axis: int) -> tuple[int, int]:
    """The two axes that follow an axis in the order x y z x."""
    return (axis + 1) % 3, (axis + 2) % 3


def rotated(steps: Sequence[Step], v: Vec3) -> Vec3:
    """Components in the first frame of a vector given in the last frame; translations have no effect."""
    for step in reversed(steps):
        if isinstance(step, Rotation):
            v = turned(step, v)
    return v


def turned(rotation: Rotation, v: Vec3) -> Vec3:
    """Product R v with the matrix of one rotation: 4 multiplications."""
    axis, c, s, _ = rotation
    i, j = others(axis)
    turned = list(v)
    turned[i], turned[j] = c * v[i] - s * v[j], s * v[i] + c * v[j]
    return (turned[0], turned[1], turned[2])


def turned_matrix(rotation: Rotation, a: Mat3) -> Mat3:
    """Product R a R^T with the matrix of one rotation: 12 multiplications, 8 where a is symmetric.

    The trace and the antisymmetric part of the block of a across the axis do not change. The rest
    turns by twice the angle: with ``d = a_ii - a_jj``, ``e = a_ij + a_ji`` and ``u = s d + c e``, the
    block becomes
    ``[[a_ii - s u, c u - a_ji], [c u - a_ij, a_jj + s u]]``.
    """
    axis, c, s, quarters = rotation
    if quarters:  # the formula would give a_ii - (a_ii - a_jj), which is a_jj with a rounding error
        return mat3.transpose(_turned_rows(rotation, mat3.transpose(_turned_rows(rotation, a))))
    i, j = others(axis)
    u = s * (a[i][i] - a[j][j]) + c * (a[i][j] + a[j][i])
    su, cu = s * u, c * u
    b = [list(row) for row in a]
    b[i][i], b[i][j] = a[i][i] - su, cu - a[j][i]
    b[j][i], b[j][j] = cu - a[i][j], a[j][j] + su
    b[axis] = list(turned(rotation, a[axis]))
    b[i][axis], b[j][axis] = c * a[i][axis] - s * a[j][axis], s * a[i][axis] + c * a[j][axis]
    return ((b[0][0], b[0][1], b[0][2]), (b[1][0], b[1][1], b[1][2]), (b[2][0], b[2][1], b[2][2]))


def _turned_rows(rotation: Rotation, a: Mat3) -> Mat3:
    """Product a R^T."""
    return (turned(rotation, a[0]), turned(rotation, a[1]), turned(rotation, a[2]))


def shift_moment(translation: Translation, moment: Vec3, force: Vec3) -> Vec3:
    """Moment about the frame before a translation of a force and a moment given about the frame after it."""
    axis, length = translation
    i, j = others(axis)
    shifted = list(moment)
    shifted[i], shifted[j] = moment[i] - length * force[j], moment[j] + length * force[i]
    return (shifted[0], shifted[1], shifted[2])


def compose(T: Transform, step: Step) -> Transform:
    """Placement of the frame after a step, from the placement of the frame before it."""
    R_columns = mat3.transpose(T.R)
    if isinstance(step, Translation):
        return Transform(T.R, vec3.add(T.p, vec3.scale(step.length, R_columns[step.axis])))
    axis, c, s, _ = step
    i, j = others(axis)
    columns = list(R_columns)
    columns[i] = vec3.add(vec3.scale(c, R_columns[i]), vec3.scale(s, R_columns[j]))
    columns[j] = vec3.sub(vec3.scale(c, R_columns[j]), vec3.scale(s, R_columns[i]))
    return Transform(mat3.from_columns(columns[0], columns[1], columns[2]), T.p)


def precede(step: Step, T: Transform) -> Transform:
    """Placement in the frame before a step, from the placement T in the frame after it."""
    if isinstance(step, Translation):
        p = list(T.p)
        p[step.axis] = p[step.axis] + step.length
        return Transform(T.R, (p[0], p[1], p[2]))
    R = mat3.transpose(_turned_rows(step, mat3.transpose(T.R)))
    return Transform(R, turned(step, T.p))
