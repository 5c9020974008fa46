# SPDX-License-Identifier: Apache-2.0
"""Check steps of a motion against the actuator limits, and find the nearest feasible step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from dyn_core.control.command_limits import check_vector, is_finite
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.handover import handed_over
from dyn_core.feasibility.actuator_limits import ActuatorLimits, actuator_limits
from dyn_core.feasibility.limit_violations import Excess, bounds, excesses
from dyn_core.feasibility.step_program import NONE, ROWS, Layout, fastest_search, step_program
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.compiled_model import runnable_by
from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.robot import Robot, refuse_moving_base, refuse_springs


@dataclass(frozen=True, eq=False, slots=True)
class FeasibleStep:
    """Result for a desired step.

    Attributes:
        q: positions after the step (rad or m), (n,).
        qd: velocities after it (rad/s or m/s), (n,).
        qdd: accelerations during it (rad/s^2 or m/s^2), (n,).
        torques: torques at its begin (N m or N), (n,).
        feasible: whether the desired step is feasible: then q and qd are exactly the desired ones.
        possible: whether the step keeps all limits; it always keeps those of torques and power.
        part: remaining fraction of the desired velocities, 0 to 1; 1 for a feasible step, NaN for a step in
            another direction.
    """

    q: Array
    qd: Array
    qdd: Array
    torques: Array
    feasible: bool
    possible: bool
    part: float
    _limits: ActuatorLimits = field(repr=False)
    _values: Array = field(repr=False)

    @property
    def asked(self) -> tuple[Excess, ...]:
        """Violations of the desired step, by joint.

        They include velocities and torques that are needed to reach the desired position.
        """
        names = ("asked_q", "asked_qd", "qd", "asked_torques")
        found = excesses(self._limits, bounds(self._limits, *map(self._vector, names)))
        jumps = self._vector("asked_torques") != self._vector("wished_torques")
        jumping = {name for name, jump in zip(self._limits.joint_names, jumps, strict=True) if jump}
        return tuple(replace(one, jumps=one.joint in jumping and one.quantity != "position") for one in found)

    @property
    def left(self) -> tuple[Excess, ...]:
        """Remaining violations of this step, by joint: of joints that violated a limit before it."""
        compared = bounds(self._limits, self.q, self.qd, self._vector("qd"), self.torques)
        return excesses(self._limits, compared, slack=1e-9)

    @property
    def outside(self) -> tuple[Excess, ...]:
        """Violations of ranges and speeds before the step, by joint."""
        q, qd = self._vector("q"), self._vector("qd")
        return excesses(self._limits, bounds(self._limits, q, qd, qd, 0.0 * qd))

    def _vector(self, name: str) -> Array:
        values: Array = self._values[Layout(len(self.q)).vector(name)]
        return values


_WISHED, _NEAREST, _PATH = "wished", "nearest", "path"
_VECTORS = ("q", "qd", "q_next", "qd_next")


class Feasibility:
    """Feasibility of steps with the actuators of a robot.

    A step goes from the present positions and velocities to the desired ones in a time dt, with constant
    accelerations ``(qd_next - qd) / dt``. It is feasible if the desired positions and velocities, and the
    positions that the accelerations lead to, are within their limits, and so are the torques at its begin, at
    the present speed. If the desired positions are not those that the velocities lead to, the joints must
    also be able to reach them, accelerating for half of the time and braking for the other half.

    A joint that is already out of its range, or too fast, may not go further out, or faster.

    Of a robot with loops the actuated joints move.
    """

    def __init__(
        self,
        robot: Robot,
        limits: ActuatorLimits | None = None,
        *,
        friction: bool = True,
        rotor_inertia: bool = True,
    ) -> None:
        """Compile the step program.

        Raise DynError if a joint has no actuator, or the limits are those of another robot.

        Args:
            limits: the limits; None for those of the description.
        """
        check_actuated(robot)
        self.robot = robot
        self._n = robot.dof
        self.limits = actuator_limits(robot) if limits is None else limits
        self._check_limits()
        self._terms = {"friction": friction, "rotor_inertia": rotor_inertia}
        made_of = with_terms(robot, friction, rotor_inertia)
        self._row = WrenchRow(robot)
        external = handed_over(lambda: runnable_by(made_of, traced(made_of, "external_torques")))
        self._external: Callable[..., Array] = external.function.bind(self._general(external, 1), [])
        self._points = points = self.limits.points
        runnable = handed_over(lambda: runnable_by(made_of, step_program(made_of, points)))
        self._call: Callable[..., Array] = runnable.function.bind(self._general(runnable, 4), [])
        self._search = fastest_search()
        layout = Layout(self._n)
        self._limits = _packed_limits(self.limits, points)
        self._free = np.zeros(self._n)
        self._free.flags.writeable = False
        # The times of the last step, which most callers repeat.
        self._times: tuple[float, float | None, Array] = (0.0, None, np.zeros(2))
        self._slices = {
            kind: tuple(layout.vector(f"{kind}_{what}") for what in ("q", "qd", "qdd", "torques"))
            for kind in (_WISHED, _NEAREST, _PATH)
        }
        self._wish, self._off, self._least, self._greatest = map(layout.number, layout.NUMBERS)

    def with_limits(self, limits: ActuatorLimits) -> Feasibility:
        """Return the same with other limits, without compiling if no curve has more points."""
        if limits.points > self._points:
            return Feasibility(self.robot, limits, **self._terms)
        other = copy(self)
        other.limits = limits
        other._check_limits()
        other._limits = _packed_limits(limits, self._points)
        return other

    def nearest(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        q_next: npt.ArrayLike,
        qd_next: npt.ArrayLike,
        dt: float,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        *,
        catch_up: float | None = None,
    ) -> FeasibleStep:
        """Return the step with the torques nearest to the desired ones (Kvrgic-Vidakovic, sec. V).

        Positions and velocities are limited first, then the torques for these, which determine the
        accelerations. If these would take a joint beyond its range or speed, a case that the paper does not
        treat, the torques are the nearest ones, each relative to its limit, that keep ranges and speeds.
        Raise ValueError if an argument has another shape, or is not finite.

        Args:
            q, qd: positions and velocities (rad or m; rad/s or m/s), (n,).
            q_next: desired positions after the step (rad or m), (n,).
            qd_next: desired velocities after it (rad/s or m/s), (n,).
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its environment, in
                its frame and about its origin.
            catch_up: time (s) to reach desired positions that the velocities do not lead to; None for `dt`.

        Returns:
            The step. It is not `possible` if no torques within their limits keep range and speed of all
            joints: then the torques are those of the paper.
        """
        values = self._computed(q, qd, q_next, qd_next, dt, wrenches, catch_up)
        if values.item(self._wish) <= 0.0:
            return self._step(_WISHED, values, 1.0)
        return self._nearest(values, float(dt))

    def on_path(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        q_next: npt.ArrayLike,
        qd_next: npt.ArrayLike,
        dt: float,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        *,
        catch_up: float | None = None,
    ) -> FeasibleStep:
        """Return the fastest step in the desired direction: the desired velocities times a factor of 0 to 1.

        The arguments are those of `nearest`. If no factor keeps all limits, the step is that of `nearest`,
        with NaN as its part. If only the positions are infeasible, its part is 1.
        """
        values = self._computed(q, qd, q_next, qd_next, dt, wrenches, catch_up)
        if values.item(self._wish) <= 0.0:
            return self._step(_WISHED, values, 1.0)
        part = values.item(self._greatest)
        if part >= values.item(self._least):
            return self._step(_PATH, values, part)
        return self._nearest(values, float(dt))

    def _check_limits(self) -> None:
        given, known = self.limits.joint_names, self.robot.coordinate_names
        if given != known:
            raise DynError("limits-joints-mismatch", given=given, robot=self.robot.name, known=known)

    def _step(self, kind: str, values: Array, part: float, possible: bool = True) -> FeasibleStep:
        q, qd, qdd, torques = self._slices[kind]
        # A loop over the four would take a tenth of the time of a step.
        return FeasibleStep(
            values[q],
            values[qd],
            values[qdd],
            values[torques],
            kind is _WISHED,
            possible,
            part,
            self.limits,
            values,
        )

    def _nearest(self, values: Array, dt: float) -> FeasibleStep:
        """Return the step of the paper, or that with the nearest torques that keep ranges and speeds."""
        if values.item(self._off) <= 0.0:
            return self._step(_NEAREST, values, math.nan)
        vectors = self._search(values, self._n, dt)
        if vectors is None:
            return self._step(_NEAREST, values, math.nan, possible=False)
        return FeasibleStep(*vectors, False, True, math.nan, self.limits, values)

    def _computed(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        q_next: npt.ArrayLike,
        qd_next: npt.ArrayLike,
        dt: float,
        wrenches: Mapping[str, npt.ArrayLike] | None,
        catch_up: float | None,
    ) -> Array:
        times = self._times
        if dt != times[0] or catch_up != times[1]:
            self._times = times = (dt, catch_up, _times(dt, catch_up))
        w = self._row(wrenches, ())
        external = self._free if w is None else self._external(q, w)
        values = self._call(q, qd, q_next, qd_next, external, self._limits, times[2])
        if values.item(self._wish) != values.item(self._wish):
            self._refuse(wrenches, q, qd, q_next, qd_next)
        values.flags.writeable = False
        return values

    def _general(self, runnable: Runnable, count: int) -> Callable[..., Array]:
        """Return the program for any input, with checks of the first `count` vectors."""

        def general(*vectors: npt.ArrayLike) -> Array:
            given = [_vector(_VECTORS[k], vectors[k], self._n) for k in range(count)]
            return runnable.run((), *given, *(np.asarray(value) for value in vectors[count:]))

        return general

    def _refuse(self, wrenches: Mapping[str, npt.ArrayLike] | None, *vectors: npt.ArrayLike) -> None:
        for name, value in zip(_VECTORS, vectors, strict=True):
            check_vector(name, self.limits.joint_names, np.asarray(value, dtype=np.float64))
        for link, exerted in (wrenches or {}).items():
            if not is_finite(numbers := np.asarray(exerted, dtype=np.float64)):
                raise ArgumentError(
                    "argument-numbers-not-finite", argument=f"wrenches['{link}']", given=numbers
                )
        raise DynError("accelerations-not-finite", robot=self.robot.name)


def check_actuated(robot: Robot) -> None:
    """Raise DynError, with the names, for a robot with joints that no actuator moves."""
    passive = robot.passive_joint_names
    if not robot.dof:
        raise DynError("robot-without-moving-joint", robot=robot.name)
    refuse_moving_base(robot, "what actuators can do")
    refuse_springs(robot, "a motion that is given")
    if passive and not robot.loops:
        raise DynError(
            "passive-joints-unsupported",
            joints=passive,
            robot=robot.name,
            reference="motion",
            element=f"joint '{passive[0]}'",
        )


def _packed_limits(limits: ActuatorLimits, points: int) -> Array:
    """Return the limits as the program takes them, with `NONE` for missing ones."""
    rows = [limits.lower, limits.upper, limits.velocity, limits.power, limits.braking_power]
    assert len(rows) == len(ROWS)
    curves = [limit.curve for limit in limits.of_joints]
    of_curves = [
        *([c.speeds[k] if k < len(c.speeds) else NONE for c in curves] for k in range(points)),
        *([c.efforts[min(k, len(c.efforts) - 1)] for c in curves] for k in range(points)),
        *([c.slopes[k] if k < len(c.slopes) else 0.0 for c in curves] for k in range(points)),
    ]
    packed = np.clip(np.concatenate((*rows, *of_curves)), -NONE, NONE)
    packed.flags.writeable = False
    return packed


def _times(dt: float, catch_up: float | None) -> Array:
    for name, time in (("dt", dt), ("catch_up", dt if catch_up is None else catch_up)):
        if not (math.isfinite(time) and time > 0.0):
            raise ArgumentError("argument-time-not-positive", argument=name, given=time)
    return np.array([dt, dt if catch_up is None else catch_up], dtype=np.float64)


def _vector(name: str, value: npt.ArrayLike, n: int) -> Array:
    array = as_floats(name, value)
    if array.shape != (n,):
        raise ArgumentError("argument-shape", argument=name, expected=(n,), given=array.shape)
    return array
