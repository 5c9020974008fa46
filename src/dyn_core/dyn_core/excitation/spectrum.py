# SPDX-License-Identifier: Apache-2.0
"""The condition number of columns of unit length, and smooth stand-ins for its logarithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array

LEAST = 1e-13
"""Least eigenvalue of the Gram matrix that is told from zero."""


class Spread(NamedTuple):
    """How far columns are from orthogonal ones.

    Attributes:
        value: ``(log sum s^(2 p) + log sum s^(-2 p)) / (2 p)`` of the singular values s, at least the
            logarithm of the condition number, and near it where p is great.
        gradient: of the value, with respect to each entry.
        condition: condition number of the columns, scaled to unit length.
    """

    value: float
    gradient: Array
    condition: float


def spread(W: Array, power: float) -> Spread:
    """Answer how far the columns of W (N, p) are from orthogonal ones, whatever their lengths."""
    lengths = np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    U = W / lengths
    found, V = np.linalg.eigh(U.T @ U)
    eigenvalues = np.maximum(found, LEAST)
    up, down = eigenvalues**power, eigenvalues**-power
    value = 0.5 * (np.log(up.sum()) + np.log(down.sum())) / power
    slopes = 0.5 * (up / up.sum() - down / down.sum()) / eigenvalues
    G = 2.0 * U @ ((V * slopes) @ V.T)
    gradient = (G - U * (U * G).sum(axis=0)) / lengths
    return Spread(float(value), gradient, float(np.sqrt(eigenvalues[-1] / eigenvalues[0])))


def own_parts(products: Array) -> Array:
    """Answer which part of each column no combination of the others makes, 0 to 1, (p,).

    Below some 3e-7 it is rounding.

    Args:
        products: those of the columns, ``W^T W`` (p, p).
    """
    lengths = np.sqrt(np.diag(products))
    shown = np.flatnonzero(lengths)
    G = products[np.ix_(shown, shown)] / np.outer(lengths[shown], lengths[shown])
    found, V = np.linalg.eigh(G)
    parts = np.zeros(len(lengths))
    parts[shown] = 1.0 / np.sqrt((V**2 / np.maximum(found, LEAST)).sum(axis=1))
    return parts


def scaled_condition(products: Array) -> float:
    """Answer the condition number of columns scaled to unit length, from their products ``W^T W`` (p, p).

    It is infinite where it cannot be told from that, above some 3e6.
    """
    lengths = np.sqrt(np.diag(products))
    if not lengths.all():
        return float("inf")
    eigenvalues = np.linalg.eigvalsh(products / np.outer(lengths, lengths))
    if eigenvalues[0] < LEAST:
        return float("inf")
    return float(np.sqrt(eigenvalues[-1] / eigenvalues[0]))
