# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of closed loops with Pinocchio: its tree, its Jacobians, and solves by NumPy.

It is given the positions of the passive joints and the independent rows of the constraints. Pinocchio alone
would have to compute these.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import dyn_core
from dyn_core.algorithms.loops.loop_structure import whole_structure
from dyn_core.robot.mdh.cut_frames import cut_joints


class PinocchioLoops:
    """A robot with loops of revolute and spherical cut joints."""

    def __init__(self, urdf: str, robot: dyn_core.Robot) -> None:
        """Build the tree and the frames of the cut joints."""
        self._model = model = pin.buildModelFromXML(urdf)
        model.armature[:] = 0.0
        self._active = [self._place(name) for name in robot.coordinate_names]
        self._passive = [k for k in range(model.nv) if k not in self._active]
        found = whole_structure(robot)
        self._frames, self._rows, first = [], [], 0
        for loop, cut in zip(robot.loops, cut_joints(robot), strict=True):
            rows = [row - first for row in found.rows if first <= row < first + cut.rows]
            first += cut.rows
            self._rows.append(np.array([(*cut.linear, *(3 + k for k in cut.angular))[row] for row in rows]))
            pair = []
            for end, frame in ((loop.parent, cut.P), (loop.child, cut.C)):
                link = model.frames[model.getFrameId(end.link)]
                link_frame = robot.link_frame(end.link)
                body_link = pin.SE3(np.array(link_frame.T_body_link.R), np.array(link_frame.T_body_link.p))
                in_body = pin.SE3(np.array(frame.T_body_link.R), np.array(frame.T_body_link.p))
                placed = link.placement * body_link.inverse() * in_body
                name = f"{loop.name}/{end.link}"
                pair.append(model.addFrame(pin.Frame(name, link.parentJoint, placed, pin.FrameType.OP_FRAME)))
            self._frames.append(tuple(pair))
        self._data = model.createData()
        self._zero = np.zeros(model.nv)

    def _place(self, name: str) -> int:
        return int(self._model.joints[self._model.getJointId(name)].idx_v)

    def positions(self, closed: dict[str, float], ours: dyn_core.Model, q_a: np.ndarray) -> np.ndarray:
        """Positions of the tree from positions by joint name; a floating joint is given by its link."""
        model = self._model
        q = pin.neutral(model)
        for number, name in enumerate(model.names):
            joint = model.joints[number]
            if name in closed and joint.nq == 1:
                q[joint.idx_q] = closed[name]
            elif name in closed:
                q[joint.idx_q : joint.idx_q + 2] = np.cos(closed[name]), np.sin(closed[name])
            elif joint.nq == 7:
                link = next(
                    f.name
                    for f in model.frames
                    if f.parentJoint == number and f.name in ours.robot.link_names
                )
                T = ours.forward_kinematics(q_a, link)
                placed = model.jointPlacements[number].inverse() * pin.SE3(T[:3, :3], T[:3, 3])
                q[joint.idx_q : joint.idx_q + 7] = pin.SE3ToXYZQUAT(placed)
        return q

    def inverse_dynamics(self, q: np.ndarray, qd_a: np.ndarray, qdd_a: np.ndarray) -> np.ndarray:
        """Efforts of the actuated joints (N m or N)."""
        model, data, active, passive = self._model, self._data, self._active, self._passive
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = np.concatenate(
            [
                self._local(
                    P,
                    pin.getFrameJacobian(model, data, C, axes) - pin.getFrameJacobian(model, data, P, axes),
                    rows,
                )
                for (P, C), rows in zip(self._frames, self._rows, strict=True)
            ]
        )
        W_a, W_p = J[:, active], J[:, passive]
        v = np.empty(model.nv)
        v[active] = qd_a
        v[passive] = np.linalg.solve(W_p, -(W_a @ qd_a))
        pin.forwardKinematics(model, data, q, v, self._zero)
        rest = np.concatenate(
            [
                self._local(P, self._acceleration(C, axes) - self._acceleration(P, axes), rows)
                for (P, C), rows in zip(self._frames, self._rows, strict=True)
            ]
        )
        a = np.empty(model.nv)
        a[active] = qdd_a
        a[passive] = np.linalg.solve(W_p, -(W_a @ qdd_a) - rest)
        tau = pin.rnea(model, data, q, v, a)
        return tau[active] - W_a.T @ np.linalg.solve(W_p.T, tau[passive])

    def _local(self, P: int, spatial: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Rows of a Jacobian, or of an acceleration, on the axes of P."""
        R = self._data.oMf[P].rotation.T
        if rows.max() < 3:
            return (R @ spatial[:3])[rows]
        return np.concatenate((R @ spatial[:3], R @ spatial[3:]))[rows]

    def _acceleration(self, frame: int, axes: pin.ReferenceFrame) -> np.ndarray:
        return np.asarray(pin.getFrameClassicalAcceleration(self._model, self._data, frame, axes).vector)
