# SPDX-License-Identifier: Apache-2.0
"""Base parameters by numbers: the columns of the regressor in random states (SYMORO+ 2003, appendix 4.3).

Columns that depend on those before them belong to parameters that are grouped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.link_motion import AT_REST, LinkMotion
from dyn_core.dynamics.regressor import regressor_on_base
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.closed_regressor import on_motions, random_closed_states
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.relations import Relations, settled, size_of, units_of
from dyn_core.grouping.tidied import tidied
from dyn_core.model.standard_parameters import PER_JOINT
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3

SAMPLES = 40

FARTHEST = 100.0
"""How far a coordinate may go for the sake of what follows it (rad or m)."""


def random_regressor(robot: Robot, mount: Mount, seed: int, samples: int = SAMPLES) -> Matrix:
    """Answer the columns of the inertial parameters of the regressor in random states, one below the other.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        seed: of the random numbers.
        samples: number of states.
    """
    random = np.random.default_rng(seed)
    size = size_of(robot)
    if robot.loops:
        closed = random_closed_states(robot, seed)
        moving = _random_base(robot, mount, random, len(closed.q), size)
        return on_motions(closed, _of_independent(robot, moving, closed.q.T, closed.qd.T, closed.qdd.T))
    q, qd, qdd = random_states(robot, random, samples)
    of_joints = _of_independent(robot, _random_base(robot, mount, random, samples, size), q, qd, qdd)
    stacked: Matrix = of_joints.reshape(len(of_joints), robot.dof * samples).T
    return stacked


def _of_independent(robot: Robot, moving: LinkMotion, q: Matrix, qd: Matrix, qdd: Matrix) -> Matrix:
    """Columns of the inertial parameters in the torques of the independent joints, (p, joints, samples)."""
    samples = q.shape[1]
    on_tree = joint_positions(robot, list(q)), joint_rates(robot, list(qd)), joint_rates(robot, list(qdd))
    positions, rates, accelerations = (
        [np.broadcast_to(value, samples) for value in values] for values in on_tree
    )
    columns = zip(*regressor_on_base(robot, positions, rates, accelerations, moving), strict=True)
    inertial = [column for k, column in enumerate(columns) if k % PER_JOINT < len(PER_BODY)]
    gathered = [coordinate_torques(robot, column) for column in inertial]
    W = np.zeros((len(inertial), len(robot.independent), samples))
    for column, values in zip(W, gathered, strict=True):
        for row, value in zip(column, values, strict=True):
            row[:] = value
    return W


def random_states(robot: Robot, random: np.random.Generator, samples: int = SAMPLES) -> Matrix:
    """Positions, velocities and accelerations that show each parameter, (3, n, samples).

    Args:
        robot: the robot.
        random: the random numbers.
        samples: number of states.
    """
    states: Matrix = random.uniform(-1.0, 1.0, (3, robot.dof, samples))
    states[0] *= np.array(_reach(robot, size_of(robot))).reshape(-1, 1)
    return states


def _reach(robot: Robot, size: float) -> list[float]:
    """Answer how far each coordinate goes (rad or m): far enough that what follows it turns, too."""
    reach = dict.fromkeys(robot.coordinates, 0.0)
    for j, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (j, 1.0)
        if multiplier != 0.0:
            own = size if joint.sigma is Sigma.PRISMATIC else math.pi
            reach[leader] = max(reach[leader], min(own / abs(multiplier), FARTHEST))
    return [reach[j] for j in robot.coordinates]


def _random_base(
    robot: Robot, mount: Mount, random: np.random.Generator, samples: int, size: float
) -> LinkMotion:
    def vector(scale: float) -> Vec3:
        x, y, z = scale * random.uniform(-1.0, 1.0, (3, samples))
        return (x, y, z)

    if mount == "fixed":
        return AT_REST._replace(vd=vec3.neg(robot.gravity_0))
    if mount == "tilted":
        return AT_REST._replace(vd=vector(size))
    w, wd = vector(1.0), vector(1.0)
    return LinkMotion(w, wd, mat3.add(mat3.skew(wd), mat3.skew_squared(w)), vector(size))


def numeric_relations(
    robot: Robot, mount: Mount, seed: int, rotors: bool = True, without: Sequence[int] = ()
) -> Relations:
    """Answer the grouping relations of a robot from its regressor in random states.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        seed: of the random numbers.
        rotors: whether there are inertias of rotors.
        without: columns of parameters that are always 0.
    """
    units = units_of(robot.joints, size_of(robot))
    W = random_regressor(robot, mount, seed) * units
    if not rotors:
        W[:, len(PER_BODY) - 1 :: len(PER_BODY)] = 0.0
    W[:, list(without)] = 0.0
    found = dependent_columns(W)
    return tidied(robot, settled(Relations(found.columns, found.relations), units))


def coupled_relations(robot: Robot, mount: Mount, of_tree: Relations, seed: int) -> Relations:
    """Answer the grouping relations of a robot of which some joints mimic others.

    What groups where all joints move by themselves does so where they do not; what groups in addition,
    because the joints do not, is found among the columns that are left.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        of_tree: relations where all joints move by themselves.
        seed: of the random numbers.
    """
    units = units_of(robot.joints, size_of(robot))
    kept = np.array(of_tree.kept, dtype=int)
    found = dependent_columns((random_regressor(robot, mount, seed) * units)[:, kept])
    without_units = of_tree.matrix * units / units[kept, None]
    more = Relations(tuple(kept[list(found.columns)].tolist()), found.relations @ without_units)
    return settled(more, units)
