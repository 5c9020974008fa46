# SPDX-License-Identifier: Apache-2.0
"""The robot for the integrators: dynamics, friction, stops and loads; rest positions and rates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dyn_core.algorithms.dynamics.direct_dynamics import no_forward_dynamics
from dyn_core.algorithms.dynamics.elastic_dynamics import oscillations
from dyn_core.algorithms.dynamics.newton_euler import inertia_matrix
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ModelWarning, at_joint
from dyn_core.model.fixed_base.closed_loops import unresisted_coordinates
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.joints import position_range
from dyn_core.robot.robot import Robot, motor_of
from dyn_core.simulation.integrators.compiled_programs import Programs, UsualMode, UsualStep, usual_steps
from dyn_core.simulation.integrators.complementarity import Respond, Vector
from dyn_core.simulation.integrators.hybrid_dynamics import constant_ratios, viscous_friction
from dyn_core.simulation.integrators.passive_motion import BEYOND, JUMP, PassiveJoints
from dyn_core.simulation.simulated_state import SimulationSettings

# Springs: rest positions and oscillations

STABLE = 2.5  # Largest phase angle in a step of the Runge-Kutta method, somewhat less than its limit of 2.828


def at_rest(
    robot: Robot,
    given: Mapping[str, float],
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
) -> Array:
    """Return positions with springs at rest, and 0 for other joints, except for given positions by name.

    A motor follows its joint if that is given, else the joint follows its motor. Other joints are at the
    nearest position within their limits (rad or m), by default without limits.
    """
    positions = with_both_ends(robot, given)
    motors = set(motor_of(robot).values())
    for k, joint in enumerate(robot.independent_joints):
        if joint.name not in positions and joint.name not in motors:
            spring = joint.elastic
            rest = spring.rest if spring is not None and spring.motor == 0 else 0.0
            at_least = rest if lower is None else max(rest, lower[k])
            positions[joint.name] = at_least if upper is None else min(at_least, upper[k])
    positions = with_both_ends(robot, positions)
    return np.array([positions[name] for name in robot.coordinate_names], dtype=np.float64)


def with_both_ends(robot: Robot, given: Mapping[str, float], *, velocities: bool = False) -> dict[str, float]:
    """Complete values by name: add those of motors whose joint is named, and of joints whose motor is named.

    Positions (rad or m) are completed with springs at rest, `velocities` (rad/s or m/s) with constant lengths
    of springs.
    """
    values = dict(given)
    for joint, motor in motor_of(robot).items():
        spring = robot.joint(joint).elastic
        assert spring is not None
        rest = 0.0 if velocities else spring.rest
        if joint in given:
            values.setdefault(motor, given[joint] - rest)
        elif motor in given:
            values[joint] = given[motor] + rest
    return values


def warn_of_swinging(robot: Robot, step: float, substeps: int) -> None:
    """Warn if a robot oscillates on its springs too fast for the Runge-Kutta method with this step (s)."""
    if not robot.elastic_joint_names:
        return
    fastest = oscillations(robot, at_rest(robot, {}).tolist())[0]
    needed = math.ceil(fastest * step / STABLE)
    if needed > substeps:
        values: dict[str, Any] = {"frequency": fastest / (2.0 * math.pi), "substeps": needed}
        values["step"] = step / substeps
        warnings.warn(ModelWarning("springs-too-stiff", robot=robot.name, **values), stacklevel=4)


def fastest_decay(robot: Robot, q: Sequence[float]) -> tuple[str, float]:
    """Return the largest decay rate (1/s) of ``A qdd = -Fv qd`` at positions q, and its main joint.

    Velocities decay as exp(-rate t); rates are the eigenvalues of ``A^-1 Fv``.
    """
    at = configuration(robot, q)
    A: Array = np.array(at.inertia(inertia_matrix(robot, at.q)))
    rates, directions = np.linalg.eig(np.linalg.solve(A, np.array(viscous_friction(robot, at))))
    fastest = int(np.abs(rates).argmax())
    joint = int(np.abs(directions[:, fastest]).argmax())
    return robot.coordinate_names[joint], float(np.abs(rates[fastest]))


@dataclass(frozen=True, eq=False)
class Load:
    """Loads during a step: efforts tau (N m or N), and wrenches w that the bodies exert, if any."""

    tau: Array
    w: Array | None = None


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A robot with its parameters, as a value."""

    joint_names: tuple[str, ...]  # names of the joints
    dynamics: Callable[..., Array]  # `held_dynamics` as a function of arrays
    sum: Callable[..., Array]  # `runge_kutta_sum` as a function of arrays
    external: Callable[..., Array]  # from positions and the wrenches of a `Load` to the efforts for these
    Fs: tuple[float, ...]  # Coulomb friction of the joints (N m or N)
    lower: tuple[float, ...]  # least positions (rad or m), -inf without a stop
    upper: tuple[float, ...]  # greatest positions (rad or m), inf without a stop
    greatest_speed: float  # speed (rad/s or m/s) above which the simulation has diverged
    ones: Array  # a one for each joint
    zeros: Array  # a zero for each joint
    unmoved: Array  # zeros, instead of the results of earlier stages
    passive: PassiveJoints  # the passive joints of loops, which are not in the vectors
    passive_stops: bool  # whether a passive joint has a stop
    step: float  # the step of the integrator (s), on which the friction of passive joints depends
    at_once: Array  # the times of `held_dynamics` for the dynamics at one time
    usual_step: UsualStep | None  # function for steps without events; None if there is no such function
    usual_mode: UsualMode | None  # function for modes without events; None if there is no such function
    midpoint: Callable[..., Array] | None = None  # `midpoint_dynamics`, if required

    def implicit(self, h: float) -> Array:
        """Return the times of `held_dynamics` for viscous friction at the end of a step h (s)."""
        return np.array([0.0, 0.0, h, self.step])

    def torques(self, load: Load, q: Array) -> Array:
        """Efforts of the actuators and of the environment on the joints at positions q."""
        return load.tau if load.w is None else load.tau - self.external(q, load.w)

    def respond(self, q: Array, qd: Array, tau: Array, h: float) -> Respond:
        """Return the dynamics in one state as a function of the held joints, for `resolve`."""
        times = self.implicit(h)

        def response(free: Vector, given: Vector, friction: Vector) -> tuple[list[float], list[float]]:
            held = (np.array(friction), np.array(free), np.array(given), self.unmoved, self.unmoved, times)
            found = self.dynamics(q, qd, tau, *held).tolist()
            return found[: len(free)], found[len(free) :]

        return response


def mechanism(robot: Robot, programs: Programs, settings: SimulationSettings) -> Mechanism:
    """Return the mechanism of a robot for the integrators.

    Raise DynError if a joint moves no inertia, or has negative friction.
    """
    made_of = with_terms(robot, settings.friction, settings.rotor_inertia)
    _check_friction(made_of)
    unresisted = unresisted_coordinates(made_of)
    if unresisted:
        raise no_forward_dynamics(robot, unresisted)
    prepared = [programs.prepared(made_of)]
    n = robot.dof
    step = settings.step / settings.substeps
    lower, upper = (-math.inf,) * n, (math.inf,) * n
    if settings.position_limits:
        lower, upper = zip(*(position_range(joint.limits) for joint in robot.independent_joints), strict=True)
    Fs, passive = _coulomb(made_of), programs.passive
    passive_stops = settings.position_limits and passive.limited
    bounds = [*Fs, *lower, *upper]
    bounds += [x - BEYOND if passive_stops else -math.inf for x in passive.lower]
    bounds += [x + BEYOND if passive_stops else math.inf for x in passive.upper]
    bounds += [settings.greatest_speed, step, JUMP]
    whole_step, mode = usual_steps(programs.dynamics, prepared[0], bounds)
    return Mechanism(
        robot.coordinate_names,
        _bound(programs.dynamics, prepared),
        _bound(programs.sum, prepared),
        _bound(programs.external, prepared),
        Fs,
        lower,
        upper,
        settings.greatest_speed,
        np.ones(n),
        np.zeros(n),
        np.zeros(2 * n),
        passive,
        passive_stops,
        step,
        np.array([0.0, 0.0, 0.0, step]),
        whole_step if programs.midpoint is None else None,  # compiled steps are of the other methods
        mode,
        None if programs.midpoint is None else _bound(programs.midpoint, prepared),
    )


def _bound(runnable: Runnable, prepared: list[Array]) -> Callable[..., Array]:
    return runnable.function.bind(partial(runnable.run, prepared), prepared)


def _coulomb(robot: Robot) -> tuple[float, ...]:
    """Coulomb friction of the coordinates, including that of joints with constant ratios to them."""
    total = [0.0] * robot.dof
    for joint, ratio in zip(robot.joints, constant_ratios(robot), strict=True):
        if ratio is not None:
            total[ratio[0]] += abs(ratio[1]) * joint.friction.Fs
    return tuple(total)


def _check_friction(robot: Robot) -> None:
    for joint in robot.joints:
        for name, value in (("Fv", joint.friction.Fv), ("Fs", joint.friction.Fs)):
            if value < 0.0:
                raise at_joint(joint.name, "friction-negative", parameter=name, given=value)
