# SPDX-License-Identifier: Apache-2.0
"""Pinocchio, which reads the same URDF by itself, asked in terms of dyn_core: joints by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")


class Oracle:
    """Dynamics of a URDF with a fixed base, by Pinocchio."""

    def __init__(self, urdf: str, joint_names: Sequence[str], gravity: Sequence[float]) -> None:
        """Read the URDF; joint vectors will be in the order of `joint_names`."""
        self.model = pin.buildModelFromXML(urdf)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.ids = [self.model.getJointId(name) for name in joint_names]
        assert self.model.nv == len(joint_names)

    def inverse_dynamics(
        self,
        q: Sequence[float],
        qd: Sequence[float],
        qdd: Sequence[float],
        wrenches: Mapping[str, Sequence[float]],
    ) -> np.ndarray:
        """Joint torques; `wrenches` are exerted by the links on the environment."""
        forces = [pin.Force.Zero() for _ in self.model.joints]
        for link, wrench in wrenches.items():
            frame = self._frame(link)
            on_link = pin.Force(-np.array(wrench[:3]), -np.array(wrench[3:]))
            forces[frame.parentJoint] += frame.placement.act(on_link)
        args = (self._positions(q), self._velocities(qd), self._velocities(qdd))
        tau = pin.rnea(self.model, self.data, *args, forces)
        return np.array([tau[self.model.joints[i].idx_v] for i in self.ids])

    def inertia_matrix(self, q: Sequence[float]) -> np.ndarray:
        """Inertia matrix."""
        A = pin.crba(self.model, self.data, self._positions(q))
        A = np.triu(A) + np.triu(A, 1).T
        index = [self.model.joints[i].idx_v for i in self.ids]
        return A[np.ix_(index, index)]

    def link_placement(self, q: Sequence[float], link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and position of a link in the frame of the root link."""
        pin.forwardKinematics(self.model, self.data, self._positions(q))
        frame = self._frame(link)
        placement = self.data.oMi[frame.parentJoint] * frame.placement
        return placement.rotation, placement.translation

    def _frame(self, link: str):
        return self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]

    def _positions(self, q: Sequence[float]) -> np.ndarray:
        full = pin.neutral(self.model)
        for value, i in zip(q, self.ids, strict=True):
            joint = self.model.joints[i]
            parts = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
            full[joint.idx_q : joint.idx_q + joint.nq] = parts
        return full

    def _velocities(self, v: Sequence[float]) -> np.ndarray:
        full = np.zeros(self.model.nv)
        for value, i in zip(v, self.ids, strict=True):
            full[self.model.joints[i].idx_v] = value
        return full
