# SPDX-License-Identifier: Apache-2.0
"""Elastic joints: inverse dynamics, spring torques and motor motion, as programs and functions.

Inverse dynamics takes the accelerations of the rigid joints. It returns first the torques of the rigid
joints, then the accelerations of the elastic joints, each in the order of the coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.direct_dynamics import Inertia, no_forward_dynamics
from dyn_core.algorithms.dynamics.elastic_dynamics import elastic_inverse_dynamics, motors
from dyn_core.algorithms.dynamics.newton_euler import factorised, inertia_matrix, solved
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.core.arrays import Array, as_floats, checked_out, joint_vectors
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.builder import Algorithm, Vector
from dyn_core.model.built_model import BuiltModel
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, is_zero

LOADED = "loaded_elastic_dynamics"
"""The function that `elastic_inverse_dynamics` calls with wrenches; users do not name it."""


def no_springs(robot: Robot) -> DynError:
    """Return the error for a robot without elastic joints."""
    return DynError("robot-without-springs", robot=robot.name)


def no_motors(robot: Robot) -> DynError:
    """Return the error for a robot with elastic joints without motors, or without elastic joints."""
    for joint in robot.joints:
        if joint.elastic is not None and joint.elastic.motor == 0:
            return DynError(
                "elastic-joint-without-motor",
                joint=joint.name,
                robot=robot.name,
                element=f"joint '{joint.name}'",
            )
    return no_springs(robot)


def result_names(robot: Robot) -> tuple[str, ...]:
    """Names of the joints in the order of the results: the rigid ones, then the elastic ones."""
    return tuple(robot.coordinate_names[k] for places in rigid_and_elastic(robot) for k in places)


def rigid_and_elastic(robot: Robot) -> tuple[list[int], list[int]]:
    """Indices of the rigid and of the elastic joints among the coordinates."""
    elastic = [joint.elastic is not None for joint in robot.independent_joints]
    places = range(len(elastic))
    return [k for k in places if not elastic[k]], [k for k in places if elastic[k]]


def elastic_algorithms(robot: Robot, inverse: Algorithm) -> list[Algorithm]:
    """Return the algorithms that suit the robot, from inverse dynamics of the coordinates with springs.

    Each takes the robot, q, qd, qdd of the rigid joints and, optionally, torques on all coordinates beside
    those of actuators and springs.
    """
    by_matrix = _by_inertia_matrix(inverse)
    mimics = any(joint.mimic for joint in robot.joints)
    return [by_matrix] if mimics else [_by_recursions, by_matrix]


def _by_recursions(robot: Robot, q: Vector, qd: Vector, qdd: Vector, extra: Vector = ()) -> Vector:
    """Inverse dynamics by the three recursions of Khalil 2010, sec. 6.3."""
    rigid, elastic = rigid_and_elastic(robot)
    given = _spread(robot, rigid, qdd)
    found = elastic_inverse_dynamics(robot, q, qd, given, extra or [0.0] * robot.dof, robot.gravity_0, {})
    return [found[k] for k in (*rigid, *elastic)]


def _by_inertia_matrix(inverse: Algorithm) -> Algorithm:
    """Return inverse dynamics by the inertia matrix, Khalil 2010, eqs. (68) and (71)."""

    def algorithm(robot: Robot, q: Vector, qd: Vector, qdd: Vector, extra: Vector = ()) -> Vector:
        rigid, elastic = rigid_and_elastic(robot)
        needed = list(inverse(robot, q, qd, _spread(robot, rigid, qdd)))
        if extra:
            needed = [a - b for a, b in zip(needed, extra, strict=True)]
        at = configuration(robot, q)
        A = at.inertia(inertia_matrix(robot, at.q))
        A_22 = [[A[i][k] for k in elastic] for i in elastic]
        coupled = [[k for k in range(i) if not is_zero(A_22[i][k])] for i in range(len(elastic))]
        qdd_f = solved(factorised(A_22, coupled), [-needed[k] for k in elastic])  # (71)
        torques = []
        for i in rigid:
            torque = needed[i]
            for k, value in zip(elastic, qdd_f, strict=True):
                torque = torque if is_zero(A[i][k]) else torque + A[i][k] * value
            torques.append(torque)
        return [*torques, *qdd_f]

    return algorithm


def _spread(robot: Robot, rigid: Sequence[int], qdd: Vector) -> list[Scalar]:
    """Accelerations of all coordinates, with 0 for the elastic joints."""
    given = dict(zip(rigid, qdd, strict=True))
    return [given.get(k, 0.0) for k in range(robot.dof)]


class ElasticFunctions(BuiltModel):
    """Springs of a robot, and inverse dynamics with joints that only springs move."""

    robot: Robot

    @property
    def rigid_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that no spring moves, also of motors, in the order of the joints."""
        return tuple(name for name in self.robot.coordinate_names if name not in self.elastic_joint_names)

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that springs move, in the order of the joints."""
        return self.robot.elastic_joint_names

    def elastic_inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques of the rigid joints and accelerations of the elastic ones (Khalil 2010, sec. 6.3).

        Args:
            q: positions of all joints.
            qd: velocities of all joints.
            qdd: accelerations of the joints `rigid_joint_names`, (r,) or (N, r).
            wrenches: as in `inverse_dynamics`.
            out: array for the result, (n,) or (N, n): torques of `rigid_joint_names`, then accelerations of
                `elastic_joint_names`.

        Raises:
            DynError: the robot has no elastic joints, or no inertia resists one of them.
        """
        if not self.elastic_joint_names:
            raise no_springs(self.robot)
        runnable = self._functions["elastic_inverse_dynamics"]
        if "elastic_inverse_dynamics" in self._unresisted:
            raise no_forward_dynamics(self.robot, self._unresisted["elastic_inverse_dynamics"])
        state = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd)
        samples = state[0].shape[:-1]
        given = as_floats("qdd", qdd)
        shape, joints = (*samples, len(self.rigid_joint_names)), self.rigid_joint_names
        if given.shape != shape:
            raise ArgumentError("rigid-accelerations-shape", expected=shape, given=given.shape, joints=joints)
        out = checked_out(out, state[0].shape)
        external = self._external_torques(state[0], wrenches)
        if external is None:
            return runnable.run(self._prepared, *state, given, out=out)
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
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        jerk: ArrayLike,
        snap: ArrayLike,
        out: Array | None = None,
    ) -> Array:
        """Motion of the motors behind springs for a motion of the links (SYMORO+ 2003, sec. 3.3.2.5).

        Args:
            q: positions of the joints `link_joint_names`, (l,) or (N, l).
            qd: their velocities.
            qdd: their accelerations.
            jerk: their third derivatives (rad/s^3 or m/s^3).
            snap: their fourth derivatives (rad/s^4 or m/s^4).
            out: array for the result, (3, m) or (N, 3, m): positions, velocities and accelerations of
                `motor_joint_names`, as seen at the joints.

        Raises:
            DynError: the robot has no elastic joints, or one without a motor, which nothing can lead.
        """
        if "motor_motion" not in self._functions:
            raise no_motors(self.robot)
        names = self.link_joint_names
        vectors = joint_vectors(len(names), lambda: names, q=q, qd=qd, qdd=qdd, jerk=jerk, snap=snap)
        return self._run(self._functions["motor_motion"], vectors, out)

    def spring_torques(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Torques of springs, ``K (dq - q0) + D d(dq)/dt``; zero for joints without springs.

        `inverse_dynamics`, `forward_dynamics` and `bias_torques` include them.
        """
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd)
        out = checked_out(out, vectors[0].shape)
        if not self.elastic_joint_names:
            out[...] = 0.0
            return out
        return self._functions["spring_torques"].run(self._prepared, *vectors, out=out)

    def _joints_with_motors(self) -> tuple[str, ...]:
        """Names of the joints, for messages about lengths that are unexpected because motors have joints."""
        return self.robot.coordinate_names if self.elastic_joint_names else ()

    # Methods of `Model`

    def _external_torques(self, q: Array, wrenches: Mapping[str, ArrayLike] | None) -> Array | None:
        raise NotImplementedError


def with_rigid_joints_held(robot: Robot, inertia: Inertia) -> Inertia:
    """Return the inertia matrix of the elastic joints alone, with ones instead of the others."""
    rigid, _ = rigid_and_elastic(robot)

    def held(q: list[float]) -> list[list[float]]:
        A = np.array(inertia(q))
        A[rigid, :] = A[:, rigid] = 0.0
        A[rigid, rigid] = 1.0
        return cast("list[list[float]]", A.tolist())

    return held
