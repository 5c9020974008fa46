# SPDX-License-Identifier: Apache-2.0
"""Parallel robots by Pinocchio: a tree with a floating platform, constraints and Lagrange multipliers.

The legs are not solved in closed form. The tree is closed by Newton's method on all joints at once, and
efforts come from one system of all joints and multipliers, which is solved with steps of refinement.
"""

from __future__ import annotations

import math

import numpy as np
import yaml
from loop_oracle import LoopOracle
from simple_joint_urdf import spelled_out

PARTS = ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")


class ParallelOracle:
    """A URDF with a platform that a floating joint `platform_motion` places, and its side file."""

    def __init__(self, urdf: str, side_file: str, gravity: tuple[float, float, float]) -> None:
        self.loops = LoopOracle(spelled_out(urdf), yaml.safe_load(side_file), gravity=gravity)
        self.actuated, self.n = self.loops.actuated, self.loops.n
        self.place = {name: k for k, name in enumerate(self.loops.joint_names)}
        self.own = [self.place[f"platform_motion/{part}"] for part in PARTS]

    def closed(self, T: np.ndarray) -> np.ndarray:
        """All joint positions where the platform is at T, by Newton's method from the assembly."""
        q = self.loops._assembly.copy()
        pitch = math.atan2(-T[2, 0], math.hypot(T[0, 0], T[1, 0]))
        yaw, roll = math.atan2(T[1, 0], T[0, 0]), math.atan2(T[2, 1], T[2, 2])
        q[self.own] = [*T[:3, 3], yaw, pitch, roll]
        free = [k for k in range(self.n) if k not in self.own]
        for _ in range(50):
            at = self.loops._constraints(q)
            step = np.linalg.lstsq(at.J[:, free], -at.residual, rcond=None)[0]
            q[free] += step
            if np.max(np.abs(step)) < 1e-15:
                break
        assert np.max(np.abs(self.loops._constraints(q).residual)) < 1e-13
        return q

    def constraints(self, q, qd) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian of all loops, and its rate times qd."""
        at = self.loops._constraints(q, qd)
        return at.J, at.drift

    def platform(self, q, qd) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian of the platform on the axes of the root, and its rate times qd."""
        tree = self.loops.tree
        return tree.jacobian(q, "platform", False), tree.link_motion(q, qd, np.zeros(self.n), "platform")[1]

    def motion(self, T, V, Vd) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations of all joints for a motion of the platform."""
        q = self.closed(T)
        both = np.vstack([self.constraints(q, np.zeros(self.n))[0], self.platform(q, np.zeros(self.n))[0]])
        loops = np.zeros(len(both) - 6)
        qd = refined(both, np.concatenate([loops, V]))
        drift, own = self.constraints(q, qd)[1], self.platform(q, qd)[1]
        return q, qd, refined(both, np.concatenate([-drift, np.asarray(Vd) - own]))

    def efforts(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Efforts of the actuators, in the order of `actuated`, equivalent to efforts of all joints."""
        rows, _ = self.constraints(q, np.zeros(self.n))
        select = np.eye(self.n)[:, : len(self.actuated)]
        return refined(np.hstack([select, rows.T]), tau)[: len(self.actuated)]

    def inverse_dynamics(self, T, V, Vd) -> np.ndarray:
        """Efforts of the actuators, in the order of `actuated`."""
        q, qd, qdd = self.motion(T, V, Vd)
        return self.efforts(q, self.loops._tree_torques(q, qd, qdd))

    def forward_dynamics(self, T, V, tau) -> np.ndarray:
        """Acceleration of the platform."""
        q, qd, _ = self.motion(T, V, np.zeros(6))
        efforts = -self.loops._tree_torques(q, qd, np.zeros(self.n))
        efforts[: len(self.actuated)] += tau
        (rows, drift), (J, own) = self.constraints(q, qd), self.platform(q, qd)
        system = np.block([[self.loops._inertia(q), rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        return J @ refined(system, np.concatenate([efforts, -drift]))[: self.n] + own


def refined(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least-squares solution by iterative refinement, with residuals in long double."""
    x = np.zeros(A.shape[1])
    for _ in range(4):
        residual = b.astype(np.longdouble) - A.astype(np.longdouble) @ x.astype(np.longdouble)
        x = x + np.linalg.lstsq(A, residual.astype(float), rcond=None)[0]
    return x
