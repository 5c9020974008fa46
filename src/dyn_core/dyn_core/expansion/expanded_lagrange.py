# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form of a small robot, expanded: expressions of SymPy with simplified trigonometry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dyn_core.core.errors import DynError
from dyn_core.dynamics.coordinate_lagrange import coordinate_lagrange, refuse_loops
from dyn_core.expansion.sympy_library import sympy_library
from dyn_core.expansion.trigonometric_products import greatest
from dyn_core.lagrange.expanded_form import expression, symbol
from dyn_core.lagrange.named_robot import named_robot
from dyn_core.lagrange.trigonometric_sums import Harmonics, variable
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

MOST_JOINTS = 4
"""The most joints of a robot that is expanded: beyond, nobody reads the answer."""


@dataclass(frozen=True)
class ExpandedLagrange:
    """Coefficients of ``tau = A qdd + B [qd qd] + C [qd^2] + Q`` (SYMORO+ 2003, eq. (A2.1)), in SI units.

    Symbols are named as the parameters of the robot, with the numbers of its joints: ``q2`` for a position,
    ``MX2``, ``d2``, and ``g`` for the size of the acceleration of gravity. All are real.

    Attributes:
        coordinates: numbers of the joints that the rows belong to.
        A: inertia matrix with the inertia of the rotors, n x n.
        B: coefficients of the products qd_1 qd_2, qd_1 qd_3 ..., qd_2 qd_3 ..., n x n (n - 1) / 2.
        C: coefficients of the squares of the velocities, n x n.
        Q: gravity torques, n x 1.
        definitions: symbols that stand for expressions of others, with these as text.
        values: values of the symbols, of those in definitions, too, but for positions (SI units).
    """

    coordinates: tuple[int, ...]
    A: Any
    B: Any
    C: Any
    Q: Any
    definitions: tuple[tuple[str, str], ...]
    values: Mapping[str, float]

    @property
    def coriolis_matrix(self) -> Any:
        """Matrix H of the Christoffel symbols, in ``qd1``, ``qd2`` ...: dA/dt - 2 H is skew-symmetric."""
        n = len(self.coordinates)
        qd = [symbol(f"qd{j}") for j in self.coordinates]
        H = sympy_library().zeros(n, n)
        for i in range(n):
            for j in range(n):
                H[i, j] += self.C[i, j] * qd[j]
            for column, (j, k) in enumerate(combinations(range(n), 2)):
                H[i, j] += self.B[i, column] * qd[k] / 2
                H[i, k] += self.B[i, column] * qd[j] / 2
        return H


def expanded_lagrange(robot: Robot, base_parameters: bool = False, numbers: bool = False) -> ExpandedLagrange:
    """Answer the Lagrange form of a robot of at most four joints as expressions of SymPy.

    Args:
        robot: the robot, a tree. What of its parameters and lengths is 0 has no symbol.
        base_parameters: whether base parameters take the place of the standard ones (see `base_parameters`):
            ``ZZR1`` for those that others are grouped in.
        numbers: whether parameters, lengths and gravity are numbers, and positions alone symbols.

    Raises:
        DynError: the robot has more joints, or loops, or SymPy is not installed.
    """
    refuse_loops(robot)
    if len(robot.joints) > MOST_JOINTS:
        raise DynError(
            f"robot '{robot.name}' has {len(robot.joints)} joints, and the expanded form is for at most "
            f"{MOST_JOINTS}: take the customised form, which is for any number"
        )
    sympy_library()
    named = named_robot(robot, variable, base_parameters, numbers)
    A, b, Q = coordinate_lagrange(named.robot, named.q)
    n = range(robot.dof)
    B = [[2.0 * b[i][j][k] for j, k in combinations(n, 2)] for i in n]
    C = [[b[i][j][j] for j in n] for i in n]
    of_symbols = [_matrix(rows, not numbers) for rows in (A, B, C, [[torque] for torque in Q])]
    named = named.used({free.name for matrix in of_symbols for free in matrix.free_symbols})
    return ExpandedLagrange(
        robot.coordinates,
        of_symbols[0],
        of_symbols[1],
        of_symbols[2],
        of_symbols[3],
        named.definitions,
        named.values,
    )


def _matrix(rows: list[list[Scalar]], exact: bool) -> Any:
    """Answer a matrix; what is tiny beside the rest of it is rounding."""
    sympy = sympy_library()
    least = 1e-12 * max(_greatest(rows), default=0.0)
    written = [expression(value, least, exact) for row in rows for value in row]
    return sympy.ImmutableMatrix(len(rows), len(rows[0]) if rows else 0, written)


def _greatest(rows: Iterable[Iterable[Harmonics | float]]) -> Iterable[float]:
    return (greatest(value) for row in rows for value in row)
