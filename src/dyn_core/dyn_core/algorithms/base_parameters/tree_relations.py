# SPDX-License-Identifier: Apache-2.0
"""Grouping relations of a tree by rules (SYMORO+ 2003, sec. 3.5.2.2, 3.5.2.3 and 4.2.3).

Parameters of each body are grouped in those of its antecedent if the torques do not distinguish them. What
reaches the base has no effect. For a body behind a general revolute joint these are YY, MZ and M, by eq.
(4.14); behind a general prismatic joint its inertia, by (4.16). `torque_effects` finds the others, near the
base.

The relations have numbers or symbols for the lengths of the robot: ``d3**2*M3`` for ``0.2025*M3``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import PER_BODY, polynomial, variable
from dyn_core.algorithms.base_parameters.independent_columns import CLEAR, first_independent, without_rounding
from dyn_core.algorithms.base_parameters.torque_effects import (
    Effects,
    Matrix,
    Mount,
    average,
    effects,
    moved_parameters,
)
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.mdh.direct_geometry import joint_transform
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import cos_sin
from dyn_core.symbolic.transform import Transform


class Relations(NamedTuple):
    """Relations between standard parameters."""

    kept: tuple[int, ...]  # indices of the standard parameters that are kept, ascending
    matrix: Matrix  # ``base = matrix @ standard``; the columns of `kept` are the unit matrix
    by_numbers: tuple[int, ...] = ()  # indices of parameters whose grouping is found in random states


def with_columns_by_body(found: Relations, units: Matrix) -> Relations:
    """Return relations, with units, in which the kept columns of each body are chosen from its own rows.

    If a column is only just independent, the choice among columns of a regressor depends on their lengths,
    and so on the states. The rows of a body do not depend on the states. In the relations that are found, no
    row of a body has an entry for the bodies before it.
    """
    kept, matrix = np.array(found.kept, dtype=int), found.matrix.copy()
    width = len(PER_BODY)
    for j in range(len(units) // width):
        rows = np.flatnonzero((kept // width == j) & (kept % width < width - 1))
        own = matrix[rows, width * j : width * j + width - 1]
        columns = width * j + np.array(first_independent(np.linalg.qr(own.T)[0].T).columns, dtype=int)
        if not np.array_equal(columns, kept[rows]):
            kept[rows] = columns
            matrix[rows] = np.linalg.solve(matrix[np.ix_(rows, columns)], matrix[rows])
            others = np.setdiff1d(np.arange(len(kept)), rows)
            matrix[others] -= matrix[np.ix_(others, columns)] @ matrix[rows]
            matrix[:, kept] = np.eye(len(kept))
    return Relations(tuple(kept.tolist()), units[kept, None] * matrix / units)


def size_of(robot: Robot) -> float:
    """Unit of length (m) of a robot: 1 m, or the power of 2 nearest to its longest length."""
    longest = max((vec3.norm(joint.origin) for joint in robot.joints), default=0.0)
    return float(2.0 ** round(math.log2(max(longest, 1.0))))


def units_of(joints: tuple[Joint, ...], size: float) -> Matrix:
    """Units of the standard parameters if lengths are divided by a size (m)."""
    of_body = [*[size**2] * 6, *[size] * 3, 1.0]
    rotors = (1.0 if joint.sigma is Sigma.PRISMATIC else size**2 for joint in joints)
    return np.array([unit for rotor in rotors for unit in (*of_body, rotor)])


# Rounding of relations from random states

_NEGLIGIBLE = 1e-12
"""Fraction of the largest coefficient of a row, or of 1 if greater, below which a coefficient is rounding."""

_SHORT = 2e-11  # Relative difference within which a coefficient is replaced by a number of few digits
_FEW_DIGITS = 6


def rounded_relations(robot: Robot, found: Relations) -> Relations:
    """Replace negligible coefficients by 0, and others by a number of few digits if one is near."""
    # Lengths are compared with those of the robot, also for a small robot.
    longest = max((vec3.norm(joint.origin) for joint in robot.joints), default=0.0)
    units = units_of(robot.joints, longest or 1.0)
    matrix = found.matrix
    sizes = np.abs(matrix * units / units[list(found.kept), None])
    largest = np.maximum(sizes.max(axis=1, initial=0.0, keepdims=True), 1.0)
    matrix = np.where(sizes <= _NEGLIGIBLE * largest, 0.0, matrix)
    short = np.array([float(f"{x:.{_FEW_DIGITS}g}") for x in matrix.flat]).reshape(matrix.shape)
    exact: Matrix = np.where(np.abs(matrix - short) <= _SHORT * np.abs(matrix), short, matrix) + 0.0
    return found._replace(matrix=exact)


# Relations by rules


def tree_relations(robot: Robot, mount: Mount, rotors: bool = True) -> Relations:
    """Return the grouping relations of a robot whose joints are all independent."""
    size = size_of(robot)
    links = divisions(robot, mount, rotors)
    moves = [moved_parameters(_placement(joint, size)) @ average(joint.sigma) for joint in robot.joints]
    kept = tuple(len(PER_BODY) * j + k for j, link in enumerate(links) for k in link.kept)
    units = units_of(robot.joints, size)
    matrix = without_rounding(gathered(robot.joints, links, moves))
    return Relations(kept, units[list(kept), None] * matrix / units)


def gathered(joints: Sequence[Joint], links: Sequence[Division], moves: Sequence[Matrix]) -> Matrix:
    """Return the matrix from standard to base parameters, by moving each parameter towards the base.

    `moves` map the parameters of each body to the frame of its antecedent, averaged over the joint.
    """
    width = len(PER_BODY)
    starts = np.cumsum([0, *(len(link.kept) for link in links)])
    matrix = np.zeros((int(starts[-1]), width * len(links)), dtype=np.result_type(*moves) if moves else float)
    for j in range(1, len(links) + 1):
        moving, i = np.eye(width), j
        while i > 0:
            stays = links[i - 1].relations @ moving
            matrix[starts[i - 1] : starts[i], width * (j - 1) : width * j] = stays
            rest = moving.astype(matrix.dtype)
            rest[list(links[i - 1].kept)] -= stays
            moving = np.zeros_like(rest)
            moving[:10] = moves[i - 1] @ rest[:10]
            i = joints[i - 1].antecedent
    return matrix


def divisions(robot: Robot, mount: Mount, rotors: bool) -> list[Division]:
    """Return the divisions of the parameters of bodies 1 to n, with lengths divided by the robot's size."""
    placements = [_placement(joint, size_of(robot)) for joint in robot.joints]
    found = effects(robot.joints, placements, robot.gravity_0, mount)
    return [link_division(effect, rotors) for effect in found]


class Division(NamedTuple):
    """Division of the parameters of one body, and of its rotor, into those kept and those moved on.

    A rotor affects the torque of one joint only. If it is grouped in the body, the joints before must see
    the body without it.
    """

    kept: tuple[int, ...]  # indices of the parameters that are kept; the rotor has index 10
    relations: Matrix  # rows of the kept combinations of all 11 parameters; the rest goes to the antecedent


def link_division(effect: Effects, rotors: bool) -> Division:
    """Choose the parameters of one body that are kept."""
    if not rotors:
        columns, relations = first_independent(directions_of(effect.rows))
        return Division(columns, np.hstack([relations, np.zeros((len(columns), 1))]))
    seen = directions_of(effect.without_rotor)
    alone = effect.own - seen.T @ (seen @ effect.own)  # the part without another effect on the torques
    if np.linalg.norm(alone) > CLEAR:
        columns, relations = first_independent(directions_of(effect.rows))
        rotor = without_rounding(relations @ alone / (alone @ alone))
        return Division(columns, np.hstack([relations, rotor[:, None]]))
    columns, relations = first_independent(seen)
    own = without_rounding(alone - alone[list(columns)] @ relations)
    zeros = np.zeros((len(columns), 1))
    return Division((*columns, 10), np.block([[relations, zeros], [own[None, :], np.ones((1, 1))]]))


def directions_of(rows: Matrix) -> Matrix:
    """Return orthogonal rows scaled to unit length."""
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _placement(joint: Joint, size: float) -> Transform:
    """Placement of a joint at its position 0, with lengths divided by a size (m)."""
    R, p = joint_transform(joint, 0.0)
    return Transform(R, vec3.scale(1.0 / size, p))


# Relations with symbols for the lengths of a robot

FAR = 100.0
"""Length (m) of b or r beyond which two axes are almost parallel, and their placement stays numeric."""


class WithLengths(NamedTuple):
    """Grouping relations with symbols."""

    coefficients: Matrix  # entries of the matrix of the relations, each a `Polynomial`
    values: Mapping[str, float]  # the lengths (m) by symbol


def with_lengths(robot: Robot, mount: Mount, rotors: bool) -> WithLengths:
    """Return the grouping relations of a tree with symbols for d, b and r of each joint that are not 0."""
    size = size_of(robot)
    width = len(PER_BODY)
    units = units_of(robot.joints, size).reshape(-1, width)
    links = [
        link._replace(relations=own[list(link.kept), None] * link.relations / own)
        for link, own in zip(divisions(robot, mount, rotors), units, strict=True)
    ]
    values: dict[str, float] = {}
    moves = []
    for j, joint in enumerate(robot.joints, start=1):
        symbols = {f"{name}{j}": value for name, value in _lengths(joint).items()}
        values |= symbols
        moves.append(moved_parameters(_lengths_placement(joint, j, symbols)) @ average(joint.sigma))
    entries = gathered(robot.joints, links, moves)
    coefficients = np.empty(entries.shape, dtype=object)
    coefficients[:] = [[polynomial(entry) for entry in row] for row in entries]
    return WithLengths(coefficients, MappingProxyType(values))


def _lengths(joint: Joint) -> dict[str, float]:
    """Return the lengths that are not 0, except r of a prismatic joint, which has no effect."""
    mdh = joint.mdh
    if max(abs(mdh.b), abs(mdh.r)) > FAR:
        return {}
    r = 0.0 if joint.sigma is Sigma.PRISMATIC else mdh.r
    return {name: value for name, value in {"b": mdh.b, "d": mdh.d, "r": r}.items() if value != 0.0}


def _lengths_placement(joint: Joint, j: int, symbols: Mapping[str, float]) -> Transform:
    """Return iTj with symbols in eq. (4.15)."""
    at_zero = joint_transform(joint, 0.0)
    if max(abs(joint.mdh.b), abs(joint.mdh.r)) > FAR:
        return at_zero
    b, d, r = (variable(f"{name}{j}") if f"{name}{j}" in symbols else 0.0 for name in "bdr")
    c, s = cos_sin(joint.mdh.gamma)
    x, y, z = mat3.column(at_zero.R, 2)
    return Transform(at_zero.R, (d * c + r * x, d * s + r * y, b + r * z))
