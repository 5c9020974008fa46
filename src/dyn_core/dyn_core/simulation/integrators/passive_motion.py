# SPDX-License-Identifier: Apache-2.0
"""The passive joints of a robot with loops: where the actuated joints have them, and how open loops are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.loops.constraints import opening
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.facade.closed import closed
from dyn_core.facade.loop_programs import passive_accelerations
from dyn_core.facade.runnable import Runnable
from dyn_core.linalg.determinant import determinant
from dyn_core.loops.block_triangular import Block
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.mdh.cut_frames import cut_joints
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

AT_LIMIT = 1e-6
"""How far (rad or m) from its limit a joint is at it."""

BEYOND = 1e-9
"""How far (rad or m) beyond its limit a joint may be at the end of a step."""

JUMP = 0.1
"""How far (rad or m) passive joints may be from where their velocities lead them in a step."""

MOST_ORIENTED = 4
"""Unknowns of the largest blocks of constraints whose determinants are looked at."""


@dataclass(frozen=True, eq=False)
class PassiveState:
    """Where the passive joints are, and how fast.

    Attributes:
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        openings: by loop, the distances (m) and the angles (rad) by which it is open: 0 but for rounding.
    """

    q: Array
    qd: Array
    openings: tuple[tuple[Array, Array], ...]

    @property
    def gap(self) -> float:
        """Distance by which the loop is open that is open most (m)."""
        return max((math.hypot(*distances.tolist()) for distances, _ in self.openings), default=0.0)

    @property
    def turn(self) -> float:
        """Angle by which the loop is open that is open most (rad)."""
        return max((math.hypot(*angles.tolist()) for _, angles in self.openings), default=0.0)


class PassiveMotion(NamedTuple):
    """What an integrator has to know of the passive joints.

    Attributes:
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        orientation: determinants of the blocks of the constraints: they change their sign at singularities.
    """

    q: list[float]
    qd: list[float]
    orientation: list[float]


class PassiveJoints:
    """The joints that follow through the loops of a robot; none where it has no loops.

    Attributes:
        names: their names, in tree order.
        lower: least positions (rad or m), -inf where there is no limit.
        upper: greatest positions (rad or m), inf where there is no limit.
    """

    def __init__(self, robot: Robot, functions: Sequence[Runnable]) -> None:
        """Take the programs of `passive_programs`."""
        self.names = robot.passive_joint_names if robot.loops else ()
        limits = [robot.limits[name] for name in self.names]
        self.lower = tuple(-math.inf if limit.lower is None else limit.lower for limit in limits)
        self.upper = tuple(math.inf if limit.upper is None else limit.upper for limit in limits)
        none = np.zeros(0)
        self._last = (none, none, none)
        self._end = 2 * len(self.names)
        self._places = []
        for cut in cut_joints(robot):
            begin, self._end = self._end, self._end + cut.rows
            self._places.append((begin, begin + len(cut.linear), self._end))
        if self.names:
            self._state, self._accelerations = (
                each.function.bind(partial(each.run, ()), []) for each in functions
            )

    @property
    def limited(self) -> bool:
        """Whether one of them has a limit of its position."""
        return any(map(math.isfinite, (*self.lower, *self.upper)))

    def state(self, q: Array, qd: Array) -> PassiveState:
        """Answer their state at positions and velocities of the actuated joints (rad or m, and a second).

        Raises:
            DynError: the loops do not close there.
        """
        n = len(self.names)
        found = self.known(q, qd)
        openings = tuple((found[begin:middle], found[middle:end]) for begin, middle, end in self._places)
        return PassiveState(found[:n], found[n : 2 * n], openings)

    def motion(self, q: Array, qd: Array) -> PassiveMotion:
        """Answer what an integrator has to know of them."""
        n, found = len(self.names), self.known(q, qd).tolist()
        return PassiveMotion(found[:n], found[n : 2 * n], found[self._end :])

    def keep(self, q: Array, qd: Array, known: Array) -> None:
        """Keep what is known of them at positions and velocities that nobody can write to."""
        self._last = (q, qd, known)

    def known(self, q: Array, qd: Array) -> Array:
        """Answer all that is known of them; that of the last arrays that nobody can write to is kept."""
        if q is self._last[0] and qd is self._last[1]:
            return self._last[2]
        found = self._state(q, qd) if self.names else self._last[2]
        if not q.flags.writeable and not qd.flags.writeable:
            self._last = (q, qd, found)
        return found

    def accelerations(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Answer their accelerations (rad/s^2 or m/s^2)."""
        return self._accelerations(q, qd, qdd) if self.names else np.zeros(0)

    def at_limit(self, q: Array, qd: Array) -> tuple[str, ...]:
        """Answer the names of those that are at a limit, or beyond, as `state` has them."""
        bounds = zip(self.names, self.motion(q, qd).q, self.lower, self.upper, strict=True)
        return tuple(name for name, x, low, high in bounds if not low + AT_LIMIT < x < high - AT_LIMIT)


def passive_programs(robot: Robot) -> list[Program]:
    """Answer the programs of `PassiveJoints`; none for a robot without loops."""
    return [_state(robot), passive_accelerations(robot)] if robot.loops else []


def _state(robot: Robot) -> Program:
    """Positions and velocities of passive joints, openings of loops, determinants of blocks, of q and qd."""
    places = [j - 1 for j in robot.independent if robot.joints[j - 1].mu == 0]
    cuts, found, blocks = cut_joints(robot), structure(robot), _oriented(robot)

    def algorithm(q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        at = configuration(robot, q)
        rates = at.rates(qd)
        open_by = [gap for cut in cuts for gap in opening(robot, cut, at.q)[0]]
        W = Passive(robot, found, q, [at.q[j - 1] for j in found.unknown]).matrix()
        signed = [determinant([[W[i][k] for k in block.columns] for i in block.rows]) for block in blocks]
        return [at.q[k] for k in places] + [rates[k] for k in places] + open_by + signed

    count = 2 * len(places) + sum(cut.rows for cut in cuts) + len(blocks)
    return closed(robot, trace("passive_state", algorithm, {"q": robot.dof, "qd": robot.dof}, (count,)))


def orientations(robot: Robot) -> int:
    """Number of the determinants, the last results of the first program, of a robot with loops."""
    return len(_oriented(robot))


def _oriented(robot: Robot) -> list[Block]:
    """The blocks of constraints whose determinants are looked at."""
    blocks = structure(robot).blocks
    return [block for block in blocks if len(block.rows) == len(block.columns) <= MOST_ORIENTED]
