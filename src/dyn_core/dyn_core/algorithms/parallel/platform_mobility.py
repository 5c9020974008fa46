# SPDX-License-Identifier: Apache-2.0
"""How the platform of a parallel robot can move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.core.errors import DynError
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.kinematics.jacobian import jacobian
from dyn_core.linalg.transform import Transform
from dyn_core.parallel.assembled import at, moved
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_closure import closed_leg, jacobians
from dyn_core.robot.robot import Robot

NULL = 1e-8
"""What is 0 of a singular value, and of the angle between two subspaces."""

STEPS = 3
STEP = 0.02
"""Placements in which the mobility is compared, and the way between them (m or rad)."""


def mobility(robot: ParallelRobot) -> tuple[tuple[float, ...], ...]:
    """Answer a constant basis of the velocities of the platform: rows [linear; angular].

    Args:
        robot: the robot; its mobility does not matter.

    Raises:
        DynError: the platform moves in other directions elsewhere.
    """
    T, q = robot.T_home, robot.q_home
    fixed = fixed_directions(robot.robot, robot.platform, robot.chain)
    basis = _basis(robot.legs, fixed, T, q)
    if len(basis) == 6:
        return tuple(tuple(float(i == k) for k in range(6)) for i in range(6))
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        T = moved(T, STEP * (random.standard_normal(len(basis)) @ basis))
        try:
            q = tuple(tuple(closed_leg(leg, at(T), near)) for leg, near in zip(robot.legs, q, strict=True))
        except DynError as error:
            raise _varies(robot) from error
        other = _basis(robot.legs, fixed, T, q)
        if other.shape != basis.shape or np.linalg.norm(other - other @ basis.T @ basis) > 1e3 * NULL:
            raise _varies(robot)
    return _readable(basis)


def fixed_directions(robot: Robot, platform: str, chain: Sequence[int]) -> Matrix:
    """Rows [linear; angular] along which the platform's own joints do not move it.

    Six joints move it in all ways; those of others are the same everywhere (see `own_directions_change`).
    """
    given = dict(robot.assembly)
    return _fixed(robot, platform, chain, [given.get(joint.name, 0.0) for joint in robot.joints])


def own_directions_change(robot: Robot, platform: str, chain: Sequence[int]) -> bool:
    """Whether the directions in which the platform's own joints move it depend on where it is.

    They do not of six joints, of slides alone, and of two slides with a revolute joint normal to both, as a
    planar joint has.
    """
    fixed = fixed_directions(robot, platform, chain)
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        other = _fixed(robot, platform, chain, random.uniform(-1.0, 1.0, len(robot.joints)).tolist())
        if other.shape != fixed.shape or np.linalg.norm(other - other @ fixed.T @ fixed) > NULL:
            return True
    return False


def _fixed(robot: Robot, platform: str, chain: Sequence[int], q: list[float]) -> Matrix:
    if len(chain) == 6:
        return np.zeros((0, 6))
    J: Matrix = np.array(jacobian(robot, q, robot.link_frame(platform), robot.link_frames[0]))
    return _left_null(J)


def _basis(legs: Sequence[Leg], fixed: Matrix, T: Transform, q: Sequence[Sequence[float]]) -> Matrix:
    """Orthonormal rows that span the velocities of the platform that all legs, and its own joints, allow."""
    rows = [fixed]
    for leg, of_leg in zip(legs, q, strict=True):
        J, of_platform = jacobians(leg, at(T), of_leg)
        rows.append(_left_null(J) @ of_platform)
    constraints = np.vstack(rows)
    if not len(constraints):
        return np.eye(6)
    _, sizes, directions = np.linalg.svd(constraints)
    rank = int(np.sum(sizes > NULL * max(1.0, float(sizes[0]))))
    null: Matrix = directions[rank:]
    return null


def _left_null(J: Matrix) -> Matrix:
    """Orthonormal rows N with ``N J = 0``."""
    directions, sizes, _ = np.linalg.svd(J)
    rank = int(np.sum(sizes > NULL * max(1.0, float(sizes[0]))))
    null: Matrix = directions[:, rank:].T
    return null


def _readable(basis: Matrix) -> tuple[tuple[float, ...], ...]:
    """Answer a basis of the same space with a one and zeros in as many columns as there are rows."""
    reduced = basis.copy()
    columns: list[int] = []
    for row in range(len(reduced)):
        column = next(k for k in range(6) if k not in columns and np.max(np.abs(reduced[row:, k])) > 0.1)
        columns.append(column)
        pivot = row + int(np.argmax(np.abs(reduced[row:, column])))
        reduced[[row, pivot]] = reduced[[pivot, row]]
        reduced[row] /= reduced[row, column]
        for other in range(len(reduced)):
            if other != row:
                reduced[other] -= reduced[other, column] * reduced[row]
    near = np.round(reduced)
    reduced = np.where(np.abs(reduced - near) <= 1e3 * NULL, near, reduced) + 0.0
    return tuple(tuple(row) for row in reduced.tolist())


def _varies(robot: ParallelRobot) -> DynError:
    return DynError(
        f"platform '{robot.platform}': the directions in which it can move change with its placement: this "
        "is not a parallel robot of constant mobility; its loops can be computed with compile_model",
        element=f"link '{robot.platform}'",
    )
