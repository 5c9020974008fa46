# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of the passive joints of a robot with loops, and openings of the loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.loops.block_solver import Block
from dyn_core.algorithms.loops.constraints import opening
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.closed_loops import closed, passive_accelerations
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.joints import position_range
from dyn_core.robot.mdh.cut_frames import cut_joints
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.elimination import determinant
from dyn_core.symbolic.scalar import Scalar

AT_LIMIT = 1e-6  # Distance (rad or m) from its limit within which a joint is at the limit
BEYOND = 1e-9  # Distance (rad or m) by which a joint may exceed its limit at the end of a step

JUMP = 0.1
"""Largest deviation (rad or m) of passive joints from the displacement by their velocities in a step."""


@dataclass(frozen=True, eq=False)
class PassiveState:
    """State of the passive joints: q (rad or m), qd (rad/s or m/s), and openings of each loop.

    Openings are distances (m) and angles (rad), 0 except for rounding.
    """

    q: Array
    qd: Array
    openings: tuple[tuple[Array, Array], ...]

    @property
    def gap(self) -> float:
        """Largest distance (m) by which a loop is open."""
        return max((math.hypot(*distances.tolist()) for distances, _ in self.openings), default=0.0)

    @property
    def turn(self) -> float:
        """Largest angle (rad) by which a loop is open."""
        return max((math.hypot(*angles.tolist()) for _, angles in self.openings), default=0.0)


class PassiveMotion(NamedTuple):
    """Motion of the passive joints for an integrator: q (rad or m), qd (rad/s or m/s).

    `orientation` has determinants of blocks of the constraints, which change sign at singularities.
    """

    q: list[float]
    qd: list[float]
    orientation: list[float]


class PassiveJoints:
    """The passive joints of the loops of a robot, in tree order; none for a robot without loops.

    `lower` and `upper` are least and greatest positions (rad or m), infinite without a limit.
    """

    def __init__(self, robot: Robot, functions: Sequence[Runnable]) -> None:
        """Take the programs of `passive_programs`."""
        self.names = robot.passive_joint_names if robot.loops else ()
        ranges = [position_range(robot.limits[name]) for name in self.names]
        self.lower = tuple(lower for lower, _ in ranges)
        self.upper = tuple(upper for _, upper in ranges)
        none = np.zeros(0)
        self._last = (none, none, none)
        self._end = 2 * len(self.names)
        self._opening_ranges = []
        for cut in cut_joints(robot):
            begin, self._end = self._end, self._end + cut.rows
            self._opening_ranges.append((begin, begin + len(cut.linear), self._end))
        if self.names:
            self._state, self._accelerations = (
                each.function.bind(partial(each.run, ()), []) for each in functions
            )

    @property
    def limited(self) -> bool:
        """True if a passive joint has a position limit."""
        return any(map(math.isfinite, (*self.lower, *self.upper)))

    def state(self, q: Array, qd: Array) -> PassiveState:
        """Return their state at positions and velocities of the actuated joints (rad or m; rad/s or m/s).

        Raise DynError if the loops do not close there.
        """
        n = len(self.names)
        found = self.known(q, qd)
        ranges = self._opening_ranges
        openings = tuple((found[begin:middle], found[middle:end]) for begin, middle, end in ranges)
        return PassiveState(found[:n], found[n : 2 * n], openings)

    def motion(self, q: Array, qd: Array) -> PassiveMotion:
        """Return their motion for an integrator."""
        n, found = len(self.names), self.known(q, qd).tolist()
        return PassiveMotion(found[:n], found[n : 2 * n], found[self._end :])

    def keep(self, q: Array, qd: Array, known: Array) -> None:
        """Store their values at read-only positions and velocities."""
        self._last = (q, qd, known)

    def known(self, q: Array, qd: Array) -> Array:
        """Return all their values; those of the last read-only arrays are stored."""
        if q is self._last[0] and qd is self._last[1]:
            return self._last[2]
        found = self._state(q, qd) if self.names else self._last[2]
        if not q.flags.writeable and not qd.flags.writeable:
            self._last = (q, qd, found)
        return found

    def accelerations(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return their accelerations (rad/s^2 or m/s^2)."""
        return self._accelerations(q, qd, qdd) if self.names else np.zeros(0)

    def at_limit(self, q: Array, qd: Array) -> tuple[str, ...]:
        """Return the names of passive joints that are at a limit or beyond it."""
        bounds = zip(self.names, self.motion(q, qd).q, self.lower, self.upper, strict=True)
        return tuple(name for name, x, low, high in bounds if not low + AT_LIMIT < x < high - AT_LIMIT)


def passive_programs(robot: Robot) -> list[Program]:
    """Return the programs of `PassiveJoints`; none for a robot without loops."""
    return [_state(robot), passive_accelerations(robot)] if robot.loops else []


def _state(robot: Robot) -> Program:
    """Program from q and qd to positions and velocities of passive joints, openings and determinants."""
    passive = [j - 1 for j in robot.independent if robot.joints[j - 1].mu == 0]
    cuts, found, blocks = cut_joints(robot), structure(robot), _oriented(robot)

    def algorithm(q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        at = configuration(robot, q)
        rates = at.rates(qd)
        open_by = [gap for cut in cuts for gap in opening(robot, cut, at.q)[0]]
        W = Passive(robot, found, q, [at.q[j - 1] for j in found.unknown]).matrix()
        signed = [determinant([[W[i][k] for k in block.columns] for i in block.rows]) for block in blocks]
        return [at.q[k] for k in passive] + [rates[k] for k in passive] + open_by + signed

    count = 2 * len(passive) + sum(cut.rows for cut in cuts) + len(blocks)
    return closed(robot, trace("passive_state", algorithm, {"q": robot.dof, "qd": robot.dof}, (count,)))


def orientations(robot: Robot) -> int:
    """Number of determinants, the last results of the first program, of a robot with loops."""
    return len(_oriented(robot))


def _oriented(robot: Robot) -> list[Block]:
    """The blocks of constraints whose determinants are checked."""
    blocks = structure(robot).blocks
    return [block for block in blocks if len(block.rows) == len(block.columns)]
