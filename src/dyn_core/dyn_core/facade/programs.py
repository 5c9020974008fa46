# SPDX-License-Identifier: Apache-2.0
"""The functions of a model as programs: what each takes, and which algorithm it is traced from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dyn_core.codegen.program import Program, trace
from dyn_core.dynamics.joint_torques import friction_torques, joint_torques, wrench_torques
from dyn_core.dynamics.wrench import Wrench
from dyn_core.linalg import vec3
from dyn_core.linalg.scalar import Scalar
from dyn_core.model.robot import Robot

Vector = Sequence[Scalar]


@dataclass(frozen=True)
class Terms:
    """What the model of a robot takes into account.

    Attributes:
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
    """

    friction: bool
    rotor_inertia: bool


def inverse_dynamics(robot: Robot, terms: Terms, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """All torques."""
    return joint_torques(
        robot, q, qd, qdd, robot.gravity_0, friction=terms.friction, rotor_inertia=terms.rotor_inertia
    )


def bias_torques(robot: Robot, terms: Terms, q: Vector, qd: Vector) -> Vector:
    """Torques at zero acceleration."""
    rest = _rest(robot)
    return joint_torques(robot, q, qd, rest, robot.gravity_0, friction=terms.friction, rotor_inertia=False)


def gravity_torques(robot: Robot, terms: Terms, q: Vector) -> Vector:
    """Torques of gravity."""
    rest = _rest(robot)
    return joint_torques(robot, q, rest, rest, robot.gravity_0, friction=False, rotor_inertia=False)


def coriolis_torques(robot: Robot, terms: Terms, q: Vector, qd: Vector) -> Vector:
    """Coriolis and centrifugal torques."""
    rest = _rest(robot)
    return joint_torques(robot, q, qd, rest, vec3.ZERO, friction=False, rotor_inertia=False)


def inertial_torques(robot: Robot, terms: Terms, q: Vector, qdd: Vector) -> Vector:
    """Torques of the accelerations."""
    rest = _rest(robot)
    return joint_torques(robot, q, rest, qdd, vec3.ZERO, friction=False, rotor_inertia=terms.rotor_inertia)


def friction_only(robot: Robot, terms: Terms, qd: Vector) -> Vector:
    """Torques of friction."""
    return friction_torques(robot, qd) if terms.friction else _rest(robot)


def external_torques(robot: Robot, terms: Terms, q: Vector, w: Vector) -> Vector:
    """Torques of the wrenches that the bodies 1 to n exert, six components for each."""
    wrenches = {
        body: Wrench(_triple(w[6 * body - 6 : 6 * body - 3]), _triple(w[6 * body - 3 : 6 * body]))
        for body in range(1, robot.dof + 1)
    }
    return wrench_torques(robot, q, wrenches)


@dataclass(frozen=True)
class _Kind:
    """A function of a model: its algorithm, and the components of each input per joint."""

    algorithm: Callable[..., Vector]
    inputs: dict[str, int]


_KINDS = {
    "inverse_dynamics": _Kind(inverse_dynamics, {"q": 1, "qd": 1, "qdd": 1}),
    "bias_torques": _Kind(bias_torques, {"q": 1, "qd": 1}),
    "gravity_torques": _Kind(gravity_torques, {"q": 1}),
    "coriolis_torques": _Kind(coriolis_torques, {"q": 1, "qd": 1}),
    "inertial_torques": _Kind(inertial_torques, {"q": 1, "qdd": 1}),
    "friction_torques": _Kind(friction_only, {"qd": 1}),
    "external_torques": _Kind(external_torques, {"q": 1, "w": 6}),
}


def programs(robot: Robot, terms: Terms, documentation: Mapping[str, str]) -> dict[str, Program]:
    """Trace all functions of the model of a robot, by name, with the documentation of each."""
    return {
        name: trace(
            name,
            lambda *vectors, kind=kind: kind.algorithm(robot, terms, *vectors),
            {key: count * robot.dof for key, count in kind.inputs.items()},
            (robot.dof,),
            documentation.get(name, ""),
        )
        for name, kind in _KINDS.items()
    }


def _rest(robot: Robot) -> Vector:
    return [0.0] * robot.dof


def _triple(vector: Vector) -> tuple[Scalar, Scalar, Scalar]:
    x, y, z = vector
    return (x, y, z)
