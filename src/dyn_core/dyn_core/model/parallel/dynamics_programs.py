# SPDX-License-Identifier: Apache-2.0
"""The functions of the model of a parallel robot as programs.

The inputs are the placement T of the platform, its velocity V and acceleration Vd, efforts tau of the
actuators, and, where legs have no closed form, the positions q of their joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dyn_core.algorithms.parallel.leg_kinematics import leg_accelerations, leg_state, leg_velocities
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.platform_dynamics import (
    inertia_at_platform,
    leg_inertia,
    platform_acceleration,
    projected_inertia,
)
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.linalg.dot import dot
from dyn_core.linalg.known_angle import KnownAngle
from dyn_core.parallel.closed_form import given_or_closed
from dyn_core.parallel.inverse_dynamics import actuator_efforts, actuator_rows, leg_share
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_positions import Position
from dyn_core.parallel.platform_motion import PlatformMotion, platform_motion
from dyn_core.parallel.platform_wrench import platform_inertia, platform_wrench
from dyn_core.symbolic import elimination, mat3, vec3
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar, larger

Vector = Sequence[Scalar]
REST = (0.0,) * 6

BESIDE = 1e-6
"""How far a platform may be where it cannot go (m or rad), and move as it cannot move (m/s, rad/s)."""


@dataclass(frozen=True)
class ParallelKind:
    """A function of the model of a parallel robot.

    Attributes:
        algorithm: what computes it.
        inputs: names of its inputs, without that of given joint positions.
        shape: shape of the result for one sample.
        of_legs: whether it needs the positions of the joints of the legs.
    """

    algorithm: Callable[..., Vector]
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    of_legs: bool = True


def parallel_kinds(robot: ParallelRobot) -> dict[str, ParallelKind]:
    """Answer the functions of the model of a parallel robot, by name."""
    k, joints = len(robot.actuated), sum(len(leg.bodies) for leg in robot.legs)
    return {
        "inverse_dynamics": ParallelKind(_inverse_dynamics, ("T", "V", "Vd"), (k,)),
        "forward_dynamics": ParallelKind(_forward_dynamics, ("T", "V", "tau"), (6,)),
        "inertia_matrix": ParallelKind(_inertia_matrix, ("T",), (k, k)),
        "jacobian": ParallelKind(_jacobian, ("T",), (6, k)),
        "inverse_jacobian": ParallelKind(_inverse_jacobian, ("T",), (k, 6)),
        "leg_motions": ParallelKind(_leg_motions, ("T", "V", "Vd"), (4, joints)),
        "actuator_motions": ParallelKind(_actuator_motions, ("T", "V", "Vd"), (4, k)),
        "closed_legs": ParallelKind(_closed_legs, ("T",), (2, joints)),
        "beside_mobility": ParallelKind(_beside_mobility, ("T", "V", "Vd"), (3,), of_legs=False),
    }


def given_size(robot: ParallelRobot) -> int:
    """How many joint positions are found by iteration and given to the programs."""
    return sum(len(robot.legs[i].bodies) for i in robot.given_positions)


def parallel_program(
    robot: ParallelRobot,
    name: str,
    documentation: str = "",
    graph: Graph | None = None,
    guarded: bool = False,
) -> Program:
    """Answer a function of the model of a parallel robot as a program.

    Args:
        robot: the robot.
        name: name of the function.
        documentation: signature and text that `help` shows.
        graph: the graph of other symbols of the robot; None where there are none.
        guarded: whether results are NaN where a platform of reduced mobility cannot be or move like this, and
            callers are to look at what is not finite.
    """
    kind = parallel_kinds(robot)[name]
    sizes = {"T": 16, "V": 6, "Vd": 6, "tau": len(robot.actuated)}
    taken = {key: sizes[key] for key in kind.inputs}
    if given_size(robot) and kind.of_legs:
        taken["q"] = given_size(robot)
    algorithm = partial(kind.algorithm, robot)
    if guarded and len(robot.mobility) < 6 and kind.of_legs:
        algorithm = partial(_guarded, robot, algorithm, kind.inputs)
    program = trace(name, algorithm, taken, kind.shape, documentation, graph, {"T": 4})
    return replace(program, guarded=len(program.results) if guarded else 0)


def legs_with_positions(
    robot: ParallelRobot, motion: PlatformMotion, given: Vector
) -> Iterator[tuple[Leg, Sequence[Position]]]:
    """Answer the legs and their joint positions, of which some are given, one leg after the other."""
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
    shares = [leg_inertia(leg, motion, of_leg) for leg, of_leg in legs_with_positions(robot, motion, q)]
    body = robot.platform_inertia()
    own = platform_wrench(body, motion, robot.robot.gravity)
    A = projected_inertia(robot, [platform_inertia(body, motion.R), *(share.inertia for share in shares)])
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
    """Squares of what of a displacement, a velocity and an acceleration the platform cannot have.

    Each is divided by one plus its whole square. The displacement is that from the assembly, with the
    sine of its angle.
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
    """The same of the actuated joints."""
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
