# SPDX-License-Identifier: Apache-2.0
"""Limits of an exciting trajectory: of the joints, of loops, and the torques that a motion needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.excitation.excitation_settings import CoordinateBox, ExcitationSettings
from dyn_core.model.fixed_base.closed_loops import passive_positions, passive_program, passive_velocities
from dyn_core.model.fixed_base.compiled_model import Model, compile_model, run_by
from dyn_core.model.fixed_base.dynamics_programs import traced, with_passive_friction
from dyn_core.robot.joint_coupling import followers, range_of_leader, speed_of_leader
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot

Function: TypeAlias = Callable[[Array, Array, Array], Array]
"""Function of positions, velocities and accelerations (N, n)."""

RANGE = {Sigma.REVOLUTE: math.pi, Sigma.PRISMATIC: 0.25}
"""Range to either side of 0 where none is given: half a turn shows all positions of the joint (rad); a
quarter of a metre is common for small axes (m)."""
SPEED = {Sigma.REVOLUTE: 1.0, Sigma.PRISMATIC: 0.25}
"""Greatest speed where none is given: 250 mm/s is the reduced speed of ISO 10218-1, and 1 rad/s gives that at
a quarter of a metre from the axis (rad/s or m/s)."""
TIME_TO_SPEED = 0.5
"""Time to the greatest speed where no acceleration is given (s): servo drives of arms need 0.1 to 0.3 s."""
UNLIMITED = 1000.0
"""A limit above this counts as no limit (rad, m, or these per s)."""
MOST_CONDITION = 100.0
"""Greatest condition number of the constraints (see `Model.loop_condition`): passive joints are then at most
a hundred times as sensitive in one direction as in another."""

_PARTS = 24
"""Steps from the assembly to the end of a range, in which a side of the box grows."""
_SAMPLES = 96
_CORNERS = 32
_STRIDE = 8
"""The condition number is computed at one of so many samples of a motion."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits in the order of the joints, (n,) each.

    Attributes:
        joint_names: names of the joints.
        position_units: rad or m.
        effort_units: N m or N.
        lower: least positions (rad or m).
        upper: greatest positions (rad or m).
        velocity: greatest speeds (rad/s or m/s).
        acceleration: greatest accelerations (rad/s^2 or m/s^2).
        effort: greatest torques or forces (N m or N); infinite where there is no limit.
        notes: assumptions that were made.
    """

    joint_names: tuple[str, ...]
    position_units: tuple[str, ...]
    effort_units: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    notes: tuple[Message, ...]

    def outside(self, q: Array) -> int | None:
        """Return the index of the first joint whose position in q (n,) is out of its range."""
        out = np.flatnonzero((q < self.lower) | (q > self.upper))
        return int(out[0]) if out.size else None

    def with_range(self, lower: Array, upper: Array, notes: Iterable[Message]) -> MotionLimits:
        """Return the limits with other ranges of positions, and further notes."""
        return replace(self, lower=lower, upper=upper, notes=(*self.notes, *notes))

    def cut(self, code: str, k: int, lower: Array, upper: Array, **values: str) -> Message:
        """Return the note that the range of coordinate k was reduced."""
        joint, unit = self.joint_names[k], self.position_units[k]
        return Message(code, joint=joint, lower=lower[k], upper=upper[k], unit=unit, **values)


def motion_limits(robot: Robot, settings: ExcitationSettings) -> MotionLimits:
    """Return the scaled limits of a robot; those of mimic joints limit their leaders.

    Raises:
        DynError: a joint is passive, has no range, or does not belong to the robot.
    """
    joints = robot.independent_joints
    if not joints:
        raise DynError("robot-without-moving-joint", robot=robot.name, purpose="excite")
    passive = robot.passive_joint_names
    if passive and not robot.loops:
        element = f"joint '{passive[0]}'"
        raise DynError(
            "passive-joints-unsupported",
            element=element,
            joints=passive,
            robot=robot.name,
            reference="trajectory",
        )
    for name in settings.accelerations:
        refuse_unknown_joint("an acceleration limit", name, robot.coordinate_names)
    notes = _Notes()
    ranges = np.array([_range(robot, j, settings.position_scale, notes) for j in robot.coordinates])
    speeds = np.array([_speed(robot, j, notes) for j in robot.coordinates]) * settings.velocity_scale
    accelerations = [
        settings.accelerations.get(joint.name, speed / TIME_TO_SPEED)
        for joint, speed in zip(joints, speeds, strict=True)
    ]
    for joint in joints:
        if joint.name not in settings.accelerations:
            notes.add(joint, "acceleration-limit-assumed", time=TIME_TO_SPEED)
    for joint in joints:
        if not joint.limits.effort:
            notes.add(joint, "effort-limit-absent")
    efforts = [joint.limits.effort or math.inf for joint in joints]
    return MotionLimits(
        robot.coordinate_names,
        tuple(joint.position_unit for joint in joints),
        tuple(joint.effort_unit for joint in joints),
        ranges[:, 0],
        ranges[:, 1],
        speeds,
        settings.acceleration_scale * np.array(accelerations),
        settings.effort_scale * np.array(efforts),
        notes.messages,
    )


def refuse_unknown_joint(setting: str, joint: str, known: Sequence[str]) -> None:
    """Raise an error if a setting names a joint that is not one of the coordinates."""
    if joint not in known:
        element = f"joint '{joint}'"
        raise DynError("setting-joint-dependent", element=element, setting=setting, joint=joint, known=known)


def without_boxes_of_one_joint(
    limits: MotionLimits, boxes: Sequence[CoordinateBox], start: Array
) -> tuple[MotionLimits, tuple[CoordinateBox, ...]]:
    """Return the limits cut at boxes of one joint, on the side of `start` (n,), and the other boxes."""
    lower, upper, notes, others = limits.lower.copy(), limits.upper.copy(), [], []
    for box in boxes:
        if len(box.joints) > 1:
            others.append(box)
            continue
        k = int(box.joints[0])
        if box.lower[0] >= upper[k] or box.upper[0] <= lower[k]:
            continue
        if start[k] >= box.upper[0]:
            lower[k] = box.upper[0]
        else:
            upper[k] = box.lower[0]
        notes.append(limits.cut("range-cut-by-box", k, lower, upper, box=box.name))
    return limits.with_range(lower, upper, notes), tuple(others)


class _Notes:
    """Assumptions, each with the joints that it is about."""

    def __init__(self) -> None:
        self._joints: dict[tuple[str, tuple[tuple[str, Any], ...]], list[str]] = {}

    def add(self, joint: Joint, code: str, **values: Any) -> None:
        self._joints.setdefault((code, tuple(values.items())), []).append(joint.name)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(
            Message(code, joints=names, **dict(values)) for (code, values), names in self._joints.items()
        )


def _range(robot: Robot, j: int, scale: float, notes: _Notes) -> tuple[float, float]:
    """Return the range of coordinate j that is used, within those of its mimic joints (rad or m)."""
    joint = robot.joints[j - 1]
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None or max(abs(lower), abs(upper)) > UNLIMITED:
        upper = RANGE[joint.sigma]
        lower = -upper
        half_range = "pi rad" if joint.sigma is Sigma.REVOLUTE else f"{upper:g} m"
        notes.add(joint, "position-range-assumed", half_range=half_range)
    bounds = f"its range is {lower:g} to {upper:g} {joint.position_unit}"
    for follower, mimic in followers(robot, j):
        least, most = follower.limits.lower, follower.limits.upper
        if least is None or most is None:
            continue
        ends = range_of_leader(mimic, least, most)
        lower, upper = max(lower, ends[0]), min(upper, ends[1])
        bounds += f", and '{follower.name}', which mimics it, allows {ends[0]:g} to {ends[1]:g}"
    if not lower < upper:
        raise DynError("joint-range-closed", joint=joint.name, ranges=bounds, element=f"joint '{joint.name}'")
    middle, half = 0.5 * (lower + upper), 0.5 * scale * (upper - lower)
    return middle - half, middle + half


def _speed(robot: Robot, j: int, notes: _Notes) -> float:
    """Return the greatest speed of coordinate j, within those of its mimic joints (rad/s or m/s)."""
    joint = robot.joints[j - 1]
    speed = joint.limits.velocity or math.inf
    if speed >= UNLIMITED:
        speed = SPEED[joint.sigma]
        notes.add(joint, "velocity-limit-assumed", speed=speed, unit=f"{joint.position_unit}/s")
    for follower, mimic in followers(robot, j):
        if follower.limits.velocity:
            speed = min(speed, speed_of_leader(mimic, follower.limits.velocity))
    return speed


@dataclass(frozen=True, eq=False)
class DriveTorques:
    """Torques of a robot. Coulomb friction is separate: its sign is unknown where a joint is about to turn.

    Attributes:
        rigid: torques (N, n) of bodies, rotors and passive joints of loops (N m or N).
        viscous: viscous friction of the coordinates (N m s/rad or N s/m), (n,).
        coulomb: Coulomb friction (N m or N), (n,).
        offset: constant torques (N m or N), (n,).
    """

    rigid: Function
    viscous: Array
    coulomb: Array
    offset: Array

    def smooth(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torques without Coulomb friction (N, n)."""
        torques: Array = self.rigid(q, qd, qdd) + self.viscous * qd + self.offset
        return torques

    def needed(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the greatest magnitude of the torques (N, n), with Coulomb friction in either direction."""
        needed: Array = np.abs(self.smooth(q, qd, qdd)) + self.coulomb
        return needed


def drive_torques(robot: Robot) -> DriveTorques:
    """Return the torques of a robot with its own parameters."""
    viscous, coulomb, offset = np.zeros((3, robot.dof))
    for j, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (j, 1.0)
        if leader not in robot.coordinates:  # a fixed joint, or a passive joint of a loop
            continue
        k = robot.coordinates.index(leader)
        viscous[k] += multiplier**2 * joint.friction.Fv
        coulomb[k] += abs(multiplier * joint.friction.Fs)
        offset[k] += multiplier * joint.friction.Fo
    rigid = run_by(robot, traced(with_passive_friction(robot), "inverse_dynamics"))
    return DriveTorques(rigid, viscous, coulomb, offset)


@dataclass(frozen=True, eq=False)
class LoopLimits:
    """Limits of the passive joints of loops, (m,) each.

    The ranges of the actuated joints do not include them. `within_loops` therefore determines a box of
    positions around the assembly in which the loops close, passive joints stay within their ranges, and the
    constraints are well conditioned. Searches stay within the box, and check their results along the whole
    motion.

    Attributes:
        loops: model with the functions of the passive joints.
        centre: positions of the actuated joints (rad or m) in which the loops are closed, (n,).
        names: names of the passive joints.
        units: rad or m.
        lower: least positions (rad or m); -inf where there is no limit.
        upper: greatest positions (rad or m).
        velocity: greatest speeds (rad/s or m/s).
        condition: greatest condition number of the constraints.
    """

    loops: Model
    centre: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    condition: float

    def drawn_in(self, q: Array) -> Array:
        """Return positions (N, n), moved towards the assembly until the loops close at all of them."""
        run = passive_program(self.loops, passive_positions)
        closed = np.ascontiguousarray(q)
        out = np.empty((*closed.shape[:-1], *run.shape))
        while (k := run.function.into(closed, out)) is not None:
            if closed is q:
                closed = q.copy()
            closed[k] = self.centre + 0.5 * (closed[k] - self.centre)
        return closed

    def passive(self, q: Array) -> Array | None:
        """Return positions of the passive joints, (N, m); None unless the loops close at all q (N, n)."""
        run = passive_program(self.loops, passive_positions)
        out = np.empty((len(q), *run.shape))
        return None if run.function.into(np.ascontiguousarray(q), out) is not None else out

    def keep(self, q: Array, qd: Array | None = None) -> bool:
        """Whether loops close within all limits at positions (N, n), those of a motion if `qd` is given."""
        passive = self.passive(q)
        if passive is None:
            return False
        # Between two samples of a motion, joints move no further than from one sample to the next.
        slack = np.abs(np.diff(passive, axis=0)).max(axis=0, initial=0.0) if qd is not None else 0.0
        if ((passive - slack < self.lower) | (passive + slack > self.upper)).any():
            return False
        stride = 1 if qd is None else _STRIDE
        if not (self.loops.loop_condition(q[::stride]) <= self.condition).all():
            return False
        if qd is None or not np.isfinite(self.velocity).any():
            return True
        speeds = passive_program(self.loops, passive_velocities).run((), q, qd)
        return bool((np.abs(speeds) <= self.velocity).all())


def where_closed(function: Function, loops: LoopLimits) -> Function:
    """Return a function that moves positions to where loops close, see `LoopLimits.drawn_in`."""
    return lambda q, qd, qdd: function(loops.drawn_in(q), qd, qdd)


def loop_limits(robot: Robot, settings: ExcitationSettings) -> LoopLimits | None:
    """Return the limits of the loops of a robot; None if it has no loops."""
    if not robot.loops:
        return None
    loops = compile_model(robot, functions=(), open_rows="error")
    at = dict(zip(robot.independent, structure(robot).reference, strict=True))
    centre = np.array([at[j] for j in robot.coordinates])
    joints = [robot.joint(name) for name in robot.passive_joint_names]
    ends = []
    for joint in joints:
        lower, upper = joint.limits.lower, joint.limits.upper
        if lower is None or upper is None:
            lower, upper = -math.inf, math.inf
        elif math.isfinite(upper - lower):
            middle, half = 0.5 * (lower + upper), 0.5 * settings.position_scale * (upper - lower)
            lower, upper = middle - half, middle + half
        ends.append((lower, upper))
    lower, upper = np.array(ends).reshape(-1, 2).T
    return LoopLimits(
        loops,
        centre,
        tuple(joint.name for joint in joints),
        tuple(joint.position_unit for joint in joints),
        lower,
        upper,
        velocity=np.array([settings.velocity_scale * (j.limits.velocity or math.inf) for j in joints]),
        condition=max(MOST_CONDITION, 2.0 * float(loops.loop_condition(centre))),
    )


def within_loops(limits: MotionLimits, loops: LoopLimits) -> MotionLimits:
    """Return limits between which the loops close and passive joints are within their ranges.

    Raises:
        DynError: not even the assembly is within the limits.
    """
    start = np.clip(loops.centre, limits.lower, limits.upper)
    if not loops.keep(start[np.newaxis]):
        raise _without_room(limits, loops, start)
    random = np.random.default_rng(0)
    box = np.stack([start, start])
    ends = np.stack([limits.lower, limits.upper])
    steps = (ends - start) / _PARTS
    sides = [(side, k) for k in range(len(start)) for side in (0, 1)]
    while sides:
        left = []
        for side, k in sides:
            tried = box.copy()
            tried[side, k] += steps[side, k]
            if abs(tried[side, k] - start[k]) > abs(ends[side, k] - start[k]) * (1.0 + 1e-12):
                continue
            slab = tried.copy()
            slab[1 - side, k] = box[side, k]
            if loops.keep(_in_box(slab, random)):
                box = tried
                left.append((side, k))
        sides = left
    cut = (box[0] > limits.lower + 1e-9) | (box[1] < limits.upper - 1e-9)
    fixed = np.flatnonzero(box[1] <= box[0])
    if fixed.size:
        raise _without_room(limits, loops, start, limits.joint_names[int(fixed[0])])
    notes = (limits.cut("range-cut-by-loops", int(k), box[0], box[1]) for k in np.flatnonzero(cut))
    return limits.with_range(box[0], box[1], notes)


def _in_box(box: Array, random: np.random.Generator) -> Array:
    """Return random positions in a box, some of them at its corners."""
    part = random.uniform(size=(_SAMPLES + _CORNERS, box.shape[1]))
    part[_SAMPLES:] = np.round(part[_SAMPLES:])
    found: Array = box[0] + part * (box[1] - box[0])
    return found


def _without_room(limits: MotionLimits, loops: LoopLimits, q: Array, joint: str | None = None) -> DynError:
    """Return the error for an assembly at q (n,) around which `joint`, or no joint at all, can move."""
    at = zip(limits.joint_names, q, limits.position_units, strict=True)
    positions = ", ".join(f"{name} = {value:.4g} {unit}" for name, value, unit in at)
    passive = loops.passive(q[np.newaxis])
    if joint is not None:
        cause = Message("joint-fixed-by-loops", joint=joint)
    elif passive is None:
        cause = Message("assembly-loops-open")
    elif (out := np.flatnonzero((passive[0] < loops.lower) | (passive[0] > loops.upper))).size:
        k = int(out[0])
        joint, unit, lower, upper = loops.names[k], loops.units[k], loops.lower[k], loops.upper[k]
        cause = Message(
            "passive-joint-out-of-range",
            joint=joint,
            position=passive[0, k],
            unit=unit,
            lower=lower,
            upper=upper,
        )
    else:
        cause = Message("assembly-near-singularity", condition=float(loops.loops.loop_condition(q)))
    element = f"loop '{loops.loops.robot.loops[0].name}'"
    return DynError("assembly-without-room", element=element, positions=positions, cause=cause)
