# SPDX-License-Identifier: Apache-2.0
"""Pinocchio with a free-flying base in the terms of dyn_core: joints by name, classical acceleration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from extrapolation import integrated
from pinocchio_oracle import Oracle, pin


class FreeFlyer(Oracle):
    """Dynamics of a URDF whose root link moves freely, by Pinocchio."""

    def __init__(self, urdf, joint_names, gravity, rotor_inertias=None) -> None:
        """Read the URDF; joint vectors will be in the order of `joint_names`."""
        super().__init__(urdf, joint_names, gravity, pin.JointModelFreeFlyer())
        self._order = np.array([*range(6), *self._idx_v])
        self.model.armature = self._full(np.zeros(6), rotor_inertias or np.zeros(len(joint_names)))

    def direct(self, pose, V, q, qd, tau, F, wrenches) -> np.ndarray:
        """Accelerations [Vd; qdd] without friction; Vd is that of the origin, with gravity."""
        v = self._full(V, qd)
        a = pin.aba(self.model, self.data, self._q(pose, q), v, self._full(F, tau), self._forces(wrenches))
        return a[self._order] + [*np.cross(V[3:], V[:3]), *np.zeros(len(a) - 3)]

    def moved(self, pose, V, q, qd, tau, F, wrenches, duration, steps):
        """State after a duration (s); the quaternion is integrated as four numbers."""
        n = len(q)

        def rate(x: np.ndarray) -> np.ndarray:
            at, v = x[:7].copy(), x[7 + n :]
            at[3:] /= np.linalg.norm(at[3:])
            turn = pin.Quaternion(at[6], *at[3:6]) * pin.Quaternion(0.0, *v[3:6])
            a = self.direct(at, v[:6], x[7 : 7 + n], v[6:], tau, F, wrenches)
            a[:3] -= np.cross(v[3:6], v[:3])
            return np.concatenate((pin.XYZQUATToSE3(at).rotation @ v[:3], 0.5 * turn.coeffs(), v[6:], a))

        x = integrated(rate, np.concatenate((pose, q, V, qd)), duration, steps)
        x[3:7] /= np.linalg.norm(x[3:7])
        return x[:7], x[7 + n : 13 + n], x[7 : 7 + n], x[13 + n :]

    def forces(self, pose, V, Vd, q, qd, qdd, wrenches) -> np.ndarray:
        """Forces [F; tau] without friction that give accelerations."""
        a = self._full([*(Vd[:3] - np.cross(V[3:], V[:3])), *Vd[3:]], qdd)
        args = (self._q(pose, q), self._full(V, qd), a, self._forces(wrenches))
        return pin.rnea(self.model, self.data, *args)[self._order]

    def inertia_matrix(self, q: np.ndarray) -> np.ndarray:
        """Inertia matrix with rotors, from the columns of the inverse dynamics."""
        gravity, self.model.gravity.linear = self.model.gravity.linear.copy(), np.zeros(3)
        state, still = (np.eye(7)[6], np.zeros(6)), np.zeros(len(q))
        columns = [self.forces(*state, unit[:6], q, still, unit[6:], {}) for unit in np.eye(6 + len(q))]
        self.model.gravity.linear = gravity
        return np.array(columns).T

    def momentum(self, pose: np.ndarray, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Linear momentum, and angular momentum about the centre of mass."""
        args = (self.model, self.data, self._q(pose, q), self._full(V, qd))
        return pin.computeCentroidalMomentum(*args).vector.copy()

    def centre_of_mass(self, pose: np.ndarray, q: np.ndarray) -> np.ndarray:
        return pin.centerOfMass(self.model, self.data, self._q(pose, q)).copy()

    def energy(self, pose: np.ndarray, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Kinetic energy without rotors, and potential energy."""
        args = (self.model, self.data, self._q(pose, q))
        rotors, self.model.armature = self.model.armature.copy(), np.zeros(self.model.nv)
        kinetic = pin.computeKineticEnergy(*args, self._full(V, qd))
        self.model.armature = rotors
        return np.array([kinetic, pin.computePotentialEnergy(*args)])

    def link(self, pose, V, Vd, q, qd, qdd, link) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Placement, velocity and acceleration of a link on the axes of the world, and its Jacobian."""
        a = self._full([*(Vd[:3] - np.cross(V[3:], V[:3])), *Vd[3:]], qdd)
        args = (self.model, self.data, self._q(pose, q))
        pin.forwardKinematics(*args, self._full(V, qd), a)
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        placement = pin.updateFramePlacement(self.model, self.data, frame).homogeneous.copy()
        motion = self._frame_motion(link)
        J = pin.computeFrameJacobian(*args, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:, self._order]
        return placement, *motion, J

    def _q(self, pose: np.ndarray, q: np.ndarray) -> np.ndarray:
        moved = pin.integrate(self.model, pin.neutral(self.model), self._full(np.zeros(6), q))
        moved[:7] = pose
        return moved

    def _full(self, base: np.ndarray, joints: Sequence[float]) -> np.ndarray:
        v = np.zeros(self.model.nv)
        v[:6] = base
        v[self._idx_v] = joints
        return v
