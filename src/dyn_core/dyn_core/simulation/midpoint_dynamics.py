# SPDX-License-Identifier: Apache-2.0
"""Accelerations of a step of the implicit midpoint rule, by a step of Newton's method."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.springs import stiffness_matrix, with_spring_torques
from dyn_core.linalg.dot import dot
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.hybrid_dynamics import viscous_friction
from dyn_core.symbolic.scalar import Scalar, is_zero

MIDPOINT_SIZES = {"q": 1, "qd": 1, "tau": 1, "friction": 1, "free": 1, "last": 1}
"""Lengths of the vectors that `midpoint_dynamics` takes before `step`, in numbers for each coordinate."""


def midpoint_dynamics(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    friction: Sequence[Scalar],
    free: Sequence[Scalar],
    last: Sequence[Scalar],
    step: Sequence[Scalar],
) -> list[Scalar]:
    """Better accelerations a for ``A a + H = tau + friction + reaction`` in the middle of a step h.

    A and H, with springs and viscous friction, are those at ``q + h/2 qd + h^2/4 a`` and ``qd + h/2 a``.
    From the last accelerations to the next is a step of Newton's method, with the derivatives of springs and
    viscous friction alone: ``(A + h/2 (Fv + D) + h^2/4 K) (next - last) = tau + friction - H - A last``.
    What it leaves of the error is of the order of the step, whatever the stiffness.

    Args:
        robot: the robot, without loops; its Coulomb friction is left out.
        q: dof positions at the beginning (rad or m).
        qd: dof velocities there (rad/s or m/s).
        tau: dof torques of the actuators (N m or N).
        friction: dof torques of what else acts on the joints (N m or N).
        free: by coordinate, 1 where the joint is free and 0 where it is held where it is.
        last: dof accelerations (rad/s^2 or m/s^2), 0 for joints that are held.
        step: one number, the step h (s).

    Returns:
        dof accelerations (rad/s^2 or m/s^2), then dof reactions: the efforts (N m or N) that hold
        the joints that are held, 0 for the others.
    """
    n, half = robot.dof, 0.5 * step[0]
    quarter = half * half
    at = configuration(robot, [q[k] + half * qd[k] + quarter * last[k] for k in range(n)])
    rates = at.rates([qd[k] + half * last[k] for k in range(n)])
    A = at.inertia(inertia_matrix(robot, at.q))
    torques = bias_torques(robot, at.q, rates, robot.gravity_0, {})
    H = at.torques(with_spring_torques(robot.joints, torques, at.q, rates))
    F = viscous_friction(robot, at)
    K = at.inertia(stiffness_matrix(robot.joints))
    M = [[A[i][k] + half * F[i][k] + quarter * K[i][k] for k in range(n)] for i in range(n)]
    coupled = [[i for i in range(k) if not is_zero(M[k][i])] for k in range(n)]
    lacking = [tau[k] + friction[k] - H[k] - dot(A[k], last) for k in range(n)]
    reduced = [[M[i][k] if i == k else free[i] * free[k] * M[i][k] for k in range(n)] for i in range(n)]
    change = solved(factorised(reduced, coupled), [free[k] * lacking[k] for k in range(n)])
    reactions = [(1.0 - free[k]) * (dot(M[k], change) - lacking[k]) for k in range(n)]
    return [a + b for a, b in zip(last, change, strict=True)] + reactions
