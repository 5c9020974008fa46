# SPDX-License-Identifier: Apache-2.0
"""The functions of a model that belong to elastic joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.dynamics.elastic_dynamics import motors
from dyn_core.core.arrays import Array, as_floats, checked_out, joint_vectors
from dyn_core.core.errors import listed
from dyn_core.dynamics.unresisted import Inertia, no_forward_dynamics
from dyn_core.facade.elastic_programs import LOADED, no_motors, no_springs, rigid_and_elastic
from dyn_core.facade.runnable import Runnable
from dyn_core.robot.robot import Robot


class ElasticFunctions:
    """What is known of the springs of a robot, and inverse dynamics with joints that only springs move."""

    robot: Robot
    _functions: Mapping[str, Runnable]
    _uncontrolled: tuple[str, ...]

    @property
    def rigid_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that no spring moves, in the order of the joints; of motors, too."""
        return tuple(name for name in self.robot.coordinate_names if name not in self.elastic_joint_names)

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that springs move, in the order of the joints."""
        return self.robot.elastic_joint_names

    def elastic_inverse_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques of the rigid joints and accelerations of the elastic ones (Khalil 2010, sec. 6.3).

        Args:
            q: positions of all joints.
            qd: velocities of all joints.
            qdd: accelerations of the joints `rigid_joint_names`, (r,) or (N, r).
            wrenches: as in `inverse_dynamics`.
            out: array for the result.

        Returns:
            (n,) or (N, n): torques of `rigid_joint_names`, then accelerations of `elastic_joint_names`.

        Raises:
            DynError: the robot has no elastic joints, or no inertia resists one of them.
        """
        if not self.elastic_joint_names:
            raise no_springs(self.robot)
        if self._uncontrolled:
            raise no_forward_dynamics(self.robot, self._uncontrolled)
        state = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd)
        samples = state[0].shape[:-1]
        given = as_floats("qdd", qdd)
        wanted = (*samples, len(self.rigid_joint_names))
        if given.shape != wanted:
            raise ValueError(
                f"qdd: expected the shape {wanted} of the rigid joints, but it has {given.shape}: these are "
                f"{listed(self.rigid_joint_names, 12)}, the accelerations of the others are answered"
            )
        out = checked_out(out, state[0].shape)
        external = self._external_torques(state[0], wrenches)
        if external is None:
            return self._functions["elastic_inverse_dynamics"].run(self._prepared, *state, given, out=out)
        loaded = self._functions[LOADED]
        return loaded.run(self._prepared, *state, given, -external, out=out)

    @property
    def motor_joint_names(self) -> tuple[str, ...]:
        """Names of the joints of motors behind springs, in the order of the joints."""
        return tuple(self.robot.joints[number - 1].name for number in motors(self.robot))

    @property
    def link_joint_names(self) -> tuple[str, ...]:
        """Names of all other joints, in the order of the joints."""
        return self.robot.coordinate_names[: self.robot.dof - len(motors(self.robot))]

    def motor_motion(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        jerk: npt.ArrayLike,
        snap: npt.ArrayLike,
        out: Array | None = None,
    ) -> Array:
        """Motion of the motors behind springs for a motion of the links (SYMORO+ 2003, sec. 3.3.2.5).

        Args:
            q: positions of the joints `link_joint_names`, (l,) or (N, l).
            qd: their velocities.
            qdd: their accelerations.
            jerk: their third derivatives (rad/s^3 or m/s^3).
            snap: their fourth derivatives (rad/s^4 or m/s^4).
            out: array for the result.

        Returns:
            (3, m) or (N, 3, m): positions, velocities and accelerations of `motor_joint_names`, as seen at
            the joints.

        Raises:
            DynError: the robot has no elastic joints, or one without a motor, which nothing can lead.
        """
        if "motor_motion" not in self._functions:
            raise no_motors(self.robot)
        links = len(self.link_joint_names)
        vectors = joint_vectors(
            links, lambda: self.link_joint_names, q=q, qd=qd, qdd=qdd, jerk=jerk, snap=snap
        )
        runnable = self._functions["motor_motion"]
        out = checked_out(out, (*vectors[0].shape[:-1], *runnable.shape))
        return runnable.run(self._prepared, *vectors, out=out)

    def spring_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """What springs add to the torques: ``K (dq - q0) + D d(dq)/dt``; zero for joints without springs.

        `inverse_dynamics`, `forward_dynamics` and `bias_torques` have it already.

        Args:
            q: positions.
            qd: velocities.
            out: array for the result.
        """
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd)
        out = checked_out(out, vectors[0].shape)
        if not self.elastic_joint_names:
            out[...] = 0.0
            return out
        return self._functions["spring_torques"].run(self._prepared, *vectors, out=out)

    def _joints_with_motors(self) -> tuple[str, ...]:
        """Names of the joints for messages about vectors, whose length surprises where motors have joints."""
        return self.robot.coordinate_names if self.elastic_joint_names else ()

    # What `Model` has.

    @property
    def _prepared(self) -> list[Array]:
        raise NotImplementedError

    def _external_torques(self, q: Array, wrenches: Mapping[str, npt.ArrayLike] | None) -> Array | None:
        raise NotImplementedError


def with_rigid_joints_held(robot: Robot, inertia: Inertia) -> Inertia:
    """Answer the inertia matrix of the elastic joints alone, with ones in the place of the others."""
    rigid, _ = rigid_and_elastic(robot)

    def held(q: list[float]) -> list[list[float]]:
        A = np.array(inertia(q))
        A[rigid, :] = A[:, rigid] = 0.0
        A[rigid, rigid] = 1.0
        answer: list[list[float]] = A.tolist()
        return answer

    return held
