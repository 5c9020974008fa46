# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's tree of independent joints, in the coordinates of a robot with mimic joints.

By the principle of virtual work: with ``q_tree = G q + offset``, torques are ``G^T tau_tree``, the inertia
matrix is ``G^T A_tree G``, Jacobians are ``J_tree G``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.robot.joint_coupling import joint_positions, joint_rates
from dyn_core.robot.links import InertialParameters, in_frame

PINOCCHIO = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
"""Our names of Pinocchio's parameters of a body, in its order."""


class ProjectedOracle:
    """Rigid-body dynamics of a robot by Pinocchio, for arrays with one sample per row."""

    def __init__(self, urdf: str, robot: dyn_core.Robot) -> None:
        """Read the URDF; `robot` gives the mimic joints, the order of the joints, and the gravity."""
        self.robot = robot
        self.tree = Oracle(urdf, [joint.name for joint in robot.joints], robot.gravity)
        n, unit = len(robot.joints), np.eye(robot.dof).tolist()
        self.G = np.array([joint_rates(robot, e) for e in unit]).reshape(robot.dof, n).T
        self.offset = np.array(joint_positions(robot, [0.0] * robot.dof)).reshape(n)
        self._couples = any(joint.mimic for joint in robot.joints)

    def on_tree(self, q: np.ndarray, *rates: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.G @ q + self.offset, *(self.G @ rate for rate in rates))

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self.G.T @ self.tree.inverse_dynamics(*self.on_tree(q, qd, qdd), {})

    def bias_torques(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(q, qd, np.zeros(self.robot.dof))

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        return self.G.T @ self.tree.gravity_torques(*self.on_tree(q))

    def inertia_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.G.T @ self.tree.inertia_matrix(*self.on_tree(q)) @ self.G

    def forward_dynamics(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, unresisted: Sequence[int] = ()
    ) -> np.ndarray:
        """Accelerations by the articulated recursion, or by the projected equations with one refinement.

        They are not finite for coordinates without inertia; the projected equations need these coordinates as
        an argument.
        """
        if not self._couples:
            return self.tree.direct_dynamics(q, qd, tau, {}, np.zeros(self.robot.dof))
        resisted, qdd = np.setdiff1d(np.arange(self.robot.dof), unresisted), np.zeros(self.robot.dof)
        A = self.inertia_matrix(q)[np.ix_(resisted, resisted)]
        for _ in range(2):
            qdd[resisted] += np.linalg.solve(A, (tau - self.inverse_dynamics(q, qd, qdd))[resisted])
        qdd[list(unresisted)] = np.nan
        return qdd

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Regressor in the columns of Pinocchio's parameters."""
        return self.G.T @ self.tree.regressor(*self.on_tree(q, qd, qdd))

    def parameter_map(self) -> np.ndarray:
        """Matrix from Pinocchio's parameters of all bodies to ours: 10 n x 10 n, one block for each body."""
        n = len(self.robot.joints)
        matrix = np.zeros((n, 10, n, 10))
        for j, joint in enumerate(self.robot.joints):
            T_body_link = self.robot.link_frame(self.tree.carried_link(joint.name)).T_body_link
            for k, name in enumerate(PINOCCHIO):
                matrix[j, :, j, k] = in_frame(T_body_link, InertialParameters(**{name: 1.0})).values
        return matrix.reshape(10 * n, 10 * n)

    def forward_kinematics(self, q: np.ndarray, link: str) -> np.ndarray:
        """Placement of a link in the frame of the root link, 4 x 4."""
        R, p = self.tree.link_placement(*self.on_tree(q), link)
        return np.block([[R, p[:, None]], [0.0, 0.0, 0.0, 1.0]])

    def jacobian(self, q: np.ndarray, link: str) -> np.ndarray:
        """Jacobian of a link about its origin, on the axes of the root link."""
        return self.tree.jacobian(*self.on_tree(q), link, own_axes=False) @ self.G


def per_sample(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Return the values of a one-sample function for each sample of a batch."""
    return np.array([function(*sample) for sample in zip(*arrays, strict=True)])
