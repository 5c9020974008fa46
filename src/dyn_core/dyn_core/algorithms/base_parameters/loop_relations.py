# SPDX-License-Identifier: Apache-2.0
"""What bodies on both sides of a cut joint have in common (SYMORO+ 2003, sec. 4.5.1 and 4.5.2).

A relation is a change of the standard parameters that no torque shows: its row times the energy functions
h is 0. With the loops cut, those of the tree are known; each loop adds some, and none of them needs its
geometric equations to be solved:

* mass that moves with both sides of a cut joint can be taken as a part of either: of a revolute joint
  a point on its axis and what is spread along it, ``h^i lambda_k = h^j lambda_k+B`` with lambda^10,
  lambda^9 and lambda^1+4 (4.51), of a prismatic joint the six moments of inertia (4.52);
* bodies that never turn on one another, as the opposite links of parallelograms, share their inertia
  matrices (4.53) to (4.56);
* rotors of joints whose speeds are constant multiples of a few share what is quadratic in these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.geometry.forward import body_placements
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ, M, Matrix, moved_parameters
from dyn_core.grouping.relations import size_of, units_of
from dyn_core.linalg.transform import Transform
from dyn_core.model.loop import LoopType
from dyn_core.robot.joint_coupling import joint_positions, joint_rates
from dyn_core.robot.mdh.cut_frames import CutJoint, cut_joints
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.vec3 import Vec3

_WIDTH = len(PER_BODY)
_SAME = 1e-9
"""Difference of entries of rotation matrices that is rounding."""

_POINT, _ALONG, _AXIAL = ((M,),), ((MZ,),), ((XX, YY),)
_INERTIA = tuple((k,) for k in (XX, XY, XZ, YY, YZ, ZZ))
_FIRST_MOMENTS = ((MX,), (MY,), (MZ,))
_IN_COMMON: dict[LoopType, tuple[tuple[int, ...], ...]] = {
    LoopType.FIXED: tuple((k,) for k in range(10)),
    LoopType.REVOLUTE: (*_AXIAL, *_ALONG, *_POINT),
    LoopType.PRISMATIC: _INERTIA,
    LoopType.CYLINDRICAL: _AXIAL,
    LoopType.SPHERICAL: _POINT,
    LoopType.UNIVERSAL: _POINT,
    LoopType.PLANAR: _AXIAL,
}
"""Parameters, in the frames of a cut joint, of what moves with both of its sides; some only together."""


def loop_relations(robot: Robot, mount: Mount, q: Matrix) -> Matrix:
    """Answer relations between the standard parameters of a robot that its loops bring.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        q: closed configurations, near one another and far apart, (K, independent joints) (rad or m).

    Returns:
        one row for each relation, with lengths in units of `size_of`, as the columns are.
    """
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
    for places in _IN_COMMON[kind]:
        shared = np.zeros(10)
        shared[list(places)] = 1.0
        yield _moved(robot, cut.P.body, _smaller(cut.P.T_body_link, size), shared) - _moved(
            robot, cut.C.body, _smaller(cut.C.T_body_link, size), shared
        )


def _of_equal_rotation(robot: Robot, mount: Mount, q: Matrix) -> Iterator[Matrix]:
    """Relations of bodies that never turn on one another.

    The moments of inertia of those that never turn on the base have no effect; nor have their first moments,
    unless it moves: ``v . (omega x MS)`` is 0 and the work of gravity on MS is constant.
    """
    T = body_placements(robot, joint_positions(robot, list(q.T)))
    R = [_rotations(placement, len(q)) for placement in T]
    unmoved = Transform(mat3.IDENTITY, vec3.ZERO)
    for j in range(1, len(T)):
        relative = ((i, np.swapaxes(R[i], 1, 2) @ R[j]) for i in range(j))
        fixed = ((i, part[0]) for i, part in relative if np.ptp(part, axis=0).max() < _SAME)
        for i, R_i_j in fixed:
            on_first = Transform(_rows(R_i_j), vec3.ZERO)
            places = (*_INERTIA, *_FIRST_MOMENTS) if i == 0 and mount != "moving" else _INERTIA
            for shared in np.eye(10)[np.ravel(places)]:
                yield _moved(robot, j, unmoved, shared) - _moved(robot, i, on_first, shared)
            break  # the others follow


def _of_rotors(robot: Robot, size: float) -> Iterator[Matrix]:
    """Relations of rotors: ``Ia_j (c_j . qd)^2 / 2`` are quadratic forms, constant where the c_j are."""
    rates: dict[int, Matrix] = dict(zip(robot.coordinates, np.eye(robot.dof), strict=True))
    for linear in structure(robot).linear:
        terms = (value * rates[j] for j, value in linear.coefficients)
        rates[linear.joint] = sum(terms, np.zeros(robot.dof))
    varying = np.full(robot.dof, np.nan)
    of_independent = np.array([rates.get(j, varying) for j in robot.independent])
    c = np.array([joint_rates(robot, list(column)) for column in of_independent.T]).T
    places = np.flatnonzero(np.isfinite(c).all(axis=1)) * _WIDTH + _WIDTH - 1
    units = units_of(robot.joints, size)[places]
    forms = np.array([np.outer(row, row).ravel() for row in c[places // _WIDTH]]) * units[:, None]
    directions, values, _ = np.linalg.svd(forms)
    rank = int(np.sum(values > _SAME * values.max(initial=1.0)))
    for combination in directions[:, rank:].T:
        row = np.zeros(_WIDTH * len(robot.joints))
        row[places] = combination
        yield row


def _moved(robot: Robot, body: int, T_body_shared: Transform, shared: Matrix) -> Matrix:
    """Answer a row of the standard parameters: what some parameters are in the frame of a body."""
    row = np.zeros(_WIDTH * len(robot.joints))
    if body:
        row[_WIDTH * (body - 1) : _WIDTH * (body - 1) + 10] = moved_parameters(T_body_shared) @ shared
    return row


def _smaller(T: Transform, size: float) -> Transform:
    return Transform(T.R, vec3.scale(1.0 / size, T.p))


def _rotations(T: Transform, samples: int) -> Matrix:
    rows = [[np.broadcast_to(entry, samples) for entry in row] for row in T.R]
    return np.moveaxis(np.array(rows, dtype=float), 2, 0)


def _rows(R: Matrix) -> Mat3:
    return mat3.transpose(mat3.from_columns(*(_vector(row) for row in R)))


def _vector(row: Matrix) -> Vec3:
    x, y, z = row.tolist()
    return (x, y, z)
