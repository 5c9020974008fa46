# SPDX-License-Identifier: Apache-2.0
"""Torques of a robot whose base something else moves, in terms, for an arm on a vehicle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.dynamics.free_base import base_motion
from dyn_core.algorithms.link_motion import link_motions
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.free_base import composite_wrenches
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.loops.coordinates import configuration
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw

Vector = Sequence[Scalar]

MOTION = 9
"""Numbers of a motion of the base: specific force, angular velocity, angular acceleration."""


class DrivenBase:
    """Torques of a model whose root link moves, and moves as it was told last. It is for one thread.

    What the base feels is what an inertial measurement unit at the origin of the root link shows, on the axes
    of that link: the specific force, which is its acceleration less that of gravity (m/s^2), the angular
    velocity (rad/s), and the angular acceleration (rad/s^2). Upright and at rest the force is (0, 0, 9.81).
    The torques are

        gravity_torques + coriolis_torques + inertial_torques + friction,

    the first of the specific force alone, the second of all velocities, the third of all accelerations
    but that. Parameters are those that the model has at the time of the call; its gravity is not used.
    """

    def __init__(self, model: Model) -> None:
        """Compile what is needed, by the backend of the model.

        Raises:
            DynError: the robot has loops, or elastic joints.
        """
        if not isinstance(model, Model):
            raise ValueError(f"model: expected what compile_model answers, but it is {type(model).__name__}")
        robot = model.robot
        refuse_springs(robot, "a base that moves")
        if robot.loops:
            raise DynError(
                f"robot '{robot.name}' has loops: torques on a base that moves are computed of trees only",
                element=f"loop '{robot.loops[0].name}'",
            )
        self.model = model
        self._motion = np.zeros(MOTION)
        self.at_rest()
        made_of = with_terms(robot, model.friction, model.rotor_inertia)
        self._prepare: Runnable | None = None
        self._prepared: list[Array] = []
        self._seen: Array | None = None
        if model.tuned is None:
            programs = [_program(made_of, name) for name in _ALGORITHMS]
        else:
            symbolic = symbolic_robot(made_of)
            traced = with_terms(symbolic.robot, model.friction, model.rotor_inertia)
            programs = [_program(traced, name, symbolic.graph) for name in _ALGORITHMS]
            prepare, programs = staged(programs, symbolic.parameters)
            self._prepare = runnables([prepare], "python")[0]
        compiled = None if model.backend == "python" else compiled_or_none(robot, programs, "auto")
        made = compiled or runnables(programs, "python")
        # Compiled functions compute at once what fits, and hand over to the general ones what does not.
        self._calls: dict[str, Callable[..., Array]] = {
            name: one.function.bind(partial(one.run, self._prepared), self._prepared)
            for name, one in zip(_ALGORITHMS, made, strict=True)
        }

    @property
    def motion(self) -> Array:
        """What the base feels: specific force, angular velocity and angular acceleration, (9,)."""
        return np.array(self._motion)

    def feel(self, motion: npt.ArrayLike) -> None:
        """Compute with another motion of the base from now on, (9,); ValueError where it is none."""
        motion = as_floats("motion", motion)
        if motion.shape != (MOTION,) or not np.isfinite(motion).all():
            raise ValueError(f"motion: expected {MOTION} finite numbers, but it is {motion.tolist()}")
        self._motion[:] = motion

    def at_rest(self) -> None:
        """Compute as if the base stood upright and still."""
        self._motion[:] = 0.0
        self._motion[:3] = -np.array(self.model.robot.gravity)

    def gravity_torques(self, q: Array) -> Array:
        """Torques that hold the robot against the specific force, (n,), or (N, n) for N positions."""
        return self._answer("gravity_torques", q)

    def coriolis_torques(self, q: Array, qd: Array) -> Array:
        """Coriolis and centrifugal torques of joints and base."""
        return self._answer("coriolis_torques", q, qd)

    def inertial_torques(self, q: Array, qdd: Array) -> Array:
        """Torques that accelerate the joints, with their rotors, and turn the base faster."""
        return self._answer("inertial_torques", q, qdd)

    def _answer(self, name: str, q: Array, *vectors: Array) -> Array:
        if self._prepare is not None:
            self._see_parameters(self._prepare)
        motion = self._motion if q.ndim == 1 else np.tile(self._motion, (len(q), 1))
        return self._calls[name](q, *vectors, motion)

    def _see_parameters(self, prepare: Runnable) -> None:
        """Prepare from the parameters that the model has now, if they are others."""
        tuned = self.model.tuned
        if tuned is not None and tuned is not self._seen:
            self._prepared[:] = [prepare.run((), tuned[: len(self.model.parameter_names) + 3])]
            self._seen = tuned


def _program(robot: Robot, name: str, graph: Graph | None = None) -> Program:
    n = robot.dof
    second: dict[str, dict[str, int]] = {
        "gravity_torques": {},
        "coriolis_torques": {"qd": n},
        "inertial_torques": {"qdd": n},
    }
    sizes = {"q": n, **second[name], "motion": MOTION}
    return trace(name, partial(_ALGORITHMS[name], robot), sizes, (n,), graph=graph)


def _gravity(robot: Robot, q: Vector, motion: Vector) -> Vector:
    rest = [0.0] * robot.dof
    return _torques(robot, q, rest, rest, [*motion[:3], *[0.0] * 6])


def _coriolis(robot: Robot, q: Vector, qd: Vector, motion: Vector) -> Vector:
    none = [0.0] * 3
    return _torques(robot, q, qd, [0.0] * robot.dof, [*none, *motion[3:6], *none])


def _inertial(robot: Robot, q: Vector, qdd: Vector, motion: Vector) -> Vector:
    return _torques(robot, q, [0.0] * robot.dof, qdd, [*[0.0] * 6, *motion[6:]])


_ALGORITHMS: dict[str, Callable[..., Vector]] = {
    "gravity_torques": _gravity,
    "coriolis_torques": _coriolis,
    "inertial_torques": _inertial,
}


def _torques(robot: Robot, q: Vector, qd: Vector, qdd: Vector, motion: Vector) -> Vector:
    """Torques of rigid bodies and rotors on a base that feels a motion, without friction."""
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
