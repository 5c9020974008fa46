# SPDX-License-Identifier: Apache-2.0
"""A motion that shows all terms of a robot's dynamics, and stays within its limits."""

from __future__ import annotations

import numpy as np

from dyn_core.control.closed_motion import ClosedMotions, assembly, refuse
from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.joints import Joint, Sigma

HARMONICS = 4
STROKE = {Sigma.REVOLUTE: 1.0, Sigma.PRISMATIC: 0.25}
"""Longest way from the centre (rad or m)."""
SPEED = {Sigma.REVOLUTE: 3.0, Sigma.PRISMATIC: 0.5}
"""Greatest speed where the description gives none (rad/s or m/s)."""
PART_OF_RANGE = 0.45
"""Longest way from the centre, as a part of the range of the joint."""
SAMPLE_S = 0.005
"""Time between two looks at speeds and torques (s)."""
SMALLEST = 0.05
"""Least part of the motion that is still one."""
_FACTORS = np.linspace(1.0, SMALLEST, 40)


def rich_motion(
    model: Model, duration: float, *, part_of_speed: float = 0.7, part_of_effort: float = 0.7, seed: int = 0
) -> FourierMotion:
    """Answer a motion of all joints whose phases are random, about a centre near zero.

    Where a joint would be too fast its own way is made shorter; where a torque would be too large, those of
    all. With loops the centre is near the assembly, and the ways of all are made shorter until the loops
    close along them, away from singularities, with passive joints within the same part of their limits.

    Args:
        model: the robot.
        duration: from rest to rest (s).
        part_of_speed: part of the velocity limits that is used.
        part_of_effort: part of the effort limits that is used.
        seed: of the random numbers.

    Raises:
        DynError: a joint needs more than that part of its effort to stand at the centre, or loops do not let
            it move.
    """
    joints = model.robot.independent_joints
    stroke = np.array([_stroke(joint) for joint in joints])
    near = assembly(model.robot)
    centre = np.array([_centre(joint, r, x) for joint, r, x in zip(joints, stroke, near, strict=True)])
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
    raise DynError(
        f"no motion stays within {100 * part:g} % of the effort limits: joint '{joints[j].name}' needs "
        f"{beyond[j] * limits[j]:.4g} {joints[j].effort_unit} near its centre, and its limit is "
        f"{joints[j].limits.effort:g} {joints[j].effort_unit}",
        element=f"joint '{joints[j].name}'",
    )


def _stroke(joint: Joint) -> float:
    lower, upper = joint.limits.lower, joint.limits.upper
    longest = STROKE[joint.sigma]
    return longest if lower is None or upper is None else min(longest, PART_OF_RANGE * (upper - lower))


def _centre(joint: Joint, stroke: float, near: float) -> float:
    """Answer what is nearest to a position such that the joint stays within its range (rad or m)."""
    lower, upper = joint.limits.lower, joint.limits.upper
    least = -np.inf if lower is None else lower + stroke * 0.5 / PART_OF_RANGE
    most = np.inf if upper is None else upper - stroke * 0.5 / PART_OF_RANGE
    return float(min(max(near, least), max(most, least)))


def _speed(joint: Joint) -> float:
    most = SPEED[joint.sigma]
    return min(most, joint.limits.velocity) if joint.limits.velocity else most
