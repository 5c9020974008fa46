# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics in which some joints move as they are told, and the efforts that this takes.

Joints that friction holds, or that lie against a stop, have a known acceleration; those of the others
follow. Which joints are held is an input, so that one program serves all cases: where a joint is held,
its row and column of the inertia matrix give way to those of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.springs import damping_matrix, stiffness_matrix, with_spring_torques
from dyn_core.linalg.dot import dot
from dyn_core.loops.coordinates import Configuration, configuration
from dyn_core.robot.robot import Robot
from dyn_core.simulation.passive_friction import passive_friction
from dyn_core.symbolic.scalar import Scalar, is_zero

SIZES = {"q": 1, "qd": 1, "tau": 1, "friction": 1, "free": 1, "given": 1, "old": 2, "last": 2}
"""Lengths of the vectors that `held_dynamics` takes before `times`, in numbers for each coordinate."""

TIMES = 4
"""Length of `times`."""


def held_dynamics(
    robot: Robot,
    rubbing: Sequence[Scalar],
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
    """Solve ``(A + h Fv + h^2 K) qdd = tau + friction - H - h K qd + reaction`` for the joints that are free.

    With h = 0 this is Khalil 2010, eq. (8). With h a step, viscous friction, with the damping of springs, is
    that at the velocity ``qd + h qdd`` at the end of the step, and springs pull as they do at the position
    ``q + h qd + h^2 qdd``, whatever their size. A and H are those at the positions
    ``q + c qd + d old`` and velocities ``qd + c last``, for a stage of a Runge-Kutta method.

    Args:
        robot: the robot; its Coulomb friction is left out, viscous friction and offset are in H.
        rubbing: by joint of the tree, Coulomb friction that is in H, too, smooth as `passive_friction`
            says; 0.0 for joints without (N m or N).
        q: dof positions (rad or m).
        qd: dof velocities (rad/s or m/s).
        tau: dof torques of the actuators (N m or N).
        friction: dof torques of what else acts on the joints (N m or N).
        free: by coordinate, 1 where the joint is free and 0 where it is held.
        given: by coordinate, the acceleration of a joint that is held, and 0 of one that is free.
        old: results of this function two stages ago.
        last: results of this function one stage ago.
        times: c (s), d (s^2), h (s) and the step of the integrator (s).

    Returns:
        dof accelerations (rad/s^2 or m/s^2), then dof reactions: the efforts (N m or N) that hold
        the joints that are held, 0 for the others.
    """
    c, d, h, step = times
    n = robot.dof
    at = configuration(robot, [q[k] + c * qd[k] + d * old[k] for k in range(n)])
    A = at.inertia(inertia_matrix(robot, at.q))
    F = viscous_friction(robot, at)
    rates = [qd[k] + c * last[k] for k in range(n)]
    H = _bias(robot, at, rates)
    M = [[A[i][k] + h * F[i][k] for k in range(n)] for i in range(n)]
    if robot.elastic_joint_names:
        K = at.inertia(stiffness_matrix(robot.joints))
        M = [[M[i][k] + (h * h) * K[i][k] for k in range(n)] for i in range(n)]
        H = [H[i] + h * dot(K[i], rates) for i in range(n)]
    coupled = [[i for i in range(k) if not is_zero(M[k][i])] for k in range(n)]
    if any(not is_zero(Fs) for Fs in rubbing):
        rubbed = at.torques(passive_friction(at, A, coupled, rubbing, at.rates(rates), step))
        H = [a + b for a, b in zip(H, rubbed, strict=True)]
    wanted = [tau[k] + friction[k] - H[k] - dot(M[k], given) for k in range(n)]
    reduced = [[M[i][k] if i == k else free[i] * free[k] * M[i][k] for k in range(n)] for i in range(n)]
    found = solved(factorised(reduced, coupled), [free[k] * wanted[k] for k in range(n)])
    reactions = [(1.0 - free[k]) * (dot(M[k], found) - wanted[k]) for k in range(n)]
    return [a + b for a, b in zip(found, given, strict=True)] + reactions


def viscous_friction(robot: Robot, at: Configuration) -> list[list[Scalar]]:
    """Viscous friction of the coordinates, ``G^T (Fv + D) G``: with loops neither diagonal nor constant."""
    of_tree: list[list[Scalar]] = [list(row) for row in damping_matrix(robot.joints)]
    for k, joint in enumerate(robot.joints):
        of_tree[k][k] = of_tree[k][k] + joint.friction.Fv
    return at.inertia(of_tree)


def _bias(robot: Robot, at: Configuration, qd: Sequence[Scalar]) -> list[Scalar]:
    """What the coordinates need for accelerations 0: passive joints of loops accelerate all the same."""
    rates = at.rates(qd)
    if not robot.loops:
        torques = bias_torques(robot, at.q, rates, robot.gravity_0, {})
        return at.torques(with_spring_torques(robot.joints, torques, at.q, rates))
    accelerations = at.accelerations(qd, [0.0] * robot.dof)
    rigid = newton_euler.inverse_dynamics(robot, at.q, rates, accelerations, robot.gravity_0, {})
    drives = drive_torques(robot.joints, rates, accelerations)
    return at.torques([a + b for a, b in zip(rigid, drives, strict=True)])


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
