# SPDX-License-Identifier: Apache-2.0
"""Loop constraints: opening, rate and acceleration terms, over scalars and over arrays.

The two branches of a loop form one chain, from frame P on one side of the cut joint through the root of the
loop to frame C on the other side. Its joints move C relative to P. The chain runs backwards through the
joints of the branch of P, which therefore have the opposite sign. Joints common to both branches are not
part of the chain. All vectors are expressed in P.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint, cut_joints
from dyn_core.robot.mdh.direct_geometry import lineage, placements_from, transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class Chain:
    """The joints between the two sides of a cut joint."""

    joints: tuple[int, ...]  # numbers of the joints, in the order from P to C
    signs: tuple[float, ...]  # 1.0 if the chain runs through the joint from antecedent to link, else -1.0


def chain(robot: Robot, cut: CutJoint) -> Chain:
    """Return the chain between the two sides of a cut joint, through both branches of its loop."""
    from_P, from_C = lineage(robot, cut.P.body), lineage(robot, cut.C.body)
    back = [j for j in from_P if j not in from_C]
    forth = [j for j in reversed(from_C) if j not in from_P]
    return Chain((*back, *forth), (-1.0,) * len(back) + (1.0,) * len(forth))


def opening(robot: Robot, cut: CutJoint, q: Scalars) -> tuple[list[Scalar], list[Scalar]]:
    """Opening of a loop: 0 in each constraint if the loop is closed (SYMORO+ 2003, eq. (1.7)).

    Returns by constraint, the position errors of C (m), then the sines of its angle errors; and other values
    that are 0 if the loop is closed, but have no rate there: 1 minus the cosines of these angles.
    """
    R, p = transform_between(robot, q, cut.P, cut.C)
    gaps = [p[k] for k in cut.linear]
    if cut.cosine is not None:
        return [*gaps, R[2][2] - cut.cosine], []
    if not cut.angular:
        return gaps, []
    if len(cut.angular) == 3:
        turned = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
        return gaps + turned, [1.0 - 0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0)]
    return [*gaps, -R[1][2], R[0][2]], [1.0 - R[2][2]]


def rate_rows(robot: Robot, cut: CutJoint, q: Scalars) -> list[dict[int, Scalar]]:
    """Rows of ``W qd = 0`` of a closed loop, by number of the joint (SYMORO+ 2003, eqs. (2.34), (2.35))."""
    return _ChainAxes(robot, cut, q).rows()


def acceleration_terms(robot: Robot, cut: CutJoint, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Terms Psi of ``W qdd + Psi = 0`` of a closed loop (m/s^2, rad/s^2): SYMORO+ 2003, eq. (2.40)."""
    return _ChainAxes(robot, cut, q).acceleration_terms(qd)


class _ChainAxes:
    """The axes of the joints of a chain, in P."""

    def __init__(self, robot: Robot, cut: CutJoint, q: Scalars) -> None:
        self.cut = cut
        self.chain = chain(robot, cut)
        T = placements_from(robot, q, cut.P, self.chain.joints)
        R, p = transform_between(robot, q, cut.P, cut.C)
        self.tip = _without(p, cut.linear)  # origin of C; components that the constraints make 0 are 0
        self.z = mat3.column(R, 2)
        self.axes = {j: mat3.column(T[j].R, 2) for j in self.chain.joints}
        self.points = {j: T[j].p for j in self.chain.joints}
        self.turns = {j: robot.joints[j - 1].sigma is Sigma.REVOLUTE for j in self.chain.joints}

    def rows(self) -> list[dict[int, Scalar]]:
        columns = {
            j: self._constrained(*(vec3.scale(s, v) for v in self._screw(j)))
            for j, s in zip(self.chain.joints, self.chain.signs, strict=True)
        }
        return [{j: column[k] for j, column in columns.items()} for k in range(self.cut.rows)]

    def _screw(self, j: int) -> tuple[Vec3, Vec3]:
        """Linear velocity of C and angular velocity per unit of velocity of joint j."""
        a = self.axes[j]
        if not self.turns[j]:
            return a, vec3.ZERO
        return vec3.cross(a, vec3.sub(self.tip, self.points[j])), a

    def _constrained(self, linear: Vec3, angular: Vec3) -> list[Scalar]:
        """Components of a velocity or acceleration that the cut joint blocks."""
        cut = self.cut
        found = [linear[k] for k in cut.linear] + [angular[k] for k in cut.angular]
        if cut.cosine is not None:  # d(e3 . z) = w . (z x e3)
            found.append(angular[0] * self.z[1] - angular[1] * self.z[0])
        return found

    def acceleration_terms(self, qd: Scalars) -> list[Scalar]:
        """Recursion along the chain without accelerations (SYMORO+ 2003, eq. (2.32)), on the axes of P."""
        v_tip, omega = vec3.ZERO, vec3.ZERO
        moving: list[tuple[int, Scalar, Vec3]] = []  # joint, its rate, angular velocity before it
        for j, s in zip(self.chain.joints, self.chain.signs, strict=True):
            rate = s * qd[j - 1]
            moving.append((j, rate, omega))
            linear, angular = self._screw(j)
            v_tip = vec3.add(v_tip, vec3.scale(rate, linear))
            omega = vec3.add(omega, vec3.scale(rate, angular))
        v_tip = _without(v_tip, self.cut.linear)  # 0 while the loop stays closed
        a_tip, alpha = vec3.ZERO, vec3.ZERO
        v = vec3.ZERO  # velocity of the origin of P's side of each joint, as a point of the body before it
        before = vec3.ZERO
        for j, rate, omega_before in moving:
            a = self.axes[j]
            turned = vec3.scale(rate, vec3.cross(omega_before, a))
            v = vec3.add(v, vec3.cross(omega_before, vec3.sub(self.points[j], before)))
            before = self.points[j]
            if self.turns[j]:
                arm = vec3.sub(self.tip, self.points[j])
                along = vec3.scale(rate, vec3.cross(a, vec3.sub(v_tip, v)))
                a_tip = vec3.add(a_tip, vec3.add(vec3.cross(turned, arm), along))
                alpha = vec3.add(alpha, turned)
            else:
                a_tip = vec3.add(a_tip, turned)
                v = vec3.add(v, vec3.scale(rate, a))
        found = self._constrained(a_tip, alpha)
        if self.cut.cosine is not None:  # d(w . (z x e3)) also has w . ((w x z) x e3)
            turning = vec3.cross(omega, self.z)
            found[-1] = found[-1] + omega[0] * turning[1] - omega[1] * turning[0]
        return found


def _without(v: Vec3, axes: Sequence[int]) -> Vec3:
    x, y, z = (0.0 if k in axes else v[k] for k in range(3))
    return (x, y, z)


def all_acceleration_terms(robot: Robot, cuts: Sequence[CutJoint], q: Scalars, qd: Scalars) -> list[Scalar]:
    """Terms Psi of all loops, one after the other."""
    return [term for cut in cuts for term in acceleration_terms(robot, cut, q, qd)]


def independent_indices(robot: Robot, mu: int) -> list[int]:
    """Indices of the actuated (mu = 1) or passive (mu = 0) joints among the independent ones."""
    return [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == mu]


@dataclass(frozen=True, eq=False)
class ConstraintArrays:
    """The constraints of a robot over arrays of configurations, (K, number of independent joints).

    Lengths are in units of the size of the robot's loops, so that they compare with angles. Mimic joints
    have no columns; their part is in the columns of their leaders.
    """

    robot: Robot

    @cached_property
    def cuts(self) -> tuple[CutJoint, ...]:
        """The cut joints."""
        return cut_joints(self.robot)

    @cached_property
    def size(self) -> float:
        """Unit of length (m): distance of the axes of the largest loop."""
        q = joint_positions(self.robot, [0.0] * len(self.robot.independent))
        chains = ((cut, chain(self.robot, cut).joints) for cut in self.cuts)
        placements = ((placements_from(self.robot, q, cut.P, joints), joints) for cut, joints in chains)
        return max((vec3.norm(T[j].p) for T, joints in placements for j in joints), default=0.0) or 1.0

    @cached_property
    def column_units(self) -> Array:
        """Unit of each independent joint: 1 rad, or `size` (m)."""
        joints = (self.robot.joints[j - 1] for j in self.robot.independent)
        return np.array([self.size if joint.sigma is Sigma.PRISMATIC else 1.0 for joint in joints])

    @cached_property
    def row_units(self) -> Array:
        """Unit of each constraint: 1 rad, or `size` (m)."""
        units = []
        for cut in self.cuts:
            units += [self.size] * len(cut.linear) + [1.0] * (cut.rows - len(cut.linear))
        return np.array(units)

    def openings(self, q: Array) -> tuple[Array, Array]:
        """Openings of the loops (K, constraints), and the other values that must be 0 (K, any)."""
        positions = joint_positions(self.robot, list(q.T))
        found, others = [], []
        for cut in self.cuts:
            gaps, more = opening(self.robot, cut, positions)
            found += gaps
            others += more
        return self._stacked(found, len(q)) / self.row_units, self._stacked(others, len(q))

    def gaps(self, q: Array) -> list[tuple[CutJoint, float, float]]:
        """Opening (m, rad) of each loop in one configuration (independent joints,)."""
        (openings,), _ = self.openings(q[np.newaxis])
        parts = np.split(openings, np.cumsum([cut.rows for cut in self.cuts])[:-1])
        return [
            (
                cut,
                float(np.linalg.norm(own[: len(cut.linear)])) * self.size,
                float(np.linalg.norm(own[len(cut.linear) :])),
            )
            for cut, own in zip(self.cuts, parts, strict=True)
        ]

    def rates(self, q: Array) -> Array:
        """Matrices W of ``W qd = 0``: (K, constraints, independent joints)."""
        positions = joint_positions(self.robot, list(q.T))
        rows = [row for cut in self.cuts for row in rate_rows(self.robot, cut, positions)]
        entries = [on_independent(self.robot, row) for row in rows]
        W = np.stack([self._stacked(entry, len(q)) for entry in entries], axis=1)
        return W * self.column_units / self.row_units[:, np.newaxis]

    @staticmethod
    def _stacked(values: Scalars, samples: int) -> Array:
        columns = [np.broadcast_to(value, (samples,)) for value in values]
        return np.stack(columns, axis=1) if columns else np.zeros((samples, 0))


def on_independent(robot: Robot, row: Mapping[int, Scalar]) -> list[Scalar]:
    """Entries of a row of W by independent joint, from those by joint of the tree."""
    return coordinate_torques(robot, [row.get(j, 0.0) for j in range(1, len(robot.joints) + 1)])
