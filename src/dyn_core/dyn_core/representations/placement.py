# SPDX-License-Identifier: Apache-2.0
"""Placements of links on one another, as matrices, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain, Link
from dyn_core.linalg import transform
from dyn_core.linalg.transform import Transform
from dyn_core.representations.matrix import Matrix, transpose
from dyn_core.robot.joints import Sigma
from dyn_core.symbolic.scalar import Scalar, cos, sin


def placement(link: Link, q: Scalar) -> Transform:
    """Placement iTj of link j in link i = j - 1: SYMORO+ 2003, eq. (1.3), multiplied out."""
    (ca, sa), r = link.alpha, link.r
    if link.sigma is Sigma.REVOLUTE:
        c, s = cos(q), sin(q)
        if link.theta is not None:
            c, s = c * link.theta.c - s * link.theta.s, s * link.theta.c + c * link.theta.s
    else:
        c, s = link.theta or (1.0, 0.0)
        r = r + q
    R = ((c, -s, 0.0), (ca * s, ca * c, -sa), (sa * s, sa * c, ca))
    T = Transform(R, (link.d, -(sa * r), ca * r))
    return T if link.turned is None else transform.compose(link.turned, T)


def placements(chain: Chain, q: Sequence[Scalar]) -> list[Transform]:
    """Placements of the links 1 to n, each in the link before it."""
    return [placement(link, q_j) for link, q_j in zip(chain, q, strict=True)]


def homogeneous(T: Transform) -> Matrix:
    """The 4 x 4 matrix of a placement."""
    rows = (((*row, x)) for row, x in zip(T.R, T.p, strict=True))
    return (*rows, (0.0, 0.0, 0.0, 1.0))


def derived(W: Matrix, sigma: Sigma) -> Matrix:
    """Derivative of a 4 x 4 placement W_j by the position of joint j itself: columns change place.

    A revolute joint turns x_j into y_j and y_j into -x_j; a prismatic joint moves O_j along z_j.
    """
    x, y, z, _ = transpose(W)
    zero = (0.0, 0.0, 0.0, 0.0)
    if sigma is Sigma.REVOLUTE:
        return transpose((y, tuple(-e for e in x), zero, zero))
    return transpose((zero, zero, zero, z))
