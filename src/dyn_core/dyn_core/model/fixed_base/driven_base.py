# SPDX-License-Identifier: Apache-2.0
"""Torques of a robot whose base is moved from outside, term by term, for an arm on a vehicle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.free_base import base_motion, composite_wrenches
from dyn_core.algorithms.dynamics.newton_euler import drive_torques
from dyn_core.algorithms.link_motion import link_motions
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.builder import Family, Functions, Source, Vector, left_out
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.dynamics_programs import symbolic_robot, with_terms
from dyn_core.model.tunable_parameters import Backend
from dyn_core.robot.mdh.direct_geometry import joint_placement
from dyn_core.robot.robot import Robot, refuse_springs
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw

MOTION = 9
"""Numbers of a motion of the base: specific force, angular velocity, angular acceleration."""


class DrivenBase:
    """Torques of a model whose root link has the motion that was set last. It is for one thread.

    The motion of the base is what an inertial measurement unit at the origin of the root link shows, on the
    axes of that link: specific force, which is acceleration minus gravity (m/s^2), angular velocity (rad/s),
    and angular acceleration (rad/s^2). Upright and at rest the force is (0, 0, 9.81). The torques are

        gravity_torques + coriolis_torques + inertial_torques + friction,

    the first from the specific force alone, the second from all velocities, the third from all other
    accelerations. Parameters are those of the model at the time of the call; its gravity is not used.
    """

    def __init__(self, model: Model) -> None:
        """Compile the functions with the backend of the model.

        Raises:
            DynError: the robot has loops, or elastic joints.
        """
        if not isinstance(model, Model):
            raise ArgumentError("model-type", given=type(model).__name__)
        robot = model.robot
        refuse_springs(robot, "a base that moves")
        if robot.loops:
            loop = f"loop '{robot.loops[0].name}'"
            raise DynError("driven-base-with-loops", robot=robot.name, element=loop)
        self.model = model
        self._motion = np.zeros(MOTION)
        self.at_rest()
        without = partial(with_terms, friction=model.friction, rotor_inertia=model.rotor_inertia)
        made_of = without(robot)
        family = Family(
            made_of,
            made_of,
            object,
            shapes=dict.fromkeys(_TERMS, (robot.dof,)),
            program=_program,
            symbols=symbolic_robot,
            without=without,
            left_out=left_out(model.friction, model.rotor_inertia),
        )
        backend: Backend = "python" if model.backend == "python" else "auto"
        made = Functions(family, "baked" if model.tuned is None else "runtime", backend, None)
        self._tuning = made.tuning
        self._seen: Array | None = None
        # Compiled functions pass calls that they cannot compute to the general ones.
        self._calls: dict[str, Callable[..., Array]] = {
            name: one.function.bind(partial(one.run, made.prepared), made.prepared)
            for name, one in made.items()
        }

    @property
    def motion(self) -> Array:
        """Motion of the base: specific force, angular velocity and angular acceleration, (9,)."""
        return np.array(self._motion)

    def feel(self, motion: ArrayLike) -> None:
        """Set the motion of the base, (9,); ValueError for another shape or numbers that are not finite."""
        motion = as_floats("motion", motion)
        if motion.shape != (MOTION,) or not np.isfinite(motion).all():
            raise ArgumentError("argument-numbers", argument="motion", count=MOTION, given=motion.tolist())
        self._motion[:] = motion

    def at_rest(self) -> None:
        """Set the motion of a base that stands upright and still."""
        self._motion[:] = 0.0
        self._motion[:3] = -np.array(self.model.robot.gravity)

    def gravity_torques(self, q: Array) -> Array:
        """Torques that hold the robot against the specific force, (n,), or (N, n) for N positions."""
        return self._computed("gravity_torques", q)

    def coriolis_torques(self, q: Array, qd: Array) -> Array:
        """Coriolis and centrifugal torques of joints and base."""
        return self._computed("coriolis_torques", q, qd)

    def inertial_torques(self, q: Array, qdd: Array) -> Array:
        """Torques for the accelerations of the joints, with their rotors, and the base's angular one."""
        return self._computed("inertial_torques", q, qdd)

    def _computed(self, name: str, q: Array, *vectors: Array) -> Array:
        tuned = self.model.tuned
        if self._tuning is not None and tuned is not None and tuned is not self._seen:
            count = len(self.model.parameter_names)
            self._tuning.renew(tuned[:count], tuned[count : count + 3])
            self._seen = tuned
        motion = self._motion if q.ndim == 1 else np.tile(self._motion, (len(q), 1))
        return self._calls[name](q, *vectors, motion)


_TERMS: dict[str, tuple[str | None, slice]] = {
    "gravity_torques": (None, slice(0, 3)),
    "coriolis_torques": ("qd", slice(3, 6)),
    "inertial_torques": ("qdd", slice(6, 9)),
}
"""By name: the vector that a function takes beside q, and the part of the motion that it computes with."""


def _program(source: Source[Robot], name: str) -> Program:
    n, (taken, part) = source.robot.dof, _TERMS[name]

    def algorithm(q: Vector, *vectors: Vector) -> Vector:
        motion: list[Scalar] = [0.0] * MOTION
        motion[part] = vectors[-1][part]
        given = {taken: vectors[0]}
        return _torques(source.robot, q, given.get("qd", [0.0] * n), given.get("qdd", [0.0] * n), motion)

    sizes = {"q": n, **({taken: n} if taken else {}), "motion": MOTION}
    return trace(name, algorithm, sizes, (n,), graph=source.graph)


def _torques(robot: Robot, q: Vector, qd: Vector, qdd: Vector, motion: Vector) -> Vector:
    """Torques of rigid bodies and rotors on a base with a motion, without friction."""
    fx, fy, fz, wx, wy, wz, ax, ay, az = motion
    base = base_motion(robot.T_root_0, (wx, wy, wz), Screw((fx, fy, fz), (ax, ay, az)))
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, at.q, strict=True)]
    motions = link_motions(robot, placements, rates, accelerations, base)
    wrenches = composite_wrenches(robot, placements, motions)
    rotors = drive_torques(with_terms(robot, False, True).joints, [0.0] * len(rates), accelerations)
    pairs = zip(robot.joints, wrenches[1:], rotors, strict=True)
    return at.torques([wrench.along(joint.sigma) + rotor for joint, wrench, rotor in pairs])
