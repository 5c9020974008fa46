# SPDX-License-Identifier: Apache-2.0
"""Fourier motions that begin and end at rest.

`FourierMotion` is the series. `rich_motion` chooses centre and amplitudes so that the motion excites all
terms of the dynamics within the limits, with loops closed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, at_joint
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.joints import Joint, Sigma, position_range
from dyn_core.robot.robot import Robot

FADE = 0.2  # Fraction of the motion in which it starts from rest, and in which it returns to rest


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """The motion of n joints in K harmonics, as a Fourier series that begins and ends at rest.

        q(t) = rest + w(t) (centre - rest + sum over k of amplitudes_k sin(2 pi k t / period + phases_k))

    w changes from 0 to 1 in the first part of the motion and back in the last, by `smooth_step`. Positions,
    velocities and accelerations are continuous everywhere. If the series and `rest` are within a range of
    positions, so is the whole motion.

    Attributes:
        duration: time from rest to rest (s).
        centre: mean position of the series (rad or m), (n,).
        amplitudes: amplitudes of the harmonics (rad or m), (K, n).
        phases: phases of the harmonics (rad), (K, n).
        rest: position before and after the motion (rad or m), (n,); None for the centre.
        period: period of the first harmonic (s); None for the duration.
        fade: duration of the start from rest, and of the return to rest (s), at most half of the duration;
            None for `FADE` times the duration.
    """

    duration: float
    centre: Array
    amplitudes: Array
    phases: Array
    rest: Array | None = None
    period: float | None = None
    fade: float | None = None

    def scaled(self, factors: npt.ArrayLike) -> FourierMotion:
        """Return the motion with amplitudes multiplied by one factor, or by one for each joint."""
        return replace(self, amplitudes=self.amplitudes * np.asarray(factors, dtype=np.float64))

    def at(self, t: float) -> Motion:
        """Return the motion at time t after its start (s), as vectors (n,)."""
        q, qd, qdd = self.at_many(np.array([t]))
        return Motion(q[0], qd[0], qdd[0])

    def at_many(self, t: Array) -> Motion:
        """Return the motion at N times after its start (s), (N,), as matrices (N, n)."""
        order = np.arange(1, len(self.amplitudes) + 1)[:, None]
        w = 2.0 * math.pi / (self.duration if self.period is None else self.period) * order
        angle = w * np.asarray(t)[:, None, None] + self.phases
        sine, cosine = np.sin(angle), np.cos(angle)
        s = (self.amplitudes * sine).sum(1)
        sd = (self.amplitudes * w * cosine).sum(1)
        sdd = (-self.amplitudes * w * w * sine).sum(1)
        f, fd, fdd = (x[:, None] for x in self._window(np.asarray(t)))
        rest = self.centre if self.rest is None else self.rest
        s = s + (self.centre - rest)
        return Motion(rest + f * s, fd * s + f * sd, fdd * s + 2.0 * fd * sd + f * sdd)

    def _window(self, t: Array) -> tuple[Array, Array, Array]:
        """Return w and its derivatives (1/s, 1/s^2), each (N,)."""
        fade = FADE * self.duration if self.fade is None else self.fade
        up = t < 0.5 * self.duration
        u = np.clip(np.where(up, t, self.duration - t) / fade, 0.0, 1.0)
        sign = np.where(up, 1.0, -1.0)
        w = u**3 * (10.0 + u * (6.0 * u - 15.0))
        wd = sign * 30.0 * (u * (1.0 - u)) ** 2 / fade
        wdd = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / fade**2
        return w, wd, wdd


CONDITION = ConditionLimits(greatest=100.0)
"""Largest condition number of a motion, equal to the limit at which nodes warn."""


def assembly(robot: Robot) -> Array:
    """Return the positions of the coordinates (rad or m), (n,), in the assembly; 0 without loops."""
    if not robot.loops:
        return np.zeros(robot.dof)
    at = dict(zip(robot.independent, structure(robot).reference, strict=True))
    return np.array([at[j] for j in robot.coordinates])


class ClosedMotions:
    """Check that motions keep loops closed and passive joints within fractions of their limits.

    Ranges are reduced about their middle. Motions of robots without loops always pass.
    """

    def __init__(self, model: Model, *, part_of_range: float, part_of_speed: float) -> None:
        """Compile the constraints of the loops."""
        self._model = model
        self._guard = LoopGuard(model.robot, CONDITION)
        joints = [model.robot.joint(name) for name in model.passive_joint_names]
        ranges = np.array([position_range(joint.limits) for joint in joints]).reshape(-1, 2)
        self._lower, self._upper = ranges.T
        margin = 0.5 * (1.0 - part_of_range) * np.nan_to_num(self._upper - self._lower, posinf=0.0)
        self._lower, self._upper = self._lower + margin, self._upper - margin
        self._speed = part_of_speed * np.array([joint.limits.velocity or np.inf for joint in joints])

    def problem(self, motion: FourierMotion, t: Array) -> str | None:
        """Return why a motion is not possible, from its samples at N times (s); None if it is possible."""
        if not self._model.robot.loops:
            return None
        q, qd, _ = motion.at_many(t)
        found = self._guard.first_refused(np.ascontiguousarray(q))
        if found is not None:
            return found[1]
        passive, speed = self._model.solve_loops(q, qd)
        for values, lower, upper, what, per in (
            (passive, self._lower, self._upper, "at", ""),
            (speed, -self._speed, self._speed, "as fast as", "/s"),
        ):
            sample, k = np.unravel_index(
                int(np.maximum(lower - values, values - upper).argmax()), values.shape
            )
            if not lower[k] <= values[sample, k] <= upper[k]:
                joint = self._model.robot.joint(self._model.passive_joint_names[k])
                unit = f"{joint.position_unit}{per}"
                return (
                    f"passive joint '{joint.name}' would be {what} {values[sample, k]:.4g} {unit}, and "
                    f"{lower[k]:.4g} to {upper[k]:.4g} {unit} are used"
                )
        return None


def refuse(model: Model, why: str) -> DynError:
    """Return the error for a robot without a possible motion about its centre."""
    return DynError(
        "loops-open-near-assembly",
        robot=model.robot.name,
        cause=why,
        element=f"loop '{model.robot.loops[0].name}'",
    )


HARMONICS = 4
STROKE = {Sigma.REVOLUTE: 1.0, Sigma.PRISMATIC: 0.25}  # Largest displacement from the centre (rad or m)
SPEED = {Sigma.REVOLUTE: 3.0, Sigma.PRISMATIC: 0.5}
"""Greatest speed if the description has no limit (rad/s or m/s)."""
PART_OF_RANGE = 0.45  # Largest displacement from the centre as a fraction of the range of the joint
SAMPLE_S = 0.005  # Time between samples of speeds and torques (s)
SMALLEST = 0.05  # Smallest factor of the amplitudes that is tried
EASY = 0.5  # Part of the usable effort that gravity may take at the centre, if it takes less elsewhere
_CENTRES = 200  # Number of other centres
_FACTORS = np.linspace(1.0, SMALLEST, 40)


def rich_motion(
    model: Model, duration: float, *, part_of_speed: float = 0.7, part_of_effort: float = 0.7, seed: int = 0
) -> FourierMotion:
    """Return a motion of all joints with random phases about a centre near zero, to excite all terms.

    If a joint is too fast, its amplitudes are reduced; if a torque is too large, those of all joints are.
    Where gravity leaves little for the motion there, the centre is elsewhere in the ranges: the nearest of
    some random positions with half of the efforts left. With loops, the centre is near the assembly, and all
    amplitudes are reduced until the loops close along the motion, away from singularities, with passive
    joints within the same fraction of their limits. Raise DynError if a joint needs more than this fraction
    of its effort to hold the centre, or the loops prevent a motion.

    Args:
        duration: duration from rest to rest (s).
        part_of_speed: fraction of the velocity limits that is used.
        part_of_effort: fraction of the effort limits that is used.
        seed: seed of the random numbers.
    """
    joints = model.robot.independent_joints
    stroke = np.array([_stroke(joint) for joint in joints])
    near = assembly(model.robot)
    centre = _held_easily(model, stroke, near, part_of_effort)
    random = np.random.default_rng(seed)
    shape = (HARMONICS, len(joints))
    amplitudes = random.uniform(0.5, 1.0, shape) / np.arange(1.0, HARMONICS + 1.0)[:, None]
    motion = FourierMotion(duration, centre, amplitudes, random.uniform(0.0, 2.0 * np.pi, shape))
    t = np.arange(0.0, duration, SAMPLE_S)
    motion = motion.scaled(stroke / np.abs(motion.at_many(t).q - centre).max(0))
    fastest = np.abs(motion.at_many(t).qd).max(0)
    motion = motion.scaled(np.minimum(1.0, part_of_speed * np.array([_speed(j) for j in joints]) / fastest))
    closed = ClosedMotions(model, part_of_range=2.0 * PART_OF_RANGE, part_of_speed=part_of_speed)
    return _within_efforts(model, _within_loops(model, motion, t, closed), t, part_of_effort)


def _held_easily(model: Model, stroke: Array, near: Array, part: float) -> Array:
    """Return the centre near a position where the joints need little effort to stand (rad or m), (n,)."""
    joints = model.robot.independent_joints

    def centre(position: Array) -> list[float]:
        return [_centre(joint, r, x) for joint, r, x in zip(joints, stroke, position.tolist(), strict=True)]

    limits = part * np.array([joint.limits.effort or np.inf for joint in joints])
    first = np.array(centre(near))
    if model.robot.loops:
        return first
    away = np.random.default_rng(0).uniform(-np.pi, np.pi, (_CENTRES, len(joints)))
    away[:, [joint.sigma == Sigma.PRISMATIC for joint in joints]] /= np.pi
    tried = np.vstack((first, [centre(position) for position in near + away]))
    load = (np.abs(model.gravity_torques(tried)) / limits).max(1)
    if load[0] <= EASY:
        return first
    distance = np.linalg.norm(tried - first, axis=1)
    easy = load <= EASY
    return np.array(tried[np.where(easy, distance, np.inf).argmin() if easy.any() else load.argmin()])


def _within_loops(model: Model, motion: FourierMotion, t: Array, closed: ClosedMotions) -> FourierMotion:
    why: str | None = None
    for factor in _FACTORS:
        scaled = motion.scaled(factor)
        why = closed.problem(scaled, t)
        if why is None:
            return scaled
    assert why is not None, "there are factors"
    raise refuse(model, why)


def _within_efforts(model: Model, motion: FourierMotion, t: Array, part: float) -> FourierMotion:
    joints = model.robot.independent_joints
    limits = np.array([joint.limits.effort or np.inf for joint in joints]) * part
    for factor in _FACTORS:
        scaled = motion.scaled(factor)
        if (np.abs(model.inverse_dynamics(*scaled.at_many(t))).max(0) <= limits).all():
            return scaled
    beyond = np.abs(model.inverse_dynamics(*motion.scaled(SMALLEST).at_many(t))).max(0) / limits
    j = int(np.argmax(beyond))
    joint = joints[j]
    needed, limit = beyond[j] * limits[j], joint.limits.effort
    raise at_joint(
        joint.name,
        "effort-limits-too-low",
        part=100 * part,
        needed=needed,
        unit=joint.effort_unit,
        limit=limit,
    )


def _stroke(joint: Joint) -> float:
    lower, upper = joint.limits.lower, joint.limits.upper
    longest = STROKE[joint.sigma]
    return longest if lower is None or upper is None else min(longest, PART_OF_RANGE * (upper - lower))


def _centre(joint: Joint, stroke: float, near: float) -> float:
    """Return the centre nearest to a position for which the joint stays within its range (rad or m)."""
    lower, upper = position_range(joint.limits)
    margin = stroke * 0.5 / PART_OF_RANGE
    return float(min(max(near, lower + margin), max(upper - margin, lower + margin)))


def _speed(joint: Joint) -> float:
    most = SPEED[joint.sigma]
    return min(most, joint.limits.velocity) if joint.limits.velocity else most
