# SPDX-License-Identifier: Apache-2.0
"""Twists that the joints before a link can give it, as rows [linear; angular] in its frame."""

from __future__ import annotations

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Sigma

VX, VY, VZ, WX, WY, WZ = range(6)


def own_twist(sigma: Sigma) -> Matrix:
    """Twist of a joint at unit speed, as one row."""
    twist = np.zeros((1, 6))
    twist[0, VZ if sigma is Sigma.PRISMATIC else WZ] = 1.0
    return twist


def seen_from(T_a_b: Transform, twists: Matrix) -> Matrix:
    """Answer in frame b, about its origin, twists that are given in frame a."""
    R, p = np.array(T_a_b.R, dtype=np.float64), np.array(T_a_b.p, dtype=np.float64)
    linear, angular = twists[:, :3], twists[:, 3:]
    return np.hstack([(linear + np.cross(angular, p)) @ R, angular @ R])


def in_all_positions(sigma: Sigma, twists: Matrix) -> Matrix:
    """Twists that span those which are seen from the link behind a joint, in all its positions."""
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
