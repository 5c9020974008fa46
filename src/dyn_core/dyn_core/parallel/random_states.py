# SPDX-License-Identifier: Apache-2.0
"""Random motions of a platform near its assembly, and the regressor in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.core.errors import DynError
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.linalg.transform import Transform
from dyn_core.parallel.assembled import at, moved
from dyn_core.parallel.leg_closure import closed_leg
from dyn_core.parallel.placement_entries import placement_entries
from dyn_core.parallel.platform_motion import PlatformMotion, platform_motion
from dyn_core.parallel.regressor import leg_columns, platform_columns
from dyn_core.symbolic.vec3 import Vec3

SAMPLES = 60

REACH = 0.06
"""How far the platform goes from the assembly in each of its ways, at most (m or rad)."""

HALVINGS = 10
"""How often the way is halved where a leg is too short for it."""


class RandomMotion(NamedTuple):
    """A motion of the platform, gravity on the axes of the root (m/s^2), joint positions of the legs."""

    motion: PlatformMotion
    gravity: Vec3
    q: list[list[float]]


def random_motions(
    robot: ParallelRobot, mount: Mount, seed: int, samples: int = SAMPLES
) -> Iterator[RandomMotion]:
    """Answer motions in all directions that the platform has."""
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
    """Answer the placement after a displacement, or after a part of it that all legs can follow."""
    for halving in range(HALVINGS):
        T = moved(robot.T_home, by * 0.5**halving)
        try:
            return T, [
                closed_leg(leg, at(T), near) for leg, near in zip(robot.legs, robot.q_home, strict=True)
            ]
        except DynError:
            continue
    return robot.T_home, [list(q) for q in robot.q_home]


def random_regressor(robot: ParallelRobot, mount: Mount, seed: int = 0, samples: int = SAMPLES) -> Matrix:
    """Columns of the platform's parameters and of those of the legs, in random states one below the other."""
    rows = []
    for state in random_motions(robot, mount, seed, samples):
        tilted = robot.with_gravity(state.gravity)
        columns = platform_columns(tilted, state.motion)
        for leg, q in zip(tilted.legs, state.q, strict=True):
            columns += leg_columns(tilted, leg, state.motion, q)
        rows.append(np.array(columns).T)
    stacked: Matrix = np.vstack(rows)
    return stacked
