# SPDX-License-Identifier: Apache-2.0
"""The constraints of one cut joint: how far it is open, its rate, and what is left of that at rest.

The two branches of a loop are one chain, from frame P on one side of the cut joint to frame C on the
other, through the root of the loop. Its joints move C on P; those of the branch of P, which the chain
runs through backwards, with the opposite sign. What the two branches have in common is no part of it.
All is expressed in P.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dyn_core.geometry.forward import placements_from
from dyn_core.geometry.path import lineage
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class Chain:
    """The joints between the two sides of a cut joint.

    Attributes:
        joints: numbers of the joints, in the order from P to C.
        signs: 1.0 where the chain runs through the joint from antecedent to link, -1.0 where it runs back.
    """

    joints: tuple[int, ...]
    signs: tuple[float, ...]


def chain(robot: Robot, cut: CutJoint) -> Chain:
    """Answer the joints between the two sides of a cut joint: those of both branches of its loop."""
    from_P, from_C = lineage(robot, cut.P.body), lineage(robot, cut.C.body)
    back = [j for j in from_P if j not in from_C]
    forth = [j for j in reversed(from_C) if j not in from_P]
    return Chain((*back, *forth), (-1.0,) * len(back) + (1.0,) * len(forth))


def opening(robot: Robot, cut: CutJoint, q: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """How far a loop is open: 0 in each constraint where it is closed (SYMORO+ 2003, eq. (1.7)).

    Args:
        robot: the robot.
        cut: the cut joint.
        q: n joint positions (rad or m).

    Returns:
        by constraint, how far C is from where it belongs (m), then the sines of the angles that it is
        turned; and what else is 0 where the loop is closed, but has no rate there: 1 less the cosines
        of these angles.
    """
    R, p = _relative(robot, cut, q)
    gaps = [p[k] for k in cut.linear]
    if cut.cosine is not None:
        return [*gaps, R[2][2] - cut.cosine], []
    if not cut.angular:
        return gaps, []
    if len(cut.angular) == 3:
        turned = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
        return gaps + turned, [1.0 - 0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0)]
    return [*gaps, -R[1][2], R[0][2]], [1.0 - R[2][2]]


def rate_rows(robot: Robot, cut: CutJoint, q: Sequence[Scalar]) -> list[dict[int, Scalar]]:
    """Rows of the kinematic constraints ``W qd = 0`` (SYMORO+ 2003, eqs. (2.34), (2.35)).

    Args:
        robot: the robot.
        cut: the cut joint.
        q: n joint positions (rad or m), which close the loop.

    Returns:
        by constraint, in m or rad a unit of each joint, the entries of W by number of the joint.
    """
    return _Moving(robot, cut, q).rows()


def rest_of_rate(robot: Robot, cut: CutJoint, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """Terms Psi of ``W qdd + Psi = 0`` (SYMORO+ 2003, eq. (2.40)): (m/s^2, rad/s^2).

    Args:
        robot: the robot.
        cut: the cut joint.
        q: n joint positions (rad or m), which close the loop.
        qd: n joint velocities (rad/s or m/s), which keep it closed.
    """
    return _Moving(robot, cut, q).rest(qd)


def _relative(robot: Robot, cut: CutJoint, q: Sequence[Scalar]) -> Transform:
    return transform_between(robot, q, cut.P, cut.C)


class _Moving:
    """The axes of the joints of a chain, in P."""

    def __init__(self, robot: Robot, cut: CutJoint, q: Sequence[Scalar]) -> None:
        self.cut = cut
        self.chain = chain(robot, cut)
        T = placements_from(robot, q, cut.P, self.chain.joints)
        self.tip, self.z = _tip(robot, cut, q)
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
        """Linear velocity of C and angular velocity that a unit of joint j gives."""
        a = self.axes[j]
        if not self.turns[j]:
            return a, vec3.ZERO
        return vec3.cross(a, vec3.sub(self.tip, self.points[j])), a

    def _constrained(self, linear: Vec3, angular: Vec3) -> list[Scalar]:
        """Components of a velocity, or acceleration, that the cut joint forbids."""
        cut = self.cut
        found = [linear[k] for k in cut.linear] + [angular[k] for k in cut.angular]
        if cut.cosine is not None:  # d(e3 . z) = w . (z x e3)
            found.append(angular[0] * self.z[1] - angular[1] * self.z[0])
        return found

    def rest(self, qd: Sequence[Scalar]) -> list[Scalar]:
        """Recursion along the chain without accelerations (SYMORO+ 2003, eq. (2.32)), on the axes of P."""
        v_tip, omega = vec3.ZERO, vec3.ZERO
        moving: list[tuple[int, Scalar, Vec3]] = []  # joint, its rate, angular velocity before it
        for j, s in zip(self.chain.joints, self.chain.signs, strict=True):
            rate = s * qd[j - 1]
            moving.append((j, rate, omega))
            linear, angular = self._screw(j)
            v_tip = vec3.add(v_tip, vec3.scale(rate, linear))
            omega = vec3.add(omega, vec3.scale(rate, angular))
        v_tip = _without(v_tip, self.cut.linear)  # where the loop stays closed
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
        if self.cut.cosine is not None:  # d(w . (z x e3)) has w . ((w x z) x e3), too
            turning = vec3.cross(omega, self.z)
            found[-1] = found[-1] + omega[0] * turning[1] - omega[1] * turning[0]
        return found


def _tip(robot: Robot, cut: CutJoint, q: Sequence[Scalar]) -> tuple[Vec3, Vec3]:
    """Origin and z axis of C in P; what the constraints make 0 is left out."""
    R, p = _relative(robot, cut, q)
    return _without(p, cut.linear), mat3.column(R, 2)


def _without(v: Vec3, axes: Sequence[int]) -> Vec3:
    x, y, z = (0.0 if k in axes else v[k] for k in range(3))
    return (x, y, z)


def all_rows(robot: Robot, cuts: Sequence[CutJoint], q: Sequence[Scalar]) -> list[Mapping[int, Scalar]]:
    """Rows of W of all loops, one after the other."""
    return [row for cut in cuts for row in rate_rows(robot, cut, q)]


def all_rests(
    robot: Robot, cuts: Sequence[CutJoint], q: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """Terms Psi of all loops, one after the other."""
    return [rest for cut in cuts for rest in rest_of_rate(robot, cut, q, qd)]
