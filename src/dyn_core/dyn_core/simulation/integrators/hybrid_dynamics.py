# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics, with some accelerations given, the midpoint step, and friction of passive joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.elastic_dynamics import (
    damping_matrix,
    stiffness_matrix,
    with_spring_torques,
)
from dyn_core.algorithms.dynamics.newton_euler import (
    bias_torques,
    drive_torques,
    factorised,
    inertia_matrix,
    solved,
)
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.algorithms.loops.passive_joint_positions import Configuration, configuration
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, dot, is_zero, sqrt

# Coulomb friction of passive joints of loops, exact if possible, else smooth

SPEED = 1e-3  # Speed v0 (rad/s or m/s) above which smooth friction is about Fs


def without_coulomb_friction(robot: Robot) -> Robot:
    """Return the robot without Coulomb friction; viscous friction and offset are kept."""
    joints = (
        replace(joint, friction=Friction(Fv=joint.friction.Fv, Fo=joint.friction.Fo))
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def constant_ratios(robot: Robot) -> list[tuple[int, float] | None]:
    """Return the constant ratio of each joint of the tree to a coordinate: its index, from 0, and the factor.

    None for joints that follow several coordinates, or with a changing ratio, or do not move.
    """
    followed: dict[int, tuple[tuple[int, float], ...]] = {j: ((j, 1.0),) for j in robot.coordinates}
    if robot.loops:
        followed |= {linear.joint: linear.coefficients for linear in structure(robot).linear}
    index = {j: k for k, j in enumerate(robot.coordinates)}
    ratios: list[tuple[int, float] | None] = []
    for number, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (number, 1.0)
        of = followed.get(leader, ())
        one = of[0] if len(of) == 1 and multiplier != 0.0 else None
        ratios.append(None if one is None else (index[one[0]], one[1] * multiplier))
    return ratios


def rubbing(robot: Robot) -> tuple[bool, ...]:
    """Return for each joint of the tree whether its Coulomb friction is smooth in a simulation.

    If the rate of a passive joint is a constant multiple of that of one actuated joint, its friction acts
    like that of a mimic joint: it is added to the friction of the actuated joint, also at rest. The friction
    of other passive joints is smooth, because they may reverse while the actuated joints continue.
    """
    ratios = constant_ratios(robot)
    return tuple(
        bool(robot.loops) and ratio is None and joint.friction.Fs != 0.0
        for joint, ratio in zip(robot.joints, ratios, strict=True)
    )


def passive_friction(
    at: Configuration,
    A: Sequence[Sequence[Scalar]],
    coupled: Sequence[Sequence[int]],
    Fs: Sequence[Scalar],
    rates: Sequence[Scalar],
    h: Scalar,
) -> list[Scalar]:
    """Return the smooth friction of the joints of the tree (N m or N): ``Fs qd / sqrt(qd^2 + w^2)``.

    The width is ``w^2 = v0^2 + (k h Fs D)^2`` with D = g A^-1 g^T the reciprocal of the inertia that resists
    the joint, g its row of ``qd_tree = G qd_a``, k the number of such joints, and h the step of the
    integrator. The decay rates due to this friction are eigenvalues of ``A^-1 sum of g^T g Fs / w``, whose
    trace is at most 1 / h. So no explicit method overshoots, and the friction always dissipates energy.

    Args:
        at: the configuration.
        A: inertia matrix of the coordinates.
        coupled: for each row of A, the columns before the diagonal whose entries are not 0.
        Fs: Coulomb friction of the joints of the tree, 0.0 for joints without (N m or N).
        rates: velocities of the joints of the tree (rad/s or m/s).
        h: step of the integrator (s).
    """
    n = len(A)
    which = [i for i, value in enumerate(Fs) if not is_zero(value)]
    factors = factorised(A, coupled)
    columns = [at.rates([float(i == k) for i in range(n)]) for k in range(n)]
    friction: list[Scalar] = [0.0] * len(Fs)
    for i in which:
        g = [column[i] for column in columns]
        D = dot(g, solved(factors, g))
        width = (float(len(which)) * h) * (Fs[i] * D)
        v = rates[i]
        friction[i] = Fs[i] * v / sqrt(v * v + width * width + SPEED * SPEED)
    return friction


# Direct dynamics with given accelerations of some joints, and their reactions

SIZES = {"q": 1, "qd": 1, "tau": 1, "friction": 1, "free": 1, "given": 1, "old": 2, "last": 2}
"""Lengths of the vectors that `held_dynamics` takes before `times`, as numbers per coordinate."""

TIMES = 4  # Length of `times`


def held_dynamics(robot: Robot, rubbing: Sequence[Scalar], *vectors: Sequence[Scalar]) -> list[Scalar]:
    """Solve ``(A + h Fv + h^2 K) qdd = tau + friction - H - h K qd + reaction`` for the joints that are free.

    With h = 0 this is Khalil 2010, eq. (8). With h a step, viscous friction and the damping of springs are
    those at the velocity ``qd + h qdd`` at the end of the step, and the torques of springs are those at the
    position ``q + h qd + h^2 qdd``. A and H are those at the positions ``q + c qd + d old`` and velocities
    ``qd + c last``, for a stage of a Runge-Kutta method. Which joints friction and stops hold is an input, so
    that one program covers all cases: the row and column of a held joint in the inertia matrix are replaced
    by those of the identity.

    Args:
        robot: the robot; its Coulomb friction is ignored, viscous friction and offset are in H.
        rubbing: smooth Coulomb friction of the joints of the tree (N m or N), which is also in H, see
            `passive_friction`; 0.0 for joints without.
        vectors: the vectors of `SIZES`, then `times`:

            q, qd: dof positions and velocities (rad or m; rad/s or m/s).
            tau: dof torques of the actuators (N m or N).
            friction: dof other torques on the joints (N m or N).
            free: for each coordinate, 1 if the joint is free and 0 if it is held.
            given: for each coordinate, the acceleration of a held joint, and 0 for a free one.
            old: results of this function two stages ago.
            last: results of this function one stage ago.
            times: c (s), d (s^2), h (s) and the step of the integrator (s).

    Returns:
        dof accelerations (rad/s^2 or m/s^2), then dof reactions: the efforts (N m or N) on held joints, 0 for
        the others.
    """
    q, qd, tau, friction, free, given, old, last, (c, d, h, step) = vectors
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
    surplus = [tau[k] + friction[k] - H[k] - dot(M[k], given) for k in range(n)]
    return _free_change(M, coupled, free, surplus, given)


def _free_change(
    M: Sequence[Sequence[Scalar]],
    coupled: Sequence[Sequence[int]],
    free: Sequence[Scalar],
    surplus: Sequence[Scalar],
    base: Sequence[Scalar],
) -> list[Scalar]:
    """Return ``base + x``, then reactions: ``M x = surplus`` for free joints, x = 0 for held ones."""
    n = len(M)
    reduced = [[M[i][k] if i == k else free[i] * free[k] * M[i][k] for k in range(n)] for i in range(n)]
    change = solved(factorised(reduced, coupled), [free[k] * surplus[k] for k in range(n)])
    reactions = [(1.0 - free[k]) * (dot(M[k], change) - surplus[k]) for k in range(n)]
    return [a + b for a, b in zip(change, base, strict=True)] + reactions


def viscous_friction(robot: Robot, at: Configuration) -> list[list[Scalar]]:
    """Viscous friction of the coordinates, ``G^T (Fv + D) G``; with loops neither diagonal nor constant."""
    of_tree: list[list[Scalar]] = [list(row) for row in damping_matrix(robot.joints)]
    for k, joint in enumerate(robot.joints):
        of_tree[k][k] = of_tree[k][k] + joint.friction.Fv
    return at.inertia(of_tree)


def _bias(robot: Robot, at: Configuration, qd: Sequence[Scalar]) -> list[Scalar]:
    """Torques of the coordinates for accelerations 0, at which passive joints of loops may accelerate."""
    rates = at.rates(qd)
    if not robot.loops:
        torques = bias_torques(robot, at.q, rates, robot.gravity_0, {})
        return at.torques(with_spring_torques(robot.joints, torques, at.q, rates))
    accelerations = at.accelerations(qd, [0.0] * robot.dof)
    rigid = newton_euler.inverse_dynamics(robot, at.q, rates, accelerations, robot.gravity_0, {})
    drives = drive_torques(robot.joints, rates, accelerations)
    return at.torques([a + b for a, b in zip(rigid, drives, strict=True)])


def runge_kutta_sum(
    q: Sequence[Scalar], qd: Sequence[Scalar], *stages_and_step: Sequence[Scalar]
) -> list[Scalar]:
    """Positions, then velocities, after a step of the classical method for ``q'' = a(q, q')``.

    After dof positions (rad or m) and velocities (rad/s or m/s) come the results of `held_dynamics` in the
    four stages, and one number, the step (s).
    """
    a1, a2, a3, a4, (h,) = stages_and_step
    n, sixth = len(q), h * (1.0 / 6.0)
    inner = [a2[k] + a3[k] for k in range(n)]
    positions = [q[k] + h * (qd[k] + sixth * (a1[k] + inner[k])) for k in range(n)]
    return positions + [qd[k] + sixth * (a1[k] + 2.0 * inner[k] + a4[k]) for k in range(n)]


def midpoint_dynamics(robot: Robot, *vectors: Sequence[Scalar]) -> list[Scalar]:
    """Improve the accelerations a of ``A a + H = tau + friction + reaction`` in the middle of a step h.

    A and H, with springs and viscous friction, are those at ``q + h/2 qd + h^2/4 a`` and ``qd + h/2 a``. The
    next accelerations follow from the last ones by a step of Newton's method, with the derivatives of springs
    and viscous friction only: ``(A + h/2 (Fv + D) + h^2/4 K) (next - last) = tau + friction - H - A last``.
    The error is reduced by a factor of the order of the step, for any stiffness.

    Args:
        robot: the robot, without loops; its Coulomb friction is ignored.
        vectors: q, qd, tau, friction and free, as for `held_dynamics`, at the beginning of the step; last,
            dof accelerations (rad/s^2 or m/s^2), 0 for held joints; and one number, the step h (s).

    The results are those of `held_dynamics`.
    """
    q, qd, tau, friction, free, last, (step,) = vectors
    n, half = robot.dof, 0.5 * step
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
    surplus = [tau[k] + friction[k] - H[k] - dot(A[k], last) for k in range(n)]
    return _free_change(M, coupled, free, surplus, last)
