# SPDX-License-Identifier: Apache-2.0
"""What the integrators know of a robot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.dynamics.unresisted import no_forward_dynamics
from dyn_core.facade.runnable import Runnable
from dyn_core.facade.unresisted_coordinates import unresisted_coordinates
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.compiled_programs import Programs
from dyn_core.simulation.integrators.complementarity import Respond, Vector
from dyn_core.simulation.integrators.passive_motion import BEYOND, JUMP, PassiveJoints
from dyn_core.simulation.passive_friction import constant_ratios
from dyn_core.simulation.settings import SimulationSettings
from dyn_core.simulation.usual_step import UsualMode, UsualStep, usual_steps


@dataclass(frozen=True, eq=False)
class Load:
    """What acts on the joints during a step.

    Attributes:
        tau: efforts of the actuators (N m or N).
        w: wrenches that the bodies exert on the environment, in a row; None where there are none.
    """

    tau: Array
    w: Array | None = None


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A robot with its parameters, as a value.

    Attributes:
        joint_names: names of the joints.
        dynamics: `held_dynamics` as a function of arrays.
        sum: `runge_kutta_sum` as a function of arrays.
        external: efforts that the wrenches of a `Load` take, at positions.
        Fs: Coulomb friction of the joints (N m or N).
        lower: least positions (rad or m), -inf where there is no stop.
        upper: greatest positions (rad or m), inf where there is no stop.
        greatest_speed: speed (rad/s or m/s) above which something went wrong.
        ones: a one for each joint.
        zeros: a zero for each joint.
        unmoved: zeros, in the place of the results of earlier stages.
        passive: the passive joints of loops, which have no place in the vectors.
        passive_stops: whether a passive joint has a limit at which it stops.
        step: the step of the integrator (s), which the friction of passive joints depends on.
        at_once: the times of `held_dynamics` for what happens at one moment.
        usual_step: steps in which nothing happens, in one call; None where there is no such function.
        usual_mode: what the joints do where nothing happens at the moment, likewise.
        midpoint: `midpoint_dynamics` as a function of arrays; None where nobody needs it.
    """

    joint_names: tuple[str, ...]
    dynamics: Callable[..., Array]
    sum: Callable[..., Array]
    external: Callable[..., Array]
    Fs: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    greatest_speed: float
    ones: Array
    zeros: Array
    unmoved: Array
    passive: PassiveJoints
    passive_stops: bool
    step: float
    at_once: Array
    usual_step: UsualStep | None
    usual_mode: UsualMode | None
    midpoint: Callable[..., Array] | None = None

    def implicit(self, h: float) -> Array:
        """Answer the times of `held_dynamics` for viscous friction at the end of a step h (s)."""
        return np.array([0.0, 0.0, h, self.step])

    def torques(self, load: Load, q: Array) -> Array:
        """Efforts of the actuators and of the environment on the joints at positions q."""
        return load.tau if load.w is None else load.tau - self.external(q, load.w)

    def respond(self, q: Array, qd: Array, tau: Array, h: float) -> Respond:
        """Answer the dynamics in one state as a function of what is held, for `resolve`."""
        times = self.implicit(h)

        def answer(free: Vector, given: Vector, friction: Vector) -> tuple[list[float], list[float]]:
            held = (np.array(friction), np.array(free), np.array(given), self.unmoved, self.unmoved, times)
            found = self.dynamics(q, qd, tau, *held).tolist()
            return found[: len(free)], found[len(free) :]

        return answer


def mechanism(robot: Robot, programs: Programs, settings: SimulationSettings) -> Mechanism:
    """Answer a robot as the integrators know it.

    Raises:
        DynError: a joint moves no inertia, or has negative friction.
    """
    made_of = with_terms(robot, settings.friction, settings.rotor_inertia)
    _check_friction(made_of)
    unresisted = unresisted_coordinates(made_of)
    if unresisted:
        raise no_forward_dynamics(robot, unresisted)
    prepared = [programs.prepared(made_of)]
    n = robot.dof
    step = settings.step / settings.substeps
    lower, upper = _stops(robot) if settings.position_limits else ((-math.inf,) * n, (math.inf,) * n)
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
        whole_step if programs.midpoint is None else None,  # which is of the other methods
        mode,
        None if programs.midpoint is None else _bound(programs.midpoint, prepared),
    )


def _bound(runnable: Runnable, prepared: list[Array]) -> Callable[..., Array]:
    return runnable.function.bind(partial(runnable.run, prepared), prepared)


def _coulomb(robot: Robot) -> tuple[float, ...]:
    """Coulomb friction of the coordinates, with that of joints that turn a constant multiple of them."""
    total = [0.0] * robot.dof
    for joint, ratio in zip(robot.joints, constant_ratios(robot), strict=True):
        if ratio is not None:
            total[ratio[0]] += abs(ratio[1]) * joint.friction.Fs
    return tuple(total)


def _stops(robot: Robot) -> tuple[tuple[float, ...], tuple[float, ...]]:
    limits = [joint.limits for joint in robot.independent_joints]
    return (
        tuple(-math.inf if limit.lower is None else limit.lower for limit in limits),
        tuple(math.inf if limit.upper is None else limit.upper for limit in limits),
    )


def _check_friction(robot: Robot) -> None:
    for joint in robot.joints:
        for name, value in (("Fv", joint.friction.Fv), ("Fs", joint.friction.Fs)):
            if value < 0.0:
                raise DynError(
                    f"the friction {name} of joint '{joint.name}' is {value:g}: "
                    "what drives its joint cannot be simulated, give a number >= 0",
                    element=f"joint '{joint.name}'",
                )
