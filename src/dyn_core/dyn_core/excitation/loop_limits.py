# SPDX-License-Identifier: Apache-2.0
"""What loops allow the actuated joints: where they close, far from singularities, within all ranges.

Ranges of the actuated joints say nothing of this. So a box of positions is looked for around the assembly,
in which the loops close, passive joints stay within their ranges, and the constraints are well conditioned;
searches keep to it, and what they find is looked at along its whole way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.excitation.motion_limits import MotionLimits
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.facade.loop_programs import passive_positions, passive_velocities
from dyn_core.facade.run_by import runnable_by
from dyn_core.facade.runnable import Runnable
from dyn_core.model.fixed_base.closed_loops import LoopFunctions
from dyn_core.robot.robot import Robot

MOST_CONDITION = 100.0
"""Greatest condition number of the constraints (see `Model.loop_condition`): passive joints are then at the
most a hundred times as sensitive in one direction as in another."""

_PARTS = 24
"""Steps in which a side of the box goes from the assembly to the end of a range."""
_SAMPLES = 96
_CORNERS = 32
_STRIDE = 8
"""Of the samples of a motion, one of so many is looked at for its condition."""


class _Loops(LoopFunctions):
    """Functions of the passive joints alone."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._programs: dict[tuple[str, ...], Runnable] = {}

    def _made(self, key: tuple[str, ...], program: Callable[[], Program]) -> Runnable:
        if key not in self._programs:
            self._programs[key] = runnable_by(self.robot, program())
        return self._programs[key]

    def positions(self) -> Runnable:
        return self._made(("passive_positions",), lambda: passive_positions(self.robot))

    def velocities(self) -> Runnable:
        return self._made(("passive_velocities",), lambda: passive_velocities(self.robot))


@dataclass(frozen=True, eq=False)
class LoopLimits:
    """Limits of the passive joints, (m,) each, and where the loops close.

    Attributes:
        loops: functions of the passive joints.
        centre: positions of the actuated joints (rad or m) in which the loops are closed, (n,).
        names: names of the passive joints.
        units: rad or m.
        lower: least positions (rad or m); -inf where there is no limit.
        upper: greatest positions (rad or m).
        velocity: greatest speeds (rad/s or m/s).
        condition: greatest condition number of the constraints.
    """

    loops: _Loops
    centre: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    condition: float

    def drawn_in(self, q: Array) -> Array:
        """Answer positions (N, n), those where loops do not close moved to the assembly until they do."""
        run = self.loops.positions()
        answer = np.ascontiguousarray(q)
        out = np.empty((*answer.shape[:-1], *run.shape))
        while (k := run.function.into(answer, out)) is not None:
            if answer is q:
                answer = q.copy()
            answer[k] = self.centre + 0.5 * (answer[k] - self.centre)
        return answer

    def passive(self, q: Array) -> Array | None:
        """Answer positions of the passive joints, (N, m); None where the loops do not close at all of q."""
        run = self.loops.positions()
        out = np.empty((len(q), *run.shape))
        return None if run.function.into(np.ascontiguousarray(q), out) is not None else out

    def keep(self, q: Array, qd: Array | None = None) -> bool:
        """Whether loops close at all positions (N, n), in a row if there are velocities, within limits."""
        passive = self.passive(q)
        if passive is None:
            return False
        # Between samples of a motion, joints go no farther than from one to the next.
        slack = np.abs(np.diff(passive, axis=0)).max(axis=0, initial=0.0) if qd is not None else 0.0
        if ((passive - slack < self.lower) | (passive + slack > self.upper)).any():
            return False
        stride = 1 if qd is None else _STRIDE
        if not (self.loops.loop_condition(q[::stride]) <= self.condition).all():
            return False
        if qd is None or not np.isfinite(self.velocity).any():
            return True
        speeds = self.loops.velocities().run((), q, qd)
        return bool((np.abs(speeds) <= self.velocity).all())


def where_closed(
    function: Callable[[Array, Array, Array], Array], loops: LoopLimits
) -> Callable[[Array, Array, Array], Array]:
    """Answer a function of positions, velocities and accelerations that knows where loops close."""

    def closed(q: Array, qd: Array, qdd: Array) -> Array:
        return function(loops.drawn_in(q), qd, qdd)

    return closed


def loop_limits(robot: Robot, settings: ExcitationSettings) -> LoopLimits | None:
    """Answer the limits that the loops of a robot have; None where it has none."""
    if not robot.loops:
        return None
    loops = _Loops(robot)
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
    ranges = np.array(ends).reshape(-1, 2)
    speeds = [settings.velocity_scale * (joint.limits.velocity or math.inf) for joint in joints]
    return LoopLimits(
        loops,
        centre,
        tuple(joint.name for joint in joints),
        tuple(joint.position_unit for joint in joints),
        ranges[:, 0],
        ranges[:, 1],
        np.array(speeds),
        max(MOST_CONDITION, 2.0 * float(loops.loop_condition(centre))),
    )


def within_loops(limits: MotionLimits, loops: LoopLimits) -> MotionLimits:
    """Answer limits of positions between which the loops close, passive joints within theirs.

    Raises:
        DynError: not even the assembly is within the limits.
    """
    start = np.clip(loops.centre, limits.lower, limits.upper)
    if not loops.keep(start[np.newaxis]):
        raise _no_place(limits, loops, start)
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
    notes = [
        f"joint '{limits.joint_names[k]}': from {box[0, k]:.4g} to {box[1, k]:.4g} "
        f"{limits.position_units[k]} only, where the loops close and passive joints are within their ranges"
        for k in np.flatnonzero(cut)
    ]
    fixed = np.flatnonzero(box[1] <= box[0])
    if fixed.size:
        raise _no_place(limits, loops, start, limits.joint_names[int(fixed[0])])
    return replace(limits, lower=box[0], upper=box[1], notes=(*limits.notes, *notes))


def _in_box(box: Array, random: np.random.Generator) -> Array:
    """Answer positions in a box, some of its corners among them."""
    n = box.shape[1]
    part = random.uniform(size=(_SAMPLES + _CORNERS, n))
    part[_SAMPLES:] = np.round(part[_SAMPLES:])
    found: Array = box[0] + part * (box[1] - box[0])
    return found


def _no_place(limits: MotionLimits, loops: LoopLimits, q: Array, joint: str | None = None) -> DynError:
    where = ", ".join(
        f"{name} = {value:.4g} {unit}"
        for name, value, unit in zip(limits.joint_names, q, limits.position_units, strict=True)
    )
    passive = loops.passive(q[np.newaxis])
    why = "the loops do not close"
    if joint is not None:
        why = f"joint '{joint}' cannot move without that loops open or a passive joint leaves its range"
    elif passive is not None:
        out = np.flatnonzero((passive[0] < loops.lower) | (passive[0] > loops.upper))
        if out.size:
            k = int(out[0])
            why = (
                f"passive joint '{loops.names[k]}' is at {passive[0, k]:.4g} {loops.units[k]}, and the range "
                f"that is used is {loops.lower[k]:.4g} to {loops.upper[k]:.4g}"
            )
        else:
            condition = float(loops.loops.loop_condition(q))
            why = f"the loops are near a singularity, with a condition number of {condition:.3g}"
    return DynError(
        f"there is no room around the assembly for a motion: at {where}, {why}: give an assembly within all "
        "ranges, or use more of these",
        element=f"loop '{loops.loops.robot.loops[0].name}'",
    )
