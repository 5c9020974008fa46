# SPDX-License-Identifier: Apache-2.0
"""Joints that move no mass, and inertia matrices that are singular: there forward dynamics fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dyn_core.check.closed_positions import closed_positions
from dyn_core.check.extent import extent
from dyn_core.check.positions import tried_positions
from dyn_core.check.subject import Subject
from dyn_core.core.arrays import Array, scalars
from dyn_core.core.findings import Finding, Severity
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

POSITIONS = 32
"""How many positions are tried."""

NOTHING = 1e-14
"""Part of the inertia that a joint would move at the end of the robot, that is rounding."""

SINGULAR = 1e9
"""Condition number, with ones on the diagonal, from which on 9 of 16 digits of accelerations are lost."""


def inertia_matrices(subject: Subject) -> Iterator[Finding]:
    """Find joints that move no mass, and combinations of joints that move next to none."""
    robot = subject.robot
    if robot.dof == 0:
        return
    A = closed_inertia_matrices(robot) if robot.loops else tried_inertia_matrices(robot)
    A = A[np.isfinite(A).all(axis=(1, 2))]
    if not len(A):
        return
    diagonal = np.einsum("sii->si", A)
    moves = np.abs(diagonal).max(axis=0) > _rounding(robot)
    names = np.array(robot.coordinate_names)
    if not moves.all():
        yield _massless(robot, tuple(names[~moves].tolist()))
    negative = (diagonal < 0.0).any(axis=0) & moves
    usable = (diagonal[:, moves] > 0.0).all(axis=1)
    if negative.any():
        yield _indefinite(tuple(names[negative].tolist()))
    elif moves.any() and usable.any():
        yield from _singular(names[moves].tolist(), A[usable][:, moves][:, :, moves])


def tried_inertia_matrices(robot: Robot) -> Array:
    """Answer the inertia matrix in some positions, (N, dof, dof)."""
    q = joint_positions(robot, scalars(tried_positions(robot, POSITIONS)))
    return _stacked(coordinate_inertia(robot, inertia_matrix(robot, q)), POSITIONS)


def closed_inertia_matrices(robot: Robot) -> Array:
    """Answer the inertia matrix of a robot with loops in some closed positions, (N, dof, dof)."""
    found = closed_positions(robot)
    if found is None:
        return np.empty((0, robot.dof, robot.dof))
    positions = len(found.q)
    of_tree = _stacked(coordinate_inertia(robot, inertia_matrix(robot, found.at.q)), positions)
    G = _stacked(found.at.gradient(), positions)
    return np.asarray(np.swapaxes(G, 1, 2) @ of_tree @ G)


def _stacked(rows: Sequence[Sequence[Scalar]], samples: int) -> Array:
    """Answer rows of arrays, or of numbers that are the same in all samples, as matrices."""
    A: Array = np.empty((samples, len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            A[:, i, j] = entry
    return A


def _rounding(robot: Robot) -> Array:
    """Inertia that is rounding, by coordinate: the mass that each moves, as if it were far away."""
    carried = [abs(body.M) for body in robot.bodies]
    for j in range(len(robot.joints), 0, -1):
        carried[robot.joints[j - 1].antecedent] += carried[j]
    if robot.loops:  # what an actuator moves may hang on any passive joint
        everything = sum(carried[j] for j, joint in enumerate(robot.joints, start=1) if joint.antecedent == 0)
        moved = dict.fromkeys(robot.coordinates, everything)
    else:
        moved = dict.fromkeys(robot.coordinates, 0.0)
        for j, joint in enumerate(robot.joints, start=1):
            coordinate = joint.mimic.leader if joint.mimic else j
            if coordinate:
                moved[coordinate] += carried[j]
    length = max(1.0, extent(robot).reach)
    return NOTHING * length * length * np.array(list(moved.values()))


def _massless(robot: Robot, names: tuple[str, ...]) -> Finding:
    if len(names) == robot.dof:
        message = "no joint moves a mass, so that there are no dynamics: give the links <inertial>"
        return Finding(Severity.ERROR, "robot", (), message)
    message = (
        "without a mass to move and without rotor inertia, forward dynamics is impossible: "
        "give the links that it carries <inertial>, or the joint a rotor inertia"
    )
    return Finding(Severity.ERROR, "joint", names, message)


def _singular(names: list[str], A: Array) -> Iterator[Finding]:
    """Look at A with ones on its diagonal, so that neither units nor sizes of links matter."""
    scale = 1.0 / np.sqrt(np.einsum("sii->si", A))
    scaled = A * scale[:, :, None] * scale[:, None, :]
    values = np.linalg.eigvalsh(scaled)
    condition = np.where(values[:, 0] > 0.0, values[:, -1] / np.maximum(values[:, 0], 1e-300), np.inf)
    worst = int(condition.argmax())
    if condition[worst] < SINGULAR:
        return
    share = np.abs(np.linalg.eigh(scaled[worst]).eigenvectors[:, 0])
    involved = tuple(name for name, part in zip(names, share, strict=True) if part > 0.3 * share.max())
    if values[worst, 0] < -1e-12:
        yield _indefinite(involved)
        return
    amount = f"{condition[worst]:.1e}" if np.isfinite(condition[worst]) else "infinite"
    what = (
        f"moved together they move next to no mass in some positions (condition number {amount}), where "
        "forward dynamics is inaccurate or fails: give the links between them an inertia, or one of them a "
        "rotor inertia"
    )
    yield Finding(Severity.WARNING, "joint", involved, what)


def _indefinite(names: tuple[str, ...]) -> Finding:
    what = (
        "the inertia matrix is not positive definite in some positions, so that forward dynamics has no "
        "meaning: look for inertias that no body has"
    )
    return Finding(Severity.ERROR, "joint", names, what)
