# SPDX-License-Identifier: Apache-2.0
"""Pinocchio, which reads the same URDF by itself, asked in terms of dyn_core: joints by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from spelled_out import spelled_out

try:
    import pinocchio as pin
except ImportError:  # so that no test runner is needed where Pinocchio is
    import pytest

    pytest.skip("Pinocchio is not installed", allow_module_level=True)


class Oracle:
    """Dynamics of a URDF with a fixed base, by Pinocchio."""

    def __init__(self, urdf: str, joint_names: Sequence[str], gravity: Sequence[float]) -> None:
        """Read the URDF; joint vectors will be in the order of `joint_names`.

        Planar and floating joints are spelled out as dyn_core names their parts: Pinocchio has other
        coordinates for them.
        """
        self.model = pin.buildModelFromXML(spelled_out(urdf))
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.ids = [self.model.getJointId(name) for name in joint_names]
        assert self.model.nv == len(joint_names)
        joints = [self.model.joints[i] for i in self.ids]
        self._idx_v = np.array([joint.idx_v for joint in joints], dtype=int)
        self._idx_q = np.array([joint.idx_q for joint in joints], dtype=int)
        self._on_circle = np.array([joint.nq == 2 for joint in joints], dtype=bool)

    def inverse_dynamics(
        self,
        q: Sequence[float],
        qd: Sequence[float],
        qdd: Sequence[float],
        wrenches: Mapping[str, Sequence[float]],
    ) -> np.ndarray:
        """Joint torques; `wrenches` are exerted by the links on the environment."""
        args = (self._positions(q), self._velocities(qd), self._velocities(qdd))
        return self._ours(pin.rnea(self.model, self.data, *args, self._forces(wrenches)))

    def direct_dynamics(
        self,
        q: Sequence[float],
        qd: Sequence[float],
        torques: Sequence[float],
        wrenches: Mapping[str, Sequence[float]],
        rotor_inertias: Sequence[float],
    ) -> np.ndarray:
        """Joint accelerations, without friction."""
        self.model.armature = self._velocities(rotor_inertias)
        args = (self._positions(q), self._velocities(qd), self._velocities(torques))
        accelerations = pin.aba(self.model, self.data, *args, self._forces(wrenches))
        self.model.armature = np.zeros(self.model.nv)
        return self._ours(accelerations)

    def energy(self, q: Sequence[float], qd: Sequence[float]) -> float:
        """Kinetic and potential energy (J)."""
        args = (self.model, self.data, self._positions(q))
        kinetic = pin.computeKineticEnergy(*args, self._velocities(qd))
        return float(kinetic + pin.computePotentialEnergy(*args))

    def gravity_torques(self, q: Sequence[float]) -> np.ndarray:
        """Torques that hold the robot at rest."""
        return self._ours(pin.computeGeneralizedGravity(self.model, self.data, self._positions(q)))

    def inertia_matrix(self, q: Sequence[float]) -> np.ndarray:
        """Inertia matrix, by columns of the inverse dynamics: crba needs joints in depth-first order."""
        n = len(self.ids)
        gravity, self.model.gravity.linear = self.model.gravity.linear.copy(), np.zeros(3)
        columns = [self.inverse_dynamics(q, np.zeros(n), column, {}) for column in np.eye(n)]
        self.model.gravity.linear = gravity
        return np.array(columns).reshape(n, n)

    def coriolis_matrix(self, q: Sequence[float], qd: Sequence[float]) -> np.ndarray:
        """Coriolis matrix, which in Pinocchio is that of the Christoffel symbols, too."""
        args = (self._positions(q), self._velocities(qd))
        C = pin.computeCoriolisMatrix(self.model, self.data, *args)
        return C[np.ix_(self._idx_v, self._idx_v)]

    def jacobian(self, q: Sequence[float], link: str, own_axes: bool) -> np.ndarray:
        """Jacobian of a link about its origin, on its own axes or on those of the root link."""
        axes = pin.ReferenceFrame.LOCAL if own_axes else pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(self.model, self.data, self._positions(q), frame, axes)
        return J.reshape(6, -1)[:, self._idx_v]

    def regressor(self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float]) -> np.ndarray:
        """Regressor of the torques: for each joint m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz in its frame."""
        args = (self._positions(q), self._velocities(qd), self._velocities(qdd))
        n = len(self.ids)
        Y = np.array(pin.computeJointTorqueRegressor(self.model, self.data, *args)).reshape(n, n, 10)
        return Y[np.ix_(self._idx_v, np.array(self.ids, dtype=int) - 1)].reshape(n, 10 * n)

    def carried_link(self, joint: str) -> str:
        """Name of a link whose frame is that of the joint, in which Pinocchio has the inertia of the body."""
        i = self.model.getJointId(joint)
        return next(
            frame.name
            for frame in self.model.frames
            if frame.type == pin.FrameType.BODY and frame.parentJoint == i and frame.placement.isIdentity(0.0)
        )

    def link_motion(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], link: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and acceleration of a link's origin, on the axes of the root link."""
        args = (self._positions(q), self._velocities(qd), self._velocities(qdd))
        pin.forwardKinematics(self.model, self.data, *args)
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        velocity = pin.getFrameVelocity(self.model, self.data, frame, axes)
        acceleration = pin.getFrameClassicalAcceleration(self.model, self.data, frame, axes)
        return velocity.vector.copy(), acceleration.vector.copy()

    def joint_wrench(self, joint: str, link: str) -> np.ndarray:
        """Wrench through a joint in the last inverse dynamics, in the frame of the link it carries."""
        frame = self._frame(link)
        force = frame.placement.actInv(self.data.f[self.model.getJointId(joint)])
        return np.concatenate((force.linear, force.angular))

    def link_placement(self, q: Sequence[float], link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and position of a link in the frame of the root link."""
        pin.forwardKinematics(self.model, self.data, self._positions(q))
        frame = self._frame(link)
        placement = self.data.oMi[frame.parentJoint] * frame.placement
        return placement.rotation, placement.translation

    def _forces(self, wrenches: Mapping[str, Sequence[float]]) -> list:
        forces = [pin.Force.Zero() for _ in self.model.joints]
        for link, wrench in wrenches.items():
            frame = self._frame(link)
            on_link = pin.Force(-np.array(wrench[:3]), -np.array(wrench[3:]))
            forces[frame.parentJoint] += frame.placement.act(on_link)
        return forces

    def _ours(self, v: np.ndarray) -> np.ndarray:
        return v[self._idx_v]

    def _frame(self, link: str):
        return self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]

    def _positions(self, q: Sequence[float]) -> np.ndarray:
        q, circle = np.asarray(q, dtype=float), self._on_circle
        full = np.empty(self.model.nq)
        full[self._idx_q] = np.where(circle, np.cos(q), q)
        full[self._idx_q[circle] + 1] = np.sin(q[circle])
        return full

    def _velocities(self, v: Sequence[float]) -> np.ndarray:
        full = np.zeros(self.model.nv)
        full[self._idx_v] = v
        return full
