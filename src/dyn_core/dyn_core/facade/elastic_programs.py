# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of robots with elastic joints, in terms of their coordinates.

What is given are the accelerations of the rigid joints; what is answered are first the torques of these
and then the accelerations of the elastic joints, each in the order of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from dyn_core.core.errors import DynError
from dyn_core.dynamics.elastic_dynamics import elastic_inverse_dynamics
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, is_zero

Vector: TypeAlias = Sequence[Scalar]
Algorithm: TypeAlias = Callable[..., Vector]

LOADED = "loaded_elastic_dynamics"
"""What `elastic_inverse_dynamics` calls where there are wrenches; users know the one name."""


def no_springs(robot: Robot) -> DynError:
    """Answer the error for a robot of which elastic joints are asked for, and that has none."""
    return DynError(
        f"robot '{robot.name}' has no elastic joints: use inverse_dynamics, or give springs under "
        "'elastic' in its side file"
    )


def no_motors(robot: Robot) -> DynError:
    """Answer the error for a robot that has elastic joints without motors, or none at all."""
    for joint in robot.joints:
        if joint.elastic is not None and joint.elastic.motor == 0:
            return DynError(
                f"joint '{joint.name}' of robot '{robot.name}' is elastic and has no motor: no motion of "
                "motors leads it, take its spring out for a feedforward",
                element=f"joint '{joint.name}'",
            )
    return no_springs(robot)


def result_names(robot: Robot) -> tuple[str, ...]:
    """Names of the joints in the order of the results: the rigid ones, then the elastic ones."""
    return tuple(robot.coordinate_names[k] for places in rigid_and_elastic(robot) for k in places)


def rigid_and_elastic(robot: Robot) -> tuple[list[int], list[int]]:
    """Places of the rigid and of the elastic joints among the coordinates."""
    elastic = [joint.elastic is not None for joint in robot.independent_joints]
    places = range(len(elastic))
    return [k for k in places if not elastic[k]], [k for k in places if elastic[k]]


def elastic_algorithms(robot: Robot, inverse: Algorithm) -> list[Algorithm]:
    """Answer the algorithms that suit the robot, of which the cheapest is taken.

    Each takes the robot, q, qd, qdd of the rigid joints and, where there are some, torques on all
    coordinates beside those of actuators and springs.

    Args:
        robot: the robot.
        inverse: inverse dynamics of the coordinates, with springs.
    """
    by_matrix = _by_inertia_matrix(inverse)
    mimics = any(joint.mimic for joint in robot.joints)
    return [by_matrix] if mimics else [_by_recursions, by_matrix]


def _by_recursions(robot: Robot, q: Vector, qd: Vector, qdd: Vector, extra: Vector = ()) -> Vector:
    """By the three recursions of Khalil 2010, sec. 6.3."""
    rigid, elastic = rigid_and_elastic(robot)
    given = _spread(robot, rigid, qdd)
    found = elastic_inverse_dynamics(robot, q, qd, given, extra or [0.0] * robot.dof, robot.gravity_0, {})
    return [found[k] for k in (*rigid, *elastic)]


def _by_inertia_matrix(inverse: Algorithm) -> Algorithm:
    """By the inertia matrix, Khalil 2010, eqs. (68) and (71)."""

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
    """Accelerations of all coordinates, of which those of the elastic joints are 0."""
    given: list[Scalar] = [0.0] * robot.dof
    for k, value in zip(rigid, qdd, strict=True):
        given[k] = value
    return given
