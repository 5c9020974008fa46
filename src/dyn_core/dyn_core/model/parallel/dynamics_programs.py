# SPDX-License-Identifier: Apache-2.0
"""Dynamics functions of a parallel robot as programs, whole or split for several processors.

The inputs are the placement T of the platform, its velocity V and acceleration Vd, actuator efforts tau, and
the positions q of leg joints for legs without closed form. The split has one program for each leg and one for
the platform, which run side by side, then one that combines them (Khalil-Guegan 2004, sec. VII).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dyn_core.algorithms.dynamics.wrenches import Wrench
from dyn_core.algorithms.parallel.leg_kinematics import (
    PlatformMotion,
    leg_accelerations,
    leg_state,
    leg_velocities,
    platform_motion,
)
from dyn_core.algorithms.parallel.leg_positions import given_or_closed
from dyn_core.algorithms.parallel.parallel_robot import Leg, ParallelRobot, Position
from dyn_core.algorithms.parallel.platform_dynamics import (
    actuator_efforts,
    actuator_rows,
    inertia_at_platform,
    leg_share,
    platform_acceleration,
    platform_inertia,
    platform_wrench,
    projected_inertia,
)
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.model.builder import Kind, Source, Vector
from dyn_core.symbolic import elimination, mat3, vec3
from dyn_core.symbolic.expression_graph import Expr
from dyn_core.symbolic.scalar import KnownAngle, Scalar, dot, larger

REST = (0.0,) * 6

BESIDE = 1e-6
"""Allowed deviation of a platform from its mobility in position (m, rad) and velocity (m/s, rad/s)."""


def parallel_kinds(robot: ParallelRobot) -> dict[str, Kind]:
    """Return the functions of the model of a parallel robot, by name."""
    k, joints = len(robot.actuated), sum(len(leg.bodies) for leg in robot.legs)
    T, V, Vd, tau = {"T": 16}, {"V": 6}, {"Vd": 6}, {"tau": k}
    return {
        "inverse_dynamics": Kind([_inverse_dynamics], T | V | Vd, (k,)),
        "forward_dynamics": Kind([_forward_dynamics], T | V | tau, (6,)),
        "inertia_matrix": Kind([_inertia_matrix], T, (k, k)),
        "jacobian": Kind([_jacobian], T, (6, k)),
        "inverse_jacobian": Kind([_inverse_jacobian], T, (k, 6)),
        "leg_motions": Kind([_leg_motions], T | V | Vd, (4, joints)),
        "actuator_motions": Kind([_actuator_motions], T | V | Vd, (4, k)),
        "closed_legs": Kind([_closed_legs], T, (2, joints)),
        "beside_mobility": Kind([_beside_mobility], T | V | Vd, (3,)),
    }


def given_size(robot: ParallelRobot) -> int:
    """Number of joint positions that are found by iteration and given to the programs."""
    return sum(len(robot.legs[i].bodies) for i in robot.given_positions)


def parallel_program(source: Source[ParallelRobot], name: str, guarded: bool = False) -> Program:
    """Return a function of the model of a parallel robot as a program.

    With `guarded`, results are NaN where a platform of reduced mobility cannot be or move like this, and
    callers have to check results that are not finite.
    """
    robot = source.robot
    kind = parallel_kinds(robot)[name]
    taken, of_legs = dict(kind.sizes), name != "beside_mobility"
    if given_size(robot) and of_legs:
        taken["q"] = given_size(robot)
    algorithm = partial(kind.algorithms[0], robot)
    if guarded and len(robot.mobility) < 6 and of_legs:
        algorithm = partial(_guarded, robot, algorithm, tuple(kind.sizes))
    program = trace(name, algorithm, taken, kind.shape, graph=source.graph, rows={"T": 4})
    return replace(program, guarded=len(program.results) if guarded else 0)


def legs_with_positions(
    robot: ParallelRobot, motion: PlatformMotion, given: Vector
) -> Iterator[tuple[Leg, Sequence[Position]]]:
    """Yield each leg with its joint positions; some positions are given."""
    start = 0
    for leg in robot.legs:
        end = start + (0 if leg.closed_form is not None else len(leg.bodies))
        yield leg, given_or_closed(leg, motion, given[start:end])
        start = end


def _inverse_dynamics(robot: ParallelRobot, T: Vector, V: Vector, Vd: Vector, q: Vector = ()) -> Vector:
    """Khalil 2010, eq. (66)."""
    motion = platform_motion(T, V, Vd, robot.R_constant)
    shares = [leg_share(leg, motion, of_leg) for leg, of_leg in legs_with_positions(robot, motion, q)]
    own = platform_wrench(robot.platform_inertia(), motion, robot.robot.gravity)
    rows = [row for share in shares for row in share.rows]
    return actuator_efforts(robot, rows, [own, *(share.wrench for share in shares)])


def _forward_dynamics(robot: ParallelRobot, T: Vector, V: Vector, tau: Vector, q: Vector = ()) -> Vector:
    """Khalil-Guegan 2004, eq. (35)."""
    motion = platform_motion(T, V, REST, robot.R_constant)
    shares = [leg_share(leg, motion, of_leg) for leg, of_leg in legs_with_positions(robot, motion, q)]
    body = robot.platform_inertia()
    own = platform_wrench(body, motion, robot.robot.gravity)
    of_legs = [inertia_at_platform(share.state) for share in shares]
    A = projected_inertia(robot, [platform_inertia(body, motion.R), *of_legs])
    rows = [row for share in shares for row in share.rows]
    return platform_acceleration(robot, A, [own, *(share.wrench for share in shares)], rows, tau)


def _inertia_matrix(robot: ParallelRobot, T: Vector, q: Vector = ()) -> Vector:
    """Khalil-Guegan 2004, eq. (36)."""
    motion = platform_motion(T, REST, REST, robot.R_constant)
    legs = legs_with_positions(robot, motion, q)
    parts = [inertia_at_platform(leg_state(leg, motion, of_leg)) for leg, of_leg in legs]
    A = projected_inertia(robot, [platform_inertia(robot.platform_inertia(), motion.R), *parts])
    return [value for row in A for value in row]


def _beside_mobility(robot: ParallelRobot, T: Vector, V: Vector, Vd: Vector) -> Vector:
    """Squares of the impossible parts of a displacement, a velocity and an acceleration of the platform.

    Each is divided by one plus its whole square. The displacement is relative to the assembly, with the sine
    of its angle.
    """
    motion = platform_motion(T, V, Vd, None)
    R_home, p_home = robot.T_home
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = mat3.mul(motion.R, mat3.transpose(R_home))
    sines = (0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy))
    found = []
    for vector in ((*vec3.sub(motion.p, p_home), *sines), V, Vd):
        beside = [dot(row, vector) for row in robot.beside_mobility]
        found.append(dot(beside, beside) / (dot(vector, vector) + 1.0))
    return found


def _guarded(
    robot: ParallelRobot, algorithm: Callable[..., Vector], names: Sequence[str], *inputs: Vector
) -> Vector:
    """Results of an algorithm; NaN where the platform cannot be or move like this."""
    given = dict(zip(names, inputs, strict=False))
    motion = given["T"], given.get("V", REST), given.get("Vd", REST)
    worst: Scalar = 0.0
    for beside in _beside_mobility(robot, *motion):
        worst = larger(beside, worst, beside, worst)
    return [larger(worst, BESIDE**2, math.nan, result) for result in algorithm(*inputs)]


def _rows(robot: ParallelRobot, T: Vector, q: Vector) -> list[list[Scalar]]:
    """Velocities of the actuated joints by that of the platform, six numbers each."""
    motion = platform_motion(T, REST, REST, robot.R_constant)
    states = (leg_state(leg, motion, of_leg) for leg, of_leg in legs_with_positions(robot, motion, q))
    return [row for state in states for row in actuator_rows(state)]


def _inverse_jacobian(robot: ParallelRobot, T: Vector, q: Vector = ()) -> Vector:
    """Khalil-Guegan 2004, eq. (13)."""
    return [value for row in _rows(robot, T, q) for value in row]


def _jacobian(robot: ParallelRobot, T: Vector, q: Vector = ()) -> Vector:
    """Khalil 2010, eq. (60): the velocities of the platform that its mobility leaves."""
    along = [robot.projected(tuple(row)) for row in _rows(robot, T, q)]
    columns = zip(*elimination.inverse(along), strict=True)
    expanded = [robot.expanded(list(column)) for column in columns]
    return [value for row in zip(*expanded, strict=True) for value in row]


def _leg_motions(robot: ParallelRobot, T: Vector, V: Vector, Vd: Vector, q: Vector = ()) -> Vector:
    """Positions of all joints of the legs as two rows (see `_two_numbers`), velocities, accelerations."""
    motion = platform_motion(T, V, Vd, robot.R_constant)
    rows: list[list[Scalar]] = [[], [], [], []]
    for leg, of_leg in legs_with_positions(robot, motion, q):
        state = leg_state(leg, motion, of_leg)
        qd = leg_velocities(state, motion)
        positions = zip(*map(_two_numbers, of_leg), strict=True)
        for row, more in zip(rows, (*positions, qd, leg_accelerations(state, motion, qd)), strict=True):
            row += more
    return [value for row in rows for value in row]


def _actuator_motions(robot: ParallelRobot, T: Vector, V: Vector, Vd: Vector, q: Vector = ()) -> Vector:
    """The same for the actuated joints."""
    of_all = _leg_motions(robot, T, V, Vd, q)
    joints = len(of_all) // 4
    actuated = [k for k, joint in enumerate(leg_joints(robot)) if robot.robot.joints[joint - 1].mu == 1]
    return [of_all[row * joints + k] for row in range(4) for k in actuated]


def _closed_legs(robot: ParallelRobot, T: Vector, q: Vector = ()) -> Vector:
    """Positions of all joints of the legs as two rows."""
    motion = platform_motion(T, REST, REST, robot.R_constant)
    pairs = [_two_numbers(x) for _, of_leg in legs_with_positions(robot, motion, q) for x in of_leg]
    return [value for row in zip(*pairs, strict=True) for value in row]


def leg_joints(robot: ParallelRobot) -> list[int]:
    """Numbers of the joints of the legs, leg by leg."""
    return [j for leg in robot.legs for j in leg.bodies]


def _two_numbers(position: Position) -> tuple[Scalar, Scalar]:
    """Cosine and sine of an angle that is known by these; another position, and 0."""
    if isinstance(position, KnownAngle):
        return position.cos(), position.sin()
    return position, 0.0


# Programs for several processors (Khalil-Guegan 2004, sec. VII)

UPPER = tuple((i, k) for i in range(6) for k in range(i, 6))
"""Indices of the upper triangle of a symmetric matrix, which is passed to the last program."""


class SplitPrograms(NamedTuple):
    """Programs for a processor for each leg, and one for the platform.

    Attributes:
        legs: programs of the legs; they and `platform` take T, V and, for the inverse dynamics, Vd.
        platform: program of the platform.
        last: takes the results of the platform and of the legs, one vector each, and tau for direct dynamics.
    """

    legs: tuple[Program, ...]
    platform: Program
    last: Program

    @property
    def critical_path(self) -> dict[str, int]:
        """Operations of the longest path: the most of the first programs, and the last one."""
        first = [program.operation_counts for program in (*self.legs, self.platform)]
        last = self.last.operation_counts
        return {name: max(counts[name] for counts in first) + last[name] for name in last}


def split_programs(robot: ParallelRobot, function: str) -> SplitPrograms:
    """Return the programs of ``"inverse_dynamics"`` or ``"forward_dynamics"``."""
    inverse = function == "inverse_dynamics"
    sizes = {"T": 16, "V": 6} | ({"Vd": 6} if inverse else {})
    legs = tuple(_leg_program(robot, leg, sizes, inverse) for leg in robot.legs)
    platform = _platform_program(robot, sizes, inverse)
    taken = {"platform": len(platform.results)}
    taken |= {f"leg_{k}": len(leg.results) for k, leg in enumerate(legs, start=1)}
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
        share = leg_share(leg, motion, q)
        found = [*share.wrench.values, *(value for row in share.rows for value in row)]
        if not inverse:
            inertia = inertia_at_platform(share.state)
            found += [inertia[i][k] for i, k in UPPER]
        return found

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
    """Trace an algorithm with any number of results."""
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
    """Return the results of a program, with numbers for those that are constant."""
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
