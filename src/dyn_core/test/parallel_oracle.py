# SPDX-License-Identifier: Apache-2.0
"""Parallel robots by Pinocchio: a tree with a floating platform, constraints, Lagrange multipliers.

The side file is read by PyYAML and the URDF by Pinocchio. Nothing of the legs is solved in closed form: the
tree is closed by Newton's method on all joints at once, and efforts come from one system of all joints and
multipliers, which is solved with steps of refinement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import yaml
from spelled_out import spelled_out

try:
    import pinocchio as pin
except ImportError:
    import pytest

    pytest.skip("Pinocchio is not installed", allow_module_level=True)

PARTS = ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")
AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class ParallelOracle:
    """A URDF with a platform that a floating joint `platform_motion` places, and its side file."""

    def __init__(
        self,
        urdf: str,
        side_file: str,
        gravity=(0.0, 0.0, -9.81),
        friction: Mapping[str, tuple] | None = None,
    ) -> None:
        """Read both; friction by joint: viscous, Coulomb, offset."""
        self.model = pin.buildModelFromXML(spelled_out(urdf))
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        side = yaml.safe_load(side_file)
        self.n = self.model.nv
        self.place = {name: self.model.joints[self.model.getJointId(name)].idx_v for name in self.names()}
        self.own = [self.place[f"platform_motion/{part}"] for part in PARTS]
        self.actuated = [name for name in self.names() if name not in side["passive"]]
        self.armature = np.zeros(self.n)
        for name, inertia in side.get("rotor_inertia", {}).items():
            self.armature[self.place[name]] = inertia
        self.friction = dict(friction or {})
        self.assembly = np.zeros(self.n)
        for name, value in side["assembly"].items():
            self.assembly[self.place[name]] = value
        self.loops = [
            (
                self._end(loop["parent"]),
                self._end(loop["child"]),
                loop["type"],
                np.array(loop.get("axis", [0, 0, 1.0]), dtype=float),
                np.array(loop.get("axis2", [0, 0, 1.0]), dtype=float),
            )
            for loop in side["loops"]
        ]
        self.platform = self.model.getFrameId("platform")

    def names(self) -> list[str]:
        names = [str(name) for name in self.model.names][1:]
        return sorted(names, key=lambda name: self.model.joints[self.model.getJointId(name)].idx_v)

    def _end(self, end) -> tuple[int, pin.SE3]:
        rotation = pin.rpy.rpyToMatrix(*map(float, end.get("rpy", [0, 0, 0])))
        return self.model.getFrameId(end["link"]), pin.SE3(
            rotation, np.array(end.get("xyz", [0, 0, 0.0]), float)
        )

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Coordinates of Pinocchio, which has cosine and sine of continuous joints."""
        full = pin.neutral(self.model)
        for joint in list(self.model.joints)[1:]:
            value = q[joint.idx_v]
            full[joint.idx_q : joint.idx_q + joint.nq] = (
                [value] if joint.nq == 1 else [math.cos(value), math.sin(value)]
            )
        return full

    def _kinematics(self, q, qd) -> None:
        pin.forwardKinematics(self.model, self.data, self.positions(q), qd, np.zeros(self.n))
        pin.computeJointJacobians(self.model, self.data, self.positions(q))
        pin.updateFramePlacements(self.model, self.data)

    def _cut(self, end):
        """Rotation, position, Jacobian, velocity and acceleration at qdd = 0 of a cut frame."""
        frame, local = end
        placed = self.data.oMf[frame]
        lever = placed.rotation @ local.translation
        J = pin.getFrameJacobian(self.model, self.data, frame, AXES)
        velocity = pin.getFrameVelocity(self.model, self.data, frame, AXES)
        rate = pin.getFrameClassicalAcceleration(self.model, self.data, frame, AXES)
        w, wd = velocity.angular, rate.angular
        linear = J[:3] - pin.skew(lever) @ J[3:]
        a = rate.linear + np.cross(wd, lever) + np.cross(w, np.cross(w, lever))
        return placed.rotation @ local.rotation, placed.translation + lever, linear, J[3:], w, a, wd

    def constraints(self, q, qd):
        """Gaps, Jacobian and its rate times qd of all loops."""
        self._kinematics(q, qd)
        gaps, rows, rates = [], [], []
        for parent, child, kind, axis, axis2 in self.loops:
            R1, p1, J1, N1, w1, a1, wd1 = self._cut(parent)
            R2, p2, J2, N2, w2, a2, wd2 = self._cut(child)
            gaps += list(p1 - p2)
            rows += list(J1 - J2)
            rates += list(a1 - a2)
            pairs = {
                "spherical": [],
                "universal": [(axis, axis2)],
                "revolute": [(axis, normal) for normal in np.linalg.svd(axis[None])[2][1:]],
                "fixed": [
                    (np.eye(3)[0], np.eye(3)[1]),
                    (np.eye(3)[1], np.eye(3)[2]),
                    (np.eye(3)[2], np.eye(3)[0]),
                ],
            }[kind]
            for in_parent, in_child in pairs:
                a, b = R1 @ in_parent, R2 @ in_child
                n = np.cross(a, b)
                turning = np.cross(np.cross(w1, a), b) + np.cross(a, np.cross(w2, b))
                gaps.append(a @ b - in_parent @ in_child)
                rows.append(n @ (N1 - N2))
                rates.append(n @ (wd1 - wd2) + turning @ (w1 - w2))
        return np.array(gaps), np.array(rows), np.array(rates)

    def closed(self, T: np.ndarray) -> np.ndarray:
        """All joint positions where the platform is at T, by Newton's method from the assembly."""
        q = self.assembly.copy()
        pitch = math.atan2(-T[2, 0], math.hypot(T[0, 0], T[1, 0]))
        yaw, roll = math.atan2(T[1, 0], T[0, 0]), math.atan2(T[2, 1], T[2, 2])
        q[self.own] = [*T[:3, 3], yaw, pitch, roll]
        free = [k for k in range(self.n) if k not in self.own]
        for _ in range(50):
            gaps, rows, _ = self.constraints(q, np.zeros(self.n))
            step = np.linalg.lstsq(rows[:, free], -gaps, rcond=None)[0]
            q[free] += step
            if np.max(np.abs(step)) < 1e-15:
                break
        assert np.max(np.abs(self.constraints(q, np.zeros(self.n))[0])) < 1e-13
        return q

    def motion(self, T, V, Vd):
        """Positions, velocities and accelerations of all joints for a motion of the platform."""
        q = self.closed(T)
        _, rows, _ = self.constraints(q, np.zeros(self.n))
        J = pin.getFrameJacobian(self.model, self.data, self.platform, AXES)
        both = np.vstack([rows, J])
        qd = refined(both, np.concatenate([np.zeros(len(rows)), V]))
        _, _, rates = self.constraints(q, qd)
        own = pin.getFrameClassicalAcceleration(self.model, self.data, self.platform, AXES)
        qdd = refined(both, np.concatenate([-rates, np.asarray(Vd) - own.vector]))
        return q, qd, qdd

    def tree_torques(self, q, qd, qdd) -> np.ndarray:
        """Torques in all joints of the tree, with rotors and friction."""
        torques = pin.rnea(self.model, self.data, self.positions(q), qd, qdd) + self.armature * qdd
        for name, (viscous, coulomb, offset) in self.friction.items():
            k = self.place[name]
            torques[k] += viscous * qd[k] + coulomb * np.sign(qd[k]) + offset
        return torques

    def inverse_dynamics(self, T, V, Vd) -> np.ndarray:
        """Efforts of the actuators, in the order of `actuated`."""
        q, qd, qdd = self.motion(T, V, Vd)
        _, rows, _ = self.constraints(q, qd)
        select = np.zeros((self.n, len(self.actuated)))
        for k, name in enumerate(self.actuated):
            select[self.place[name], k] = 1.0
        return refined(np.hstack([select, rows.T]), self.tree_torques(q, qd, qdd))[: len(self.actuated)]

    def forward_dynamics(self, T, V, tau) -> np.ndarray:
        """Acceleration of the platform."""
        q, qd, _ = self.motion(T, V, np.zeros(6))
        bias = self.tree_torques(q, qd, np.zeros(self.n))
        A = pin.crba(self.model, self.data, self.positions(q)).copy()
        A = np.triu(A) + np.triu(A, 1).T + np.diag(self.armature)
        _, rows, rates = self.constraints(q, qd)
        own = pin.getFrameClassicalAcceleration(self.model, self.data, self.platform, AXES)
        J = pin.getFrameJacobian(self.model, self.data, self.platform, AXES)
        efforts = np.zeros(self.n)
        efforts[[self.place[name] for name in self.actuated]] = tau
        m = len(rows)
        system = np.block([[A, rows.T], [rows, np.zeros((m, m))]])
        qdd = refined(system, np.concatenate([efforts - bias, -rates]))[: self.n]
        return J @ qdd + own.vector


def refined(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least-squares solution with steps of iterative refinement, the residuals in long double."""
    x = np.zeros(A.shape[1])
    for _ in range(4):
        residual = b.astype(np.longdouble) - A.astype(np.longdouble) @ x.astype(np.longdouble)
        x = x + np.linalg.lstsq(A, residual.astype(float), rcond=None)[0]
    return x
