# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a parallel robot with Pinocchio, from the motion of its platform.

It is given the positions of all joints, and the independent rows of the constraints where these are more than
the joints of the legs. Pinocchio alone would have to compute these.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml

AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class PinocchioPlatform:
    """A robot with a platform on a floating joint, whose legs end in spherical or universal joints."""

    def __init__(self, urdf: Path, side_file: Path) -> None:
        """Build the tree and the frames of the cut joints."""
        self._model = model = pin.buildModelFromXML(urdf.read_text())
        model.armature[:] = 0.0
        side = yaml.safe_load(side_file.read_text())
        self._cuts = []
        for loop in side["loops"]:
            pair = [self._frame(loop["name"], loop[end]) for end in ("parent", "child")]
            axes = None
            if loop["type"] == "universal":
                axes = [np.array(loop[key], dtype=float) for key in ("axis", "axis2")]
            self._cuts.append((*pair, axes))
        self._data = model.createData()
        joint = model.joints[model.getJointId("platform_motion")]
        self._platform_q, self._own = joint.idx_q, np.arange(joint.idx_v, joint.idx_v + 6)
        self._legs = np.array([k for k in range(model.nv) if k not in self._own])
        names = [name for name in list(model.names)[1:] if name not in side["passive"]]
        self._actuated = [
            model.joints[model.getJointId(name)].idx_v for name in names if "platform" not in name
        ]
        self._zero = np.zeros(model.nv)
        self._select = np.eye(model.nv)[:, self._actuated]
        self._rows = np.arange(0)

    def _frame(self, name: str, end: dict) -> int:
        link = self._model.frames[self._model.getFrameId(end["link"])]
        rpy = [float(x) for x in end.get("rpy", (0, 0, 0))]
        xyz = np.array(end.get("xyz", (0, 0, 0)), dtype=float)
        placed = link.placement * pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)
        frame = pin.Frame(f"{name}/{end['link']}", link.parentJoint, placed, pin.FrameType.OP_FRAME)
        return int(self._model.addFrame(frame))

    def positions(self, T: np.ndarray, legs: dict[str, float]) -> np.ndarray:
        """Return positions of the tree, and select the constraints that are independent there."""
        model = self._model
        q = pin.neutral(model)
        for name, value in legs.items():
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = (
                [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
            )
        q[self._platform_q : self._platform_q + 7] = pin.SE3ToXYZQUAT(pin.SE3(T[:3, :3], T[:3, 3]))
        J = self._jacobian(q)[:, self._legs]
        self._rows = np.arange(0)
        for row in range(len(J)):
            if np.linalg.matrix_rank(J[[*self._rows, row]], tol=1e-6) > len(self._rows):
                self._rows = np.append(self._rows, row)
        return q

    def inverse_dynamics(self, q: np.ndarray, R: np.ndarray, V: np.ndarray, Vd: np.ndarray) -> np.ndarray:
        """Efforts of the actuators (N m or N)."""
        J, v, rest = self._motion(q, R, V)
        w = v[self._own[3:]]
        a = np.empty(self._model.nv)
        a[self._own] = np.concatenate((R.T @ Vd[:3] - np.cross(w, v[self._own[:3]]), R.T @ Vd[3:]))
        on_legs = J[np.ix_(self._rows, self._legs)]
        wanted = -(J[self._rows][:, self._own] @ a[self._own]) - rest[self._rows]
        a[self._legs] = np.linalg.solve(on_legs, wanted)
        tau = pin.rnea(self._model, self._data, q, v, a)
        return np.linalg.solve(np.hstack((self._select, J.T)), tau)[: len(self._actuated)]

    def forward_dynamics(self, q: np.ndarray, R: np.ndarray, V: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Acceleration of the platform [linear; angular] (m/s^2, rad/s^2)."""
        J, v, rest = self._motion(q, R, V)
        efforts = self._zero.copy()
        efforts[self._actuated] = tau
        a = pin.forwardDynamics(self._model, self._data, q, v, efforts, J, rest, 0.0)[self._own]
        linear = a[:3] + np.cross(v[self._own[3:]], v[self._own[:3]])
        return np.concatenate((R @ linear, R @ a[3:]))

    def _motion(self, q: np.ndarray, R: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, ...]:
        """Jacobian of the constraints, velocities of the tree, and the velocity part of the accelerations."""
        J = self._jacobian(q)
        v = np.empty(self._model.nv)
        v[self._own] = np.concatenate((R.T @ V[:3], R.T @ V[3:]))
        on_legs = J[np.ix_(self._rows, self._legs)]
        v[self._legs] = np.linalg.solve(on_legs, -(J[self._rows][:, self._own] @ v[self._own]))
        pin.forwardKinematics(self._model, self._data, q, v, self._zero)
        return J, v, self._rates()

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        model, data = self._model, self._data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        rows = []
        for P, C, axes in self._cuts:
            between = pin.getFrameJacobian(model, data, P, AXES) - pin.getFrameJacobian(model, data, C, AXES)
            rows.append(between[:3])
            if axes is not None:
                n = np.cross(data.oMf[P].rotation @ axes[0], data.oMf[C].rotation @ axes[1])
                rows.append((n @ between[3:])[None])
        return np.concatenate(rows)

    def _rates(self) -> np.ndarray:
        model, data = self._model, self._data
        rates = []
        for P, C, axes in self._cuts:
            first, second = (pin.getFrameClassicalAcceleration(model, data, frame, AXES) for frame in (P, C))
            rates.append(first.linear - second.linear)
            if axes is not None:
                a, b = data.oMf[P].rotation @ axes[0], data.oMf[C].rotation @ axes[1]
                w1, w2 = (pin.getFrameVelocity(model, data, frame, AXES).angular for frame in (P, C))
                turning = np.cross(np.cross(w1, a), b) + np.cross(a, np.cross(w2, b))
                rates.append([np.cross(a, b) @ (first.angular - second.angular) + turning @ (w1 - w2)])
        return np.concatenate(rates)
