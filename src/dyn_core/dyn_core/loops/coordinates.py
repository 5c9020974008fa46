# SPDX-License-Identifier: Apache-2.0
"""From the coordinates of a robot to the joints of its tree and back, with loops or without.

Algorithms for trees know the n joints of the tree; users know the coordinates. Mimic joints follow by
a constant map (`dyn_core.robot.joint_coupling`), passive joints of loops by
`dyn_core.algorithms.loops.passive_joint_motion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dyn_core.algorithms.loops.loop_structure import Structure, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.algorithms.loops.passive_joint_positions import solution
from dyn_core.robot.joint_coupling import (
    coordinate_inertia,
    coordinate_torques,
    joint_positions,
    joint_rates,
)
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr
from dyn_core.symbolic.scalar import Scalar, is_zero

Vector = Sequence[Scalar]


class Configuration(Protocol):
    """The joints of the tree at some positions of the coordinates.

    Attributes:
        q: n positions of the joints of the tree (rad or m).
    """

    q: list[Scalar]

    def rates(self, qd: Vector) -> list[Scalar]:
        """Velocities of the n joints from those of the coordinates (rad/s or m/s)."""
        ...

    def accelerations(self, qd: Vector, qdd: Vector) -> list[Scalar]:
        """Accelerations of the n joints from velocities and accelerations of the coordinates."""
        ...

    def torques(self, tau: Vector) -> list[Scalar]:
        """Torques on the coordinates from those on the n joints (N m or N)."""
        ...

    def many_torques(self, tau: Sequence[Vector]) -> list[list[Scalar]]:
        """The same of many torques at once, by the gradient of the joints."""
        ...

    def inertia(self, A: Sequence[Vector]) -> list[list[Scalar]]:
        """Inertia matrix of the coordinates from that of the n joints."""
        ...


def configuration(robot: Robot, q: Vector, x: Vector | None = None) -> Configuration:
    """Answer the configuration of a robot at positions of its coordinates (rad or m).

    Args:
        robot: the robot.
        q: the positions.
        x: of a robot with loops, positions of the passive joints that follow by no linear relation, where
            they are known.

    Where the loops have passive joints that follow by no linear relation and q are symbols, their positions
    are unknowns of the graph, which a program computes before all else.
    """
    return _Closed(robot, q, x) if robot.loops else _Tree(robot, q)


class _Tree:
    """A tree: all joints are coordinates, or mimic one."""

    def __init__(self, robot: Robot, q: Vector) -> None:
        self._robot = robot
        self.q = joint_positions(robot, q)

    def rates(self, qd: Vector) -> list[Scalar]:
        return joint_rates(self._robot, qd)

    def accelerations(self, qd: Vector, qdd: Vector) -> list[Scalar]:
        return joint_rates(self._robot, qdd)

    def torques(self, tau: Vector) -> list[Scalar]:
        return coordinate_torques(self._robot, tau)

    def many_torques(self, tau: Sequence[Vector]) -> list[list[Scalar]]:
        return [self.torques(one) for one in tau]

    def inertia(self, A: Sequence[Vector]) -> list[list[Scalar]]:
        return coordinate_inertia(self._robot, A)


class _Closed:
    """A robot with loops: passive joints follow the actuated ones."""

    def __init__(self, robot: Robot, q: Vector, x: Vector | None) -> None:
        self._robot = robot
        found = structure(robot)
        self._passive = Passive(robot, found, q, _unknowns(robot, found, q) if x is None else x)
        self.q = self._passive.q

    def rates(self, qd: Vector) -> list[Scalar]:
        return self._passive.rates(qd)

    def accelerations(self, qd: Vector, qdd: Vector) -> list[Scalar]:
        return self._passive.accelerations(self._passive.rates(qd), qdd)

    def torques(self, tau: Vector) -> list[Scalar]:
        return self._passive.actuated(coordinate_torques(self._robot, tau))

    def many_torques(self, tau: Sequence[Vector]) -> list[list[Scalar]]:
        G = self._passive.gradient()
        return [_product(coordinate_torques(self._robot, one), G) for one in tau]

    def inertia(self, A: Sequence[Vector]) -> list[list[Scalar]]:
        """``A_c = G^T A_tree G`` (SYMORO+ 2003, eq. (4.48))."""
        of_tree = coordinate_inertia(self._robot, A)
        G = self._passive.gradient()
        half = [_product(row, G) for row in of_tree]
        columns = list(zip(*G, strict=True))
        N = self._robot.dof
        full: list[list[Scalar]] = [[0.0] * N for _ in range(N)]
        for i in range(N):
            row = _product(columns[i], half)
            for k in range(i + 1):
                full[i][k] = full[k][i] = row[k]
        return full


def _product(row: Vector, matrix: Sequence[Vector]) -> list[Scalar]:
    totals: list[Scalar] = [0.0] * len(matrix[0])
    for entry, values in zip(row, matrix, strict=True):
        if not is_zero(entry):
            for k, value in enumerate(values):
                totals[k] = totals[k] + entry * value
    return totals


def _unknowns(robot: Robot, found: Structure, q: Vector) -> Vector:
    count = len(found.unknown)
    if count == 0:
        return []
    symbols = [value for value in q if isinstance(value, Expr)]
    if symbols:
        return symbols[0].graph.unknowns(tuple(q), count)
    return solution(robot, found, q)
