# SPDX-License-Identifier: Apache-2.0
"""Kinematics of links of a robot with a moving base, compiled at their first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.free_base import base_motion, screw_at_0, twist_of
from dyn_core.algorithms.link_motion import body_velocities, expressed, jacobian, link_motions
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.model.builder import Vector
from dyn_core.model.built_model import BuiltModel
from dyn_core.model.moving_base.argument_checks import base_arguments
from dyn_core.model.moving_base.dynamics_programs import Guard, input_sizes
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.direct_geometry import joint_placements, transform_between
from dyn_core.robot.moving_base import MovingBase, base_placement
from dyn_core.symbolic import mat3, transform, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw


class BaseKinematics(BuiltModel):
    """Placements and motions of links in the world.

    The first call for a link traces and compiles. Make one before a control loop begins.
    """

    base: MovingBase

    def forward_kinematics(self, pose: ArrayLike, q: ArrayLike, link: str, out: Array | None = None) -> Array:
        """Placement of a link in the world: 4 x 4, or (N, 4, 4)."""
        return self._of_link("forward_kinematics", link, out, pose=pose, q=q)

    def jacobian(self, pose: ArrayLike, q: ArrayLike, link: str, out: Array | None = None) -> Array:
        """Matrix J of the velocity of a link, [linear; angular] = J [V; qd]: 6 x (k + n), or (N, ...).

        The velocity is that of the origin of the link, on the axes of the world.
        """
        return self._of_link("jacobian", link, out, pose=pose, q=q)

    def link_velocity(
        self, pose: ArrayLike, V: ArrayLike, q: ArrayLike, qd: ArrayLike, link: str, out: Array | None = None
    ) -> Array:
        """Velocity of a link, [linear; angular] on the axes of the world (m/s, rad/s): (6,) or (N, 6)."""
        return self._of_link("link_velocity", link, out, pose=pose, V=V, q=q, qd=qd)

    def link_acceleration(
        self,
        pose: ArrayLike,
        V: ArrayLike,
        Vd: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        link: str,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a link, [linear; angular] on the axes of the world: (6,) or (N, 6)."""
        return self._of_link("link_acceleration", link, out, pose=pose, V=V, Vd=Vd, q=q, qd=qd, qdd=qdd)

    def _of_link(self, function: str, link: str, out: Array | None, **vectors: ArrayLike) -> Array:
        arrays = base_arguments(self.base, input_sizes(self.base), **vectors)
        program = partial(base_link_program, self.base, function, link)
        runnable = self._functions.other((function, link), program)
        return self._run(runnable, arrays, out)


def base_link_program(base: MovingBase, function: str, link: str, guard: Guard | None = None) -> Program:
    """Return a function of a link as a program: one of `OF_BASE_LINK`.

    `guard` changes the results where a quaternion is not of length 1.
    """
    frame = base.robot.link_frame(link)
    sizes = input_sizes(base)
    taken = {name: sizes[name] for name in OF_BASE_LINK[function]}
    shapes = {"forward_kinematics": (4, 4), "jacobian": (6, base.freedom + base.robot.dof)}
    shape = shapes.get(function, (6,))

    def algorithm(base: MovingBase, *vectors: Vector) -> Vector:
        return _ALGORITHMS[function](base, frame, *vectors)

    guarded = partial(guard, algorithm) if guard and base.kind != "planar" else algorithm
    return trace(function, partial(guarded, base), taken, shape)


def _placement(base: MovingBase, frame: LinkFrame, pose: Vector, q: Vector) -> Vector:
    T_link = transform_between(base.robot, configuration(base.robot, q).q, base.link, frame)
    R, p = transform.compose(base_placement(base, pose), T_link)
    return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]


def _velocity(base: MovingBase, frame: LinkFrame, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    at = configuration(base.robot, q)
    start = screw_at_0(base.robot.T_root_0, twist_of(base, V))
    velocities = body_velocities(base.robot, joint_placements(base.robot, at.q), at.rates(qd), start)
    v, w = velocities[frame.body]
    v = vec3.add(v, vec3.cross(w, frame.T_body_link.p))
    return _in_world(base, pose, at.q, Screw(v, w), frame.body)


def _acceleration(
    base: MovingBase,
    frame: LinkFrame,
    pose: Vector,
    V: Vector,
    Vd: Vector,
    q: Vector,
    qd: Vector,
    qdd: Vector,
) -> Vector:
    at = configuration(base.robot, q)
    placements = joint_placements(base.robot, at.q)
    start = base_motion(base.robot.T_root_0, twist_of(base, V).angular, twist_of(base, Vd))
    motions = link_motions(base.robot, placements, at.rates(qd), at.accelerations(qd, qdd), start)
    _, wd, U, vd = motions[frame.body]
    vd = vec3.add(vd, mat3.mul_vec(U, frame.T_body_link.p))
    return _in_world(base, pose, at.q, Screw(vd, wd), frame.body)


def _in_world(base: MovingBase, pose: Vector, q: Vector, motion: Screw, body: int) -> list[Scalar]:
    R = base_placement(base, pose).R
    linear, angular = expressed(base.robot, q, (motion.linear, motion.angular), body, base.link)
    return [*mat3.mul_vec(R, linear), *mat3.mul_vec(R, angular)]


def _jacobian(base: MovingBase, frame: LinkFrame, pose: Vector, q: Vector) -> Vector:
    at = configuration(base.robot, q)
    R: Mat3 = base_placement(base, pose).R
    L = transform_between(base.robot, at.q, base.link, frame).p
    columns: list[Screw] = []
    for k in range(base.freedom):
        v, w = twist_of(base, [float(i == k) for i in range(base.freedom)])
        columns.append(Screw(vec3.add(v, vec3.cross(w, L)), w))
    rows = at.many_torques(jacobian(base.robot, at.q, frame, base.link))
    columns += (Screw((x, y, z), (wx, wy, wz)) for x, y, z, wx, wy, wz in zip(*rows, strict=True))
    turned = [(*mat3.mul_vec(R, c.linear), *mat3.mul_vec(R, c.angular)) for c in columns]
    return [column[row] for row in range(6) for column in turned]


OF_BASE_LINK: dict[str, tuple[str, ...]] = {
    "forward_kinematics": ("pose", "q"),
    "jacobian": ("pose", "q"),
    "link_velocity": ("pose", "V", "q", "qd"),
    "link_acceleration": ("pose", "V", "Vd", "q", "qd", "qdd"),
}
"""Functions of a link, and their inputs."""

_ALGORITHMS: dict[str, Callable[..., Vector]] = {
    "forward_kinematics": _placement,
    "jacobian": _jacobian,
    "link_velocity": _velocity,
    "link_acceleration": _acceleration,
}
