# SPDX-License-Identifier: Apache-2.0
"""Which steps of a motion the actuators of a robot can make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy

import numpy as np
import numpy.typing as npt

from dyn_core.control.vectors import check_vector, is_finite
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError, listed
from dyn_core.facade.run_by import runnable_by
from dyn_core.facade.runnable import Runnable
from dyn_core.feasibility.actuator_limits import ActuatorLimits, actuator_limits
from dyn_core.feasibility.feasible_step import FeasibleStep
from dyn_core.feasibility.nearest_torques import fastest_search
from dyn_core.feasibility.step_program import NONE, ROWS, Layout, step_program
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot

_WISHED, _NEAREST, _PATH = "wished", "nearest", "path"
_VECTORS = ("q", "qd", "q_next", "qd_next")


class Feasibility:
    """What the actuators of a robot make of a wished step.

    A step goes from the present positions and velocities to the next ones in a time dt, with constant
    accelerations ``(qd_next - qd) / dt``. It is feasible where the wished positions, those that the
    accelerations lead to, and the wished velocities are within their limits, and the torques that it needs
    when it begins are, too, at the speed that the joints have then. Where the wished positions are not those
    that the velocities lead to, the joints must be able to get there as well: speed and torques are then
    those of accelerating half of the time and braking the other half.

    A joint that is outside of its range, or too fast, before the step may go no further out, and no faster.

    Attributes:
        robot: the robot; of one with loops the actuated joints move.
        limits: the limits.
    """

    def __init__(
        self,
        robot: Robot,
        limits: ActuatorLimits | None = None,
        *,
        friction: bool = True,
        rotor_inertia: bool = True,
    ) -> None:
        """Compile what it takes.

        Args:
            robot: the robot.
            limits: the limits; None for those of its description.
            friction: whether the joints have friction.
            rotor_inertia: whether the rotors have inertia.

        Raises:
            DynError: a joint has no actuator, or the limits are those of another robot.
        """
        check_actuated(robot)
        self.robot = robot
        self.limits = actuator_limits(robot) if limits is None else limits
        self._check_limits()
        self._terms = {"friction": friction, "rotor_inertia": rotor_inertia}
        made_of = with_terms(robot, friction, rotor_inertia)
        self._row = WrenchRow(robot)
        external = runnable_by(made_of, traced(made_of, "external_torques"))
        self._external: Callable[..., Array] = external.function.bind(self._general(external, 1), [])
        self._points = points = self.limits.points
        runnable = runnable_by(made_of, step_program(made_of, points))
        self._call: Callable[..., Array] = runnable.function.bind(self._general(runnable, 4), [])
        self._search = fastest_search()
        layout = Layout(robot.dof)
        self._limits = _packed_limits(self.limits, points)
        self._free = np.zeros(robot.dof)
        self._free.flags.writeable = False
        # What was made of the last step: most callers have always the same.
        self._times: tuple[float, float | None, Array] = (0.0, None, np.zeros(2))
        self._slices = {
            kind: tuple(layout.vector(f"{kind}_{what}") for what in ("q", "qd", "qdd", "torques"))
            for kind in (_WISHED, _NEAREST, _PATH)
        }
        self._wish, self._off, self._least, self._greatest = map(layout.number, layout.NUMBERS)

    def with_limits(self, limits: ActuatorLimits) -> Feasibility:
        """Answer the same with other limits; nothing is compiled if no curve has more points than before."""
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
        """Answer the step with the torques that are nearest to those wished (Kvrgic-Vidakovic, sec. V).

        Positions and velocities are limited first, then the torques that these need, and the accelerations
        follow from the torques. Where the accelerations would then take a joint beyond its range or speed
        all the same, which the paper does not look at, the torques are those nearest to the wish, each
        relative to its limit, with which none does.

        Args:
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,).
            q_next: wished positions after the step (rad or m), (n,).
            qd_next: wished velocities after it (rad/s or m/s), (n,).
            dt: the step (s), > 0.
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its environment, in
                its frame and about its origin.
            catch_up: the time (s) that joints have to get to wished positions which the velocities do not
                lead to; None for that of the step.

        Returns:
            The step. It is not `possible` where no torques within their limits keep range and speed of
            all joints: then they are those of the paper.

        Raises:
            ValueError: an argument has another shape, or is not finite.
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
        """Answer the fastest step in the wished direction: all wished velocities times one part of 0 to 1.

        The arguments are those of `nearest`.

        Returns:
            The step. Where no part keeps all limits it is that of `nearest`, and its part is NaN. Where it
            is only the positions that cannot be had, its part is 1.
        """
        values = self._computed(q, qd, q_next, qd_next, dt, wrenches, catch_up)
        if values.item(self._wish) <= 0.0:
            return self._step(_WISHED, values, 1.0)
        part = values.item(self._greatest)
        if part >= values.item(self._least):
            return self._step(_PATH, values, part)
        return self._nearest(values, float(dt))

    def _check_limits(self) -> None:
        if self.limits.joint_names != self.robot.coordinate_names:
            raise DynError(
                f"the limits are those of {listed(self.limits.joint_names)}, but the joints of "
                f"robot '{self.robot.name}' are {listed(self.robot.coordinate_names)}"
            )

    def _step(self, kind: str, values: Array, part: float, possible: bool = True) -> FeasibleStep:
        q, qd, qdd, torques = self._slices[kind]
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
        if values.item(self._off) <= 0.0:
            return self._step(_NEAREST, values, math.nan)
        return self._within_all(values, dt)

    def _within_all(self, values: Array, dt: float) -> FeasibleStep:
        """Answer the step of the torques nearest to the wish with which all limits are kept."""
        vectors = self._search(values, self.robot.dof, dt)
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
        """Answer what computes from whatever users give as the first `count` vectors, or says why not."""

        def general(*vectors: npt.ArrayLike) -> Array:
            n = self.robot.dof
            given = [_vector(_VECTORS[k], vectors[k], n) for k in range(count)]
            return runnable.run((), *given, *(np.asarray(value) for value in vectors[count:]))

        return general

    def _refuse(self, wrenches: Mapping[str, npt.ArrayLike] | None, *vectors: npt.ArrayLike) -> None:
        for name, value in zip(_VECTORS, vectors, strict=True):
            check_vector(name, self.limits.joint_names, np.asarray(value, dtype=np.float64))
        for link, exerted in (wrenches or {}).items():
            if not is_finite(numbers := np.asarray(exerted, dtype=np.float64)):
                raise ValueError(f"wrenches['{link}']: expected finite numbers, but they are {numbers}")
        raise DynError(
            f"robot '{self.robot.name}' has no finite accelerations here: "
            "a joint moves no inertia, or the numbers are too large"
        )


def check_actuated(robot: Robot) -> None:
    """Refuse a robot with joints that follow no motion, as no actuator moves them; DynError names them."""
    passive = robot.passive_joint_names
    if not robot.dof:
        raise DynError(f"robot '{robot.name}' has no joint that moves: there is nothing to ask of it")
    refuse_moving_base(robot, "what actuators can do")
    refuse_springs(robot, "a motion that is given")
    if passive and not robot.loops:
        raise DynError(
            f"{listed(passive)} of robot '{robot.name}': passive joints follow no motion, "
            "fix them or give them actuators",
            element=f"joint '{passive[0]}'",
        )


def _packed_limits(limits: ActuatorLimits, points: int) -> Array:
    """Answer the limits as the program takes them, with `NONE` for those that there are not."""
    rows = [limits.lower, limits.upper, limits.velocity, limits.power, limits.braking_power]
    assert len(rows) == len(ROWS)
    curves = [limit.curve for limit in limits.of_joints]
    of_curves = [
        *([c.speeds[k] if k < len(c.speeds) else NONE for c in curves] for k in range(points)),
        *([c.efforts[min(k, len(c.efforts) - 1)] for c in curves] for k in range(points)),
        *([c.slopes[k] if k < len(c.slopes) else 0.0 for c in curves] for k in range(points)),
    ]
    packed_rows = np.clip(np.concatenate((*rows, *of_curves)), -NONE, NONE)
    packed_rows.flags.writeable = False
    return packed_rows


def _times(dt: float, catch_up: float | None) -> Array:
    for name, time in (("dt", dt), ("catch_up", dt if catch_up is None else catch_up)):
        if not (math.isfinite(time) and time > 0.0):
            raise ValueError(f"{name}: expected a finite time > 0, but it is {time}")
    return np.array([dt, dt if catch_up is None else catch_up], dtype=np.float64)


def _vector(name: str, value: npt.ArrayLike, n: int) -> Array:
    array = as_floats(name, value)
    if array.shape != (n,):
        raise ValueError(f"{name}: expected the shape ({n},), but it has {array.shape}")
    return array
