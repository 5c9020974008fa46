# SPDX-License-Identifier: Apache-2.0
"""The passive joints of a robot with loops, in one configuration (SYMORO+ 2003, sec. 2.6 and 2.7).

Velocities and accelerations of the passive joints follow from those of the actuated joints by the
constraints ``W_p qd_p = -W_a qd_a`` and ``W_p qdd_p = -W_a qdd_a - Psi``, eqs. (2.37) and (2.40). Torques
of the passive joints are transferred to the actuated ones by ``Gamma_c = Gamma_a + W^T Gamma_p`` with
``W = -W_p^-1 W_a``, eq. (4.39). W is not formed where a product with a vector is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from dyn_core.algorithms.loops.block_solver import Block, BlockInverse, OrthogonalFactors, factorised
from dyn_core.algorithms.loops.constraints import acceleration_terms, on_independent, opening, rate_rows
from dyn_core.algorithms.loops.loop_structure import LinearPassive, Structure
from dyn_core.robot.joint_coupling import joint_positions, joint_rates, times
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, Scalars, is_zero

Values = dict[int, Scalar]  # Scalars by number of the joint


class Passive:
    """Relations of the passive to the actuated joints in one configuration.

    Attributes:
        q: n positions of the joints of the tree (rad or m).
    """

    def __init__(self, robot: Robot, found: Structure, q_a: Scalars, x: Scalars) -> None:
        """Take the configuration.

        `q_a`: positions of the actuated joints (rad or m); `x`: positions of the passive joints without a
        linear relation (rad or m).
        """
        self._robot = robot
        self._found = found
        self._numbers = {number: k for k, number in enumerate(robot.independent)}
        positions = {**self._with_linear(q_a, 1.0), **dict(zip(found.unknown, x, strict=True))}
        self.q = joint_positions(robot, [positions[j] for j in robot.independent])

    def openings(self) -> tuple[list[Scalar], list[Scalar]]:
        """Openings of the loops, in the constraints that determine the unknown joints and in the others."""
        gaps, others = [], []
        for cut in self._found.cuts:
            of_loop, more = opening(self._robot, cut, self.q)
            gaps += of_loop
            others += more
        kept = set(self._found.rows)
        others += [gap for row, gap in enumerate(gaps) if row not in kept]
        return [gaps[row] for row in self._found.rows], others

    def newton_step(self) -> list[Scalar]:
        """Change of the unknown joints (rad or m) that closes the loops to first order."""
        gaps, _ = self.openings()
        return [-step for step in self._solve(gaps)]

    def rates(self, qd_a: Scalars) -> list[Scalar]:
        """Velocities of the n joints of the tree (rad/s or m/s)."""
        return self._all(self._following(qd_a, [0.0] * len(self._found.rows)))

    def accelerations(self, qd: Scalars, qdd_a: Scalars) -> list[Scalar]:
        """Accelerations of the n joints of the tree (rad/s^2 or m/s^2).

        They follow from those of the actuated joints and the velocities of all n.
        """
        return self._all(self._following(qdd_a, self._acceleration_terms(qd)))

    def _acceleration_terms(self, qd: Scalars) -> list[Scalar]:
        if not self._found.unknown:
            return []
        terms = [t for cut in self._found.cuts for t in acceleration_terms(self._robot, cut, self.q, qd)]
        return [terms[row] for row in self._found.rows]

    def multipliers(self, torques: Scalars) -> list[Scalar]:
        """Lambda of ``W_p^T lambda = -Gamma_p`` from torques of independent joints: SYMORO+ 2003, (4.37)."""
        return self._solve_transposed([-torques[self._numbers[j]] for j in self._found.unknown])

    def matrix(self) -> list[list[Scalar]]:
        """Matrix W_p: a row for each constraint, a column for each unknown joint."""
        rows = [self._rows[row] for row in self._found.rows]
        return [[row[j] for j in self._found.unknown] for row in rows]

    def actuated(self, torques: Scalars) -> list[Scalar]:
        """Torques of the actuated joints from those of the independent joints (SYMORO+ 2003, eq. (4.39))."""
        by_joint: Values = {j: torques[k] for j, k in self._numbers.items()}
        if self._found.unknown:
            multipliers = self.multipliers(torques)
            for row, multiplier in zip(self._found.rows, multipliers, strict=True):
                for j, entry in self._known_entries(row).items():
                    by_joint[j] = by_joint[j] + entry * multiplier
        for linear in self._found.linear:
            for j, coefficient in linear.coefficients:
                by_joint[j] = by_joint[j] + times(coefficient, by_joint[linear.joint])
        return [by_joint[j] for j in self._robot.coordinates]

    def _known_entries(self, row: int) -> Values:
        """Entries of a constraint that belong to known joints and are not 0."""
        unknown = set(self._found.unknown)
        entries = self._rows[row].items()
        return {j: entry for j, entry in entries if j not in unknown and not is_zero(entry)}

    def gradient(self) -> list[list[Scalar]]:
        """Matrix G of ``qd = G qd_a``: a row of N for each independent joint (Khalil 2010, eq. (56))."""
        N = self._robot.dof
        zeros: list[Scalar] = [0.0] * len(self._found.rows)
        columns = [self._following([float(i == k) for i in range(N)], zeros) for k in range(N)]
        return [[column[j] for column in columns] for j in self._robot.independent]

    def _following(self, of_actuated: Scalars, terms: Scalars) -> Values:
        """Solve the constraints with their terms Psi (0 for rates) for all independent joints."""
        known = self._with_linear(of_actuated, 0.0)
        if not self._found.unknown:
            return known
        b = []
        for row, term in zip(self._found.rows, terms, strict=True):
            total = -term
            for j, entry in self._known_entries(row).items():
                total = total - entry * known[j]
            b.append(total)
        return {**known, **dict(zip(self._found.unknown, self._solve(b), strict=True))}

    def _with_linear(self, of_actuated: Scalars, constants: float) -> Values:
        """Positions (constants = 1.0) or rates (0.0) of all joints except the unknown ones."""
        values: Values = dict(zip(self._robot.coordinates, of_actuated, strict=True))
        return values | {linear.joint: _value(linear, values, constants) for linear in self._found.linear}

    def _all(self, values: Values) -> list[Scalar]:
        """Rates of the n joints of the tree from those of the independent ones."""
        return joint_rates(self._robot, [values[j] for j in self._robot.independent])

    @cached_property
    def _rows(self) -> list[Values]:
        """Constraints, as entries by number of independent joint."""
        rows = [row for cut in self._found.cuts for row in rate_rows(self._robot, cut, self.q)]
        independent = self._robot.independent
        return [dict(zip(independent, on_independent(self._robot, row), strict=True)) for row in rows]

    @cached_property
    def _factors(self) -> list[BlockInverse | OrthogonalFactors]:
        rows = [self._rows[row] for row in self._found.rows]
        return [factorised(rows, block, self._joints(block)) for block in self._found.blocks]

    def _joints(self, block: Block) -> list[int]:
        return [self._found.unknown[c] for c in block.columns]

    def _solve(self, b: Scalars) -> list[Scalar]:
        """Return x of ``W_p x = b`` for the unknown joints, block by block."""
        x: Values = {}
        for block, factors in zip(self._found.blocks, self._factors, strict=True):
            rest = [self._less_known(row, b[row], x) for row in block.rows]
            x.update(zip(self._joints(block), factors.solve(rest), strict=True))
        return [x[j] for j in self._found.unknown]

    def _less_known(self, row: int, b: Scalar, x: Mapping[int, Scalar]) -> Scalar:
        entries = self._rows[self._found.rows[row]]
        for j, value in x.items():
            if not is_zero(entries[j]):
                b = b - entries[j] * value
        return b

    def _solve_transposed(self, f: Scalars) -> list[Scalar]:
        """Return y of ``W_p^T y = f``, block by block from the last."""
        y: dict[int, Scalar] = {}
        of_joint = dict(zip(self._found.unknown, f, strict=True))
        for block, factors in zip(reversed(self._found.blocks), reversed(self._factors), strict=True):
            rest = []
            for j in self._joints(block):
                total = of_joint[j]
                for row, value in y.items():
                    entry = self._rows[self._found.rows[row]][j]
                    if not is_zero(entry):
                        total = total - entry * value
                rest.append(total)
            y.update(zip(block.rows, factors.solve_transposed(rest), strict=True))
        return [y[row] for row in range(len(self._found.rows))]


def _value(linear: LinearPassive, values: Values, constants: float) -> Scalar:
    total: Scalar = constants * linear.constant
    for j, coefficient in linear.coefficients:
        total = total + times(coefficient, values[j])
    return total
