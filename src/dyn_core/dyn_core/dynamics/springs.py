# SPDX-License-Identifier: Apache-2.0
"""What the springs of elastic joints add to the torques (Khalil 2010, eqs. (69), (70))."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dyn_core.robot.joints import Joint
from dyn_core.symbolic.scalar import Scalar, is_zero


class _Pull(NamedTuple):
    """A spring between joint j and its motor, both counted from 0; the motor is None where there is none."""

    j: int
    motor: int | None
    stiffness: float
    rest: float
    damping: float


def _pulls(joints: Sequence[Joint]) -> Iterator[_Pull]:
    for j, joint in enumerate(joints):
        spring = joint.elastic
        if spring is not None:
            motor = spring.motor - 1 if spring.motor else None
            yield _Pull(j, motor, spring.stiffness, spring.rest, spring.damping)


def spring_torques(joints: Sequence[Joint], q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """What the springs add to the torques of the rigid bodies: ``K (dq - q0) + D d(dq)/dt``, their opposite.

    Args:
        joints: the n joints of the tree.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).

    Returns:
        n torques (N m or N), 0 for joints that no spring acts on.
    """
    torques: list[Scalar] = [0.0] * len(joints)
    for pull in _pulls(joints):
        stretch, rate = q[pull.j], qd[pull.j]
        if pull.motor is not None:
            stretch, rate = stretch - q[pull.motor], rate - qd[pull.motor]
        if pull.rest != 0.0:
            stretch = stretch - pull.rest
        torque = pull.stiffness * stretch
        if pull.damping != 0.0:
            torque = torque + pull.damping * rate
        torques[pull.j] = torque
        if pull.motor is not None:
            torques[pull.motor] = -torque
    return torques


def with_spring_torques(
    joints: Sequence[Joint], torques: Sequence[Scalar], q: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """Torques of the n joints of the tree with those of the springs; the arguments are as above."""
    springs = spring_torques(joints, q, qd)
    return [a if is_zero(b) else a + b for a, b in zip(torques, springs, strict=True)]


def stiffness_matrix(joints: Sequence[Joint]) -> list[list[float]]:
    """The n x n matrix K of the springs: ``spring_torques = K q + D qd`` but for their positions at rest."""
    return _matrix(joints, [pull.stiffness for pull in _pulls(joints)])


def damping_matrix(joints: Sequence[Joint]) -> list[list[float]]:
    """The n x n matrix D of the springs."""
    return _matrix(joints, [pull.damping for pull in _pulls(joints)])


def _matrix(joints: Sequence[Joint], values: Sequence[float]) -> list[list[float]]:
    n = len(joints)
    matrix = [[0.0] * n for _ in range(n)]
    for pull, value in zip(_pulls(joints), values, strict=True):
        matrix[pull.j][pull.j] += value
        if pull.motor is not None:
            matrix[pull.motor][pull.motor] += value
            matrix[pull.j][pull.motor] -= value
            matrix[pull.motor][pull.j] -= value
    return matrix
