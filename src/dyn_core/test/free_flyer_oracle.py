# SPDX-License-Identifier: Apache-2.0
"""Pinocchio with a free-flying base, asked in terms of dyn_core: joints by name, classical acceleration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

try:
    import pinocchio as pin
except ImportError:  # so that no test runner is needed where Pinocchio is
    import pytest

    pytest.skip("Pinocchio is not installed", allow_module_level=True)


class FreeFlyer:
    """Dynamics of a URDF whose root link moves freely, by Pinocchio."""

    def __init__(
        self,
        urdf: str,
        joint_names: Sequence[str],
        gravity: Sequence[float],
        rotor_inertias: Sequence[float] | None = None,
    ) -> None:
        """Read the URDF; joint vectors will be in the order of `joint_names`."""
        self.model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        assert self.model.nv == 6 + len(joint_names)
        joints = [self.model.joints[self.model.getJointId(name)] for name in joint_names]
        self._idx_v = np.array([joint.idx_v for joint in joints], dtype=int)
        self._order = np.array([*range(6), *self._idx_v])
        self.model.armature = np.zeros(self.model.nv)
        if rotor_inertias is not None:
            self.model.armature = self._full(np.zeros(6), rotor_inertias)

    def direct(
        self,
        pose: np.ndarray,
        V: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        tau: np.ndarray,
        F: np.ndarray,
        wrenches: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Accelerations [Vd; qdd] without friction; Vd is that of the origin, with gravity."""
        v = self._full(V, qd)
        a = pin.aba(self.model, self.data, self._q(pose, q), v, self._full(F, tau), self._forces(wrenches))
        return self._classical(a[self._order], V)

    def runge_kutta(
        self,
        pose: np.ndarray,
        V: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        tau: np.ndarray,
        F: np.ndarray,
        wrenches: Mapping[str, np.ndarray],
        h: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """State after a step h (s) of order 4, with the quaternion as four numbers that are integrated."""
        n = len(q)

        def rate(x: np.ndarray) -> np.ndarray:
            at, v = x[:7].copy(), x[7 + n :]
            at[3:] /= np.linalg.norm(at[3:])
            placed = pin.XYZQUATToSE3(at)
            turn = pin.Quaternion(at[6], *at[3:6]) * pin.Quaternion(0.0, *v[3:6])
            a = self.direct(at, v[:6], x[7 : 7 + n], v[6:], tau, F, wrenches)
            a[:3] -= np.cross(v[3:6], v[:3])
            return np.concatenate((placed.rotation @ v[:3], 0.5 * turn.coeffs(), v[6:], a))

        x = np.concatenate((pose, q, V, qd))
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        x[3:7] /= np.linalg.norm(x[3:7])
        return x[:7], x[7 + n : 13 + n], x[7 : 7 + n], x[13 + n :]

    def forces(
        self,
        pose: np.ndarray,
        V: np.ndarray,
        Vd: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        wrenches: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Forces [F; tau] without friction that give accelerations."""
        rate = np.array(Vd, dtype=float)
        rate[:3] -= np.cross(V[3:], V[:3])
        a = self._full(rate, qdd)
        found = pin.rnea(
            self.model, self.data, self._q(pose, q), self._full(V, qd), a, self._forces(wrenches)
        )
        return found[self._order]

    def inertia_matrix(self, q: np.ndarray) -> np.ndarray:
        """Inertia matrix with rotors, from the columns of the inverse dynamics."""
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        gravity, self.model.gravity.linear = self.model.gravity.linear.copy(), np.zeros(3)
        n = len(q)
        rest = np.zeros(6 + n)
        columns = [self.forces(pose, rest[:6], unit[:6], q, rest[6:], unit[6:], {}) for unit in np.eye(6 + n)]
        self.model.gravity.linear = gravity
        return np.array(columns).T

    def momentum(self, pose: np.ndarray, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Linear momentum, and angular momentum about the centre of mass."""
        h = pin.computeCentroidalMomentum(self.model, self.data, self._q(pose, q), self._full(V, qd))
        return h.vector.copy()

    def centre_of_mass(self, pose: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Centre of mass in the world."""
        return pin.centerOfMass(self.model, self.data, self._q(pose, q)).copy()

    def energy(self, pose: np.ndarray, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Kinetic energy without rotors, and potential energy."""
        args = (self.model, self.data, self._q(pose, q))
        rotors, self.model.armature = self.model.armature.copy(), np.zeros(self.model.nv)
        kinetic = pin.computeKineticEnergy(*args, self._full(V, qd))
        self.model.armature = rotors
        return np.array([kinetic, pin.computePotentialEnergy(*args)])

    def link(
        self,
        pose: np.ndarray,
        V: np.ndarray,
        Vd: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        link: str,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Placement, velocity and acceleration of a link on the axes of the world, and its Jacobian."""
        rate = np.array(Vd, dtype=float)
        rate[:3] -= np.cross(V[3:], V[:3])
        args = (self.model, self.data, self._q(pose, q))
        pin.forwardKinematics(*args, self._full(V, qd), self._full(rate, qdd))
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        placement = pin.updateFramePlacement(self.model, self.data, frame).homogeneous.copy()
        velocity = pin.getFrameVelocity(self.model, self.data, frame, axes).vector.copy()
        acceleration = pin.getFrameClassicalAcceleration(self.model, self.data, frame, axes).vector.copy()
        J = pin.computeFrameJacobian(*args, frame, axes)[:, self._order]
        return placement, velocity, acceleration, J

    def _classical(self, a: np.ndarray, V: np.ndarray) -> np.ndarray:
        a = a.copy()
        a[:3] += np.cross(V[3:], V[:3])
        return a

    def _q(self, pose: np.ndarray, q: np.ndarray) -> np.ndarray:
        moved = pin.integrate(self.model, pin.neutral(self.model), self._full(np.zeros(6), q))
        moved[:7] = pose
        return moved

    def _full(self, base: np.ndarray, joints: Sequence[float]) -> np.ndarray:
        v = np.zeros(self.model.nv)
        v[:6] = base
        v[self._idx_v] = joints
        return v

    def _forces(self, wrenches: Mapping[str, np.ndarray]) -> list:
        forces = [pin.Force.Zero() for _ in self.model.joints]
        for link, wrench in wrenches.items():
            frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
            on_link = pin.Force(-np.array(wrench[:3]), -np.array(wrench[3:]))
            forces[frame.parentJoint] += frame.placement.act(on_link)
        return forces
