# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a parallel robot for several processors (Khalil-Guegan 2004, sec. VII).

A program for each leg and one for the platform, which run side by side, then one that takes their results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.platform_dynamics import (
    leg_inertia,
    platform_acceleration,
    projected_inertia,
)
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.wrench import Wrench
from dyn_core.model.parallel.dynamics_programs import REST, Vector
from dyn_core.parallel.closed_form import given_or_closed
from dyn_core.parallel.inverse_dynamics import actuator_efforts, leg_share
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.platform_motion import platform_motion
from dyn_core.parallel.platform_wrench import platform_inertia, platform_wrench
from dyn_core.symbolic.expression_graph import Expr
from dyn_core.symbolic.scalar import Scalar

UPPER = tuple((i, k) for i in range(6) for k in range(i, 6))
"""Places of a symmetric matrix that are handed on."""


class SplitPrograms(NamedTuple):
    """Programs for as many processors as there are legs, and one more.

    Attributes:
        legs: one for each leg; they and `platform` take T, V and, for the inverse dynamics, Vd.
        platform: what the platform itself needs.
        last: takes the results of the platform and of the legs, one vector each, and the efforts tau for
            the direct dynamics.
    """

    legs: tuple[Program, ...]
    platform: Program
    last: Program

    @property
    def critical_path(self) -> dict[str, int]:
        """Operations of the way that takes longest: the most of the first programs, and the last one."""
        first = [program.operation_counts for program in (*self.legs, self.platform)]
        last = self.last.operation_counts
        return {name: max(counts[name] for counts in first) + last[name] for name in last}


def split_programs(robot: ParallelRobot, function: str) -> SplitPrograms:
    """Answer the programs of the inverse or the direct dynamics.

    Args:
        robot: the robot.
        function: ``"inverse_dynamics"`` or ``"forward_dynamics"``.
    """
    inverse = function == "inverse_dynamics"
    sizes = {"T": 16, "V": 6} | ({"Vd": 6} if inverse else {})
    legs = tuple(_leg_program(robot, leg, sizes, inverse) for leg in robot.legs)
    platform = _platform_program(robot, sizes, inverse)
    taken = {"platform": len(platform.results)} | {
        f"leg_{k}": len(leg.results) for k, leg in enumerate(legs, start=1)
    }
    if not inverse:
        taken["tau"] = len(robot.actuated)
    shape = (len(robot.actuated),) if inverse else (6,)

    def algorithm(*vectors: Vector) -> Vector:
        first = [_with_constants(program, v) for program, v in zip((platform, *legs), vectors, strict=False)]
        return _last(robot, inverse, (*first, *vectors[len(first) :]))

    return SplitPrograms(legs, platform, trace("last", algorithm, taken, shape))


def _leg_program(robot: ParallelRobot, leg: Leg, sizes: dict[str, int], inverse: bool) -> Program:
    taken = sizes if leg.closed_form is not None else {**sizes, "q": len(leg.bodies)}

    def algorithm(T: Vector, V: Vector, *more: Vector) -> Vector:
        Vd, given = (more[0], more[1:]) if inverse else (REST, more)
        motion = platform_motion(T, V, Vd, robot.R_constant)
        q = given_or_closed(leg, motion, given[0] if given else ())
        if inverse:
            share = leg_share(leg, motion, q)
            return [*share.wrench.values, *(value for row in share.rows for value in row)]
        full = leg_inertia(leg, motion, q)
        handed = [full.inertia[i][k] for i, k in UPPER]
        return [*full.wrench.values, *(value for row in full.rows for value in row), *handed]

    return _traced(f"leg_{leg.name}", algorithm, taken)


def _platform_program(robot: ParallelRobot, sizes: dict[str, int], inverse: bool) -> Program:
    def algorithm(T: Vector, V: Vector, Vd: Vector = REST) -> Vector:
        motion = platform_motion(T, V, Vd, robot.R_constant)
        body = robot.platform_inertia()
        values = platform_wrench(body, motion, robot.robot.gravity).values
        if inverse:
            return values
        A = platform_inertia(body, motion.R)
        return [*values, *(A[i][k] for i, k in UPPER)]

    return _traced("platform", algorithm, sizes)


def _traced(name: str, algorithm: Callable[..., Vector], sizes: dict[str, int]) -> Program:
    """Trace an algorithm that answers as many numbers as there are."""
    program = trace(name, algorithm, sizes, ())
    return trace(name, algorithm, sizes, (len(program.results),), rows={"T": 4})


def _last(robot: ParallelRobot, inverse: bool, vectors: Sequence[Vector]) -> Vector:
    own, *of_legs = vectors[: 1 + len(robot.legs)]
    wrenches = [_wrench(vector) for vector in (own, *of_legs)]
    rows: list[Vector] = []
    for leg, vector in zip(robot.legs, of_legs, strict=True):
        rows += [vector[6 * k : 6 * k + 6] for k in range(1, 1 + len(leg.actuated))]
    if inverse:
        return actuator_efforts(robot, rows, wrenches)
    parts = [_symmetric(vector[-len(UPPER) :]) for vector in (own, *of_legs)]
    return platform_acceleration(robot, projected_inertia(robot, parts), wrenches, rows, vectors[-1])


def _with_constants(program: Program, vector: Vector) -> Vector:
    """Answer what a program hands on, with numbers in the place of results that are always the same."""
    pairs = zip(program.results, vector, strict=True)
    return [given if isinstance(result, Expr) else result for result, given in pairs]


def _wrench(vector: Vector) -> Wrench:
    fx, fy, fz, mx, my, mz = vector[:6]
    return Wrench((fx, fy, fz), (mx, my, mz))


def _symmetric(values: Vector) -> list[list[Scalar]]:
    A: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for (i, k), value in zip(UPPER, values, strict=True):
        A[i][k] = A[k][i] = value
    return A
