# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a robot on a free base in terms of its momentum.

The state has the momentum P of the whole robot in the place of the velocity of its base: linear, and angular
about the centre of mass, on the axes of the world, which is (6,); of a planar base the part of it in the
plane, (3,). Only what acts from outside changes P, and without it, P stays what it is to the last bit
whatever the joints do and whichever method integrates them. The velocity of the base is what is left of P
when the joints have had their part: ``A11 V = P_base - A12 qd``, with A of Khalil 2010, eq. (84), and
P_base the momentum on the axes and about the origin of the base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.geometry.base_placement import base_placement
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.loops.coordinates import configuration
from dyn_core.model.fixed_base.dynamics_programs import DIVISION
from dyn_core.model.moving_base.dynamics_programs import (
    Algorithm,
    coordinate_inertia,
    direct_algorithms,
    input_sizes,
)
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, cos, is_zero, sin
from dyn_core.symbolic.vec3 import Vec3

Vector = Sequence[Scalar]


class _Whole(NamedTuple):
    """The robot as one body, on the axes that V is given on.

    Attributes:
        mass: its mass (kg).
        centre: its centre of mass from the origin of the base's link (m).
        R: from these axes to those that P is given on.
    """

    mass: Scalar
    centre: Vec3
    R: Mat3


def momentum_programs(base: MovingBase) -> dict[str, Program]:
    """Answer what a simulation runs, by name.

    ``momentum_dynamics`` of pose, P, q, qd, tau and forces F on the base: V, then qdd, then the rate of P.
    ``base_velocity`` of pose, P, q and qd: V. ``base_momentum`` of pose, V, q and qd: P.
    """
    k, n = base.freedom, base.robot.dof
    sliding = replace(base, robot=_without_coulomb_friction(base.robot))
    sizes = {**input_sizes(base), "P": k}

    def traced(name: str, algorithm: Callable[..., Vector], inputs: Sequence[str], size: int) -> Program:
        return trace(name, algorithm, {key: sizes[key] for key in inputs}, (size,))

    def dynamics(direct: Algorithm) -> Program:
        def algorithm(pose: Vector, P: Vector, q: Vector, qd: Vector, tau: Vector, F: Vector) -> Vector:
            return momentum_dynamics(sliding, direct, pose, P, q, qd, tau, F)

        inputs = ("pose", "P", "q", "qd", "tau", "F")
        return traced("momentum_dynamics", algorithm, inputs, 2 * k + n)

    def cost(program: Program) -> int:
        counts = program.operation_counts
        return counts["mul"] + counts["add"] + DIVISION * counts["div"]

    states = ("pose", "P", "q", "qd")
    return {
        "momentum_dynamics": min(map(dynamics, direct_algorithms(base)), key=cost),
        "base_velocity": traced("base_velocity", lambda *x: _base_velocity(base, *x), states, k),
        "base_momentum": traced(
            "base_momentum", lambda *x: _base_momentum(base, *x), ("pose", "V", "q", "qd"), k
        ),
    }


def momentum_dynamics(
    base: MovingBase,
    direct: Algorithm,
    pose: Vector,
    P: Vector,
    q: Vector,
    qd: Vector,
    tau: Vector,
    F: Vector,
) -> Vector:
    """Velocity of the base, accelerations of the joints, and the rate of the momentum."""
    V = _base_velocity(base, pose, P, q, qd)
    accelerations = direct(base, pose, V, q, qd, tau, F)[base.freedom :]
    whole = _whole(base, pose, q)
    force, moment = _split(base, F)
    moment = vec3.sub(moment, vec3.cross(whole.centre, force))
    force, moment = mat3.mul_vec(whole.R, force), mat3.mul_vec(whole.R, moment)
    gravity = base.robot.gravity
    if base.kind == "planar":
        gravity = mat3.mul_vec(mat3.transpose(base.T_world_plane.R), gravity)
    force = vec3.add(force, vec3.scale(whole.mass, gravity))
    return [*V, *accelerations, *_joined(base, force, moment)]


def _base_velocity(base: MovingBase, pose: Vector, P: Vector, q: Vector, qd: Vector) -> Vector:
    """What is left of the momentum when the joints have had their part."""
    k = base.freedom
    whole = _whole(base, pose, q)
    back = mat3.transpose(whole.R)
    linear, angular = _split(base, P)
    linear, angular = mat3.mul_vec(back, linear), mat3.mul_vec(back, angular)
    at_base = _joined(base, linear, vec3.add(angular, vec3.cross(whole.centre, linear)))
    A = coordinate_inertia(base, q)
    left = [h - _dot(row[k:], qd) for h, row in zip(at_base, A[:k], strict=True)]
    A11 = [row[:k] for row in A[:k]]
    # The linear rows last: they are eliminated first, and keep their zeros.
    order = [*range(3, 6), *range(3)] if k == 6 else [2, 0, 1]
    turned = [[A11[i][j] for j in order] for i in order]
    nonzero = [[j for j in range(i) if not is_zero(turned[i][j])] for i in range(k)]
    found = solved(factorised(turned, nonzero), [left[i] for i in order])
    return [found[order.index(i)] for i in range(k)]


def _base_momentum(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """Momentum of the whole robot."""
    whole = _whole(base, pose, q)
    A = coordinate_inertia(base, q)
    linear, angular = _split(base, [_dot(row, [*V, *qd]) for row in A[: base.freedom]])
    angular = vec3.sub(angular, vec3.cross(whole.centre, linear))
    return _joined(base, mat3.mul_vec(whole.R, linear), mat3.mul_vec(whole.R, angular))


def _whole(base: MovingBase, pose: Vector, q: Vector) -> _Whole:
    at = configuration(base.robot, q)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(base.robot.joints, at.q, strict=True)]
    body = composite_inertias(base.robot, placements)[0]
    R_0, p_0 = base.robot.T_root_0
    centre = vec3.add(mat3.mul_vec(R_0, vec3.scale(1.0 / body.M, body.MS)), p_0)
    if base.kind != "planar":
        return _Whole(body.M, centre, base_placement(base, pose).R)
    c, s = cos(pose[2]), sin(pose[2])
    R: Mat3 = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    return _Whole(body.M, mat3.mul_vec(mat3.transpose(base.R_link_plane), centre), R)


def _split(base: MovingBase, values: Vector) -> tuple[Vec3, Vec3]:
    """Linear and angular part of momentum or force; of a planar base on the axes of its plane."""
    if base.kind == "planar":
        return (values[0], values[1], 0.0), (0.0, 0.0, values[2])
    return (values[0], values[1], values[2]), (values[3], values[4], values[5])


def _joined(base: MovingBase, linear: Vec3, angular: Vec3) -> list[Scalar]:
    if base.kind == "planar":
        return [linear[0], linear[1], angular[2]]
    return [*linear, *angular]


def _without_coulomb_friction(robot: Robot) -> Robot:
    joints = (
        replace(joint, friction=Friction(Fv=joint.friction.Fv, Fo=joint.friction.Fo))
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def _dot(a: Vector, b: Vector) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
