# SPDX-License-Identifier: Apache-2.0
"""Base parameters by numbers: the columns of the regressor in random states (SYMORO+ 2003, appendix 4.3).

Columns that depend on those before them belong to parameters that are grouped.
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.dynamics.regressor import regressor_on_base
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.effects import NEGLIGIBLE, Mount
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.relations import Relations, size_of, units_of
from dyn_core.kinematics.link_motion import AT_REST, LinkMotion
from dyn_core.linalg import mat3, vec3
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot
from dyn_core.model.standard_parameters import PER_JOINT

DEPENDENT = 1e-9
"""Greatest part of a column, independent of those before it, that is taken for rounding."""

_ROUNDING = 1e-11

SAMPLES = 40


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
    reach = [size if joint.sigma is Sigma.PRISMATIC else math.pi for joint in robot.independent_joints]
    q, qd, qdd = (list(random.uniform(-1.0, 1.0, (robot.dof, samples))) for _ in range(3))
    q = [limit * value for limit, value in zip(reach, q, strict=True)]
    moving = _random_base(robot, mount, random, samples, size)
    on_tree = joint_positions(robot, q), joint_rates(robot, qd), joint_rates(robot, qdd)
    q, qd, qdd = ([np.broadcast_to(value, samples) for value in values] for values in on_tree)
    columns = zip(*regressor_on_base(robot, q, qd, qdd, moving), strict=True)
    inertial = [column for k, column in enumerate(columns) if k % PER_JOINT < len(PER_BODY)]
    gathered = [coordinate_torques(robot, column) for column in inertial]
    W = [np.concatenate([np.broadcast_to(value, samples) for value in column]) for column in gathered]
    stacked: Matrix = np.array(W, dtype=np.float64).reshape(len(inertial), robot.dof * samples).T
    return stacked


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


def numeric_relations(robot: Robot, mount: Mount, seed: int) -> Relations:
    """Answer the grouping relations of a robot from its regressor in random states."""
    W = random_regressor(robot, mount, seed)
    return dependent_columns(W, units_of(robot.joints, size_of(robot)))


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
    kept = list(of_tree.kept)
    W = random_regressor(robot, mount, seed)[:, kept]
    more = dependent_columns(W, units_of(robot.joints, size_of(robot))[kept])
    return Relations(tuple(kept[k] for k in more.kept), more.matrix @ of_tree.matrix)


def dependent_columns(W: Matrix, units: Matrix) -> Relations:
    """Answer the first independent columns of a matrix, and the others as combinations of them.

    Args:
        W: the matrix; it has more rows than columns, unless it has no rows.
        units: what each column is to be multiplied with first.
    """
    W = W * units
    lengths = np.linalg.norm(W, axis=0)
    floor = NEGLIGIBLE * lengths.max(initial=0.0)
    present = np.flatnonzero(lengths > floor)
    W1 = W[:, present] / lengths[present]
    remainders = np.abs(np.diag(np.linalg.qr(W1, mode="r")))  # (A3-4)
    kept = present[(remainders > DEPENDENT) & (remainders * lengths[present] > floor)]  # (A3-5)
    matrix = np.zeros((len(kept), W.shape[1]))
    Q1, R1 = np.linalg.qr(W[:, kept] / lengths[kept])  # (A3-7)
    matrix[:, present] = np.linalg.solve(R1, Q1.T @ W1)  # (A3-11)
    matrix[:, kept] = np.eye(len(kept))
    matrix[np.abs(matrix) <= _ROUNDING] = 0.0
    relations = lengths * matrix / lengths[kept, None]
    return Relations(tuple(kept.tolist()), units[kept, None] * relations / units)
