# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a robot on a free base in terms of its momentum.

The state has the momentum P of the whole robot instead of the velocity of its base. P is (6,): linear, and
angular about the centre of mass, on the axes of the world; for a planar base (3,), the part in the plane.
Only external forces change P: without them it is constant to the last bit for any integration method. The
velocity of the base follows from ``A11 V = P_base - A12 qd``, with A of Khalil 2010, eq. (84), and P_base
the momentum on the axes and about the origin of the base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dyn_core.algorithms.dynamics.newton_euler import composite_inertias, factorised, solved
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.model.builder import Algorithm, Source
from dyn_core.model.moving_base.dynamics_programs import coordinate_inertia, direct_algorithms, input_sizes
from dyn_core.robot.mdh.direct_geometry import joint_placement
from dyn_core.robot.moving_base import MovingBase, base_placement
from dyn_core.simulation.integrators.hybrid_dynamics import without_coulomb_friction
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, cos, dot, is_zero, reciprocal, sin
from dyn_core.symbolic.vec3 import Vec3

Vector = Sequence[Scalar]


class _Whole(NamedTuple):
    """The robot as one body, on the axes of V.

    `mass` is in kg, `centre` is the centre of mass relative to the origin of the base's link (m), and R the
    rotation from these axes to the axes of P.
    """

    mass: Scalar
    centre: Vec3
    R: Mat3


def momentum_programs(base: MovingBase) -> dict[str, Program]:
    """Return the programs of a simulation by name.

    `momentum_dynamics`, for the forces F on the base. ``base_velocity``: from pose, P, q and qd to V.
    ``base_momentum``: from pose, V, q and qd to P.
    """
    k = base.freedom
    sliding = replace(base, robot=without_coulomb_friction(base.robot))
    sizes = {**input_sizes(base), "P": k}

    def traced(name: str, algorithm: Callable[..., Vector], inputs: Sequence[str], size: int) -> Program:
        return trace(name, algorithm, {key: sizes[key] for key in inputs}, (size,))

    def dynamics(direct: Algorithm) -> Program:
        algorithm = partial(momentum_dynamics, sliding, direct)
        return traced("momentum_dynamics", algorithm, (*states, "tau", "F"), 2 * k + base.robot.dof)

    states = ("pose", "P", "q", "qd")
    return {
        "momentum_dynamics": Source(base).cheapest(map(dynamics, direct_algorithms(base))),
        "base_velocity": traced("base_velocity", partial(_base_velocity, base), states, k),
        "base_momentum": traced("base_momentum", partial(_base_momentum, base), ("pose", "V", "q", "qd"), k),
    }


def momentum_dynamics(base: MovingBase, direct: Algorithm, *vectors: Vector) -> Vector:
    """From pose, P, q, qd, tau and F to V, accelerations of the joints, and the rate of the momentum."""
    pose, P, q, qd, tau, F = vectors
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
    """Velocity of the base, from the momentum minus the part of the joints."""
    k = base.freedom
    whole = _whole(base, pose, q)
    back = mat3.transpose(whole.R)
    linear, angular = _split(base, P)
    linear, angular = mat3.mul_vec(back, linear), mat3.mul_vec(back, angular)
    at_base = _joined(base, linear, vec3.add(angular, vec3.cross(whole.centre, linear)))
    A = coordinate_inertia(base, q)
    left = [h - dot(row[k:], qd) for h, row in zip(at_base, A[:k], strict=True)]
    A11 = [row[:k] for row in A[:k]]
    # The linear rows come last: they are eliminated first, and keep their zeros.
    order = [*range(3, 6), *range(3)] if k == 6 else [2, 0, 1]
    turned = [[A11[i][j] for j in order] for i in order]
    nonzero = [[j for j in range(i) if not is_zero(turned[i][j])] for i in range(k)]
    found = solved(factorised(turned, nonzero), [left[i] for i in order])
    return [found[order.index(i)] for i in range(k)]


def _base_momentum(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """Momentum of the whole robot."""
    whole = _whole(base, pose, q)
    A = coordinate_inertia(base, q)
    linear, angular = _split(base, [dot(row, [*V, *qd]) for row in A[: base.freedom]])
    angular = vec3.sub(angular, vec3.cross(whole.centre, linear))
    return _joined(base, mat3.mul_vec(whole.R, linear), mat3.mul_vec(whole.R, angular))


def _whole(base: MovingBase, pose: Vector, q: Vector) -> _Whole:
    at = configuration(base.robot, q)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(base.robot.joints, at.q, strict=True)]
    body = composite_inertias(base.robot, placements)[0]
    R_0, p_0 = base.robot.T_root_0
    centre = vec3.add(mat3.mul_vec(R_0, vec3.scale(reciprocal(body.M), body.MS)), p_0)
    if base.kind != "planar":
        return _Whole(body.M, centre, base_placement(base, pose).R)
    c, s = cos(pose[2]), sin(pose[2])
    R: Mat3 = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    return _Whole(body.M, mat3.mul_vec(mat3.transpose(base.R_link_plane), centre), R)


def _split(base: MovingBase, values: Vector) -> tuple[Vec3, Vec3]:
    """Linear and angular part of momentum or force; for a planar base on the axes of its plane."""
    if base.kind == "planar":
        return (values[0], values[1], 0.0), (0.0, 0.0, values[2])
    return (values[0], values[1], values[2]), (values[3], values[4], values[5])


def _joined(base: MovingBase, linear: Vec3, angular: Vec3) -> list[Scalar]:
    if base.kind == "planar":
        return [linear[0], linear[1], angular[2]]
    return [*linear, *angular]
