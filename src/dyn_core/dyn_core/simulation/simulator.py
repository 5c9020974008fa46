# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot on a fixed base under efforts and wrenches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import ge, gt, le, or_
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.passive_joint_positions import assembly_positions
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError, ModelWarning, at_joint
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.robot.robot import Robot, refuse_moving_base
from dyn_core.simulation.integrators.compiled_programs import compiled_programs
from dyn_core.simulation.integrators.integration_methods import Mode, present_mode
from dyn_core.simulation.integrators.integration_step import advance, held_back
from dyn_core.simulation.integrators.mechanism import (
    Load,
    at_rest,
    fastest_decay,
    mechanism,
    warn_of_swinging,
    with_both_ends,
)
from dyn_core.simulation.integrators.passive_motion import AT_LIMIT, PassiveState
from dyn_core.simulation.simulated_state import (
    JointValues,
    Measurement,
    Method,
    Sensors,
    SensorSettings,
    SimulationSettings,
    State,
    chosen_method,
    joint_values,
    refuse_efforts,
)

STABLE = 2.5
"""Largest decay within a step of the Runge-Kutta method, somewhat less than its stability limit of 2.785."""


class Simulator:
    """A simulated robot with its current state and loads. It is for one thread.

    A call that raises an error changes nothing.

    `joint_names` is the order of every joint vector; with loops these are the actuated joints, and
    `passive_joint_names` is the order of `passive_state`. `robot` has no payloads.
    """

    def __init__(
        self,
        robot: Robot,
        settings: SimulationSettings | None = None,
        sensors: SensorSettings | None = None,
        q: JointValues | None = None,
        qd: JointValues | None = None,
    ) -> None:
        """Compile the programs, and set the robot to its initial state at time 0, without efforts.

        Raise DynError if a joint moves no inertia, the robot has no movable joints, the initial positions are
        not within the limits or do not close the loops, or the side file declares a moving base.

        Args:
            robot: the true robot; see `with_model_error` for one that differs from its model.
            settings: settings of the simulation; by default `SimulationSettings()`.
            sensors: settings of the sensors; by default they are exact.
            q: initial positions (rad or m). By default 0, or the nearest position within the limits; for a
                robot with loops those of its assembly; for elastic joints those with springs at rest, also
                if positions are given by name: a motor follows its joint.
            qd: initial velocities (rad/s or m/s); by default 0. If they are given by name, a motor behind a
                spring has by default the velocity of its joint.

        Warns:
            ModelWarning: viscous friction is too strong, or a spring too stiff, for the integrator with this
                step.
        """
        refuse_moving_base(robot, "Simulator", "MovingBaseSimulator")
        self.robot = robot
        self.joint_names, self._dof = robot.coordinate_names, robot.dof
        self.settings = settings or SimulationSettings()
        if robot.dof == 0:
            raise DynError("simulation-without-joints", robot=robot.name)
        self._payloads: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {}
        made_of = with_terms(robot, self.settings.friction, self.settings.rotor_inertia)
        self.integrator: Method = chosen_method(self.settings.integrator, bool(robot.elastic_joint_names))
        if robot.loops and self.integrator == "implicit_midpoint":
            raise DynError("integrator-without-loops", robot=robot.name)
        midpoint = self.integrator == "implicit_midpoint"
        self._programs = compiled_programs(made_of, self.settings.backend, midpoint)
        self.passive_joint_names = self._programs.passive.names
        self._mechanism = mechanism(robot, self._programs, self.settings)
        unlimited = [math.inf] * robot.dof
        self._strengths = self._limits("effort") if self.settings.effort_limits else unlimited
        self._has_passive = any(joint.mu != 1 for joint in robot.independent_joints)
        self._velocity_limits = self._limits("velocity")
        self._sensor_settings = sensors or SensorSettings()
        none = np.zeros(robot.dof)
        self._default = np.array(assembly_positions(robot)) if robot.loops else self._at_rest({})
        positions = self._default if q is None else self._positions(q)
        rates = none if qd is None else self._rates(qd)
        self._check_positions(positions)
        self._initial = self._state = State(0.0, positions.copy(), rates.copy())
        self._since, self._length, self._steps = 0.0, 0.0, 0
        self._command = none
        self._load = Load(none)
        self._mode: Mode | None = None  # mode of the current state and load, once it is known
        self._sensors = Sensors(robot, self._sensor_settings)
        if self.integrator == "rk4":
            warn_of_swinging(made_of, self.settings.step, self.settings.substeps)
            _warn_of_stiffness(robot, self.settings, (self._default if robot.loops else positions).tolist())

    @property
    def state(self) -> State:
        """The current time, positions and velocities."""
        return self._state

    @property
    def passive_state(self) -> PassiveState:
        """The current positions and velocities of the passive joints, and the openings of the loops."""
        return self._programs.passive.state(self._state.q, self._state.qd)

    @property
    def passive_acceleration(self) -> Array:
        """Accelerations of the passive joints under the current efforts and wrenches."""
        return self._programs.passive.accelerations(self._state.q, self._state.qd, self.acceleration)

    @property
    def command(self) -> Array:
        """Requested efforts (N m or N)."""
        return np.array(self._command)

    @property
    def payloads(self) -> Mapping[str, tuple[float, tuple[float, ...], tuple[float, ...]]]:
        """Current payloads by link: mass, centre and inertia, as for `set_payload`."""
        return MappingProxyType(self._payloads)

    @property
    def effort(self) -> Array:
        """Efforts of the actuators (N m or N) within their limits; 0 for passive joints."""
        return np.array(self._load.tau)

    @property
    def acceleration(self) -> Array:
        """Accelerations under the current efforts and wrenches (rad/s^2 or m/s^2)."""
        mechanism, state = self._mechanism, self._state
        if self._mode is None:
            self._mode = present_mode(mechanism, state.q, state.qd, self._load)
        free = np.array(self._mode.dynamics[: self._dof])
        if not mechanism.passive_stops:
            return free
        return held_back(mechanism, state.q, state.qd, self._load, mechanism.step, free)

    @property
    def too_fast(self) -> tuple[str, ...]:
        """Names of the joints that exceed their velocity limit, which is not enforced."""
        return self._names(map(gt, map(abs, self._state.qd.tolist()), self._velocity_limits))

    @property
    def at_effort_limit(self) -> tuple[str, ...]:
        """Names of the joints whose requested effort exceeds their limit."""
        return self._names(map(gt, map(abs, self._command.tolist()), self._strengths))

    @property
    def at_stop(self) -> tuple[str, ...]:
        """Names of the joints, including passive ones, that are at a position limit."""
        q, lower, upper = self._state.q.tolist(), self._mechanism.lower, self._mechanism.upper
        names = self._names(map(or_, map(le, q, lower), map(ge, q, upper)))
        if self._mechanism.passive_stops:
            names += self._programs.passive.at_limit(self._state.q, self._state.qd)
        return names

    def set_effort(self, effort: JointValues) -> None:
        """Set the efforts of the actuators (N m or N) until the next call.

        They are limited if the settings say so. Passive joints, and joints behind springs, have no actuator:
        their efforts must be 0. The motor of a spring is a joint of its own. Raise ValueError if the number
        of efforts is not that of the joints, or one is not finite. Raise DynError if there is no such joint,
        or it has an effort and no actuator.

        Args:
            effort: efforts in the order of `joint_names`, or by name, 0 for joints that are not named.
        """
        command = self._vector("effort", effort)
        if self._has_passive:
            refuse_efforts(self.robot, command.tolist())
        limited = zip(command.tolist(), self._strengths, strict=True)
        tau = np.array([min(max(x, -most), most) for x, most in limited])
        self._command = command.copy()
        self._load, self._mode = Load(tau, self._load.w), None

    def set_wrenches(self, wrenches: Mapping[str, npt.ArrayLike]) -> None:
        """Set the wrenches that the environment exerts **on** links until the next call.

        Note the sign: the wrenches of `Model` are exerted by the links on the environment. Raise ValueError
        if a wrench is not six finite numbers. Raise DynError if there is no such link.

        Args:
            wrenches: ``[force; moment]`` (N, N m) on each link by name, on the axes of its frame and about
                its origin. They move with the frame. Links that are not named have no wrench.
        """
        by_links = {link: -self._wrench(link, value) for link, value in wrenches.items()}
        self._load = Load(self._load.tau, WrenchRow(self.robot)(by_links, ()))
        self._mode = None

    def set_payload(
        self,
        link: str,
        mass: float,
        centre: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ) -> None:
        """Set the payload of a link; positions and velocities do not change.

        Args:
            mass: mass (kg); 0 for no payload.
            centre: centre of mass in the frame of the link (m).
            inertia: XX XY XZ YY YZ ZZ about the centre of mass, on the axes of the link (kg m^2).
        """
        self.robot.with_payload(link, mass, centre, inertia)  # raises for an impossible body
        payloads = {name: payload for name, payload in self._payloads.items() if name != link}
        if mass > 0.0:
            payloads[link] = (mass, tuple(centre), tuple(inertia))
        robot = self.robot
        for name, payload in payloads.items():
            robot = robot.with_payload(name, *payload)
        self._mechanism = mechanism(robot, self._programs, self.settings)
        self._payloads, self._mode = payloads, None

    def set_state(self, q: JointValues, qd: JointValues | None = None) -> None:
        """Set positions (rad or m) and velocities (rad/s or m/s) of the joints at the current time.

        Raise ValueError if the number of values is not that of the joints, or one is not finite. Raise
        DynError if a position is not within the limits, there is no such joint, or the loops do not close.
        """
        positions = self._positions(q)
        rates = np.zeros(self._dof) if qd is None else self._rates(qd)
        self._check_positions(positions)
        self._set(State(self._state.time, positions.copy(), rates.copy()))

    def reset(self) -> None:
        """Return to the initial state at time 0, without efforts and wrenches; payloads are kept.

        The noise of the sensors is restarted.
        """
        self._command = np.zeros(self._dof)
        self._load = Load(np.zeros(self._dof))
        self._sensors = Sensors(self.robot, self._sensor_settings)
        self._set(self._initial)

    def step(self, duration: float | None = None) -> State:
        """Advance by a duration (s), by default the step of the settings, and return the new state.

        Efforts and wrenches are constant during the step. The duration is divided into the number of substeps
        of the settings. Raise ValueError if the duration is not a finite number > 0. Raise DynError if the
        simulation diverges, or the loops do not close; the state is unchanged.
        """
        length = self.settings.step if duration is None else duration
        if not 0.0 < length < np.inf:
            raise ArgumentError(
                "argument-range", argument="duration", expected="a finite number of seconds > 0", given=length
            )
        # Multiples of the step instead of sums, so that times do not drift.
        if length != self._length:
            self._since, self._length, self._steps = self._state.time, length, 0
        until = self._since + (self._steps + 1) * length
        if not until > self._state.time:
            raise ArgumentError("duration-below-resolution", duration=length, time=self._state.time)
        count, mode = self.settings.substeps, self._mode
        self._state = advance(self._mechanism, self.integrator, self._state, self._load, until, count, mode)
        self._mode = None
        self._steps += 1
        return self._state

    def measure(self) -> Measurement:
        """Return the current values of the sensors; each call has new noise."""
        return self._sensors.read(self._state.q, self._state.qd, self._load.tau)

    def _set(self, state: State) -> None:
        self._state, self._mode = state, None
        self._since, self._length, self._steps = state.time, 0.0, 0

    def _limits(self, kind: str) -> list[float]:
        values = [getattr(joint.limits, kind) for joint in self.robot.independent_joints]
        return [math.inf if value is None else value for value in values]

    def _names(self, chosen: Iterable[bool]) -> tuple[str, ...]:
        return tuple(compress(self.joint_names, chosen))

    def _positions(self, q: JointValues) -> Array:
        """Return positions in the order of the joints.

        Joints that are not named have default positions: those of the assembly, or those with springs at
        rest.
        """
        if isinstance(q, Mapping) and self.robot.loops:
            q = dict(zip(self.joint_names, self._default.tolist(), strict=True)) | dict(q)
        elif isinstance(q, Mapping) and self.robot.elastic_joint_names:
            self._vector("q", q)  # raises for invalid positions
            q = self._at_rest(q)
        return self._vector("q", q)

    def _at_rest(self, given: Mapping[str, float]) -> Array:
        return at_rest(self.robot, given, self._mechanism.lower, self._mechanism.upper)

    def _rates(self, qd: JointValues) -> Array:
        """Return velocities in the order of the joints; a motor that is not named moves with its joint."""
        if isinstance(qd, Mapping) and self.robot.elastic_joint_names:
            self._vector("qd", qd)  # raises for invalid velocities
            qd = with_both_ends(self.robot, qd, velocities=True)
        return self._vector("qd", qd)

    def _vector(self, name: str, values: JointValues) -> Array:
        """Return finite numbers in the order of the joints."""
        if not isinstance(values, np.ndarray) and isinstance(values, Mapping):  # the second check is slow
            unknown = [joint for joint in values if joint not in self.joint_names]
            if unknown and unknown[0] in self.passive_joint_names:
                robot, known = self.robot.name, self.joint_names
                raise at_joint(unknown[0], "argument-joint-passive", argument=name, robot=robot, known=known)
        return joint_values(name, values, self.robot.name, self.joint_names)

    def _wrench(self, link: str, value: npt.ArrayLike) -> Array:
        self.robot.link_frame(link)
        array = as_floats(f"wrenches['{link}']", value)
        if array.shape != (6,) or not np.isfinite(array).all():
            raise ArgumentError(
                "argument-numbers", argument=f"wrenches['{link}']", count=6, given=repr(value)
            )
        return array

    def _check_positions(self, q: Array) -> None:
        """Raise DynError for positions beyond limits, or at which the loops do not close."""
        passive = self._programs.passive
        names, positions = self.joint_names, q.tolist()
        lower, upper = self._mechanism.lower, self._mechanism.upper
        if passive.names:
            following = passive.state(q, np.zeros(self._dof)).q.tolist()
            if self._mechanism.passive_stops:
                names, positions = names + passive.names, positions + following
                lower, upper = lower + passive.lower, upper + passive.upper
        for name, value, low, high in zip(names, positions, lower, upper, strict=True):
            slack = AT_LIMIT if name in passive.names else 0.0
            if not low - slack <= value <= high + slack:
                unit = self.robot.joint(name).position_unit
                raise at_joint(
                    name, "position-beyond-limits", position=value, unit=unit, lower=low, upper=high
                )


def _warn_of_stiffness(robot: Robot, settings: SimulationSettings, q: list[float]) -> None:
    made_of = with_terms(robot, settings.friction, settings.rotor_inertia)
    joint, rate = fastest_decay(made_of, q)
    needed = math.ceil(rate * settings.step / STABLE)
    if needed > settings.substeps:
        step = settings.step / settings.substeps
        values: dict[str, Any] = {"joint": joint, "time": 1.0 / rate, "step": step, "substeps": needed}
        element = f"joint '{joint}'"
        warning = ModelWarning("viscous-friction-too-strong", robot=robot.name, element=element, **values)
        warnings.warn(warning, stacklevel=3)
