# SPDX-License-Identifier: Apache-2.0
"""Pinocchio, which reads the same URDF itself, in the terms of dyn_core: joints by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from simple_joint_urdf import spelled_out

try:
    import pinocchio as pin
except ImportError:  # pytest is needed only where Pinocchio is absent
    import pytest

    pytest.skip("Pinocchio is not installed", allow_module_level=True)


Values = Sequence[float]
Wrenches = Mapping[str, Values]


class Oracle:
    """Dynamics of a URDF with a fixed base, by Pinocchio."""

    def __init__(self, urdf: str, joint_names: Sequence[str], gravity: Sequence[float], *root: Any) -> None:
        """Read the URDF, whose planar and floating joints are spelled out; vectors are as `joint_names`.

        `root` may be a joint of Pinocchio by which the root link moves.
        """
        self.model = pin.buildModelFromXML(spelled_out(urdf), *root)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.ids = [self.model.getJointId(name) for name in joint_names]
        assert self.model.nv == len(joint_names) + sum(joint.nv for joint in root)
        joints = [self.model.joints[i] for i in self.ids]
        self._idx_v = np.array([joint.idx_v for joint in joints], dtype=int)
        self._idx_q = np.array([joint.idx_q for joint in joints], dtype=int)
        self._on_circle = np.array([joint.nq == 2 for joint in joints], dtype=bool)

    def inverse_dynamics(self, q: Values, qd: Values, qdd: Values, wrenches: Wrenches) -> np.ndarray:
        """Joint torques; `wrenches` are exerted by the links on the environment."""
        return pin.rnea(self.model, self.data, *self._state(q, qd, qdd), self._forces(wrenches))[self._idx_v]

    def direct_dynamics(
        self, q: Values, qd: Values, torques: Values, wrenches: Wrenches, rotor_inertias: Values
    ) -> np.ndarray:
        """Joint accelerations, without friction."""
        self.model.armature = self._velocities(rotor_inertias)
        accelerations = pin.aba(self.model, self.data, *self._state(q, qd, torques), self._forces(wrenches))
        self.model.armature = np.zeros(self.model.nv)
        return accelerations[self._idx_v]

    def energy(self, q: Values, qd: Values) -> float:
        args = (self.model, self.data, *self._state(q, qd))
        return float(pin.computeKineticEnergy(*args) + pin.computePotentialEnergy(*args[:3]))

    def gravity_torques(self, q: Values) -> np.ndarray:
        return pin.computeGeneralizedGravity(self.model, self.data, self._positions(q))[self._idx_v]

    def inertia_matrix(self, q: Values) -> np.ndarray:
        """Inertia matrix by columns of the inverse dynamics, as crba needs joints in depth-first order."""
        n = len(self.ids)
        gravity, self.model.gravity.linear = self.model.gravity.linear.copy(), np.zeros(3)
        columns = [self.inverse_dynamics(q, np.zeros(n), column, {}) for column in np.eye(n)]
        self.model.gravity.linear = gravity
        return np.reshape(columns, (n, n))

    def coriolis_matrix(self, q: Values, qd: Values) -> np.ndarray:
        """Coriolis matrix; Pinocchio also uses the Christoffel symbols."""
        C = pin.computeCoriolisMatrix(self.model, self.data, *self._state(q, qd))
        return C[np.ix_(self._idx_v, self._idx_v)]

    def jacobian(self, q: Values, link: str, own_axes: bool) -> np.ndarray:
        """Jacobian of a link about its origin, on its own axes or on those of the root link."""
        axes = pin.ReferenceFrame.LOCAL if own_axes else pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        frame = self.model.getFrameId(link, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(self.model, self.data, self._positions(q), frame, axes)
        return J.reshape(6, -1)[:, self._idx_v]

    def regressor(self, q: Values, qd: Values, qdd: Values) -> np.ndarray:
        """Regressor of the torques: for each joint m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz in its frame."""
        n = len(self.ids)
        Y = pin.computeJointTorqueRegressor(self.model, self.data, *self._state(q, qd, qdd)).reshape(n, n, 10)
        return Y[np.ix_(self._idx_v, np.array(self.ids, dtype=int) - 1)].reshape(n, 10 * n)

    def carried_link(self, joint: str) -> str:
        """Name of a link whose frame is the joint's; Pinocchio has the inertia of the body there."""
        i = self.model.getJointId(joint)
        return next(
            frame.name
            for frame in self.model.frames
            if frame.type == pin.FrameType.BODY and frame.parentJoint == i and frame.placement.isIdentity(0.0)
        )

    def link_motion(self, q: Values, qd: Values, qdd: Values, link: str) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and acceleration of a link's origin, on the axes of the root link."""
        pin.forwardKinematics(self.model, self.data, *self._state(q, qd, qdd))
        return self._frame_motion(link)

    def _frame_motion(self, link: str) -> tuple[np.ndarray, np.ndarray]:
        frame, axes = self.model.getFrameId(link, pin.FrameType.BODY), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        args = (self.model, self.data, frame, axes)
        acceleration = pin.getFrameClassicalAcceleration(*args).vector.copy()
        return pin.getFrameVelocity(*args).vector.copy(), acceleration

    def joint_wrench(self, joint: str, link: str) -> np.ndarray:
        """Wrench through a joint in the last inverse dynamics, in the frame of the link it carries."""
        force = self._frame(link).placement.actInv(self.data.f[self.model.getJointId(joint)])
        return np.concatenate((force.linear, force.angular))

    def link_placement(self, q: Values, link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and position of a link in the frame of the root link."""
        pin.forwardKinematics(self.model, self.data, self._positions(q))
        frame = self._frame(link)
        placement = self.data.oMi[frame.parentJoint] * frame.placement
        return placement.rotation, placement.translation

    def _forces(self, wrenches: Wrenches) -> list:
        forces = [pin.Force.Zero() for _ in self.model.joints]
        for link, wrench in wrenches.items():
            frame = self._frame(link)
            forces[frame.parentJoint] += frame.placement.act(pin.Force(-np.array(wrench, dtype=float)))
        return forces

    def _frame(self, link: str):
        return self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]

    def _state(self, q: Values, *rates: Values) -> tuple[np.ndarray, ...]:
        return (self._positions(q), *map(self._velocities, rates))

    def _positions(self, q: Values) -> np.ndarray:
        q, circle = np.asarray(q, dtype=float), self._on_circle
        full = np.empty(self.model.nq)
        full[self._idx_q] = np.where(circle, np.cos(q), q)
        full[self._idx_q[circle] + 1] = np.sin(q[circle])
        return full

    def _velocities(self, v: Values) -> np.ndarray:
        full = np.zeros(self.model.nv)
        full[self._idx_v] = v
        return full
