# SPDX-License-Identifier: Apache-2.0
"""Simulate a robot on a free or planar base under efforts and forces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from numbers import Real
from operator import gt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.builder import runnable_programs
from dyn_core.model.moving_base.argument_checks import (
    packed_on_bodies,
    refuse_lengths,
    refuse_unresisted,
    unresisted_on_base,
)
from dyn_core.model.moving_base.dynamics_programs import base_program, coordinate_inertia, with_base_terms
from dyn_core.robot.joint_coupling import coordinate_torques, joint_rates
from dyn_core.robot.joints import position_range
from dyn_core.robot.moving_base import MovingBase, moving_base
from dyn_core.robot.robot import BaseKind, Robot
from dyn_core.simulation.momentum_dynamics import momentum_programs
from dyn_core.simulation.simulated_state import (
    JointValues,
    MovingBaseSettings,
    MovingState,
    joint_values,
    refuse_efforts,
)
from dyn_core.symbolic import vec3
from dyn_core.symbolic.transform import Quaternion, product, turned
from dyn_core.symbolic.vec3 import Vec3

# Integration of poses on SO(3)

SMALL = 1e-2  # Angle (rad) below which the sine is computed by its series, whose next term is below rounding


def exponential(u: Vec3) -> Quaternion:
    """Rotation by the angle |u| (rad) about u; NaN if that is not finite."""
    half = 0.5 * math.sqrt(vec3.dot(u, u))
    if not half < math.inf:
        return (math.nan,) * 4
    square = half * half
    ratio = (
        0.5 * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)))
        if half < SMALL
        else 0.5 * math.sin(half) / half
    )
    return (ratio * u[0], ratio * u[1], ratio * u[2], math.cos(half))


def chart_rate(u: Vec3, w: Vec3) -> Vec3:
    """Rate of u at the angular velocity w (rad/s) on the axes of the turned body."""
    uw = vec3.cross(u, w)
    return vec3.add(w, vec3.add(vec3.scale(0.5, uw), vec3.scale(1.0 / 12.0, vec3.cross(u, uw))))


def moved_pose(pose: Array, shift: Sequence[float]) -> Array:
    """Return a pose after a displacement in the world (m) and a rotation u (rad), (6,) or (3,).

    In a plane, u is the change of the angle.
    """
    if len(pose) == 3:
        return pose + shift
    x, y, z, w = pose[3:].tolist()
    turn = product((x, y, z, w), exponential((shift[3], shift[4], shift[5])))
    length = math.sqrt(sum(a * a for a in turn))
    return np.array([*(pose[:3] + shift[:3]).tolist(), *(a / length for a in turn)])


def pose_rate(pose: Array, shift: Sequence[float], V: Sequence[float]) -> list[float]:
    """Rate of the displacement and rotation from an earlier pose, at the velocity V of the base on its axes.

    `shift` is this displacement and rotation, which is ignored in a plane; V is (6,), or (3,) in a plane
    (m/s, rad/s).
    """
    if len(pose) == 3:
        angle = pose[2] if math.isfinite(pose[2]) else math.nan
        c, s = math.cos(angle), math.sin(angle)
        return [c * V[0] - s * V[1], s * V[0] + c * V[1], V[2]]
    x, y, z, w = pose[3:].tolist()
    linear = turned((x, y, z, w), (V[0], V[1], V[2]))
    return [*linear, *chart_rate((shift[3], shift[4], shift[5]), (V[3], V[4], V[5]))]


# Simulator


class _IntegratedState(NamedTuple):
    """The integrated state, with the momentum of the robot instead of the velocity of its base."""

    pose: Array
    P: Array
    q: Array
    qd: Array


class MovingBaseSimulator:
    """A simulated robot on a moving base with its current state and loads. It is for one thread.

    The Runge-Kutta method of order 4 integrates the joints, the momentum of the robot (`momentum_dynamics`)
    and the pose of its base. The rotation during a step is ``R exp(u)``. The vector u begins at 0 and changes
    at the rate ``w + u x w / 2 + u x (u x w) / 12`` (Munthe-Kaas), with w the angular velocity on the axes of
    the base. The quaternion is normalised after each step. A call that raises an error changes nothing.
    Joints do not stop at their position limits.

    `base` is the robot as a tree on its base, `joint_names` the order of every joint vector.
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
        """Compile the programs, and set the robot to its initial state at time 0, without efforts.

        Raise DynError if the motion of the base is given, or no inertia resists the base or a joint.

        Args:
            base: ``"free"`` or ``"planar"``, as for `compile_moving_base`.
            settings: settings of the simulation; by default `MovingBaseSettings()`.
            pose: initial pose of the base; by default at the origin of the world.
            V: initial velocity of the base; by default 0.
            q: initial positions (rad or m), in the order of the joints or by name; by default 0.
            qd: initial velocities (rad/s or m/s), likewise; by default 0.
        """
        of_robot = moving_base(robot, base)
        if settings is not None and not isinstance(settings, MovingBaseSettings):
            given, expected = type(settings).__name__, "MovingBaseSettings"
            raise ArgumentError("argument-type", argument="settings", expected=expected, given=given)
        if of_robot.kind == "given":
            raise DynError("base-given-not-simulated", robot=robot.name, expected="base='free' or 'planar'")
        self.settings = settings or MovingBaseSettings()
        self.base: MovingBase = with_base_terms(of_robot, self.settings.friction, self.settings.rotor_inertia)
        self.joint_names = self.base.robot.coordinate_names
        n, k = self.base.robot.dof, self.base.freedom
        loose = unresisted_on_base(self.base, partial(coordinate_inertia, self.base))
        refuse_unresisted(self.base, "forward_dynamics", loose["forward_dynamics"])
        programs = momentum_programs(self.base)
        programs["external_forces"] = base_program(self.base, "external_forces")
        runnables = runnable_programs(self.base.robot, list(programs.values()), self.settings.backend)
        self._programs = dict(zip(programs, runnables, strict=True))
        efforts = self._limits("effort") if self.settings.effort_limits else [math.inf] * n
        actuated = [joint.mu == 1 for joint in self.base.robot.independent_joints]
        self._strengths = np.array([x if has else 0.0 for x, has in zip(efforts, actuated, strict=True)])
        self._Fs = [joint.friction.Fs for joint in self.base.robot.joints]
        self._command, self._tau, self._F = np.zeros(n), np.zeros(n), np.zeros(k)
        self._w: Array | None = None
        size = self.base.pose_size
        origin = np.eye(size)[-1] if self.base.kind != "planar" else np.zeros(size)
        self._since, self._length, self._steps = 0.0, 0.0, 0
        self._inner, self._state = self._placed(
            0.0,
            origin if pose is None else self._vector("pose", pose, size),
            np.zeros(k) if V is None else self._vector("V", V, k),
            np.zeros(n) if q is None else self._of_joints("q", q),
            np.zeros(n) if qd is None else self._of_joints("qd", qd),
        )
        self._initial = self._state

    @property
    def state(self) -> MovingState:
        """The current time, pose, positions and velocities."""
        return self._state

    @property
    def momentum(self) -> Array:
        """Momentum of the robot, which only external forces change.

        Linear (kg m/s), and angular about the centre of mass (kg m^2/s), on the axes of the world; for a
        planar base along x and y and about the normal of its plane.
        """
        return np.array(self._inner.P)

    @property
    def acceleration(self) -> Array:
        """Accelerations of the joints under the current efforts and forces (rad/s^2 or m/s^2)."""
        k = self.base.freedom
        return np.array(self._rates(self._inner)[k:-k])

    @property
    def command(self) -> Array:
        """Requested efforts (N m or N)."""
        return np.array(self._command)

    @property
    def effort(self) -> Array:
        """Efforts of the actuators (N m or N) within their limits; 0 for passive joints."""
        return np.array(self._tau)

    @property
    def too_fast(self) -> tuple[str, ...]:
        """Names of the joints that exceed their velocity limit, which is not enforced."""
        limits = self._limits("velocity")
        return tuple(compress(self.joint_names, map(gt, map(abs, self._state.qd.tolist()), limits)))

    @property
    def at_effort_limit(self) -> tuple[str, ...]:
        """Names of the joints whose requested effort exceeds their limit, which is 0 for passive joints."""
        cut = map(gt, map(abs, self._command.tolist()), self._strengths.tolist())
        return tuple(compress(self.joint_names, cut))

    @property
    def beyond_limits(self) -> tuple[str, ...]:
        """Names of the joints that are beyond a position limit, which is not enforced."""
        ranges = [position_range(joint.limits) for joint in self.base.robot.independent_joints]
        values = zip(self.joint_names, ranges, self._state.q.tolist(), strict=True)
        return tuple(name for name, (lower, upper), q in values if q < lower or q > upper)

    def set_effort(self, effort: JointValues) -> None:
        """Set the efforts of the actuators (N m or N) until the next call.

        They are limited if the settings say so. The efforts of passive joints must be 0. Raise ValueError if
        the number of efforts is not that of the joints, or one is not finite. Raise DynError if there is no
        such joint, or a passive joint has an effort.

        Args:
            effort: efforts in the order of the joints, or by name, 0 for the others.
        """
        command = self._of_joints("effort", effort)
        refuse_efforts(self.base.robot, command.tolist())
        self._tau = np.clip(command, -self._strengths, self._strengths)
        self._command = command

    def set_force(self, F: npt.ArrayLike) -> None:
        """Set the forces on the base, on its axes (N, N m), until the next call."""
        self._F = self._vector("F", F, self.base.freedom)

    def set_wrenches(self, wrenches: Mapping[str, npt.ArrayLike]) -> None:
        """Set the wrenches that the environment exerts **on** links until the next call.

        Note the sign: the wrenches of `MovingBaseModel` are exerted by the links on the environment.

        Args:
            wrenches: ``[force; moment]`` (N, N m) on each link by name, on the axes of its frame and about
                its origin. They move with the frame. Links that are not named have no wrench.
        """
        if not isinstance(wrenches, Mapping):
            expected, given = "a mapping from names of links", type(wrenches).__name__
            raise ArgumentError("argument-type", argument="wrenches", expected=expected, given=given)
        for link, value in wrenches.items():
            self._vector(f"wrenches['{link}']", value, 6)
        by_links = {link: -as_floats("wrenches", value) for link, value in wrenches.items()}
        self._w = packed_on_bodies(self.base, by_links, ()) if by_links else None

    def set_state(self, pose: npt.ArrayLike, V: npt.ArrayLike, q: JointValues, qd: JointValues) -> None:
        """Set the state of base and joints at the current time."""
        k = self.base.freedom
        self._put(
            self._state.time,
            self._vector("pose", pose, self.base.pose_size),
            self._vector("V", V, k),
            self._of_joints("q", q),
            self._of_joints("qd", qd),
        )

    def reset(self) -> None:
        """Return to the initial state at time 0, without efforts, forces and wrenches."""
        self._command, self._tau = np.zeros_like(self._tau), np.zeros_like(self._tau)
        self._F, self._w = np.zeros_like(self._F), None
        s = self._initial
        self._put(s.time, s.pose.copy(), s.V.copy(), s.q.copy(), s.qd.copy())

    def step(self, duration: float | None = None) -> MovingState:
        """Advance by a duration (s), by default the step of the settings, and return the new state.

        Efforts, forces and wrenches are constant during the step. Raise ValueError if the duration is not a
        finite number > 0. Raise DynError if the simulation diverges; the state is unchanged.
        """
        length = self.settings.step if duration is None else duration
        if not isinstance(length, Real) or not 0.0 < length < math.inf:
            raise ArgumentError(
                "argument-range", argument="duration", expected="a finite number of seconds > 0", given=length
            )
        if not self._state.time + length > self._state.time:
            raise ArgumentError("duration-below-resolution", duration=length, time=self._state.time)
        inner, h = self._inner, length / self.settings.substeps
        for _ in range(self.settings.substeps):
            inner = self._runge_kutta(inner, h)
        self._refuse_divergence(inner, self._state.time)
        # Multiples of the step instead of sums, so that times do not drift.
        if length != self._length:
            self._since, self._length, self._steps = self._state.time, length, 0
        self._steps += 1
        time = self._since + self._steps * length
        V = self._programs["base_velocity"].run((), *inner)
        self._inner = inner
        self._state = MovingState(time, inner.pose.copy(), V, inner.q.copy(), inner.qd.copy())
        return self._state

    def _runge_kutta(self, start: _IntegratedState, h: float) -> _IntegratedState:
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
                at = _IntegratedState(
                    moved_pose(start.pose, shift),
                    start.P + part * h * slopes[1],
                    start.q + part * h * slopes[2],
                    start.qd + part * h * slopes[3],
                )
        sixth = h / 6.0
        return _IntegratedState(
            moved_pose(start.pose, (sixth * sums[0]).tolist()),
            start.P + sixth * sums[1],
            start.q + sixth * sums[2],
            start.qd + sixth * sums[3],
        )

    def _rates(self, at: _IntegratedState) -> Array:
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
        """Torques of the coordinates due to Coulomb friction of all joints of the tree (N m or N)."""
        robot, slip = self.base.robot, self.settings.slip_speed
        rates = joint_rates(robot, qd.tolist())
        rubbing = [Fs * math.tanh(rate / slip) for Fs, rate in zip(self._Fs, rates, strict=True)]
        return np.array(coordinate_torques(robot, rubbing))

    def _put(self, time: float, pose: Array, V: Array, q: Array, qd: Array) -> None:
        self._inner, self._state = self._placed(time, pose, V, q, qd)
        self._since, self._length, self._steps = time, 0.0, 0

    def _placed(
        self, time: float, pose: Array, V: Array, q: Array, qd: Array
    ) -> tuple[_IntegratedState, MovingState]:
        """Return the integrated state and the public state."""
        if self.base.kind != "planar":
            refuse_lengths(pose)
            pose[3:] /= np.linalg.norm(pose[3:])
        P = self._programs["base_momentum"].run((), pose, V, q, qd)
        inner = _IntegratedState(pose, P, q, qd)
        self._refuse_divergence(inner, time)
        return inner, MovingState(time, pose.copy(), V.copy(), q.copy(), qd.copy())

    def _refuse_divergence(self, inner: _IntegratedState, time: float) -> None:
        fastest = max(map(abs, inner.qd.tolist()), default=0.0)
        finite = all(np.isfinite(part).all() for part in inner)
        if not finite or fastest > self.settings.greatest_speed:
            raise DynError("moving-base-simulation-diverged", robot=self.base.robot.name, time=time)

    def _vector(self, name: str, values: npt.ArrayLike, size: int) -> Array:
        array = np.array(as_floats(name, values))
        if array.shape != (size,):
            raise ArgumentError("argument-shape", argument=name, expected=(size,), given=array.shape)
        if not np.isfinite(array).all():
            raise ArgumentError("argument-not-finite", argument=name, given=array.tolist())
        return array

    def _of_joints(self, name: str, values: JointValues) -> Array:
        return np.array(joint_values(name, values, self.base.robot.name, self.joint_names))

    def _limits(self, kind: str) -> list[float]:
        values = [getattr(joint.limits, kind) for joint in self.base.robot.independent_joints]
        return [math.inf if value is None else value for value in values]
