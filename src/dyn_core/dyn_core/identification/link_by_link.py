# SPDX-License-Identifier: Apache-2.0
"""Parameters link by link, from the leaves to the base (SYMORO+ 2003, eq. (3.108)).

The torque of a joint depends on the parameters of the links that it carries and on its own friction alone:
the equations are triangular. So those of the last link come from the torque of the last joint, those of the
link before from the torque of its joint less what is known by then, and so on: small systems, in which a
parameter has the fewest equations, and the errors of the links behind it. What a torque does not show of a
link is left for the joints before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.geometry.path import lineage
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.estimators.least_squares import SINGULAR, own_columns
from dyn_core.identification.factors import Factors
from dyn_core.identification.regressor.base_columns import BaseColumns

SHOWN = 1e-3
"""Least part of a column of unit length that has to be independent for a joint to decide its parameter."""


@dataclass(frozen=True, eq=False)
class LinkByLink:
    """Parameters that were found link by link.

    Attributes:
        x: values: base parameters, then friction, joint by joint.
        deviations: their standard deviations, of independent residuals; inf for those that were not found.
        sigma: deviation of the residuals of each joint (N m or N).
        order: joints in the order in which they were taken, by their place.
    """

    x: Array
    deviations: Array
    sigma: Array
    order: tuple[int, ...]


def structure(base: BaseColumns) -> BoolArray:
    """Answer which base parameters the torque of each joint may depend on, (n, p)."""
    robot = base.robot
    if robot.loops:  # an actuated joint can move any body of its loop
        return np.ones((robot.dof, len(base.kept)), dtype=bool)
    carried = np.zeros((robot.dof, len(base.kept)), dtype=bool)
    row = {number: i for i, number in enumerate(robot.coordinates)}
    motors = {name: motor for motor in base.couplings for name in motor.parameter_names}
    for k, name in enumerate(base.kept):
        if name in motors:
            carried[:, k] = motors[name].speeds(robot) != 0.0
            continue
        body = int(name[len(name.rstrip("0123456789")) :])
        for j in lineage(robot, body):
            mimic = robot.joints[j - 1].mimic if j else None
            number = mimic.leader if mimic else j
            if number in row:
                carried[row[number], k] = True
    return carried


def link_by_link(base: BaseColumns, data: Factors) -> LinkByLink:
    """Answer the parameters of equations, link by link.

    Args:
        base: the columns of the base parameters.
        data: factors of the equations.
    """
    whole, carried = data.merged(), structure(base)
    own = own_columns(whole)
    shared = whole.shared
    count = shared + sum(len(columns) for columns in own)
    x, covariance = np.zeros(count), np.zeros((count, count))
    known = np.zeros(count, dtype=bool)
    sigma = np.zeros(whole.dof)
    order = tuple(reversed(range(whole.dof)))
    for i in order:
        R = whole.parts[0][i]
        columns = [*np.flatnonzero(carried[i]).tolist(), *own[i]]
        places = {k: k if k < shared else shared + k - own[i].start for k in columns}
        wanted = _decided(R, [k for k in columns if not known[k]], places)
        fixed = [k for k in columns if known[k]]
        W = R[:, [places[k] for k in wanted]]
        V = R[:, [places[k] for k in fixed]]
        right = R[:, -1] - V @ x[fixed]
        inverse = np.linalg.pinv(W)
        found = inverse @ right
        rest = float(np.sum((right - W @ found) ** 2))
        sigma[i] = np.sqrt(rest / max(whole.count[i] - len(wanted), 1))
        passed = -inverse @ V  # what the errors of what is known do to what is found
        x[wanted] = found
        cross = passed @ covariance[np.ix_(fixed, range(count))]
        covariance[wanted, :] = cross
        covariance[:, wanted] = cross.T
        covariance[np.ix_(wanted, wanted)] = sigma[i] ** 2 * inverse @ inverse.T + cross[:, fixed] @ passed.T
        known[wanted] = True
    deviations = np.where(known, np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.inf)
    return LinkByLink(x, deviations, sigma, order)


def _decided(R: Array, unknown: list[int], places: dict[int, int]) -> list[int]:
    """Those of the unknown parameters that the rows of a joint decide: friction, and what is independent."""
    ordered = sorted(unknown, reverse=True)  # friction, the links far from the joint, then its own
    W = R[:, [places[k] for k in ordered]]
    lengths = np.linalg.norm(W, axis=0)
    present = lengths > SINGULAR * lengths.max(initial=0.0)
    kept = [k for k, there in zip(ordered, present, strict=True) if there]
    if not kept:
        return []
    T = np.linalg.qr(W[:, present] / lengths[present], mode="r")
    independent = np.abs(np.diag(T)) > SHOWN
    return sorted(k for k, good in zip(kept, independent, strict=False) if good)
