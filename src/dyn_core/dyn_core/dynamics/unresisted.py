# SPDX-License-Identifier: Apache-2.0
"""Joints that no inertia resists, for which there is no direct dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from dyn_core.algorithms.loops.continuation import Step
from dyn_core.algorithms.loops.loop_structure import geometry_of
from dyn_core.algorithms.loops.passive_joint_positions import Closing, position_nearby
from dyn_core.core.errors import DynError, listed
from dyn_core.dynamics.factorisation import factorised
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot

Inertia: TypeAlias = Callable[[list[float]], Sequence[Sequence[float]]]

NOTHING = 1e-10
"""Part of what a joint moves, below which what is left when the later joints are free is rounding."""

ADDED = (0.01 * NOTHING, 0.1 * NOTHING)
"""Parts by which diagonal entries are made greater."""


_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, and in no simple relation to pi


def no_forward_dynamics(robot: Robot, names: Sequence[str]) -> DynError:
    """Answer the error for a robot with joints that no inertia resists."""
    what, remedy = "joint", "its link mass and inertia, or the joint a rotor inertia"
    if len(names) > 1:
        what, remedy = "the joints", "their links mass and inertia, or the joints rotor inertia"
    return DynError(
        f"robot '{robot.name}' has no forward dynamics: no inertia resists {what} {listed(names)}: "
        f"give {remedy}",
        element=f"joint '{names[0]}'",
    )


def unresisted_joints(
    robot: Robot, inertia: Inertia | None = None, step: Callable[[], Step] | None = None
) -> tuple[str, ...]:
    """Names of the joints that a torque accelerates without limit, in whatever position.

    Args:
        robot: the robot.
        inertia: its inertia matrix A(q), where a function for it is at hand.
        step: answers Newton's step for its passive joints, where a fast one is at hand.
    """
    found = _unresisted_at(*_position(robot, 1.0, inertia, step))
    if found:  # the position may be a singular one by chance
        found &= _unresisted_at(*_position(robot, -1.0, inertia, step))
    return tuple(name for k, name in enumerate(robot.coordinate_names) if k in found)


def _position(
    robot: Robot, sign: float, inertia: Inertia | None, step: Callable[[], Step] | None
) -> tuple[Inertia, list[float]]:
    """The inertia matrix and a position (rad or m) of no symmetry, in which the loops are closed."""
    if robot.loops:
        q, x = position_nearby(Closing(geometry_of(robot), step), sign)
        return inertia or partial(_coordinate_inertia, robot, x=x), list(q)
    least = 1.0 if sign > 0.0 else -2.0
    return inertia or partial(_coordinate_inertia, robot), _positions(robot.dof, least)


def _positions(dof: int, least: float) -> list[float]:
    """Positions of no symmetry (rad or m) between `least` and `least` + 1."""
    return [least + (_GOLDEN * k) % 1.0 for k in range(1, dof + 1)]


def _coordinate_inertia(
    robot: Robot, q: Sequence[float], x: Sequence[float] | None = None
) -> Sequence[Sequence[float]]:
    at = configuration(robot, q, x)
    return at.inertia(inertia_matrix(robot, at.q))


def _unresisted_at(inertia: Inertia, q: list[float]) -> set[int]:
    A = inertia(q)
    return set(unresisted(A, [[i for i in range(k) if A[k][i] != 0.0] for k in range(len(A))]))


def unresisted(A: Sequence[Sequence[float]], nonzero: Sequence[Iterable[int]]) -> tuple[int, ...]:
    """Joints, counted from 0, that a torque accelerates without limit.

    A joint is resisted by what the articulated links beyond it oppose to it, H of Khalil 2010,
    eq. (36), which is also its place in D of the factorised inertia matrix. It is 0 for a joint
    that carries no mass, or whose motion a carried joint can undo without moving any mass. So that
    the others are found, too, a little is added to all diagonal entries. Where a joint moves little
    beside those that undo its motion, that little alone becomes more than rounding in its place: the
    place of a joint that is resisted by mass does not grow with it.

    Args:
        A: inertia matrix, at a position of no symmetry if the answer shall hold for almost all.
        nonzero: by row, the columns before the diagonal whose entries can be other than 0.
    """
    little, more = (factorised(_with_more(A, part), nonzero).D_inverse for part in ADDED)
    own = [A[k][k] for k in range(len(A))]
    return tuple(
        k
        for k, x in enumerate(own)
        if x == 0.0 or not 0.0 < little[k] * x * NOTHING < 1.0 or little[k] > 2.0 * more[k]
    )


def _with_more(A: Sequence[Sequence[float]], part: float) -> list[list[float]]:
    """Answer a matrix with diagonal entries that are greater by a part, and 1 where they are 0."""
    rows = [list(row) for row in A]
    for k, row in enumerate(rows):
        row[k] = row[k] * (1.0 + part) or 1.0
    return rows
