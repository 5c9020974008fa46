# SPDX-License-Identifier: Apache-2.0
"""Positions of the passive joints by continuation, and the map from coordinates to joints of the tree.

The continuation is numeric and the reference for compiled programs. If a straight line of the actuated
joints meets a singularity or leaves the range of the loops, detours are tried. For positions that cannot be
reached, the error names the remaining opening of the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import CLOSED, close_loops, worst_opening
from dyn_core.algorithms.loops.constraints import ConstraintArrays, chain
from dyn_core.algorithms.loops.continuation import Numbers, Scales, Step, after_turns, follow, follow_far
from dyn_core.algorithms.loops.loop_structure import Structure, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import coordinate_inertia, coordinate_torques, joint_positions, joint_rates
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr
from dyn_core.symbolic.scalar import Scalar, Scalars, is_zero

GOLDEN_RATIO = 0.6180339887498949  # its multiples modulo 1 are spread evenly and not related to pi


def reference_positions(robot: Robot, found: Structure) -> tuple[list[float], list[float]]:
    """Return the reference positions (rad or m) of the actuated and of the unknown joints."""
    by_joint = dict(zip(robot.independent, found.reference, strict=True))
    return [by_joint[j] for j in robot.coordinates], [by_joint[j] for j in found.unknown]


def assembly_positions(robot: Robot) -> list[float]:
    """Return positions of the actuated joints (rad or m) in the closed configuration near the assembly."""
    return reference_positions(robot, structure(robot))[0]


def scales(robot: Robot, found: Structure) -> Scales:
    """Return the scales and periods of the actuated and of the unknown joints."""
    actuated, unknown = (
        tuple(found.size if robot.joints[j - 1].sigma is Sigma.PRISMATIC else 1.0 for j in numbers)
        for numbers in (robot.coordinates, found.unknown)
    )
    moving = _in_loops(robot, found)
    return Scales(
        tuple(
            scale if j in moving else math.inf for j, scale in zip(robot.coordinates, actuated, strict=True)
        ),
        unknown,
        tuple(_turn(robot, found, j) for j in robot.coordinates),
        tuple(_turn(robot, found, j) for j in found.unknown),
    )


def _in_loops(robot: Robot, found: Structure) -> set[int]:
    """Return the independent joints on which the constraints depend: those of the chains of the loops."""
    moving = set()
    for cut in found.cuts:
        for j in chain(robot, cut).joints:
            mimic = robot.joints[j - 1].mimic
            moving.add(j if mimic is None else mimic.leader)
    for linear in found.linear:
        if linear.joint in moving:
            moving.update(j for j, _ in linear.coefficients)
    return {j for j in moving if j is not None}


def _turn(robot: Robot, found: Structure, joint: int) -> float:
    """Return the period of a joint and its followers (rad), after which all links are back; 0 if none."""
    follows = [(joint, 1.0)]
    follows += [(each.joint, c) for each in found.linear for j, c in each.coefficients if j == joint]
    for j, factor in tuple(follows):
        for number, other in enumerate(robot.joints, start=1):
            if other.mimic is not None and other.mimic.leader == j:
                follows.append((number, factor * other.mimic.multiplier))
    whole = all(
        robot.joints[j - 1].sigma is Sigma.REVOLUTE and float(factor).is_integer() for j, factor in follows
    )
    return 2.0 * math.pi if whole else 0.0


def solution(robot: Robot, found: Structure, q_a: Scalars) -> list[Scalar]:
    """Positions of the unknown joints (rad or m) for numbers or arrays, on the branch of the assembly."""
    samples = np.stack(np.broadcast_arrays(*q_a), axis=-1)
    if samples.ndim == 1:
        return list(_solution_of_sample(robot, found, samples.tolist()))
    return list(np.array([_solution_of_sample(robot, found, sample.tolist()) for sample in samples]).T)


@dataclass(frozen=True)
class Closing:
    """A robot whose loops are to be closed.

    Without `step`, the slow Python formulas of a Newton step of the unknown joints are used.
    """

    robot: Robot  # a robot without masses, as `geometry_of` returns it
    step: Callable[[], Step] | None = field(default=None, compare=False)  # returns a compiled Newton step


@lru_cache(maxsize=64)
def position_nearby(closing: Closing, sign: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return closed positions of actuated and unknown joints on a side (1.0 or -1.0) of the assembly."""
    robot = closing.robot
    found = structure(robot)
    step = closing.step() if closing.step and found.unknown else _step(robot, found)
    q_a, x = reference_positions(robot, found)
    units = scales(robot, found)
    finite = [unit if unit < math.inf else 1.0 for unit in units.given]
    for k in range(12):
        part = sign * 0.3 * 0.5**k
        tried = [
            value + part * unit * ((GOLDEN_RATIO * i) % 1.0 - 0.4)
            for i, (unit, value) in enumerate(zip(finite, q_a, strict=True), start=1)
        ]
        reached = follow_far(step, (q_a, x), tried, units)
        if reached is not None:
            return tuple(tried), tuple(reached)
    return tuple(q_a), tuple(x)


def _solution_of_sample(robot: Robot, found: Structure, q_a: list[float]) -> list[float]:
    x = follow_far(_step(robot, found), reference_positions(robot, found), q_a, scales(robot, found))
    if x is None:
        raise not_closing_error(robot, q_a, None)
    return x


def _step(robot: Robot, found: Structure) -> Step:
    def step(given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
        passive = Passive(robot, found, given, x)
        return passive.newton_step(), passive.openings()[1]

    return step


# Detours: solutions that no straight line from the assembly reaches

DETOURS = 16  # Number of waypoints that are tried
ATTEMPTS = 100  # Largest number of steps to a waypoint, and from there to the goal
GUESSES = 8  # Number of initial positions of the passive joints from which closing the loops is tried
_REACH = 1.5  # Range of the waypoints beyond start and goal, in units of their distance


def solution_by_detours(
    step: Step, start: tuple[Numbers, Numbers], given: Numbers, scales: Scales
) -> list[float] | None:
    """Return a solution on the branch of a known one, by way of random waypoints; None if none is found."""
    random = np.random.default_rng(0)
    start = after_turns(step, start, given, scales) or start
    origin, goal = np.array(start[0]), np.array(given)
    units = np.array(scales.given)
    units[np.isinf(units)] = 0.0  # numbers that nothing depends on stay on the straight line
    far = np.abs(goal - origin)[units > 0.0].max(initial=0.5)
    spread = _REACH * far * units
    for _ in range(DETOURS):
        middle = (0.5 * (origin + goal) + spread * random.uniform(-0.5, 0.5, len(goal))).tolist()
        half = follow(step, start, middle, scales, ATTEMPTS)
        found = None if half is None else follow(step, (middle, half), given, scales, ATTEMPTS)
        if found is not None:
            return found
    return None


def closes_somewhere(robot: Robot, q_a: Numbers) -> bool:
    """True if the loops of a robot without masses close, in any assembly mode that is found."""
    _, gaps = _nearest(robot, q_a)
    return bool(gaps.min() < CLOSED)


def not_closing_error(robot: Robot, q_a: Numbers, sample: int | None, why: bool = True) -> DynError:
    """Return the error for positions (rad or m) at which the loops of a robot without masses do not close.

    It is for a sample of a batch unless `sample` is None. `why` adds the remaining opening, which takes time.
    """
    joints = ", ".join(
        f"{joint.name} = {value:.4g} {joint.position_unit}"
        for joint, value in zip(robot.independent_joints, q_a, strict=True)
    )
    where = f"at {joints}" + ("" if sample is None else f" (sample {sample})")
    return DynError(
        "loops-open-at-positions",
        robot=robot.name,
        where=where,
        reason=_reason(robot, q_a) if why else "",
        element=f"loop '{robot.loops[0].name}'",
    )


def _reason(robot: Robot, q_a: Numbers) -> Message:
    closed, gaps = _nearest(robot, q_a)
    best = int(np.argmin(gaps))
    if not gaps[best] < CLOSED:
        opening = worst_opening(ConstraintArrays(robot), closed[best])
        return Message("loops-nearest-opening", opening=opening)
    same_mode = same_side(robot, closed[gaps < CLOSED]).any()
    return Message("loops-closed-without-path" if same_mode else "loops-closed-in-other-mode")


def same_side(robot: Robot, closed: Array) -> npt.NDArray[np.bool_]:
    """True for configurations on the side of the assembly, as the signs of all determinants tell."""
    found, constraints = structure(robot), ConstraintArrays(robot)
    columns = [robot.independent.index(j) for j in found.unknown]
    W = constraints.rates(np.concatenate([np.array(found.reference)[np.newaxis], closed]))
    W = W[:, :, columns][:, found.rows]
    same = np.ones(len(closed), dtype=bool)
    for block in found.blocks:
        if len(block.rows) == len(block.columns):
            signs = np.sign(np.linalg.det(W[:, block.rows][:, :, block.columns]))
            same &= signs[1:] == signs[0]
    return same


def _nearest(robot: Robot, q_a: Numbers) -> tuple[Array, Array]:
    """Configurations that close the loops as far as possible, and their remaining openings."""
    q = np.repeat(np.array([structure(robot).reference]), GUESSES, axis=0)
    q[:, [robot.independent.index(j) for j in robot.coordinates]] = q_a
    passive = [k for k, j in enumerate(robot.independent) if j not in robot.coordinates]
    constraints = ConstraintArrays(robot)
    random = np.random.default_rng(0).uniform(-1.5, 1.5, (GUESSES - 1, len(passive)))
    q[1:, passive] += constraints.column_units[passive] * random
    return close_loops(constraints, q, passive)


# Coordinates and joints of the tree
#
# Algorithms for trees use the n joints of the tree; users know the coordinates. Mimic joints follow by a
# constant map (`joint_coupling`), passive joints of loops by `passive_joint_motion`.


class Configuration:
    """The joints of the tree at some positions of the coordinates; each is a coordinate or mimics one."""

    q: list[Scalar]  # n positions of the joints of the tree (rad or m)

    def __init__(self, robot: Robot, q: Scalars) -> None:
        """Take the positions of the coordinates (rad or m)."""
        self._robot = robot
        self.q = joint_positions(robot, q)

    def rates(self, qd: Scalars) -> list[Scalar]:
        """Velocities of the n joints from those of the coordinates (rad/s or m/s)."""
        return joint_rates(self._robot, qd)

    def accelerations(self, qd: Scalars, qdd: Scalars) -> list[Scalar]:
        """Accelerations of the n joints from velocities and accelerations of the coordinates."""
        return joint_rates(self._robot, qdd)

    def torques(self, tau: Scalars) -> list[Scalar]:
        """Torques of the coordinates from those of the n joints (N m or N)."""
        return coordinate_torques(self._robot, tau)

    def many_torques(self, tau: Sequence[Scalars]) -> list[list[Scalar]]:
        """Torques of the coordinates from several torques of the n joints."""
        return [self.torques(one) for one in tau]

    def inertia(self, A: Sequence[Scalars]) -> list[list[Scalar]]:
        """Inertia matrix of the coordinates from that of the n joints."""
        return coordinate_inertia(self._robot, A)


def configuration(robot: Robot, q: Scalars, x: Scalars | None = None) -> Configuration:
    """Return the configuration of a robot at positions of its coordinates (rad or m).

    If q are symbols, the positions of passive joints without a linear relation are unknowns of the graph,
    which a program computes first. `x` are these positions, if they are known.
    """
    return _Closed(robot, q, x) if robot.loops else Configuration(robot, q)


class _Closed(Configuration):
    """The joints of a robot with loops: passive joints follow the actuated ones."""

    def __init__(self, robot: Robot, q: Scalars, x: Scalars | None) -> None:
        self._robot = robot
        found = structure(robot)
        self._passive = Passive(robot, found, q, _unknowns(robot, found, q) if x is None else x)
        self.q = self._passive.q

    def rates(self, qd: Scalars) -> list[Scalar]:
        return self._passive.rates(qd)

    def accelerations(self, qd: Scalars, qdd: Scalars) -> list[Scalar]:
        return self._passive.accelerations(self._passive.rates(qd), qdd)

    def torques(self, tau: Scalars) -> list[Scalar]:
        return self._passive.actuated(coordinate_torques(self._robot, tau))

    def many_torques(self, tau: Sequence[Scalars]) -> list[list[Scalar]]:
        G = self._passive.gradient()
        return [_product(coordinate_torques(self._robot, one), G) for one in tau]

    def inertia(self, A: Sequence[Scalars]) -> list[list[Scalar]]:
        """``A_c = G^T A_tree G`` (SYMORO+ 2003, eq. (4.48))."""
        G = self._passive.gradient()
        half = [_product(row, G) for row in coordinate_inertia(self._robot, A)]
        lower = [_product(column, half)[: i + 1] for i, column in enumerate(zip(*G, strict=True))]
        return [[lower[max(i, k)][min(i, k)] for k in range(len(lower))] for i in range(len(lower))]


def _unknowns(robot: Robot, found: Structure, q: Scalars) -> Scalars:
    if not found.unknown:
        return []
    symbols = [value for value in q if isinstance(value, Expr)]
    if symbols:
        return symbols[0].graph.unknowns(tuple(q), len(found.unknown))
    return solution(robot, found, q)


def _product(row: Scalars, matrix: Sequence[Scalars]) -> list[Scalar]:
    totals: list[Scalar] = [0.0] * len(matrix[0])
    for entry, values in zip(row, matrix, strict=True):
        if not is_zero(entry):
            for k, value in enumerate(values):
                totals[k] = totals[k] + entry * value
    return totals
