# SPDX-License-Identifier: Apache-2.0
"""Grouping relations of robots with loops (SYMORO+ 2003, sec. 4.5).

The rules for trees apply first, with the loops cut. A relation is a change of the standard parameters that
does not change any torque: its row times the energy functions h is 0. Each loop adds relations, without
solving its geometric equations:

* mass that moves with both sides of a cut joint can belong to either side. For a revolute joint this is mass
  at a point on its axis or distributed along it, ``h^i lambda_k = h^j lambda_k+B`` with lambda^10, lambda^9
  and lambda^1+4 (4.51); for a prismatic joint it is the six moments of inertia (4.52);
* bodies that never turn relative to each other, such as opposite links of parallelograms, share their
  inertia matrices (4.53) to (4.56);
* rotors of joints whose speeds are constant combinations of a few speeds share the quadratic forms in these.

Loops that restrict the motion of their links further, such as planar loops, group more parameters. These are
found numerically, among the columns of the regressor.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import PER_BODY
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns, without_rounding
from dyn_core.algorithms.base_parameters.numeric_relations import random_closed_states, random_regressor
from dyn_core.algorithms.base_parameters.torque_effects import Matrix, Mount, moved_parameters
from dyn_core.algorithms.base_parameters.tree_relations import (
    Relations,
    rounded_relations,
    size_of,
    units_of,
    with_columns_by_body,
)
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.joint_coupling import joint_positions, joint_rates
from dyn_core.robot.joints import LoopType
from dyn_core.robot.mdh.cut_frames import CutJoint, cut_joints
from dyn_core.robot.mdh.direct_geometry import body_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform

_DEPENDENT = 1e-10
"""Singular value of relations of length 1 between columns of length 1 below which one is redundant."""


def closed_relations(robot: Robot, mount: Mount, of_tree: Relations, seed: int) -> Relations:
    """Return the grouping relations of a robot with loops: by rules (sec. 4.5.3), then by numbers."""
    units = units_of(robot.joints, size_of(robot))
    of_rules = np.array(of_tree.kept, dtype=int)
    matrix = of_tree.matrix * units / units[of_rules, None]
    q = random_closed_states(robot, seed).q
    rules = dependent_columns(_left_by(matrix @ loop_relations(robot, mount, q).T))
    of_rules, matrix = of_rules[list(rules.columns)], rules.relations @ matrix
    found = dependent_columns((random_regressor(robot, mount, seed) * units)[:, of_rules])
    left = of_rules[list(found.columns)]
    kept, matrix, _ = with_columns_by_body(Relations(tuple(left.tolist()), found.relations @ matrix), units)
    columns = list(kept)
    exact = without_rounding(matrix * units / units[columns, None])
    numbers = np.setdiff1d(of_rules, left).tolist()
    relations = Relations(kept, units[columns, None] * exact / units, tuple(numbers))
    return rounded_relations(robot, relations) if numbers else relations


def _left_by(changes: Matrix) -> Matrix:
    """Return rows that span the combinations of parameters that changes (columns) without effect leave."""
    if changes.shape[1] == 0:
        return np.eye(len(changes))
    lengths = np.linalg.norm(changes, axis=0)
    changes = changes[:, lengths > _DEPENDENT]
    directions, values, _ = np.linalg.svd(changes / np.linalg.norm(changes, axis=0))
    rank = int(np.sum(values > _DEPENDENT))
    left: Matrix = directions[:, rank:].T
    return left


# Relations by rules (SYMORO+ 2003, sec. 4.5.1 and 4.5.2)

_WIDTH = len(PER_BODY)
_SAME = 1e-9  # Difference of entries of rotation matrices that is taken as rounding

_POINT, _ALONG, _AXIAL = (("M",),), (("MZ",),), (("XX", "YY"),)
_INERTIA = tuple((name,) for name in INERTIAL[:6])
_IN_COMMON: dict[LoopType, tuple[tuple[str, ...], ...]] = {
    LoopType.FIXED: tuple((name,) for name in INERTIAL),
    LoopType.REVOLUTE: (*_AXIAL, *_ALONG, *_POINT),
    LoopType.PRISMATIC: _INERTIA,
    LoopType.CYLINDRICAL: _AXIAL,
    LoopType.SPHERICAL: _POINT,
    LoopType.UNIVERSAL: _POINT,
    LoopType.PLANAR: _AXIAL,
}
"""Parameters, in the frames of a cut joint, of mass that moves with both sides; some only in groups."""


def loop_relations(robot: Robot, mount: Mount, q: Matrix) -> Matrix:
    """Return the relations between standard parameters due to loops, one row each, in units of `size_of`."""
    size = size_of(robot)
    rows = [
        *(
            row
            for loop, cut in zip(robot.loops, cut_joints(robot), strict=True)
            for row in _of_cut(robot, cut, loop.type, size)
        ),
        *_of_equal_rotation(robot, mount, q),
        *_of_rotors(robot, size),
    ]
    return np.array(rows).reshape(-1, _WIDTH * len(robot.joints))


def _of_cut(robot: Robot, cut: CutJoint, kind: LoopType, size: float) -> Iterator[Matrix]:
    for parameters in _IN_COMMON[kind]:
        shared = np.array([float(name in parameters) for name in INERTIAL])
        yield _moved(robot, cut.P.body, _scaled(cut.P.T_body_link, size), shared) - _moved(
            robot, cut.C.body, _scaled(cut.C.T_body_link, size), shared
        )


def _of_equal_rotation(robot: Robot, mount: Mount, q: Matrix) -> Iterator[Matrix]:
    """Relations of bodies that never turn relative to each other.

    The moments of inertia of bodies that never turn relative to the base have no effect. Nor have their first
    moments, unless the base moves: ``v . (omega x MS)`` is 0 and the work of gravity on MS is constant.
    """
    T = body_placements(robot, joint_positions(robot, list(q.T)))
    R = [_rotations(placement, len(q)) for placement in T]
    unmoved = Transform(mat3.IDENTITY, vec3.ZERO)
    for j in range(1, len(T)):
        relative = ((i, np.swapaxes(R[i], 1, 2) @ R[j]) for i in range(j))
        fixed = ((i, part[0]) for i, part in relative if np.ptp(part, axis=0).max() < _SAME)
        for i, R_i_j in fixed:
            x, y, z = map(tuple, R_i_j.tolist())
            on_first = Transform((x, y, z), vec3.ZERO)
            for shared in np.eye(10)[: 9 if i == 0 and mount != "moving" else 6]:
                yield _moved(robot, j, unmoved, shared) - _moved(robot, i, on_first, shared)
            break  # the other relations follow from these


def _of_rotors(robot: Robot, size: float) -> Iterator[Matrix]:
    """Relations of rotors: ``Ia_j (c_j . qd)^2 / 2`` are quadratic forms, constant if c_j is constant."""
    rates: dict[int, Matrix] = dict(zip(robot.coordinates, np.eye(robot.dof), strict=True))
    for linear in structure(robot).linear:
        terms = (value * rates[j] for j, value in linear.coefficients)
        rates[linear.joint] = sum(terms, np.zeros(robot.dof))
    varying = np.full(robot.dof, np.nan)
    of_independent = np.array([rates.get(j, varying) for j in robot.independent])
    c = np.array([joint_rates(robot, list(column)) for column in of_independent.T]).T
    columns = np.flatnonzero(np.isfinite(c).all(axis=1)) * _WIDTH + _WIDTH - 1
    units = units_of(robot.joints, size)[columns]
    forms = np.array([np.outer(row, row).ravel() for row in c[columns // _WIDTH]]) * units[:, None]
    directions, values, _ = np.linalg.svd(forms)
    rank = int(np.sum(values > _SAME * values.max(initial=1.0)))
    for combination in directions[:, rank:].T:
        row = np.zeros(_WIDTH * len(robot.joints))
        row[columns] = combination
        yield row


def _moved(robot: Robot, body: int, T_body_shared: Transform, shared: Matrix) -> Matrix:
    """Return a row of the standard parameters: some parameters, moved to the frame of a body."""
    row = np.zeros(_WIDTH * len(robot.joints))
    if body:
        row[_WIDTH * (body - 1) : _WIDTH * (body - 1) + 10] = moved_parameters(T_body_shared) @ shared
    return row


def _scaled(T: Transform, size: float) -> Transform:
    return Transform(T.R, vec3.scale(1.0 / size, T.p))


def _rotations(T: Transform, samples: int) -> Matrix:
    rows = [[np.broadcast_to(entry, samples) for entry in row] for row in T.R]
    return np.moveaxis(np.array(rows, dtype=float), 2, 0)
