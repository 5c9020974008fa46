# SPDX-License-Identifier: Apache-2.0
"""Constraints of many configurations at once, as arrays: what the analysis of loops computes with.

Lengths are counted in units of the size of the robot's loops, so that they compare with angles. Joints
that mimic others have no columns; what they do is in those of their leaders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.constraints import chain, opening, rate_rows
from dyn_core.geometry.forward import placements_from
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint, cut_joints
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Numbers:
    """The constraints of a robot over arrays of configurations, (K, number of independent joints)."""

    robot: Robot

    @cached_property
    def cuts(self) -> tuple[CutJoint, ...]:
        """The cut joints."""
        return cut_joints(self.robot)

    @cached_property
    def size(self) -> float:
        """Length (m) in which lengths are counted: how far apart the axes of the largest loop are."""
        q = joint_positions(self.robot, [0.0] * len(self.robot.independent))
        largest = 0.0
        for cut in self.cuts:
            joints = chain(self.robot, cut).joints
            T = placements_from(self.robot, q, cut.P, joints)
            for j in joints:
                largest = max(largest, vec3.norm(T[j].p))
        return largest or 1.0

    @cached_property
    def column_units(self) -> Array:
        """By independent joint, what one of its unit is in the unit of the analysis: rad, or `size`."""
        joints = (self.robot.joints[j - 1] for j in self.robot.independent)
        return np.array([self.size if joint.sigma is Sigma.PRISMATIC else 1.0 for joint in joints])

    @cached_property
    def row_units(self) -> Array:
        """The same by constraint."""
        units = []
        for cut in self.cuts:
            units += [self.size] * len(cut.linear) + [1.0] * (cut.rows - len(cut.linear))
        return np.array(units)

    def openings(self, q: Array) -> tuple[Array, Array]:
        """How far the loops are open: (K, constraints), and what else has to be 0 (K, any)."""
        positions = self._positions(q)
        found, others = [], []
        for cut in self.cuts:
            gaps, more = opening(self.robot, cut, positions)
            found += gaps
            others += more
        return self._stacked(found, len(q)) / self.row_units, self._stacked(others, len(q))

    def rates(self, q: Array) -> Array:
        """Matrices W of ``W qd = 0``: (K, constraints, independent joints)."""
        positions = self._positions(q)
        rows = [row for cut in self.cuts for row in rate_rows(self.robot, cut, positions)]
        entries = [on_independent(self.robot, row) for row in rows]
        W = np.stack([self._stacked(entry, len(q)) for entry in entries], axis=1)
        return W * self.column_units / self.row_units[:, np.newaxis]

    def _positions(self, q: Array) -> list[Scalar]:
        return joint_positions(self.robot, list(q.T))

    @staticmethod
    def _stacked(values: Sequence[Scalar], samples: int) -> Array:
        columns = [np.broadcast_to(value, (samples,)) for value in values]
        return np.stack(columns, axis=1) if columns else np.zeros((samples, 0))


def on_independent(robot: Robot, row: Mapping[int, Scalar]) -> list[Scalar]:
    """Entries of a row of W by independent joint, from those by joint of the tree."""
    return coordinate_torques(robot, [row.get(j, 0.0) for j in range(1, len(robot.joints) + 1)])
