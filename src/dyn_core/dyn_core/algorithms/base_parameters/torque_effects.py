# SPDX-License-Identifier: Apache-2.0
"""Effects of the inertial parameters of each body on the joint torques (SYMORO+ 2003, ch. 3).

Parameters have no effect if they give no inertia A_ij between any two joints and no gravity torque, which is
an inertia between a joint and an accelerating base (SYMORO+ 2003, eqs. (3.64), (3.65); (3.69)). Let I be the
inertia of all bodies that joint j carries, as one body in frame j. Its parameters vary with the positions of
the joints behind j only. The parameters have no effect if

* ``p I s_j = 0`` for the twist s_j of joint j, and each twist p that the joints before j, in any position,
  or gravity can give frame j;
* ``s_j I s_j + Ia_j = 0``, so ``s_j I s_j`` is constant.

Each condition is a row f with ``f . I`` that is 0, or else constant. I is the sum of body j and of the bodies
that the joints k behind j carry, ``I = K_j + L_k I_k(q_k) + ...``. So the varying part of
``f . L_k I_k(q_k)`` is 0, which gives rows for I_k of body k, and the rest is constant. This continues to the
leaves. The rows that must be 0 are the effects of a body on the torques; each belongs to one base parameter.

The theorems of sections 3.5.2.2 and 4.2.3 are particular cases: see docs/base_parameters.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

# Inertial parameters through a joint, as constant linear maps
#
# With the body in frame j given by K = (XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M), its parameters in frame a(j)
# are ``L K(q)``. L is the matrix of table 3.1 of SYMORO+ 2003, with gamma and b, at the position 0 of the
# joint. K(q) are the parameters after the motion of the joint along or about z_j: a polynomial in q for a
# prismatic joint, and in cos q, sin q, cos 2q, sin 2q for a revolute one.

Matrix: TypeAlias = npt.NDArray[np.float64]

XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = range(10)  # Indices of the inertial parameters of a body


def moved_parameters(T_a_b: Transform) -> Matrix:
    """Matrix of table 3.1: it transforms the parameters of a body from frame b to frame a."""
    units = np.eye(10)
    columns = [in_frame(T_a_b, InertialParameters(*unit.tolist())).values for unit in units]
    moved: Matrix = np.array(columns).T
    return moved


def average(sigma: Sigma) -> Matrix:
    """Constant part of K(q): its mean over a turn, or its value at 0 for a prismatic joint."""
    if sigma is Sigma.PRISMATIC:
        return np.eye(10)
    mean = np.zeros((10, 10))
    mean[(XX, XX, YY, YY), (XX, YY, XX, YY)] = 0.5
    mean[(ZZ, MZ, M), (ZZ, MZ, M)] = 1.0
    return mean


def variations(sigma: Sigma) -> tuple[Matrix, ...]:
    """Coefficients of the varying part of K(q): cosine and sine of q and 2q, or q and its square."""
    if sigma is Sigma.PRISMATIC:
        first, second = np.zeros((10, 10)), np.zeros((10, 10))
        first[(XX, YY, XZ, YZ, MZ), (MZ, MZ, MX, MY, M)] = 2.0, 2.0, -1.0, -1.0, 1.0
        second[(XX, YY), (M, M)] = 1.0
        return first, second
    cos, sin, cos_twice, sin_twice = np.zeros((4, 10, 10))
    cos[(XZ, YZ, MX, MY), (XZ, YZ, MX, MY)] = 1.0
    sin[(XZ, YZ, MX, MY), (YZ, XZ, MY, MX)] = -1.0, 1.0, -1.0, 1.0
    cos_twice[(XX, XX, YY, YY, XY), (XX, YY, XX, YY, XY)] = 0.5, -0.5, -0.5, 0.5, 1.0
    sin_twice[(XX, YY, XY, XY), (XY, XY, XX, YY)] = -1.0, 1.0, 0.5, -0.5
    return cos, sin, cos_twice, sin_twice


# Twists of a link due to the joints before it, as rows [linear; angular] in its frame

VX, VY, VZ, WX, WY, WZ = range(6)


def own_twist(sigma: Sigma) -> Matrix:
    """Twist of a joint at unit speed, as one row."""
    twist = np.zeros((1, 6))
    twist[0, VZ if sigma is Sigma.PRISMATIC else WZ] = 1.0
    return twist


def seen_from(T_a_b: Transform, twists: Matrix) -> Matrix:
    """Transform twists from frame a to frame b and its origin."""
    R, p = np.array(T_a_b.R, dtype=np.float64), np.array(T_a_b.p, dtype=np.float64)
    linear, angular = twists[:, :3], twists[:, 3:]
    return np.hstack([(linear + np.cross(angular, p)) @ R, angular @ R])


def in_all_positions(sigma: Sigma, twists: Matrix) -> Matrix:
    """Twists that span the given ones in the frame of the link behind a joint, in all its positions."""
    if sigma is Sigma.PRISMATIC:
        shift = np.zeros_like(twists)
        shift[:, VX], shift[:, VY] = twists[:, WY], -twists[:, WX]
        return np.vstack([twists, shift])
    constant, cos, sin = np.zeros((3, *twists.shape))
    constant[:, [VZ, WZ]] = twists[:, [VZ, WZ]]
    cos[:, [VX, VY, WX, WY]] = twists[:, [VX, VY, WX, WY]]
    sin[:, [VX, VY, WX, WY]] = twists[:, [VY, VX, WY, WX]] * (1.0, -1.0, 1.0, -1.0)
    return np.vstack([constant, cos, sin])


def cross_inertia(a: Matrix, b: Matrix) -> Matrix:
    """Rows f with ``f . K = a^T I(K) b``: the inertia of a body between twists a (rows) and one twist b.

    With linear parts v and angular parts w: ``wa J wb + MS . (va x wb + vb x wa) + M va . vb``.
    """
    va, wa = a[:, :3].T, a[:, 3:].T
    vb, wb = np.broadcast_to(b[0, :3, None], va.shape), np.broadcast_to(b[0, 3:, None], wa.shape)
    (x, y, z), (X, Y, Z) = wa, wb
    inertia = [x * X, x * Y + y * X, x * Z + z * X, y * Y, y * Z + z * Y, z * Z]
    first = np.cross(va, wb, axis=0) + np.cross(vb, wa, axis=0)
    rows: Matrix = np.vstack([*inertia, *first, np.sum(va * vb, axis=0)]).T
    return rows


# Effects on the torques

Mount: TypeAlias = Literal["fixed", "tilted", "moving"]
"""Mounting of the base: at rest; at rest in various attitudes; moving in any way."""

NEGLIGIBLE = 1e-12
"""Effect of a parameter at unit speeds that counts as 0, with lengths divided by the size of the robot."""


class Effects(NamedTuple):
    """Effects of one body on the torques."""

    rows: Matrix  # rows that span all effects of the ten parameters
    own: Matrix  # the row ``s_j I s_j``, to which the rotor inertia is added
    without_rotor: Matrix  # rows that span the effects that do not involve the rotor


class _BodyRows(NamedTuple):
    """Rows of a body in the recursion to the leaves."""

    twists: Matrix  # rows that span the twists of the body due to gravity and all joints up to its own
    constant: Matrix  # rows whose product with the inertia of all bodies that it carries must be constant


def effects(
    joints: Sequence[Joint], placements: Sequence[Transform], gravity: Vec3, mount: Mount
) -> list[Effects]:
    """Return the effects of the bodies 1 to n on the torques.

    The placements are iTj at the positions 0, with lengths divided by the size of the robot. Of gravity in
    frame 0, only the direction matters, and whether it is 0.
    """
    by_body = [_base_rows(gravity, mount)]
    found = []
    for joint, T_i_j in zip(joints, placements, strict=True):
        before = by_body[joint.antecedent]
        own_axis = own_twist(joint.sigma)
        twists = span(in_all_positions(joint.sigma, seen_from(T_i_j, before.twists)))
        moved = before.constant @ moved_parameters(T_i_j)
        zero = [moved @ part for part in variations(joint.sigma)]
        without_rotor = span(np.vstack([*zero, cross_inertia(twists, own_axis)]))
        own = cross_inertia(own_axis, own_axis)
        rows = span(np.vstack([without_rotor, own]))
        constant = span(np.vstack([moved @ average(joint.sigma), rows]))
        by_body.append(_BodyRows(span(np.vstack([twists, own_axis])), constant))
        found.append(Effects(rows, own[0], without_rotor))
    return found


def _base_rows(gravity: Vec3, mount: Mount) -> _BodyRows:
    """Return the rows of the base: its twists that affect joint torques; forces on it are not measured."""
    if mount == "moving":
        return _BodyRows(np.eye(6), np.eye(10))
    if mount == "tilted":
        return _BodyRows(np.eye(6)[:3], np.zeros((0, 10)))
    length = np.linalg.norm(gravity)
    direction = np.array([[*gravity, 0.0, 0.0, 0.0]]) / (length or 1.0)
    return _BodyRows(span(direction), np.zeros((0, 10)))


def span(rows: Matrix) -> Matrix:
    """Return orthogonal rows that span the same space, without negligible ones and of length 1 at most.

    Smaller lengths are kept: a small value, such as the sine of an angle that is almost 0, stays small, and
    so does its rounding error.
    """
    if not np.any(rows):
        return np.zeros((0, rows.shape[1]))
    _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
    count = int(np.sum(lengths > NEGLIGIBLE))
    kept: Matrix = np.minimum(lengths[:count], 1.0)[:, None] * directions[:count]
    return kept
