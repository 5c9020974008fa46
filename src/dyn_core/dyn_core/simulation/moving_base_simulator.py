# SPDX-License-Identifier: Apache-2.0
"""A robot on a free or planar base that moves as efforts and forces make it move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import compress
from numbers import Real
from operator import gt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.moving_base_unresisted import refuse_unresisted, unresisted_on_base
from dyn_core.facade.runnable import runnables
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.moving_base.argument_checks import packed_on_bodies, refuse_lengths
from dyn_core.model.moving_base.dynamics_programs import base_program, coordinate_inertia, with_base_terms
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.robot.joint_coupling import coordinate_torques, joint_rates
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import Robot
from dyn_core.simulation.base_pose import moved_pose, pose_rate
from dyn_core.simulation.joint_values import JointValues, joint_values
from dyn_core.simulation.momentum_dynamics import momentum_programs
from dyn_core.simulation.moving_base_settings import MovingBaseSettings
from dyn_core.simulation.moving_state import MovingState
from dyn_core.simulation.no_actuator import refuse_efforts


class _Inner(NamedTuple):
    """What is integrated: the momentum of the robot stands for the velocity of its base."""

    pose: Array
    P: Array
    q: Array
    qd: Array


class MovingBaseSimulator:
    """A robot whose base moves, with its present state, and what acts on it. It is for one thread.

    The Runge-Kutta method of order 4 integrates the joints, the momentum of the robot
    (`momentum_dynamics`) and the pose of its base (`base_pose`). What is refused changes nothing. Joints do
    not stop at the limits of their positions.

    Attributes:
        base: the robot as a tree on its base.
        joint_names: names of the joints, in the order of every joint vector.
        settings: how it is simulated.
    """

    def __init__(
        self,
        robot: Robot,
        base: BaseKind | None = None,
        settings: MovingBaseSettings | None = None,
        pose: npt.ArrayLike | None = None,
        V: npt.ArrayLike | None = None,
        q: JointValues | None = None,
        qd: JointValues | None = None,
    ) -> None:
        """Compile what is needed, and put the robot at its initial state at time 0, without efforts.

        Args:
            robot: the robot.
            base: ``"free"`` or ``"planar"``, as for `compile_moving_base`.
            settings: how it is simulated; by default as `MovingBaseSettings()` says.
            pose: initial pose of the base; by default at the origin of the world.
            V: initial velocity of the base; by default 0.
            q: initial positions (rad or m), in the order of the joints or by name; by default 0.
            qd: initial velocities (rad/s or m/s), likewise; by default 0.

        Raises:
            DynError: the motion of the base is given, or no inertia resists the base or a joint.
        """
        of_robot = moving_base(robot, base)
        if settings is not None and not isinstance(settings, MovingBaseSettings):
            raise ValueError(f"settings: expected MovingBaseSettings, but it is {type(settings).__name__}")
        if of_robot.kind == "given":
            raise DynError(
                f"robot '{robot.name}': a base whose motion is given is not simulated: "
                "give base='free' or 'planar'"
            )
        self.settings = settings or MovingBaseSettings()
        self.base: MovingBase = with_base_terms(of_robot, self.settings.friction, self.settings.rotor_inertia)
        self.joint_names = self.base.robot.coordinate_names
        n, k = self.base.robot.dof, self.base.freedom
        loose = unresisted_on_base(self.base, partial(coordinate_inertia, self.base))
        refuse_unresisted(self.base, "forward_dynamics", loose["forward_dynamics"])
        self._compile()
        efforts = self._limits("effort") if self.settings.effort_limits else [math.inf] * n
        actuated = [joint.mu == 1 for joint in self.base.robot.independent_joints]
        self._strengths = np.array([x if has else 0.0 for x, has in zip(efforts, actuated, strict=True)])
        self._Fs = [joint.friction.Fs for joint in self.base.robot.joints]
        self._command, self._tau, self._F = np.zeros(n), np.zeros(n), np.zeros(k)
        self._w: Array | None = None
        here = (
            np.zeros(self.base.pose_size) if pose is None else self._vector("pose", pose, self.base.pose_size)
        )
        if pose is None and self.base.kind != "planar":
            here[6] = 1.0
        self._since, self._length, self._steps = 0.0, 0.0, 0
        self._inner, self._state = self._placed(
            0.0,
            here,
            np.zeros(k) if V is None else self._vector("V", V, k),
            np.zeros(n) if q is None else self._of_joints("q", q),
            np.zeros(n) if qd is None else self._of_joints("qd", qd),
        )
        self._initial = self._state

    def _compile(self) -> None:
        programs = momentum_programs(self.base)
        programs["external_forces"] = base_program(self.base, "external_forces")
        backend = self.settings.backend
        compiled = (
            None
            if backend == "python"
            else compiled_or_none(self.base.robot, list(programs.values()), backend)
        )
        made = compiled or runnables(list(programs.values()), "python")
        self._programs = dict(zip(programs, made, strict=True))

    @property
    def state(self) -> MovingState:
        """The present time, pose, positions and velocities."""
        return self._state

    @property
    def momentum(self) -> Array:
        """Momentum of the robot, of which only what acts from outside changes anything.

        Linear (kg m/s), and angular about the centre of mass (kg m^2/s), on the axes of the world; of a
        planar base those along x and y and about the normal of its plane.
        """
        return np.array(self._inner.P)

    @property
    def acceleration(self) -> Array:
        """Accelerations of the joints that present efforts and forces give (rad/s^2 or m/s^2)."""
        k = self.base.freedom
        return np.array(self._rates(self._inner)[k:-k])

    @property
    def command(self) -> Array:
        """Efforts that were asked for (N m or N)."""
        return np.array(self._command)

    @property
    def effort(self) -> Array:
        """Efforts that the actuators exert (N m or N): 0 for passive joints, within limits for others."""
        return np.array(self._tau)

    @property
    def too_fast(self) -> tuple[str, ...]:
        """Names of the joints that are faster now than their limit, which nothing enforces."""
        limits = self._limits("velocity")
        return tuple(compress(self.joint_names, map(gt, map(abs, self._state.qd.tolist()), limits)))

    @property
    def at_effort_limit(self) -> tuple[str, ...]:
        """Names of the joints whose effort was cut at their limit, which is 0 for passive joints."""
        cut = map(gt, map(abs, self._command.tolist()), self._strengths.tolist())
        return tuple(compress(self.joint_names, cut))

    @property
    def beyond_limits(self) -> tuple[str, ...]:
        """Names of the joints that are beyond a limit of their positions now, which nothing enforces."""
        limits = [joint.limits for joint in self.base.robot.independent_joints]
        return tuple(
            name
            for name, limit, q in zip(self.joint_names, limits, self._state.q.tolist(), strict=True)
            if (limit.lower is not None and q < limit.lower) or (limit.upper is not None and q > limit.upper)
        )

    def set_effort(self, effort: JointValues) -> None:
        """Replace the efforts of the actuators (N m or N), until they are replaced again.

        They are cut at their limits, where the settings say so; for passive joints there is 0.

        Args:
            effort: in the order of the joints, or by name, 0 for the others.

        Raises:
            ValueError: the number of efforts is not that of the joints, or one is not finite.
            DynError: there is no such joint, or a passive joint has an effort.
        """
        command = self._of_joints("effort", effort)
        refuse_efforts(self.base.robot, command.tolist())
        self._tau = np.clip(command, -self._strengths, self._strengths)
        self._command = command

    def set_force(self, F: npt.ArrayLike) -> None:
        """Replace the forces on the base, on its axes (N, N m), until they are replaced again."""
        self._F = self._vector("F", F, self.base.freedom)

    def set_wrenches(self, wrenches: Mapping[str, npt.ArrayLike]) -> None:
        """Replace the wrenches that the environment exerts **on** links, until they are replaced again.

        Note the sign: those of `MovingBaseModel` are exerted by the links on the environment.

        Args:
            wrenches: by link, ``[force; moment]`` (N, N m) on the link, on the axes of its frame and
                about its origin, with which they move; none for other links.
        """
        if not isinstance(wrenches, Mapping):
            raise ValueError(
                f"wrenches: expected a mapping from names of links, but it is {type(wrenches).__name__}"
            )
        for link, value in wrenches.items():
            self._vector(f"wrenches['{link}']", value, 6)
        by_links = {link: -as_floats("wrenches", value) for link, value in wrenches.items()}
        self._w = packed_on_bodies(self.base, by_links, ()) if by_links else None

    def set_state(self, pose: npt.ArrayLike, V: npt.ArrayLike, q: JointValues, qd: JointValues) -> None:
        """Put base and joints at a state, at the present time."""
        k = self.base.freedom
        self._put(
            self._state.time,
            self._vector("pose", pose, self.base.pose_size),
            self._vector("V", V, k),
            self._of_joints("q", q),
            self._of_joints("qd", qd),
        )

    def reset(self) -> None:
        """Go back to the initial state at time 0, without efforts, forces and wrenches."""
        self._command, self._tau = np.zeros_like(self._tau), np.zeros_like(self._tau)
        self._F, self._w = np.zeros_like(self._F), None
        s = self._initial
        self._put(s.time, s.pose.copy(), s.V.copy(), s.q.copy(), s.qd.copy())

    def step(self, duration: float | None = None) -> MovingState:
        """Advance by a duration (s), by default that of the settings, and answer the new state.

        Efforts, forces and wrenches stay as they are meanwhile.

        Raises:
            ValueError: the duration is not a finite number > 0.
            DynError: the simulation diverges; the state stays.
        """
        length = self.settings.step if duration is None else duration
        if not isinstance(length, Real) or not 0.0 < length < math.inf:
            raise ValueError(f"duration: expected a finite number of seconds > 0, but it is {length!r}")
        if not self._state.time + length > self._state.time:
            raise ValueError(f"duration: {length:g} s after {self._state.time:g} s are no time at all")
        inner, h = self._inner, length / self.settings.substeps
        for _ in range(self.settings.substeps):
            inner = self._runge_kutta(inner, h)
        self._refuse_divergence(inner, self._state.time)
        # Multiples instead of sums, for times not to drift.
        if length != self._length:
            self._since, self._length, self._steps = self._state.time, length, 0
        self._steps += 1
        time = self._since + self._steps * length
        V = self._programs["base_velocity"].run((), *inner)
        self._inner = inner
        self._state = MovingState(time, inner.pose.copy(), V, inner.q.copy(), inner.qd.copy())
        return self._state

    def _runge_kutta(self, start: _Inner, h: float) -> _Inner:
        k, n = self.base.freedom, len(start.q)
        none = [0.0] * k
        shift: list[float] = none
        sums = [np.zeros(k), np.zeros(k), np.zeros(n), np.zeros(n)]
        at = start
        for part, weight in ((0.5, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0)):
            rates = self._rates(at)
            move = np.array(pose_rate(at.pose, shift, rates[:k].tolist()))
            slopes = (move, rates[k + n :], at.qd, rates[k : k + n])
            for total, slope in zip(sums, slopes, strict=True):
                total += weight * slope
            if part:
                shift = (part * h * move).tolist()
                at = _Inner(
                    moved_pose(start.pose, shift),
                    start.P + part * h * slopes[1],
                    start.q + part * h * slopes[2],
                    start.qd + part * h * slopes[3],
                )
        sixth = h / 6.0
        return _Inner(
            moved_pose(start.pose, (sixth * sums[0]).tolist()),
            start.P + sixth * sums[1],
            start.q + sixth * sums[2],
            start.qd + sixth * sums[3],
        )

    def _rates(self, at: _Inner) -> Array:
        """Velocity of the base, accelerations of the joints, rate of the momentum."""
        k = self.base.freedom
        tau, F = self._tau, self._F
        if any(self._Fs):
            tau = tau - self._coulomb(at.qd)
        if self._w is not None:
            needed = self._programs["external_forces"].run((), at.q, self._w)
            F, tau = F - needed[:k], tau - needed[k:]
        return self._programs["momentum_dynamics"].run((), at.pose, at.P, at.q, at.qd, tau, F)

    def _coulomb(self, qd: Array) -> Array:
        """Coulomb friction of all joints of the tree, on the coordinates (N m or N)."""
        robot, slip = self.base.robot, self.settings.slip_speed
        rates = joint_rates(robot, qd.tolist())
        rubbing = [Fs * math.tanh(rate / slip) for Fs, rate in zip(self._Fs, rates, strict=True)]
        return np.array(coordinate_torques(robot, rubbing))

    def _put(self, time: float, pose: Array, V: Array, q: Array, qd: Array) -> None:
        self._inner, self._state = self._placed(time, pose, V, q, qd)
        self._since, self._length, self._steps = time, 0.0, 0

    def _placed(self, time: float, pose: Array, V: Array, q: Array, qd: Array) -> tuple[_Inner, MovingState]:
        """Answer what is integrated, and what users see, of a state."""
        if self.base.kind != "planar":
            refuse_lengths(pose)
            pose[3:] /= np.linalg.norm(pose[3:])
        P = self._programs["base_momentum"].run((), pose, V, q, qd)
        inner = _Inner(pose, P, q, qd)
        self._refuse_divergence(inner, time)
        return inner, MovingState(time, pose.copy(), V.copy(), q.copy(), qd.copy())

    def _refuse_divergence(self, inner: _Inner, time: float) -> None:
        fastest = max(map(abs, inner.qd.tolist()), default=0.0)
        finite = all(np.isfinite(part).all() for part in inner)
        if not finite or fastest > self.settings.greatest_speed:
            raise DynError(
                f"the simulation of robot '{self.base.robot.name}' diverges near {time:g} s: "
                "take shorter steps, or look for efforts, stiffness or friction that are too great"
            )

    def _vector(self, name: str, values: npt.ArrayLike, size: int) -> Array:
        array = np.array(as_floats(name, values))
        if array.shape != (size,):
            raise ValueError(f"{name}: expected the shape ({size},), but it has {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: expected finite numbers, but it is {array.tolist()}")
        return array

    def _of_joints(self, name: str, values: JointValues) -> Array:
        return np.array(joint_values(name, values, self.base.robot.name, self.joint_names))

    def _limits(self, kind: str) -> list[float]:
        values = [getattr(joint.limits, kind) for joint in self.base.robot.independent_joints]
        return [math.inf if value is None else value for value in values]
