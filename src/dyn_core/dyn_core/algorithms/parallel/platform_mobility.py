# SPDX-License-Identifier: Apache-2.0
"""Mobility of the platform, and closed configurations of all legs near the assembly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.base_parameters.torque_effects import Matrix
from dyn_core.algorithms.link_motion import jacobian
from dyn_core.algorithms.parallel.leg_kinematics import PlatformMotion, placement_entries, platform_motion
from dyn_core.algorithms.parallel.leg_positions import (
    CLOSED,
    ITERATIONS,
    LONGEST_STEP,
    closed_leg,
    gaps,
    jacobians,
)
from dyn_core.algorithms.parallel.parallel_robot import Leg, ParallelRobot
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform

# Mobility

NULL = 1e-8  # Singular value, or angle between two subspaces, that counts as 0
STEPS = 3
STEP = 0.02
"""Number of placements in which the mobility is compared, and the distance between them (m or rad)."""


def mobility(robot: ParallelRobot) -> tuple[tuple[float, ...], ...]:
    """Return a constant basis of the platform velocities, rows [linear; angular]; else raise DynError."""
    T, q = robot.T_home, robot.q_home
    fixed = fixed_directions(robot.robot, robot.platform, robot.chain)
    basis = _basis(robot.legs, fixed, T, q)
    if len(basis) == 6:
        return tuple(tuple(float(i == k) for k in range(6)) for i in range(6))
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        T = moved(T, STEP * (random.standard_normal(len(basis)) @ basis))
        try:
            q = tuple(
                tuple(closed_leg(leg, at_rest(T), near)) for leg, near in zip(robot.legs, q, strict=True)
            )
        except DynError as error:
            raise _varies(robot) from error
        other = _basis(robot.legs, fixed, T, q)
        if other.shape != basis.shape or np.linalg.norm(other - other @ basis.T @ basis) > 1e3 * NULL:
            raise _varies(robot)
    return _reduced_basis(basis)


def fixed_directions(robot: Robot, platform: str, chain: Sequence[int]) -> Matrix:
    """Rows [linear; angular] along which the platform's own joints, if fewer than six, do not move it."""
    given = dict(robot.assembly)
    return _fixed(robot, platform, chain, [given.get(joint.name, 0.0) for joint in robot.joints])


def own_directions_change(robot: Robot, platform: str, chain: Sequence[int]) -> bool:
    """True if the directions in which the platform's own joints move it depend on its placement.

    They are constant for six joints, for slides only, and for two slides with a revolute joint normal to
    both, as in a planar joint.
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
    """Orthonormal rows that span the velocities of the platform allowed by all legs and its own joints."""
    rows = [fixed]
    for leg, of_leg in zip(legs, q, strict=True):
        J, of_platform = jacobians(leg, at_rest(T), of_leg)
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


def _reduced_basis(basis: Matrix) -> tuple[tuple[float, ...], ...]:
    """Return the reduced row echelon form of a basis: each row has a 1 in a column with zeros elsewhere."""
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
    return DynError("platform-mobility-varies", platform=robot.platform, element=f"link '{robot.platform}'")


# Closed configuration near the assembly

SETTLED = 1e-15  # Step of the iteration that is only rounding (m or rad)


class Assembled(NamedTuple):
    """Placement of the platform in the frame of the root, and joint positions of the legs (rad or m)."""

    T: Transform
    q: tuple[tuple[float, ...], ...]


def assembled(legs: Sequence[Leg], near: Assembled, fixed: Matrix) -> Assembled:
    """Return a configuration with all legs closed, by the Gauss-Newton method; else raise DynError."""
    T, q = near.T, np.array([x for of_leg in near.q for x in of_leg])
    sizes = [len(leg.bodies) for leg in legs]
    ends = np.cumsum(sizes).tolist()
    for _ in range(ITERATIONS):
        rows, errors = [], []
        for leg, end, size in zip(legs, ends, sizes, strict=True):
            of_leg = q[end - size : end].tolist()
            J, of_platform = jacobians(leg, at_rest(T), of_leg)
            block = np.zeros((len(J), len(q) + 6))
            block[:, end - size : end], block[:, len(q) :] = J, -of_platform
            rows.append(block)
            errors += gaps(leg, at_rest(T), of_leg)
        if not np.all(np.isfinite(errors)):
            break
        rows.append(np.hstack([np.zeros((len(fixed), len(q))), fixed]))
        targets = np.concatenate([-np.array(errors), np.zeros(len(fixed))])
        step = np.linalg.lstsq(np.vstack(rows), targets, rcond=1e-10)[0]
        largest = float(np.max(np.abs(step)))
        if largest <= SETTLED:
            break
        step *= min(1.0, LONGEST_STEP / largest)
        q = q + step[: len(q)]
        T = moved(T, step[len(q) :])
    closed = Assembled(T, tuple(tuple(q[e - n : e].tolist()) for e, n in zip(ends, sizes, strict=True)))
    for leg, of_leg in zip(legs, closed.q, strict=True):
        missing = max(map(abs, gaps(leg, at_rest(T), of_leg)))
        if not missing <= CLOSED:
            raise DynError("leg-open-in-assembly", leg=leg.name, gap=missing, element=f"loop '{leg.name}'")
    return closed


def at_rest(T: Transform) -> PlatformMotion:
    """Return a platform at rest at a placement."""
    return platform_motion(placement_entries(T), (0.0,) * 6, (0.0,) * 6, None)


def moved(T: Transform, by: Matrix) -> Transform:
    """Placement after a displacement [linear; rotation vector] on the axes of the root (m, rad)."""
    angle = float(np.linalg.norm(by[3:]))
    R = T.R
    if angle > 0.0:
        x, y, z = (by[3:] / angle).tolist()
        turn = mat3.add(
            mat3.scale(math.sin(angle), mat3.skew((x, y, z))),
            mat3.scale(2.0 * math.sin(0.5 * angle) ** 2, mat3.skew_squared((x, y, z))),
        )
        R = mat3.mul(mat3.add(mat3.IDENTITY, turn), T.R)
    dx, dy, dz = by[:3].tolist()
    return Transform(R, vec3.add(T.p, (dx, dy, dz)))
