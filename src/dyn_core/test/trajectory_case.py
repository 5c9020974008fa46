# SPDX-License-Identifier: Apache-2.0
"""Trajectory points for tests, and the polynomials between them from a solved linear system."""

from __future__ import annotations

import numpy as np

from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points

NAMES = ("a", "b", "c")
ORDERS = ("linear", "cubic", "quintic")


def random_points(seed: int, order: str, count: int = 5, first: float | None = None) -> TrajectoryPoints:
    """Points at irregular times, the first at `first` or after 0, the last at rest."""
    random = np.random.default_rng(seed)
    times = np.cumsum(random.uniform(0.05, 1.5, count))
    if first is not None:
        times += first - times[0]
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, count, len(NAMES)))
    qd[-1] = qdd[-1] = 0.0
    given = (qd if order != "linear" else None, qdd if order == "quintic" else None)
    return trajectory_points(NAMES, NAMES, times, q, *given)


def polynomial(T: float, at_start: np.ndarray, at_end: np.ndarray) -> np.polynomial.Polynomial:
    """The polynomial over [0, T] with these values and derivatives at its ends, in monomials of t."""
    count = len(at_start)
    rows = []
    for t in (0.0, T):
        for derivative in range(count):
            monomials = (np.polynomial.Polynomial.basis(k) for k in range(2 * count))
            rows.append([(m.deriv(derivative) if derivative else m)(t) for m in monomials])
    return np.polynomial.Polynomial(np.linalg.solve(np.array(rows), np.concatenate((at_start, at_end))))
