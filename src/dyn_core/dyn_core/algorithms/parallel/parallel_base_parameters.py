# SPDX-License-Identifier: Apache-2.0
"""Base parameters of parallel robots (Khalil-Guegan 2004, sec. VI).

First those of each leg, as of a tree. Then what the platform adds to it:

* a mass at the centre of a cut joint is carried by the leg and by the platform alike, wherever it belongs:
  its parameters as part of the leg's last body and as part of the platform do the same, eqs. (51) to (66).
  Of a revolute joint this is true of masses all along its axis, of a fixed one of every body;
* a platform that cannot move in all ways does not show all of its parameters.

Each is a direction in the space of the parameters that changes no torque; the last parameter that it
contains clearly is grouped with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import Combinations
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.tree_relations import tree_relations
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.chosen import CLEAR, first_independent, without_rounding
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import Matrix, moved_parameters
from dyn_core.linalg.transform import Transform, compose
from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.random_states import random_motions, random_regressor
from dyn_core.parallel.regressor import platform_columns
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3

Method: TypeAlias = Literal["symbolic", "numeric"]


@dataclass(frozen=True, eq=False, repr=False)
class ParallelBaseParameters(Combinations):
    """Independent combinations of inertial parameters that give all actuator efforts of a parallel robot.

    Attributes:
        standard_names: XX to M of the platform, then XX to M (and Ia) of the bodies of the legs.
        robot_name: name of the robot.
        method: ``"symbolic"`` or ``"numeric"``.
        of_platform: how many of the base parameters are in the place of one of the platform.
        of_legs: the same of each leg.
    """

    robot_name: str
    method: str
    of_platform: int
    of_legs: tuple[int, ...]

    def __repr__(self) -> str:
        """Answer how many there are, and of which robot."""
        return f"<{len(self.kept)} base parameters of '{self.robot_name}', {self.method}>"


def parallel_base_parameters(
    robot: ParallelRobot, method: Method = "symbolic", mount: Mount = "fixed", rotor_inertia: bool = True
) -> ParallelBaseParameters:
    """Answer independent combinations of inertial parameters that give all actuator efforts.

    Args:
        robot: the robot.
        method: ``"symbolic"``: by rules; ``"numeric"``: by a QR decomposition of the regressor in random
            states.
        mount: ``"fixed"``: the base stands still; ``"tilted"``: gravity can have any direction.
        rotor_inertia: whether the inertias of rotors are among the standard parameters.
    """
    if method not in get_args(Method):
        raise ValueError(f"method: expected 'symbolic' or 'numeric', but it is {method!r}")
    if mount not in ("fixed", "tilted"):
        raise ValueError(f"mount: expected 'fixed' or 'tilted', but it is {mount!r}")
    make = _symbolic if method == "symbolic" else _numeric
    kept, matrix = make(robot, mount)
    names = _all_names(robot)
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


def _all_names(robot: ParallelRobot) -> list[str]:
    platform = [f"{name}{robot.body}" for name in INERTIAL]
    return platform + [f"{name}{j}" for leg in robot.legs for j in leg.bodies for name in PER_BODY]


def _symbolic(robot: ParallelRobot, mount: Mount) -> tuple[list[int], Matrix]:
    """Answer the places of the parameters that stay, and the base parameters from the standard ones."""
    width = len(INERTIAL)
    of_legs = [tree_relations(leg.robot, mount) for leg in robot.legs]
    total = width + sum(relations.matrix.shape[1] for relations in of_legs)
    kept = list(range(width))
    rows = [np.eye(width, total)]
    start = width
    starts = []
    for relations in of_legs:
        starts.append(start)
        block = np.zeros((len(relations.kept), total))
        block[:, start : start + relations.matrix.shape[1]] = relations.matrix
        rows.append(block)
        kept += [start + k for k in relations.kept]
        start += relations.matrix.shape[1]
    matrix = np.vstack(rows)
    idle = [*_idle_of_platform(robot, mount, total)]
    for leg, begin in zip(robot.legs, starts, strict=True):
        idle += _shared(robot, leg, begin, total)
    return _without_idle(kept, matrix, [matrix @ direction for direction in idle])


def _without_idle(kept: list[int], matrix: Matrix, idle: Sequence[Matrix]) -> tuple[list[int], Matrix]:
    """Group parameters so that no direction that changes no torque is left."""
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
        settled = [(place, earlier - earlier[pivot] * left) for place, earlier in settled]
        settled.append((pivot, left))
    grouped = matrix.copy()
    for pivot, direction in settled:
        grouped -= np.outer(direction, matrix[pivot])
    gone = {pivot for pivot, _ in settled}
    rows = [row for row in range(len(kept)) if row not in gone]
    return [kept[row] for row in rows], without_rounding(grouped[rows])


def _shared(robot: ParallelRobot, leg: Leg, begin: int, total: int) -> list[Matrix]:
    """Directions from the platform to the last body of a leg: bodies that belong to either, eq. (56)."""
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
    """Parameters, in the last body of a leg and in the platform's, of bodies that both carry alike."""
    if len(leg.pairs) == 3:
        x, y = leg.pairs[0].in_leg, leg.pairs[2].in_leg
        v, w = leg.pairs[0].in_platform, leg.pairs[1].in_platform
        T_last_cut = Transform(mat3.from_columns(x, y, vec3.cross(x, y)), leg.point)
        T_link_cut = Transform(mat3.from_columns(vec3.cross(v, w), v, w), leg.anchor)
        in_leg, in_platform = (
            moved_parameters(T_last_cut),
            moved_parameters(compose(T_body_platform, T_link_cut)),
        )
        return list(zip(in_leg.T, in_platform.T, strict=True))
    places = [(leg.point, leg.anchor)]
    if len(leg.pairs) == 2:
        axis = vec3.cross(leg.pairs[0].in_platform, leg.pairs[1].in_platform)
        places += [
            (
                vec3.add(leg.point, vec3.scale(way, leg.pairs[0].in_leg)),
                vec3.add(leg.anchor, vec3.scale(way, axis)),
            )
            for way in (1.0, -1.0)
        ]
    return [
        (point_mass(a), point_mass(vec3.add(mat3.mul_vec(T_body_platform.R, b), T_body_platform.p)))
        for a, b in places
    ]


def point_mass(p: Vec3) -> Matrix:
    """Inertial parameters of a mass of 1 at a point."""
    x, y, z = p
    J = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return np.array([*J, x, y, z, 1.0])


def _idle_of_platform(robot: ParallelRobot, mount: Mount, total: int) -> list[Matrix]:
    """Directions of parameters of the platform that show in none of its motions."""
    if len(robot.mobility) == 6:
        return []
    rows = []
    for motion in random_motions(robot, mount, seed=1):
        columns = platform_columns(robot.with_gravity(motion.gravity), motion.motion)
        rows.append(np.array(columns).T)
    _, sizes, directions = np.linalg.svd(np.vstack(rows))
    rank = int(np.sum(sizes > 1e-10 * sizes[0]))
    choice = first_independent(directions[:rank])
    others = [k for k in range(len(INERTIAL)) if k not in choice.columns]
    idle = []
    for k in others:
        direction = np.zeros(total)
        direction[k] = 1.0
        direction[list(choice.columns)] = -choice.relations[:, k]
        idle.append(direction)
    return idle


def _numeric(robot: ParallelRobot, mount: Mount) -> tuple[list[int], Matrix]:
    """Answer the same from the columns of the regressor in random states."""
    found = dependent_columns(random_regressor(robot, mount))
    return list(found.columns), found.relations
