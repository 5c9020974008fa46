# SPDX-License-Identifier: Apache-2.0
"""Kinematics of links of a robot with a moving base, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy.typing as npt

from dyn_core.algorithms.dynamics.free_base import base_motion, screw_at_0, twist_of
from dyn_core.algorithms.link_motion import link_motions
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array, checked_out
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.geometry.base_placement import base_placement
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.expressed import expressed
from dyn_core.kinematics.jacobian import jacobian
from dyn_core.kinematics.link_velocity import moved_along
from dyn_core.linalg import transform
from dyn_core.loops.coordinates import configuration
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.moving_base.argument_checks import base_arguments
from dyn_core.model.moving_base.dynamics_programs import Guard, input_sizes
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.mdh.direct_geometry import transform_between
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw

Vector = Sequence[Scalar]


class BaseKinematics:
    """Placements and motions of links in the world.

    The first call for a link traces and compiles. Before a control loop begins, make one.
    """

    base: MovingBase
    backend: Literal["c", "python"]
    _of_links: dict[tuple[str, ...], Runnable]

    def forward_kinematics(
        self, pose: npt.ArrayLike, q: npt.ArrayLike, link: str, out: Array | None = None
    ) -> Array:
        """Placement of a link in the world: 4 x 4, or (N, 4, 4)."""
        return self._of_link("forward_kinematics", link, out, pose=pose, q=q)

    def jacobian(self, pose: npt.ArrayLike, q: npt.ArrayLike, link: str, out: Array | None = None) -> Array:
        """Matrix J of the velocity of a link, [linear; angular] = J [V; qd]: 6 x (k + n), or (N, ...).

        The velocity is that of the origin of the link, on the axes of the world.
        """
        return self._of_link("jacobian", link, out, pose=pose, q=q)

    def link_velocity(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        link: str,
        out: Array | None = None,
    ) -> Array:
        """Velocity of a link, [linear; angular] on the axes of the world (m/s, rad/s): (6,) or (N, 6)."""
        return self._of_link("link_velocity", link, out, pose=pose, V=V, q=q, qd=qd)

    def link_acceleration(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        Vd: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        link: str,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a link, [linear; angular] on the axes of the world: (6,) or (N, 6)."""
        return self._of_link("link_acceleration", link, out, pose=pose, V=V, Vd=Vd, q=q, qd=qd, qdd=qdd)

    def _of_link(self, function: str, link: str, out: Array | None, **vectors: npt.ArrayLike) -> Array:
        arrays = base_arguments(self.base, input_sizes(self.base), **vectors)
        key = (function, link)
        runnable = self._of_links.get(key)
        if runnable is None:
            program = base_link_program(self.base, function, link)
            runnable = self._of_links.setdefault(key, runnables([program], self.backend)[0])
        return runnable.run((), *arrays, out=checked_out(out, (*arrays[0].shape[:-1], *runnable.shape)))


def base_link_program(base: MovingBase, function: str, link: str, guard: Guard | None = None) -> Program:
    """Answer a function of a link as a program: one of `OF_BASE_LINK`.

    Args:
        base: the robot and its base.
        function: name of the function.
        link: name of the link.
        guard: what becomes of the results where a quaternion is not of length 1; by default nothing.

    Raises:
        DynError: there is no such link.
    """
    frame = base.robot.link_frame(link)
    sizes = input_sizes(base)
    taken = {name: sizes[name] for name in OF_BASE_LINK[function]}
    shape = (6, base.freedom + base.robot.dof) if function == "jacobian" else _SHAPES[function]

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
    velocities = [screw_at_0(base.robot.T_root_0, twist_of(base, V))]
    for joint, q_j, qd_j in zip(base.robot.joints, at.q, at.rates(qd), strict=True):
        carried = screw.over(joint_placement(joint, q_j).steps, velocities[joint.antecedent])
        velocities.append(moved_along(joint.sigma, carried, qd_j))
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
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(base.robot.joints, at.q, strict=True)]
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
    for x, y, z, wx, wy, wz in zip(*rows, strict=True):
        columns.append(Screw((x, y, z), (wx, wy, wz)))
    turned = [(*mat3.mul_vec(R, c.linear), *mat3.mul_vec(R, c.angular)) for c in columns]
    return [column[row] for row in range(6) for column in turned]


OF_BASE_LINK: dict[str, tuple[str, ...]] = {
    "forward_kinematics": ("pose", "q"),
    "jacobian": ("pose", "q"),
    "link_velocity": ("pose", "V", "q", "qd"),
    "link_acceleration": ("pose", "V", "Vd", "q", "qd", "qdd"),
}
"""Functions of a link, and what each takes."""

_ALGORITHMS: dict[str, Callable[..., Vector]] = {
    "forward_kinematics": _placement,
    "jacobian": _jacobian,
    "link_velocity": _velocity,
    "link_acceleration": _acceleration,
}
_SHAPES: dict[str, tuple[int, ...]] = {
    "forward_kinematics": (4, 4),
    "link_velocity": (6,),
    "link_acceleration": (6,),
}
