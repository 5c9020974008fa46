# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction of passive joints of loops: exact where it can be, and smooth where it cannot.

A passive joint that always turns a constant multiple of one actuated joint rubs as a joint that mimics it
does, and its friction is a part of that of the actuated joint, at rest too. Another one turns round while
the actuated joints go on, with a ratio that changes. There the friction is

    Fs qd / sqrt(qd^2 + w^2),    w^2 = v0^2 + (k h Fs D)^2

with D = g A^-1 g^T the reciprocal of the inertia that resists the joint, g its row of ``qd_tree = G qd_a``, k
the number of such joints, and h the step of the integrator. The rates at which such frictions bring the robot
to rest are eigenvalues of ``A^-1 sum of g^T g Fs / w``, whose trace is not above 1 / h: so no explicit method
overshoots, whatever the friction is, and it always takes energy.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.loops.coordinates import Configuration
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, is_zero, sqrt

SPEED = 1e-3
"""Least speed v0 (rad/s or m/s) from which on the friction is about Fs."""


def constant_ratios(robot: Robot) -> list[tuple[int, float] | None]:
    """Answer by joint of the tree the coordinate, from 0, that its rate is a multiple of, and the multiple.

    None for those that follow several coordinates, or another way, and for those that stand still.
    """
    followed: dict[int, tuple[tuple[int, float], ...]] = {j: ((j, 1.0),) for j in robot.coordinates}
    if robot.loops:
        followed |= {linear.joint: linear.coefficients for linear in structure(robot).linear}
    places = {j: k for k, j in enumerate(robot.coordinates)}
    ratios: list[tuple[int, float] | None] = []
    for number, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (number, 1.0)
        of = followed.get(leader, ())
        one = of[0] if len(of) == 1 and multiplier != 0.0 else None
        ratios.append(None if one is None else (places[one[0]], one[1] * multiplier))
    return ratios


def rubbing(robot: Robot) -> tuple[bool, ...]:
    """Answer by joint of the tree whether its Coulomb friction is smooth in a simulation."""
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
    """Answer the smooth friction of the joints of the tree (N m or N).

    Args:
        at: the configuration.
        A: inertia matrix of the coordinates.
        coupled: by row of A, the columns before the diagonal whose entries are not 0.
        Fs: Coulomb friction by joint of the tree, 0.0 for those without (N m or N).
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
        D: Scalar = 0.0
        for x, y in zip(g, solved(factors, g), strict=True):
            D = D + x * y
        width = (float(len(which)) * h) * (Fs[i] * D)
        v = rates[i]
        friction[i] = Fs[i] * v / sqrt(v * v + width * width + SPEED * SPEED)
    return friction
