# SPDX-License-Identifier: Apache-2.0
"""Robots with closed loops by Pinocchio's tree, our own small closure, and Lagrange multipliers.

dyn_core is not used: the URDF is read by Pinocchio, and the side file as the mapping that it is.
Drives, which Pinocchio's inverse dynamics leaves out, are added by hand in all joints of the tree, active
and passive. With the Jacobian J of the cut joints the equations are

    A qdd + H = tau + J^T lambda,    J qdd + Jdot qd = 0,

with no torque of an actuator in a passive joint. Inverse dynamics projects the first by G = dq/dq_a, in
which the multipliers vanish; direct dynamics solves both for qdd and lambda at once, without G, and refines
the solution with residuals in extended precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import yaml
from cut_joint import CutJoint, cut_joint
from pinocchio_oracle import Oracle, pin
from robots import ROBOTS

STEP = 0.1  # Longest step of the continuation from the assembly (rad or m)
CLOSED = 1e-12  # Largest residual of a closed loop (m, rad), for lengths of some m and angles of some rad
RANK = 1e-8  # Singular values of the constraints below this fraction of the largest belong to redundant rows
DOWN = (0.0, 0.0, -9.81)


class CutWrench(NamedTuple):
    """Wrench of a cut joint, and which of its components are determined despite redundant constraints."""

    wrench: np.ndarray
    determined: np.ndarray


class Constraints(NamedTuple):
    """The cut joints at one state of the tree: residual, Jacobian, ``Jdot qd``, wrench bases by loop."""

    residual: np.ndarray
    J: np.ndarray
    drift: np.ndarray
    bases: tuple[np.ndarray, ...]


class OpenLoopError(AssertionError):
    """The path from the assembly to the position does not exist or passes a singularity."""


class LoopOracle:
    """Dynamics of a robot with loops: vectors of actuated joints, in the order of `actuated`.

    Joint vectors of the tree are ``[actuated, passive]`` (SYMORO+ 2003, eq. (2.5)); `joint_names` names
    them. All quantities in rad, m, s, N m, N.
    """

    def __init__(self, urdf, side, actuated=None, gravity=DOWN, friction=True, rotor_inertia=True) -> None:
        """Build the tree and cut frames from the text of a URDF and the content of its side file.

        The actuated joints are in the order of their names, by default in that of Pinocchio.
        """
        names = list(pin.buildModelFromXML(urdf).names)[1:]
        passive = list(side["passive"])
        self.actuated = tuple(actuated or (name for name in names if name not in passive))
        self.passive_names = tuple(name for name in names if name in passive)
        self.joint_names = (*self.actuated, *self.passive_names)
        assert sorted(self.joint_names) == sorted(names)
        self.dof, self.n = len(self.actuated), len(names)
        self.tree = Oracle(urdf, self.joint_names, gravity)
        self.loops = [cut_joint(loop) for loop in side["loops"]]
        self._frames = [(self._frame(loop, True), self._frame(loop, False)) for loop in self.loops]
        self.tree.data = self.tree.model.createData()
        self._read_joints(urdf, side, friction, rotor_inertia)
        assembly = side.get("assembly", {})
        self._assembly = self._corrected(np.array([float(assembly.get(j, 0.0)) for j in self.joint_names]))
        self._last = self._assembly  # the last requested position, as calls often repeat it
        singular = np.linalg.svd(self._constraints(self._assembly).J, compute_uv=False)
        self.rank = int(np.sum(singular > RANK * singular[0]))

    # Positions

    def assembly_gap(self, side: Mapping) -> float:
        """How far the loops are open at the assembly positions of the side file (m, rad)."""
        q = np.array([float(side.get("assembly", {}).get(j, 0.0)) for j in self.joint_names])
        return float(np.abs(self._constraints(q).residual).max())

    @property
    def assembly(self) -> np.ndarray:
        """Positions of the actuated joints in the assembly."""
        return self._assembly[: self.dof].copy()

    def closed(self, q_a: Sequence[float]) -> dict[str, float]:
        """Position of every joint of the tree, in the assembly mode of the assembly."""
        return dict(zip(self.joint_names, self.positions(q_a).tolist(), strict=True))

    def positions(self, q_a: Sequence[float]) -> np.ndarray:
        """Return the same in the order of `joint_names`, by continuation along the line from the assembly."""
        target = np.asarray(q_a, dtype=float)
        if not np.array_equal(target, self._last[: self.dof]):
            *_, (_, q) = self._line_to(target)
            self._last = self._corrected(np.concatenate((target, q[self.dof :])))
        return self._last.copy()

    def _line_to(self, target: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Closed positions along the line from the assembly, each with its fraction of the line."""
        q, steps = self._assembly, max(1, math.ceil(np.abs(target - self.assembly).max() / STEP))
        for part in np.arange(1, steps + 1) / steps:
            q = self._moved(q, self.assembly + part * (target - self.assembly))
            yield part, q

    def random_state(self, random, condition=10.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Actuated positions, velocities, accelerations in the regular workspace.

        On the line from the assembly to a random position within the limits, as far as joints stay within
        their limits and the constraints no more than `condition` times as badly conditioned as in the
        assembly.
        """
        lower, upper = self.limits[: self.dof].T
        target = random.uniform(lower, upper)
        allowed, reached = condition * self._condition(self._assembly), 0.0
        with suppress(OpenLoopError):
            for part, q in self._line_to(target):
                if self._condition(q) > allowed or np.any((q < self.limits[:, 0]) | (q > self.limits[:, 1])):
                    break
                reached = part
        part = random.uniform(0.1, 1.0) * reached
        speed = 0.5 * self.velocity_limits[: self.dof]
        qd, qdd = random.uniform(-1.0, 1.0, (2, self.dof)) * [speed, 4.0 * speed]
        return self.assembly + part * (target - self.assembly), qd, qdd

    def condition(self, q_a: Sequence[float]) -> float:
        """Condition number of the constraint columns of the passive joints."""
        return self._condition(self.positions(q_a))

    # Rates

    def jacobian(self, q_a: Sequence[float]) -> np.ndarray:
        """Constraint Jacobian J: rows of all loops by columns of `joint_names`."""
        return self._constraints(self.positions(q_a)).J

    def projection(self, q_a: Sequence[float]) -> np.ndarray:
        """G = dq/dq_a, n x dof (SYMORO+ 2003, eq. (4.40))."""
        return self._projection(self._constraints(self.positions(q_a)).J)

    def tree_motion(self, q_a, qd_a, qdd_a) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations of all joints, in the order of `joint_names`."""
        q = self.positions(q_a)
        qd = self._projection(self._constraints(q).J) @ np.asarray(qd_a, dtype=float)
        at = self._constraints(q, qd)
        qdd_a = np.asarray(qdd_a, dtype=float)
        J_a, J_p = at.J[:, : self.dof], at.J[:, self.dof :]
        return q, qd, np.concatenate((qdd_a, -self._inverted(J_p) @ (J_a @ qdd_a + at.drift)))

    def passive(self, q_a, qd_a, qdd_a) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations of the joints `passive_names`."""
        return tuple(each[self.dof :] for each in self.tree_motion(q_a, qd_a, qdd_a))

    # Dynamics

    def inverse_dynamics(self, q_a, qd_a, qdd_a) -> np.ndarray:
        """Actuated torques, ``G^T`` times those of the tree (SYMORO+ 2003, eq. (4.40))."""
        q, qd, qdd = self.tree_motion(q_a, qd_a, qdd_a)
        return self._projection(self._constraints(q).J).T @ self._tree_torques(q, qd, qdd)

    def bias(self, q_a: Sequence[float], qd_a: Sequence[float]) -> np.ndarray:
        """Actuated torques H_c at zero acceleration (SYMORO+ 2003, eq. (4.49)), with friction."""
        return self.inverse_dynamics(q_a, qd_a, np.zeros(self.dof))

    def gravity(self, q_a: Sequence[float]) -> np.ndarray:
        """Actuated torques that hold the robot at rest, without friction."""
        q = self.positions(q_a)
        return self._projection(self._constraints(q).J).T @ self.tree.gravity_torques(q)

    def inertia_matrix(self, q_a: Sequence[float]) -> np.ndarray:
        """A_c (SYMORO+ 2003, eq. (4.48)), with rotors."""
        q = self.positions(q_a)
        G = self._projection(self._constraints(q).J)
        return G.T @ self._inertia(q) @ G

    def forward_dynamics(self, q_a, qd_a, tau) -> np.ndarray:
        """Actuated accelerations."""
        return self.constrained_dynamics(q_a, qd_a, tau)[: self.dof]

    def constrained_dynamics(self, q_a, qd_a, tau) -> np.ndarray:
        """Accelerations of all joints, in the order of `joint_names`, by Lagrange multipliers."""
        q, qd, _ = self.tree_motion(q_a, qd_a, np.zeros(self.dof))
        at = self._constraints(q, qd)
        U, s, Vt = np.linalg.svd(at.J, full_matrices=False)
        rows, drift = Vt[: self.rank], (U.T @ at.drift)[: self.rank] / s[: self.rank]
        torques = np.concatenate((tau, np.zeros(self.n - self.dof)))
        right = np.concatenate((torques - self._tree_torques(q, qd, np.zeros(self.n)), -drift))
        zero = np.zeros((self.rank, self.rank))
        return refined_solution(np.block([[self._inertia(q), rows.T], [rows, zero]]), right)[: self.n]

    def cut_wrench(self, name, q_a, qd_a, qdd_a) -> CutWrench:
        """Wrench [force; moment] that the parent of a cut joint exerts on the child.

        In the parent's cut frame, about its origin. Where redundant constraints leave a component open,
        it belongs to the multipliers of least norm, and `determined` is False.
        """
        q, qd, qdd = self.tree_motion(q_a, qd_a, qdd_a)
        at = self._constraints(q, qd)
        torques = self._tree_torques(q, qd, qdd)
        torques[: self.dof] -= self._projection(at.J).T @ torques
        U = np.linalg.svd(at.J)[0]
        k = [loop.name for loop in self.loops].index(name)
        start = sum(basis.shape[1] for basis in at.bases[:k])
        rows, S = slice(start, start + at.bases[k].shape[1]), at.bases[k]
        wrench = S @ (self._inverted(at.J).T @ torques)[rows]
        return CutWrench(wrench, np.linalg.norm(S @ U[rows, self.rank :], axis=1) < 1e-9)

    def energy(self, q_a: Sequence[float], qd_a: Sequence[float]) -> float:
        """Kinetic and potential energy (J), with rotors."""
        q, qd, _ = self.tree_motion(q_a, qd_a, np.zeros(self.dof))
        return self.tree.energy(q, qd) + 0.5 * float(self.Ia @ qd**2)

    # The tree and its cut frames

    def _tree_torques(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        drives = self.Ia * qdd + self.Fv * qd + self.Fs * np.sign(qd) + self.Fo
        return self.tree.inverse_dynamics(q, qd, qdd, {}) + drives

    def _inertia(self, q: np.ndarray) -> np.ndarray:
        A = self.tree.inertia_matrix(q) + np.diag(self.Ia)
        return 0.5 * (A + A.T)

    def _constraints(self, q: np.ndarray, qd: np.ndarray | None = None) -> Constraints:
        """The cut joints at the state (q, qd) of the tree, which need not be closed."""
        tree, qd = self.tree, np.zeros(self.n) if qd is None else qd
        motion = (tree._positions(q), tree._velocities(qd), np.zeros(self.n))
        pin.forwardKinematics(tree.model, tree.data, *motion)
        pin.computeJointJacobians(tree.model, tree.data, motion[0])
        pin.updateFramePlacements(tree.model, tree.data)
        found = [_at_cut(tree, loop, *frames) for loop, frames in zip(self.loops, self._frames, strict=True)]
        *parts, bases = zip(*found, strict=True)
        return Constraints(*map(np.concatenate, parts), bases)

    def _corrected(self, q: np.ndarray, enough: float = 0.0) -> np.ndarray:
        """Close the loops with the passive joints by damped Newton steps, while the residual falls."""
        at = self._constraints(q)
        gap = np.linalg.norm(at.residual)
        for _ in range(50):
            if gap <= enough:
                break
            step = -np.linalg.pinv(at.J[:, self.dof :], rcond=RANK) @ at.residual
            part, better = 1.0, False
            while part > (0.9 if gap < CLOSED else 1e-3) and not better:
                trial = q.copy()
                trial[self.dof :] += part * step
                new = self._constraints(trial)
                better = bool(np.linalg.norm(new.residual) < gap)
                part *= 0.5
            if not better:
                break
            q, at, gap = trial, new, np.linalg.norm(new.residual)
        if not gap < CLOSED:
            raise OpenLoopError(f"the loops stay {gap} open")
        return q

    def _moved(self, q: np.ndarray, q_a: np.ndarray) -> np.ndarray:
        """Predict the next closed position along the tangent; its residual may exceed `CLOSED`."""
        G = self._projection(self._constraints(q).J)
        q_p = (q + G @ (q_a - q[: self.dof]))[self.dof :]
        return self._corrected(np.concatenate((q_a, q_p)), CLOSED)

    def _projection(self, J: np.ndarray) -> np.ndarray:
        return np.concatenate((np.eye(self.dof), -self._inverted(J[:, self.dof :]) @ J[:, : self.dof]))

    def _inverted(self, J: np.ndarray) -> np.ndarray:
        """Pseudo-inverse of the constraints, with the rank of the assembly."""
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        r = self.rank
        if s.size < r or s[r - 1] < RANK * s[0]:
            raise OpenLoopError(f"the constraints lose rank: singular values {s}")
        return (Vt[:r].T / s[:r]) @ U[:, :r].T

    def _condition(self, q: np.ndarray) -> float:
        s = np.linalg.svd(self._constraints(q).J[:, self.dof :], compute_uv=False)
        return float(s[0] / s[self.rank - 1])

    def _frame(self, loop: CutJoint, parent: bool) -> int:
        end, model = loop.parent if parent else loop.child, self.tree.model
        link = self.tree._frame(end.link)
        placement = link.placement * pin.SE3(end.R, end.p)
        name = f"{loop.name}/{'parent' if parent else 'child'}"
        return model.addFrame(pin.Frame(name, link.parentJoint, placement, pin.FrameType.OP_FRAME))

    def _read_joints(self, urdf: str, side: Mapping, friction: bool, rotor_inertia: bool) -> None:
        """Read drives and limits from the URDF; values of the side file take precedence."""
        elements = {joint.get("name"): joint for joint in ElementTree.fromstring(urdf).findall("joint")}

        def numbers(tag: str, key: str, default: float) -> np.ndarray:
            found = (elements[name].find(tag) for name in self.joint_names)
            return np.array([default if e is None else float(e.get(key, default)) for e in found])

        def given(values: np.ndarray, key: str) -> np.ndarray:
            entries = side.get("friction", {})
            pairs = zip(self.joint_names, values, strict=True)
            return np.array([float(entries.get(name, {}).get(key, value)) for name, value in pairs])

        self.Fv = friction * given(numbers("dynamics", "damping", 0.0), "viscous")
        self.Fs = friction * given(numbers("dynamics", "friction", 0.0), "coulomb")
        self.Fo = friction * given(np.zeros(self.n), "offset")
        rotors = side.get("rotor_inertia", {})
        self.Ia = rotor_inertia * np.array([float(rotors.get(name, 0.0)) for name in self.joint_names])
        lower, upper = numbers("limit", "lower", -math.pi), numbers("limit", "upper", math.pi)
        self.limits = np.stack((lower, upper), axis=1)
        self.velocity_limits = numbers("limit", "velocity", 1.0)
        self.effort_limits = numbers("limit", "effort", math.inf)


def example_oracle(name: str, **options: object) -> LoopOracle:
    """Oracle of a robot of config/robots with its side file."""
    return LoopOracle(example_urdf(name), example_side(name), **options)


def example_urdf(name: str) -> str:
    """Text of the URDF of a robot of config/robots."""
    return (ROBOTS / f"{name}.urdf").read_text()


def example_side(name: str) -> dict:
    """Content of the side file of a robot of config/robots."""
    return yaml.safe_load((ROBOTS / f"{name}.yaml").read_text())


def refined_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve ``A x = b``, scaled by powers of 2, with residuals in extended precision."""
    scale = np.exp2(-np.round(0.5 * np.log2(np.abs(A).max(axis=1))))
    A = scale[:, None] * A * scale
    exact_A, exact_b = A.astype(np.longdouble), (scale * b).astype(np.longdouble)
    x = np.linalg.solve(A, scale * b).astype(np.longdouble)
    for _ in range(5):
        x = x + np.linalg.solve(A, np.asarray(exact_b - exact_A @ x, dtype=float))
    return scale * np.asarray(x, dtype=float)


def _at_cut(tree, loop, parent, child) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Residual, Jacobian, drift and wrench basis of one cut joint, in the parent's cut frame P."""
    P, C = tree.data.oMf[parent], tree.data.oMf[child]
    r, to_P = P.translation - C.translation, np.kron(np.eye(2), P.rotation.T)
    R = P.rotation.T @ C.rotation
    S = loop.wrench_basis(R)

    J_P, J_C, v_P, v_C, a_P, a_C = (
        function(tree.model, tree.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        for function in (pin.getFrameJacobian, pin.getFrameVelocity, pin.getFrameClassicalAcceleration)
        for frame in (parent, child)
    )
    J = np.concatenate((J_C[:3] + np.cross(J_C[3:], r, axisa=0).T - J_P[:3], J_C[3:] - J_P[3:]))
    linear = v_C.linear + np.cross(v_C.angular, r) - v_P.linear
    V = to_P @ np.concatenate((linear, v_C.angular - v_P.angular))
    changing_r = np.cross(v_C.angular, v_P.linear - v_C.linear)
    relative = a_C.linear + np.cross(a_C.angular, r) + changing_r - a_P.linear
    turning = np.cross(P.rotation.T @ v_P.angular, V.reshape(2, 3)).ravel()
    Vd = to_P @ np.concatenate((relative, a_C.angular - a_P.angular)) - turning
    drift = S.T @ Vd + loop.wrench_basis_rate(R, V[3:]).T @ V
    return loop.residual(R, -P.rotation.T @ r), S.T @ to_P @ J[:, tree._idx_v], drift, S
