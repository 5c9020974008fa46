# SPDX-License-Identifier: Apache-2.0
"""Base parameters and regressor of parallel robots (Khalil-Guegan 2004, sec. VI).

The base parameters of each leg, as a tree, come first. The platform adds two kinds of relations:

* the leg and the platform both carry a mass at the centre of a cut joint: its parameters have the same effect
  as part of the leg's last body and as part of the platform, eqs. (51) to (66). For a revolute joint this
  holds for masses along its axis, for a fixed joint for every body;
* if the platform cannot move in all directions, some of its parameters have no effect.

Each relation is a direction in the space of the parameters that changes no torque. The last parameter that
is clearly part of it is grouped with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import PER_BODY, Combinations
from dyn_core.algorithms.base_parameters.determination import Method, grouped_sum
from dyn_core.algorithms.base_parameters.independent_columns import (
    CLEAR,
    dependent_columns,
    first_independent,
    without_rounding,
)
from dyn_core.algorithms.base_parameters.torque_effects import Matrix, Mount, moved_parameters
from dyn_core.algorithms.base_parameters.tree_relations import tree_relations
from dyn_core.algorithms.dynamics.regressors import regressor, unit_wrenches
from dyn_core.algorithms.dynamics.wrenches import wrench_on_antecedent
from dyn_core.algorithms.parallel.leg_kinematics import (
    PlatformMotion,
    leg_accelerations,
    leg_state,
    leg_velocities,
    placement_entries,
    platform_motion,
)
from dyn_core.algorithms.parallel.leg_positions import closed_leg
from dyn_core.algorithms.parallel.parallel_robot import Leg, ParallelRobot
from dyn_core.algorithms.parallel.platform_dynamics import body_motion, wrench_on_platform
from dyn_core.algorithms.parallel.platform_mobility import at_rest, moved
from dyn_core.core.errors import DynError, check_choice
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT, parameter_values, parametrised
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars
from dyn_core.symbolic.transform import Transform, apply, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

# Regressor: wrenches along the mobility of the platform, linear in the parameters

OF_BODY = len(INERTIAL) + 1  # Number of inertial parameters of a body and the rotor of its joint


def leg_columns(robot: ParallelRobot, leg: Leg, motion: PlatformMotion, q: Scalars) -> list[list[Scalar]]:
    """Columns of the parameters XX to M and Ia of the bodies of a leg, each along the mobility."""
    state = leg_state(leg, motion, q)
    qd = leg_velocities(state, motion)
    Y = regressor(leg.robot, q, qd, leg_accelerations(state, motion, qd), leg.robot.gravity_0)
    columns = list(zip(*Y, strict=True))
    inertial = [column for k, column in enumerate(columns) if k % PER_JOINT < OF_BODY]
    return [robot.projected(wrench_on_platform(state, column).values) for column in inertial]


def platform_columns(robot: ParallelRobot, motion: PlatformMotion) -> list[list[Scalar]]:
    """Columns of the parameters XX to M of the platform's body, each along the mobility."""
    T_link_body = inverse(robot.robot.link_frame(robot.platform).T_body_link)
    wrenches = unit_wrenches(body_motion(motion, T_link_body, robot.robot.gravity))
    T_root_body = Transform(mat3.mul(motion.R, T_link_body.R), mat3.mul_vec(motion.R, T_link_body.p))
    return [robot.projected(wrench_on_antecedent(T_root_body, one).values) for one in wrenches]


# Regressor in random motions near the assembly

SAMPLES = 60

REACH = 0.06  # Largest displacement of the platform from the assembly along each degree of freedom (m or rad)
HALVINGS = 10  # Number of times that a displacement is halved if a leg is too short for it


class RandomMotion(NamedTuple):
    """A motion of the platform, gravity on the axes of the root (m/s^2), and joint positions of the legs."""

    motion: PlatformMotion
    gravity: Vec3
    q: list[list[float]]


def random_motions(
    robot: ParallelRobot, mount: Mount, seed: int, samples: int = SAMPLES
) -> Iterator[RandomMotion]:
    """Yield random motions along all degrees of freedom of the platform."""
    random = np.random.default_rng(seed)
    basis = np.array(robot.mobility)
    for _ in range(samples):
        V, Vd = (random.standard_normal((2, len(basis))) @ basis).tolist()
        T, q = _reached(robot, REACH * random.uniform(-1.0, 1.0, len(basis)) @ basis)
        gravity = robot.robot.gravity
        if mount == "tilted":
            x, y, z = (9.81 * random.standard_normal(3)).tolist()
            gravity = (x, y, z)
        yield RandomMotion(platform_motion(placement_entries(T), V, Vd, None), gravity, q)


def _reached(robot: ParallelRobot, by: Matrix) -> tuple[Transform, list[list[float]]]:
    """Return the placement after a displacement, or after a fraction of it that all legs can follow."""
    for halving in range(HALVINGS):
        T = moved(robot.T_home, by * 0.5**halving)
        try:
            return T, [
                closed_leg(leg, at_rest(T), near) for leg, near in zip(robot.legs, robot.q_home, strict=True)
            ]
        except DynError:
            continue
    return robot.T_home, [list(q) for q in robot.q_home]


def random_regressor(robot: ParallelRobot, mount: Mount, seed: int = 0, samples: int = SAMPLES) -> Matrix:
    """Columns of the platform's parameters and of those of the legs, with the random states stacked."""
    rows = []
    for state in random_motions(robot, mount, seed, samples):
        tilted = robot.with_gravity(state.gravity)
        columns = platform_columns(tilted, state.motion)
        for leg, q in zip(tilted.legs, state.q, strict=True):
            columns += leg_columns(tilted, leg, state.motion, q)
        rows.append(np.array(columns).T)
    stacked: Matrix = np.vstack(rows)
    return stacked


# Base parameters


@dataclass(frozen=True, eq=False, repr=False)
class ParallelBaseParameters(Combinations):
    """Independent combinations of inertial parameters that give all actuator efforts of a parallel robot.

    Attributes:
        standard_names: XX to M of the platform, then XX to M (and Ia) of the bodies of the legs.
        robot_name: name of the robot.
        method: ``"symbolic"`` or ``"numeric"``.
        of_platform: number of the base parameters that replace parameters of the platform.
        of_legs: number of those of each leg.
    """

    robot_name: str
    method: str
    of_platform: int
    of_legs: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<{len(self.kept)} base parameters of '{self.robot_name}', {self.method}>"


def parallel_base_parameters(
    robot: ParallelRobot, method: Method = "symbolic", mount: Mount = "fixed", rotor_inertia: bool = True
) -> ParallelBaseParameters:
    """Return independent combinations of inertial parameters that give all actuator efforts.

    Args:
        robot: the robot.
        method: ``"symbolic"``: by rules; ``"numeric"``: by a QR decomposition of the regressor in random
            states.
        mount: ``"fixed"``: the base is at rest; ``"tilted"``: gravity can have any direction.
        rotor_inertia: whether the inertias of rotors are standard parameters.
    """
    check_choice("method", method, get_args(Method))
    check_choice("mount", mount, ("fixed", "tilted"))
    kept: Sequence[int]
    if method == "symbolic":
        kept, matrix = _symbolic(robot, mount)
    else:
        kept, matrix = dependent_columns(random_regressor(robot, mount))
    names = [f"{name}{robot.body}" for name in INERTIAL]
    names += [f"{name}{j}" for leg in robot.legs for j in leg.bodies for name in PER_BODY]
    columns = [k for k, name in enumerate(names) if rotor_inertia or not name.startswith("Ia")]
    rows = [row for row, k in enumerate(kept) if k in columns]
    found = np.ascontiguousarray(matrix[np.ix_(rows, columns)])
    found.flags.writeable = False
    chosen = [kept[row] for row in rows]
    starts = np.cumsum([len(INERTIAL), *(len(PER_BODY) * len(leg.bodies) for leg in robot.legs)])
    counts = np.histogram(chosen, bins=[0, *starts])[0].tolist()
    return ParallelBaseParameters(
        tuple(names[k] for k in columns),
        tuple(names[k] for k in chosen),
        found,
        robot.robot.name,
        method,
        counts[0],
        tuple(counts[1:]),
    )


def _symbolic(robot: ParallelRobot, mount: Mount) -> tuple[list[int], Matrix]:
    """Return the indices of the kept parameters, and the matrix from standard to base parameters."""
    width = len(INERTIAL)
    of_legs = [tree_relations(leg.robot, mount) for leg in robot.legs]
    blocks = [np.eye(width), *(relations.matrix for relations in of_legs)]
    *starts, total = np.cumsum([0, *(block.shape[1] for block in blocks)]).tolist()
    kept = list(range(width))
    rows = []
    for start, block in zip(starts, blocks, strict=True):
        rows.append(np.pad(block, ((0, 0), (start, total - start - block.shape[1]))))
    for start, relations in zip(starts[1:], of_legs, strict=True):
        kept += [start + k for k in relations.kept]
    matrix = np.vstack(rows)
    idle = [*_idle_of_platform(robot, mount, total)]
    for leg, begin in zip(robot.legs, starts[1:], strict=True):
        idle += _shared(robot, leg, begin, total)
    return _without_idle(kept, matrix, [matrix @ direction for direction in idle])


def _without_idle(kept: list[int], matrix: Matrix, idle: Sequence[Matrix]) -> tuple[list[int], Matrix]:
    """Group parameters until no direction without effect on the torques remains."""
    settled: list[tuple[int, Matrix]] = []
    for direction in idle:
        left = direction.copy()
        for pivot, earlier in settled:
            left -= left[pivot] * earlier
        largest = float(np.max(np.abs(left), initial=0.0))
        if largest <= 1e-12 * float(np.max(np.abs(direction), initial=0.0)):
            continue
        pivot = int(np.flatnonzero(np.abs(left) > CLEAR * largest)[-1])
        left = left / left[pivot]
        settled = [(k, earlier - earlier[pivot] * left) for k, earlier in settled]
        settled.append((pivot, left))
    grouped = matrix.copy()
    for pivot, direction in settled:
        grouped -= np.outer(direction, matrix[pivot])
    gone = {pivot for pivot, _ in settled}
    rows = [row for row in range(len(kept)) if row not in gone]
    return [kept[row] for row in rows], without_rounding(grouped[rows])


def _shared(robot: ParallelRobot, leg: Leg, begin: int, total: int) -> list[Matrix]:
    """Directions that move mass from the platform to the last body of a leg: eq. (56)."""
    T_body_platform = robot.robot.link_frame(robot.platform).T_body_link
    last = begin + len(PER_BODY) * (len(leg.bodies) - 1)
    directions = []
    for in_leg, in_platform in _cut_bodies(leg, T_body_platform):
        direction = np.zeros(total)
        direction[: len(INERTIAL)] = -in_platform
        direction[last : last + len(INERTIAL)] = in_leg
        directions.append(direction)
    return directions


def _cut_bodies(leg: Leg, T_body_platform: Transform) -> list[tuple[Matrix, Matrix]]:
    """Parameters, in the last body of a leg and in the platform's, of bodies that either can carry."""
    if len(leg.pairs) == 3:
        x, y = leg.pairs[0].in_leg, leg.pairs[2].in_leg
        v, w = leg.pairs[0].in_platform, leg.pairs[1].in_platform
        T_last_cut = Transform(mat3.from_columns(x, y, vec3.cross(x, y)), leg.point)
        T_link_cut = Transform(mat3.from_columns(vec3.cross(v, w), v, w), leg.anchor)
        T_body_cut = compose(T_body_platform, T_link_cut)
        return list(zip(moved_parameters(T_last_cut).T, moved_parameters(T_body_cut).T, strict=True))
    points = [(leg.point, leg.anchor)]
    if len(leg.pairs) == 2:
        axis = vec3.cross(leg.pairs[0].in_platform, leg.pairs[1].in_platform)
        for way in (1.0, -1.0):
            in_leg = vec3.add(leg.point, vec3.scale(way, leg.pairs[0].in_leg))
            points.append((in_leg, vec3.add(leg.anchor, vec3.scale(way, axis))))
    return [(point_mass(a), point_mass(apply(T_body_platform, b))) for a, b in points]


def point_mass(p: Vec3) -> Matrix:
    """Inertial parameters of a mass of 1 at a point."""
    x, y, z = p
    J = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return np.array([*J, x, y, z, 1.0])


def _idle_of_platform(robot: ParallelRobot, mount: Mount, total: int) -> list[Matrix]:
    """Directions of parameters of the platform without effect in any of its motions."""
    if len(robot.mobility) == 6:
        return []
    rows = []
    for motion in random_motions(robot, mount, seed=1):
        columns = platform_columns(robot.with_gravity(motion.gravity), motion.motion)
        rows.append(np.array(columns).T)
    _, sizes, directions = np.linalg.svd(np.vstack(rows))
    rank = int(np.sum(sizes > 1e-10 * sizes[0]))
    choice = first_independent(directions[:rank])
    idle = []
    for k in range(len(INERTIAL)):
        if k not in choice.columns:
            direction = np.zeros(total)
            direction[k] = 1.0
            direction[list(choice.columns)] = -choice.relations[:, k]
            idle.append(direction)
    return idle


def with_parallel_base_parameters(robot: ParallelRobot, mount: Mount = "fixed") -> ParallelRobot:
    """Return a robot whose inertial parameters are its base parameters, with the others 0.

    Efforts, accelerations and inertia matrices of the platform are the same; wrenches through joints are not.
    """
    found = parallel_base_parameters(robot, mount=mount)
    tree = robot.robot
    index = {name: k for k, name in enumerate(tree.parameter_names)}
    values: tuple[Scalar, ...] = parameter_values(tree.joints, tree.bodies[1:])
    grouped = list(values)
    for name in found.standard_names:
        grouped[index[name]] = 0.0
    for name, row in zip(found.kept, found.matrix, strict=True):
        factors = zip(found.standard_names, row.tolist(), strict=True)
        terms = [
            values[index[other]] if other == name else factor * values[index[other]]
            for other, factor in factors
            if factor != 0.0
        ]
        grouped[index[name]] = grouped_sum(terms)
    joints, bodies = parametrised(tree.joints, grouped)
    return robot.with_robot(replace(tree, joints=joints, bodies=(tree.bodies[0], *bodies)))
