# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics in which some joints move as they are told, and the efforts that this takes.

Joints that friction holds, or that lie against a stop, have a known acceleration; those of the others
follow. Which joints are held is an input, so that one program serves all cases: where a joint is held,
its row and column of the inertia matrix give way to those of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.linalg.scalar import Scalar
from dyn_core.model.coupling import (
    coordinate_inertia,
    coordinate_torques,
    joint_positions,
    joint_rates,
)
from dyn_core.model.robot import Robot

SIZES = {"q": 1, "qd": 1, "tau": 1, "friction": 1, "free": 1, "given": 1, "old": 2, "last": 2}
"""Lengths of the vectors that `held_dynamics` takes before `times`, in numbers for each coordinate."""


def held_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    friction: Sequence[Scalar],
    free: Sequence[Scalar],
    given: Sequence[Scalar],
    old: Sequence[Scalar],
    last: Sequence[Scalar],
    times: Sequence[Scalar],
) -> list[Scalar]:
    """Solve ``(A + h Fv) qdd = tau + friction - H + reaction`` for the joints that are free.

    With h = 0 this is Khalil 2010, eq. (8). With h a step, viscous friction is that at the velocity
    ``qd + h qdd`` at the end of the step, whatever its size. A and H are those at the positions
    ``q + c qd + d old`` and velocities ``qd + c last``, for a stage of a Runge-Kutta method.

    Args:
        robot: the robot; its Coulomb friction is left out, viscous friction and offset are in H.
        q: dof positions (rad or m).
        qd: dof velocities (rad/s or m/s).
        tau: dof torques of the actuators (N m or N).
        friction: dof torques of what else acts on the joints (N m or N).
        free: by coordinate, 1 where the joint is free and 0 where it is held.
        given: by coordinate, the acceleration of a joint that is held, and 0 of one that is free.
        old: results of this function two stages ago.
        last: results of this function one stage ago.
        times: c (s), d (s^2) and h (s).

    Returns:
        dof accelerations (rad/s^2 or m/s^2), then dof reactions: the efforts (N m or N) that hold
        the joints that are held, 0 for the others.
    """
    c, d, h = times
    n = robot.dof
    positions = joint_positions(robot, [q[k] + c * qd[k] + d * old[k] for k in range(n)])
    rates = joint_rates(robot, [qd[k] + c * last[k] for k in range(n)])
    A = coordinate_inertia(robot, inertia_matrix(robot, positions))
    H = coordinate_torques(robot, bias_torques(robot, positions, rates, robot.gravity_0, {}))
    M = [
        [A[i][k] + h * Fv if i == k else A[i][k] for k in range(n)]
        for i, Fv in enumerate(viscous_friction(robot))
    ]
    wanted = [tau[k] + friction[k] - H[k] - _product(M[k], given) for k in range(n)]
    reduced = [[M[i][k] if i == k else free[i] * free[k] * M[i][k] for k in range(n)] for i in range(n)]
    coupled = [[i for i in range(k) if not _is_zero(A[k][i])] for k in range(n)]
    found = solved(factorised(reduced, coupled), [free[k] * wanted[k] for k in range(n)])
    reactions = [(1.0 - free[k]) * (_product(M[k], found) - wanted[k]) for k in range(n)]
    return [a + b for a, b in zip(found, given, strict=True)] + reactions


def viscous_friction(robot: Robot) -> list[Scalar]:
    """Viscous friction of the coordinates, the diagonal ``G^T Fv G``: each joint follows one coordinate."""
    rates = joint_rates(robot, [1.0] * robot.dof)
    torques = [joint.friction.Fv * rate for joint, rate in zip(robot.joints, rates, strict=True)]
    return coordinate_torques(robot, torques)


def _product(row: Sequence[Scalar], x: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for entry, value in zip(row, x, strict=True):
        total = total + entry * value
    return total


def _is_zero(value: Scalar) -> bool:
    """Whether an entry is 0 by the structure of the robot: a number, where others are symbols."""
    return isinstance(value, float) and value == 0.0


def runge_kutta_sum(
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    a1: Sequence[Scalar],
    a2: Sequence[Scalar],
    a3: Sequence[Scalar],
    a4: Sequence[Scalar],
    h: Sequence[Scalar],
) -> list[Scalar]:
    """Positions, then velocities, after a step of the classical method for ``q'' = a(q, q')``.

    Args:
        q: dof positions (rad or m).
        qd: dof velocities (rad/s or m/s).
        a1: results of `held_dynamics` in the first stage.
        a2: those in the second.
        a3: those in the third.
        a4: those in the fourth.
        h: one number, the step (s).
    """
    n, sixth = len(q), h[0] * (1.0 / 6.0)
    inner = [a2[k] + a3[k] for k in range(n)]
    positions = [q[k] + h[0] * (qd[k] + sixth * (a1[k] + inner[k])) for k in range(n)]
    return positions + [qd[k] + sixth * (a1[k] + 2.0 * inner[k] + a4[k]) for k in range(n)]
