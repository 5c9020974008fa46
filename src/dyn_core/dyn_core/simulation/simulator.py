# SPDX-License-Identifier: Apache-2.0
"""A robot that moves as efforts and wrenches make it move."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import ge, gt, le, or_
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.passive_joint_positions import assembled
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError, ModelWarning, listed
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.robot.robot import Robot
from dyn_core.simulation.advance import advance
from dyn_core.simulation.decay import fastest_decay
from dyn_core.simulation.integrators.compiled_programs import compiled_programs
from dyn_core.simulation.integrators.integration_methods import Mode, present_mode
from dyn_core.simulation.integrators.mechanism import Load, mechanism
from dyn_core.simulation.integrators.passive_motion import AT_LIMIT, PassiveState
from dyn_core.simulation.joint_values import JointValues, joint_values
from dyn_core.simulation.no_actuator import refuse_efforts
from dyn_core.simulation.passive_stops import held_back
from dyn_core.simulation.settings import Method, SimulationSettings, chosen_method
from dyn_core.simulation.simulated_state import Measurement, Sensors, SensorSettings
from dyn_core.simulation.springs import at_rest, warn_of_swinging, with_both_ends
from dyn_core.simulation.state import State

STABLE = 2.5
"""Decay within a step of the Runge-Kutta method that it can follow, somewhat less than its limit of 2.785."""


class Simulator:
    """A robot with its present state, and what acts on it. It is for one thread.

    What is refused changes nothing.

    Attributes:
        robot: the robot, without payloads.
        joint_names: names of the joints, in the order of every joint vector: of a robot with loops those of
            the actuated ones.
        passive_joint_names: names of the joints that follow through loops, in the order of `passive_state`.
        settings: how it is simulated.
        integrator: the method that is used.
    """

    def __init__(
        self,
        robot: Robot,
        settings: SimulationSettings | None = None,
        sensors: SensorSettings | None = None,
        q: JointValues | None = None,
        qd: JointValues | None = None,
    ) -> None:
        """Compile what is needed, and put the robot at its initial state at time 0, without efforts.

        Args:
            robot: the robot as it really is: see `with_model_error` for one that differs from its model.
            settings: how it is simulated; by default as `SimulationSettings()` says.
            sensors: what its sensors are like; by default they are exact.
            q: initial positions (rad or m); by default 0, or what is nearest to it between the limits, and
                of a robot with loops those of its assembly; of elastic joints those in which their springs
                are at rest, also where positions are given by name: a motor follows its joint.
            qd: initial velocities (rad/s or m/s); by default 0, and by name, of a motor behind a spring, that
                of its joint.

        Raises:
            DynError: a joint moves no inertia, the robot has no joints that move, or the initial positions
                are not between the limits, or such that the loops do not close; or the side file says that
                the base moves.

        Warns:
            ModelWarning: viscous friction is too strong, or a spring too stiff, for the integrator with such
                steps.
        """
        refuse_moving_base(robot, "Simulator", "MovingBaseSimulator")
        self.robot = robot
        self.joint_names = robot.coordinate_names
        self._dof = robot.dof
        self.settings = settings or SimulationSettings()
        if robot.dof == 0:
            raise DynError(f"robot '{robot.name}' cannot be simulated: it has no joint that moves")
        self._payloads: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {}
        made_of = with_terms(robot, self.settings.friction, self.settings.rotor_inertia)
        self.integrator: Method = chosen_method(self.settings.integrator, bool(robot.elastic_joint_names))
        if robot.loops and self.integrator == "implicit_midpoint":
            raise DynError(
                f"robot '{robot.name}' has loops, of which the integrator implicit_midpoint knows "
                "nothing: take rk4 or semi_implicit_euler"
            )
        midpoint = self.integrator == "implicit_midpoint"
        self._programs = compiled_programs(made_of, self.settings.backend, midpoint)
        self.passive_joint_names = self._programs.passive.names
        self._mechanism = mechanism(robot, self._programs, self.settings)
        efforts = self._limits("effort") if self.settings.effort_limits else [math.inf] * robot.dof
        self._strengths = efforts
        self._has_passive = any(joint.mu != 1 for joint in robot.independent_joints)
        self._velocity_limits = self._limits("velocity")
        self._sensor_settings = sensors or SensorSettings()
        none = np.zeros(robot.dof)
        lower, upper = self._mechanism.lower, self._mechanism.upper
        self._default = at_rest(robot, {}, lower, upper)
        if robot.loops:
            self._default = np.array(assembled(robot))
        positions = self._default if q is None else self._positions(q)
        rates = none if qd is None else self._rates(qd)
        self._check_positions(positions)
        self._initial = self._state = State(0.0, positions.copy(), rates.copy())
        self._since, self._length, self._steps = 0.0, 0.0, 0
        self._command = none
        self._load = Load(none)
        self._mode: Mode | None = None  # of the present state under the present load, once it is known
        self._sensors = Sensors(robot, self._sensor_settings)
        if self.integrator == "rk4":
            warn_of_swinging(made_of, self.settings.step, self.settings.substeps)
            _warn_of_stiffness(robot, self.settings, (self._default if robot.loops else positions).tolist())

    @property
    def state(self) -> State:
        """The present time, positions and velocities."""
        return self._state

    @property
    def passive_state(self) -> PassiveState:
        """The present positions and velocities of the passive joints of loops, and how far these are open."""
        return self._programs.passive.state(self._state.q, self._state.qd)

    @property
    def passive_acceleration(self) -> Array:
        """Accelerations of the passive joints that the present efforts and wrenches give now."""
        return self._programs.passive.accelerations(self._state.q, self._state.qd, self.acceleration)

    @property
    def command(self) -> Array:
        """Efforts that were asked for (N m or N)."""
        return np.array(self._command)

    @property
    def payloads(self) -> Mapping[str, tuple[float, tuple[float, ...], tuple[float, ...]]]:
        """What links hold now, by link: mass, centre and inertia, as `set_payload` takes them."""
        return MappingProxyType(self._payloads)

    @property
    def effort(self) -> Array:
        """Efforts that the actuators exert (N m or N), within their limits: 0 for passive joints."""
        return np.array(self._load.tau)

    @property
    def acceleration(self) -> Array:
        """Accelerations that the present efforts and wrenches give now (rad/s^2 or m/s^2)."""
        if self._mode is None:
            self._mode = present_mode(self._mechanism, self._state.q, self._state.qd, self._load)
        free = np.array(self._mode.dynamics[: self._dof])
        if not self._mechanism.passive_stops:
            return free
        return held_back(
            self._mechanism, self._state.q, self._state.qd, self._load, self._mechanism.step, free
        )

    @property
    def too_fast(self) -> tuple[str, ...]:
        """Names of the joints that are faster now than their limit, which nothing enforces."""
        return self._names(map(gt, map(abs, self._state.qd.tolist()), self._velocity_limits))

    @property
    def at_effort_limit(self) -> tuple[str, ...]:
        """Names of the joints whose effort was cut at their limit."""
        return self._names(map(gt, map(abs, self._command.tolist()), self._strengths))

    @property
    def at_stop(self) -> tuple[str, ...]:
        """Names of the joints that are at a limit of their positions, passive ones too."""
        q, lower, upper = self._state.q.tolist(), self._mechanism.lower, self._mechanism.upper
        names = self._names(map(or_, map(le, q, lower), map(ge, q, upper)))
        if self._mechanism.passive_stops:
            names += self._programs.passive.at_limit(self._state.q, self._state.qd)
        return names

    def set_effort(self, effort: JointValues) -> None:
        """Replace the efforts of the actuators (N m or N), until they are replaced again.

        They are cut at their limits, where the settings say so. Passive joints have no actuator, and joints
        behind springs are moved by their motors, which are joints of their own: for them there is 0.

        Args:
            effort: one for each of `joint_names`, in their order, or efforts by name, 0 for other joints.

        Raises:
            ValueError: the number of efforts is not that of the joints, or one is not finite.
            DynError: there is no such joint, or it has an effort and no actuator.
        """
        command = self._vector("effort", effort)
        if self._has_passive:
            refuse_efforts(self.robot, command.tolist())
        limited = zip(command.tolist(), self._strengths, strict=True)
        tau = np.array([min(max(x, -most), most) for x, most in limited])
        self._command = command.copy()
        self._load, self._mode = Load(tau, self._load.w), None

    def set_wrenches(self, wrenches: Mapping[str, npt.ArrayLike]) -> None:
        """Replace the wrenches that the environment exerts **on** links, until they are replaced again.

        Note the sign: those of `Model` are exerted by the links on the environment.

        Args:
            wrenches: by link, ``[force; moment]`` (N, N m) on the link, on the axes of its frame and
                about its origin, with which they move; none for other links.

        Raises:
            ValueError: a wrench is not six finite numbers.
            DynError: there is no such link.
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
        """Replace the payload of a link; positions and velocities stay.

        Args:
            link: the link.
            mass: mass (kg); 0 for no payload.
            centre: centre of mass in the frame of the link (m).
            inertia: XX XY XZ YY YZ ZZ about the centre of mass, on the axes of the link (kg m^2).
        """
        self.robot.with_payload(link, mass, centre, inertia)  # refuses what is no body
        payloads = dict(self._payloads)
        payloads.pop(link, None)
        if mass > 0.0:
            payloads[link] = (mass, tuple(centre), tuple(inertia))
        robot = self.robot
        for name, payload in payloads.items():
            robot = robot.with_payload(name, *payload)
        self._mechanism = mechanism(robot, self._programs, self.settings)
        self._payloads, self._mode = payloads, None

    def set_state(self, q: JointValues, qd: JointValues | None = None) -> None:
        """Put the joints at positions (rad or m) with velocities (rad/s or m/s), at the present time.

        Raises:
            ValueError: the number of values is not that of the joints, or one is not finite.
            DynError: a position is not between the limits, there is no such joint, or the loops do not close.
        """
        positions = self._positions(q)
        rates = np.zeros(self._dof) if qd is None else self._rates(qd)
        self._check_positions(positions)
        self._place(State(self._state.time, positions.copy(), rates.copy()))

    def reset(self) -> None:
        """Go back to the initial state at time 0, without efforts and wrenches; payloads stay.

        The noise of the sensors begins anew, too.
        """
        self._command = np.zeros(self._dof)
        self._load = Load(np.zeros(self._dof))
        self._sensors = Sensors(self.robot, self._sensor_settings)
        self._place(self._initial)

    def step(self, duration: float | None = None) -> State:
        """Advance by a duration (s), by default that of the settings, and answer the new state.

        Efforts and wrenches stay as they are meanwhile. A duration is divided into as many substeps as
        the settings say.

        Raises:
            ValueError: the duration is not a finite number > 0.
            DynError: the simulation diverges, or comes to where the loops do not close; the state stays.
        """
        length = self.settings.step if duration is None else duration
        if not 0.0 < length < np.inf:
            raise ValueError(f"duration: expected a finite number of seconds > 0, but it is {length!r}")
        # Multiples instead of sums, for times not to drift.
        if length != self._length:
            self._since, self._length, self._steps = self._state.time, length, 0
        until = self._since + (self._steps + 1) * length
        if not until > self._state.time:
            raise ValueError(f"duration: {length:g} s after {self._state.time:g} s are no time at all")
        settings = self.settings
        load, count = self._load, settings.substeps
        state = advance(self._mechanism, self.integrator, self._state, load, until, count, self._mode)
        self._state, self._mode = state, None
        self._steps += 1
        return self._state

    def measure(self) -> Measurement:
        """Answer what the sensors say now; each call has noise of its own."""
        return self._sensors.read(self._state.q, self._state.qd, self._load.tau)

    def _place(self, state: State) -> None:
        self._state, self._mode = state, None
        self._since, self._length, self._steps = state.time, 0.0, 0

    def _limits(self, kind: str) -> list[float]:
        values = [getattr(joint.limits, kind) for joint in self.robot.independent_joints]
        return [math.inf if value is None else value for value in values]

    def _names(self, chosen: Iterable[bool]) -> tuple[str, ...]:
        return tuple(compress(self.joint_names, chosen))

    def _positions(self, q: JointValues) -> Array:
        """Answer positions in the order of the joints; those that are not named have their defaults.

        These are those of the assembly, with loops, and with springs those in which the springs are at rest.
        """
        if isinstance(q, Mapping) and self.robot.loops:
            q = dict(zip(self.joint_names, self._default.tolist(), strict=True)) | dict(q)
        elif isinstance(q, Mapping) and self.robot.elastic_joint_names:
            self._vector("q", q)  # refuses what is no position
            q = at_rest(self.robot, q, self._mechanism.lower, self._mechanism.upper)
        return self._vector("q", q)

    def _rates(self, qd: JointValues) -> Array:
        """Answer velocities in the order of the joints; a motor that is not named turns with its joint."""
        if isinstance(qd, Mapping) and self.robot.elastic_joint_names:
            self._vector("qd", qd)  # refuses what is no velocity
            qd = with_both_ends(self.robot, qd, velocities=True)
        return self._vector("qd", qd)

    def _vector(self, name: str, values: JointValues) -> Array:
        """Answer finite numbers in the order of the joints."""
        if not isinstance(values, np.ndarray) and isinstance(values, Mapping):  # the second takes its time
            unknown = [joint for joint in values if joint not in self.joint_names]
            if unknown and unknown[0] in self.passive_joint_names:
                raise DynError(
                    f"{name}: joint '{unknown[0]}' is passive, it follows the actuated joints of robot "
                    f"'{self.robot.name}': give values for {listed(self.joint_names)} only",
                    element=f"joint '{unknown[0]}'",
                )
        return joint_values(name, values, self.robot.name, self.joint_names)

    def _wrench(self, link: str, value: npt.ArrayLike) -> Array:
        self.robot.link_frame(link)
        array = as_floats(f"wrenches['{link}']", value)
        if array.shape != (6,) or not np.isfinite(array).all():
            raise ValueError(f"wrenches['{link}']: expected 6 finite numbers, but it is {value!r}")
        return array

    def _check_positions(self, q: Array) -> None:
        """Refuse positions beyond limits, and those at which the loops do not close."""
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
                raise DynError(
                    f"the position {value:g} {unit} of joint '{name}' is not between its limits "
                    f"{low:g} and {high:g}: give another, or switch position_limits off",
                    element=f"joint '{name}'",
                )


def _warn_of_stiffness(robot: Robot, settings: SimulationSettings, q: list[float]) -> None:
    made_of = with_terms(robot, settings.friction, settings.rotor_inertia)
    joint, rate = fastest_decay(made_of, q)
    needed = math.ceil(rate * settings.step / STABLE)
    if needed > settings.substeps:
        warnings.warn(
            f"robot '{robot.name}': viscous friction brings joint '{joint}' to rest in some "
            f"{1.0 / rate:.2g} s, too fast for rk4 with steps of {settings.step / settings.substeps:g} s: "
            f"take {needed} substeps, or the integrator semi_implicit_euler",
            ModelWarning,
            stacklevel=3,
        )
