# SPDX-License-Identifier: Apache-2.0
"""Find joints that move no mass and singular inertia matrices, for which forward dynamics fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dyn_core.algorithms.dynamics.newton_euler import inertia_matrix
from dyn_core.check.subject import Subject, closed_positions, tried_positions
from dyn_core.check.whole_robot import extent
from dyn_core.core.arrays import Array, scalars
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

POSITIONS = 32
"""Number of sample positions."""

LARGEST = 128
"""Greatest number of coordinates for which the matrix is computed: its eigenvalues take the third power."""

NEGLIGIBLE = 1e-14
"""Rounding error as a fraction of the inertia of the moved mass at the end of the robot."""

SINGULAR = 1e9
"""Condition number, with ones on the diagonal, at which 9 of 16 digits of accelerations are lost."""


def inertia_matrices(subject: Subject) -> Iterator[Finding]:
    """Find joints that move no mass, and combinations of joints that move almost none."""
    robot = subject.robot
    if robot.dof == 0:
        return
    if robot.dof > LARGEST:
        yield Finding(
            Severity.NOTE, "robot", (), Message("inertia-matrix-unchecked", dof=robot.dof, limit=LARGEST)
        )
        return
    A = _closed_inertia_matrices(robot) if robot.loops else _tried_inertia_matrices(robot)
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


def _tried_inertia_matrices(robot: Robot) -> Array:
    """Return the inertia matrix in sample positions, (N, dof, dof)."""
    q = joint_positions(robot, scalars(tried_positions(robot, POSITIONS)))
    return _stacked(coordinate_inertia(robot, inertia_matrix(robot, q)), POSITIONS)


def _closed_inertia_matrices(robot: Robot) -> Array:
    """Return the inertia matrix of a robot with loops in closed sample positions, (N, dof, dof)."""
    found = closed_positions(robot)
    if found is None:
        return np.empty((0, robot.dof, robot.dof))
    positions = len(found.q)
    of_tree = _stacked(coordinate_inertia(robot, inertia_matrix(robot, found.at.q)), positions)
    G = _stacked(found.at.gradient(), positions)
    return np.asarray(np.swapaxes(G, 1, 2) @ of_tree @ G)


def _stacked(rows: Sequence[Sequence[Scalar]], samples: int) -> Array:
    """Stack rows of arrays, or of numbers that are the same in all samples, to matrices."""
    A: Array = np.empty((samples, len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            A[:, i, j] = entry
    return A


def _rounding(robot: Robot) -> Array:
    """Rounding error of the inertia of each coordinate, from the mass that it moves at the robot's reach."""
    carried = [abs(body.M) for body in robot.bodies]
    for j in range(len(robot.joints), 0, -1):
        carried[robot.joints[j - 1].antecedent] += carried[j]
    if robot.loops:  # any passive joint may carry mass that an actuator moves
        everything = sum(carried[j] for j, joint in enumerate(robot.joints, start=1) if joint.antecedent == 0)
        moved = dict.fromkeys(robot.coordinates, everything)
    else:
        moved = dict.fromkeys(robot.coordinates, 0.0)
        for j, joint in enumerate(robot.joints, start=1):
            coordinate = joint.mimic.leader if joint.mimic else j
            if coordinate:
                moved[coordinate] += carried[j]
    length = max(1.0, extent(robot).reach)
    return NEGLIGIBLE * length * length * np.array(list(moved.values()))


def _massless(robot: Robot, names: tuple[str, ...]) -> Finding:
    if len(names) == robot.dof:
        return Finding(Severity.ERROR, "robot", (), Message("robot-without-mass"))
    return Finding(Severity.ERROR, "joint", names, Message("joint-without-mass"))


def _singular(names: list[str], A: Array) -> Iterator[Finding]:
    """Check A scaled to ones on its diagonal, so that units and sizes of links do not matter."""
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
    singular = not np.isfinite(condition[worst])
    code = "inertia-matrix-singular" if singular else "inertia-matrix-nearly-singular"
    yield Finding(Severity.WARNING, "joint", involved, Message(code, condition=float(condition[worst])))


def _indefinite(names: tuple[str, ...]) -> Finding:
    return Finding(Severity.ERROR, "joint", names, Message("inertia-matrix-indefinite"))
