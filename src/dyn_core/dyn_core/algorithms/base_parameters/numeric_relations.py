# SPDX-License-Identifier: Apache-2.0
"""Grouping relations from the regressor in random states (SYMORO+ 2003, appendix 4.3).

Columns that depend on those before them belong to parameters that are grouped.

For robots with loops, the regressor is projected on the motions that the loops permit: ``N^T Y``, where the
columns of N are a basis of these motions. Its columns have the same dependencies as those of the torques of
the actuated joints, which are other combinations of the same rows (SYMORO+ 2003, sec. 4.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import PER_BODY
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.torque_effects import Matrix, Mount
from dyn_core.algorithms.base_parameters.tree_relations import (
    Relations,
    rounded_relations,
    size_of,
    units_of,
    with_columns_by_body,
)
from dyn_core.algorithms.dynamics.regressors import regressor_on_base
from dyn_core.algorithms.link_motion import AT_REST, LinkMotion, against_gravity, link_motion
from dyn_core.algorithms.loops.closed_configurations import least_solution, ranks
from dyn_core.algorithms.loops.constraints import ConstraintArrays, all_acceleration_terms
from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.core.arrays import Array
from dyn_core.robot.dynamic_parameters import PER_JOINT
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.vec3 import Vec3

# Random closed states
#
# Each sample moves along its own path from the reference, as straight as the constraints permit. Where the
# constraints lose rank, different modes of motion meet, such as those of a parallelogram and an
# antiparallelogram. Samples stop before such configurations.

STEPS = 12
STEP = 0.2  # Length of a step (rad, or units of the size of the loops)
_CLOSED = 1e-3  # Largest opening of the loops on the path
_REGULAR = 0.2  # Smallest ratio of the least singular value of the constraints to that in the reference


class ClosedStates(NamedTuple):
    """States of a robot with loops that keep them closed."""

    q: Array  # positions of the independent joints (rad or m), (K, independent joints)
    motions: Array  # K bases of the possible velocities, (K, independent joints, dof)
    qd: Array  # velocities of the independent joints (rad/s or m/s)
    qdd: Array  # accelerations of the independent joints (rad/s^2 or m/s^2)


def random_closed_configurations(
    numbers: ConstraintArrays, reference: Array, count: int, random: np.random.Generator
) -> Array:
    """Return closed configurations, near a reference and far from it, (count, independent joints)."""
    units = numbers.column_units
    samples = np.repeat(reference[np.newaxis], count, axis=0)
    W = numbers.rates(samples)
    rank = int(ranks(W[:1])[0])
    least = _REGULAR * _least(W[:1], rank)[0]
    direction = random.normal(size=samples.shape)
    steps = random.integers(1, STEPS + 1, count)
    for k in range(STEPS):
        free = direction - least_solution(W, (W @ direction[:, :, np.newaxis])[:, :, 0])
        length = np.abs(free).max(axis=1, keepdims=True)
        tried = samples + np.where(length > 1e-9, STEP / np.maximum(length, 1e-300), 0.0) * free * units
        W_tried = numbers.rates(tried)
        for _ in range(2):
            tried = tried - least_solution(W_tried, numbers.openings(tried)[0]) * units
        near = np.abs((tried - samples) / units).max(axis=1) < 1.5 * STEP
        closed = np.abs(numbers.openings(tried)[0]).max(axis=1, initial=0.0) < _CLOSED
        taken = closed & near & (_least(W_tried, rank) > least) & (k < steps)
        samples[taken], W[taken] = tried[taken], W_tried[taken]
    for _ in range(3):  # closed to rounding, because relations are found from small differences
        samples = samples - least_solution(numbers.rates(samples), numbers.openings(samples)[0]) * units
    return samples


def closed_states(numbers: ConstraintArrays, q: Array, random: np.random.Generator) -> ClosedStates:
    """Return random velocities and accelerations that keep the loops closed at positions q.

    They are combinations of all possible motions, and do not depend on which joints have actuators. So they
    are well conditioned even if the actuated joints hardly determine the others.
    """
    robot, units = numbers.robot, numbers.column_units
    W = numbers.rates(q)
    rank = int(ranks(W).max(initial=0))
    motions = np.linalg.svd(W)[2][:, rank:].swapaxes(1, 2)
    speeds, changes = random.uniform(-1.0, 1.0, (2, len(q), motions.shape[2], 1))
    qd = (motions @ speeds)[:, :, 0] * units
    rates = joint_rates(robot, list(qd.T))
    terms = all_acceleration_terms(robot, numbers.cuts, joint_positions(robot, list(q.T)), rates)
    psi = np.stack([np.broadcast_to(term, (len(q),)) for term in terms], axis=1) / numbers.row_units
    qdd = ((motions @ changes)[:, :, 0] - least_solution(W, psi)) * units
    return ClosedStates(q, motions * units[:, np.newaxis], qd, qdd)


def _least(W: Array, rank: int) -> Array:
    """Least singular value of the independent constraints, relative to the greatest."""
    if rank == 0:
        return np.ones(len(W))
    values = np.linalg.svd(W, compute_uv=False)
    return np.asarray(values[:, rank - 1] / np.maximum(values[:, 0], 1e-300))


SAMPLES = 40


def random_closed_states(robot: Robot, seed: int) -> ClosedStates:
    """Return random states of a robot with loops, near its assembly and far from it.

    Their number gives a regressor with twice as many rows as columns.
    """
    return _states(geometry_of(robot), seed)


@lru_cache(maxsize=16)
def _states(robot: Robot, seed: int) -> ClosedStates:
    reference = np.array(structure(robot).reference)
    numbers = ConstraintArrays(robot)
    columns = len(PER_BODY) * len(robot.joints)
    count = max(SAMPLES, math.ceil(2 * columns / max(robot.dof, 1)))
    random = np.random.default_rng(seed)
    states = closed_states(numbers, random_closed_configurations(numbers, reference, count, random), random)
    for values in states:
        values.flags.writeable = False
    return states


def on_motions(states: ClosedStates, of_joints: Matrix) -> Matrix:
    """Project columns (p, independent joints, K) on the possible motions, with the states stacked."""
    found: Matrix = np.einsum("kid,pik->dkp", states.motions, of_joints)
    return found.reshape(-1, of_joints.shape[0])


# Regressor in random states

FARTHEST = 100.0  # Largest range of a coordinate with mimic joints of small multipliers (rad or m)


def random_regressor(robot: Robot, mount: Mount, seed: int, samples: int = SAMPLES) -> Matrix:
    """Return the columns of the inertial parameters of the regressor, with the random states stacked."""
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
    gathered = (coordinate_torques(robot, column) for column in inertial)
    return np.array([[np.broadcast_to(value, samples) for value in column] for column in gathered])


def random_states(robot: Robot, random: np.random.Generator, samples: int = SAMPLES) -> Matrix:
    """Random q, qd and qdd in which each parameter has its effect, (3, n, samples)."""
    states: Matrix = random.uniform(-1.0, 1.0, (3, robot.dof, samples))
    states[0] *= np.array(_reach(robot, size_of(robot))).reshape(-1, 1)
    return states


def _reach(robot: Robot, size: float) -> list[float]:
    """Return the range of each coordinate (rad or m), large enough to turn its mimic joints as well."""
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
        return against_gravity(robot.gravity_0)
    if mount == "tilted":
        return AT_REST._replace(vd=vector(size))
    return link_motion(vector(1.0), vector(1.0), vector(size))


def numeric_relations(
    robot: Robot, mount: Mount, seed: int, rotors: bool = True, without: Sequence[int] = ()
) -> Relations:
    """Return the grouping relations from the regressor in random states, `without` columns that are 0."""
    units = units_of(robot.joints, size_of(robot))
    W = random_regressor(robot, mount, seed) * units
    if not rotors:
        W[:, len(PER_BODY) - 1 :: len(PER_BODY)] = 0.0
    W[:, list(without)] = 0.0
    found = dependent_columns(W)
    return rounded_relations(robot, with_columns_by_body(Relations(found.columns, found.relations), units))


def coupled_relations(robot: Robot, mount: Mount, of_tree: Relations, seed: int) -> Relations:
    """Return the grouping relations of a robot with mimic joints.

    Relations of independent joints remain valid. Others are found among the remaining columns.
    """
    units = units_of(robot.joints, size_of(robot))
    kept = np.array(of_tree.kept, dtype=int)
    found = dependent_columns((random_regressor(robot, mount, seed) * units)[:, kept])
    without_units = of_tree.matrix * units / units[kept, None]
    more = Relations(tuple(kept[list(found.columns)].tolist()), found.relations @ without_units)
    return with_columns_by_body(more, units)
