# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.dynamics.drive import friction_torque, rotor_torque
from dyn_core.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.wrench import Wrench
from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array, checked_out, joint_vectors, scalars, write
from dyn_core.facade.external import external_wrenches
from dyn_core.linalg import vec3
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.model.robot import Robot


def compile_model(robot: Robot, friction: bool = True, rotor_inertia: bool = True) -> Model:
    """Answer the dynamics functions of a robot.

    Args:
        robot: the robot.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
    """
    return Model(robot, friction, rotor_inertia)


@dataclass(frozen=True)
class Model:
    """Dynamics of a robot: A(q) qdd + C(q, qd) + Q(q) + friction(qd) (Khalil 2010, eq. (7)).

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd,
    accelerations qdd, and torques (N m, or N for prismatic joints). Each function takes one
    sample (n,) or a batch (N, n) and answers in kind, in `out` where it is given. A model never
    changes and can be used by many threads.
    """

    robot: Robot
    friction: bool
    rotor_inertia: bool

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector."""
        return self.robot.joint_names

    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques that give the accelerations qdd (Khalil 2010, eq. (12)).

        Args:
            q: positions.
            qd: velocities.
            qdd: accelerations.
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its
                environment, in the frame of the link and about its origin: (6,), or (N, 6) with
                a batch.
            out: array for the result.
        """
        q, qd, qdd = joint_vectors(self.robot.dof, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, q.shape)
        external = external_wrenches(self.robot, wrenches, q.shape[:-1])
        return self._torques(out, q, qd, qdd, self.robot.gravity_0, external, self.friction)

    def bias_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques H at zero acceleration: Coriolis, centrifugal, gravity and friction."""
        q, qd = joint_vectors(self.robot.dof, q=q, qd=qd)
        out = checked_out(out, q.shape)
        return self._torques(out, q, qd, None, self.robot.gravity_0, friction=self.friction)

    def gravity_torques(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques Q that hold the robot at rest, without friction."""
        (q,) = joint_vectors(self.robot.dof, q=q)
        return self._torques(checked_out(out, q.shape), q, None, None, self.robot.gravity_0)

    def coriolis_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Coriolis and centrifugal torques C."""
        q, qd = joint_vectors(self.robot.dof, q=q, qd=qd)
        return self._torques(checked_out(out, q.shape), q, qd, None)

    def inertial_torques(self, q: npt.ArrayLike, qdd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques A(q) qdd, with the inertia of the rotors."""
        q, qdd = joint_vectors(self.robot.dof, q=q, qdd=qdd)
        return self._torques(checked_out(out, q.shape), q, None, qdd)

    def friction_torques(self, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques of friction; zero in a model without friction."""
        (qd,) = joint_vectors(self.robot.dof, qd=qd)
        out = checked_out(out, qd.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            friction = self._friction(joint_rates(self.robot, scalars(qd)))
            return write(coordinate_torques(self.robot, friction), out)

    def _torques(
        self,
        out: Array,
        q: Array,
        qd: Array | None,
        qdd: Array | None,
        gravity_0: Vec3 = vec3.ZERO,
        external: Mapping[int, Wrench] | None = None,
        friction: bool = False,
    ) -> Array:
        """Evaluate Khalil 2010, eq. (31); None stands for velocities or accelerations of zero."""
        robot = self.robot
        if robot.loops:
            loops = listed(loop.name for loop in robot.loops)
            raise DynError(
                f"robot '{robot.name}' has the loops {loops}: closed-loop dynamics are not available yet",
                element=f"loop '{robot.loops[0].name}'",
            )
        zero: list[Scalar] = [0.0] * len(robot.joints)
        with np.errstate(invalid="ignore", over="ignore"):
            q_tree = joint_positions(robot, scalars(q))
            qd_tree = zero if qd is None else joint_rates(robot, scalars(qd))
            qdd_tree = zero if qdd is None else joint_rates(robot, scalars(qdd))
            torques = inverse_dynamics(robot, q_tree, qd_tree, qdd_tree, gravity_0, external or {})
            if friction:
                torques = [a + b for a, b in zip(torques, self._friction(qd_tree), strict=True)]
            if self.rotor_inertia:
                torques = [a + b for a, b in zip(torques, self._rotors(qdd_tree), strict=True)]
            return write(coordinate_torques(robot, torques), out)

    def _friction(self, qd: Sequence[Scalar]) -> list[Scalar]:
        if not self.friction:
            return [0.0 * qd_j for qd_j in qd]
        joints = zip(self.robot.joints, qd, strict=True)
        return [friction_torque(joint.friction, qd_j) for joint, qd_j in joints]

    def _rotors(self, qdd: Sequence[Scalar]) -> list[Scalar]:
        return [rotor_torque(joint, a) for joint, a in zip(self.robot.joints, qdd, strict=True)]
