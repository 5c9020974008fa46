# SPDX-License-Identifier: Apache-2.0
"""The columns of the dynamic model that can be told apart: those of the base parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.codegen.program import trace
from dyn_core.dynamics.regressor import regressor
from dyn_core.facade.arrays import Array
from dyn_core.facade.programs import Vector
from dyn_core.facade.run_by import run_by
from dyn_core.grouping.base_parameters import BaseParameters
from dyn_core.grouping.combinations import Combinations
from dyn_core.grouping.dependent_columns import dependent_columns
from dyn_core.grouping.determine import base_parameters
from dyn_core.grouping.numeric import random_states
from dyn_core.identification.motor_coupling import MotorCoupling, coupling_columns
from dyn_core.model.coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.model.robot import Robot


@dataclass(frozen=True, eq=False)
class BaseColumns(Combinations):
    """The columns of base parameters, of rigid bodies and rotors.

    Attributes:
        standard_names: names of the standard inertial parameters and rotor inertias, 11 for each joint, and
            of the parameters of motors that move several joints.
        kept: the standard parameter that each base parameter stands in the place of: those of
            `base_parameters`, then motors.
        matrix: ``base = matrix @ standard`` (SI units).
        columns: the columns (N, n, p) at positions, velocities and accelerations (N, n).
        robot: the robot.
        couplings: the motors that move several joints.
    """

    columns: Callable[[Array, Array, Array], Array]
    robot: Robot
    couplings: tuple[MotorCoupling, ...] = ()


def base_columns(robot: Robot, couplings: Sequence[MotorCoupling] = ()) -> BaseColumns:
    """Answer the columns of the base parameters of a robot, compiled for it alone.

    Args:
        robot: the robot.
        couplings: motors that move several joints, whose parameters come after the others.
    """
    found = base_parameters(robot)
    program = trace(
        "base_regressor",
        partial(regressor_columns, robot, found.regressor_columns),
        {"q": robot.dof, "qd": robot.dof, "qdd": robot.dof},
        (robot.dof, len(found.kept)),
    )
    of_bodies = run_by(robot, program)
    if not couplings:
        return BaseColumns(found.standard_names, found.kept, found.matrix, of_bodies, robot)
    return _with_motors(robot, found, of_bodies, couplings)


def _with_motors(
    robot: Robot,
    found: BaseParameters,
    of_bodies: Callable[[Array, Array, Array], Array],
    couplings: Sequence[MotorCoupling],
) -> BaseColumns:
    """Answer the columns of base parameters and of what of the motors no body does."""
    states = np.ascontiguousarray(random_states(robot, np.random.default_rng(0)).swapaxes(1, 2))
    bodies, motors = of_bodies(*states), coupling_columns(robot, couplings, *states[1:])
    count = len(found.kept)
    W = np.concatenate([bodies, motors], axis=2)
    chosen = dependent_columns(W.reshape(-1, W.shape[2]), count)
    names = tuple(name for coupling in couplings for name in coupling.parameter_names)
    kept = [k - count for k in chosen.columns[count:]]

    def columns(q: Array, qd: Array, qdd: Array) -> Array:
        moved = coupling_columns(robot, couplings, qd, qdd)[..., kept]
        return np.concatenate([of_bodies(q, qd, qdd), moved], axis=-1)

    relations = chosen.relations
    return BaseColumns(
        (*found.standard_names, *names),
        (*found.kept, *(names[k] for k in kept)),
        np.hstack([relations[:, :count] @ found.matrix, relations[:, count:]]),
        columns,
        robot,
        tuple(couplings),
    )


def regressor_columns(robot: Robot, wanted: Sequence[int], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Answer columns of the regressor, row by row: those at these places of `Robot.parameter_names`."""
    q, qd, qdd = joint_positions(robot, q), joint_rates(robot, qd), joint_rates(robot, qdd)
    columns = list(zip(*regressor(robot, q, qd, qdd, robot.gravity_0), strict=True))
    gathered = [coordinate_torques(robot, columns[k]) for k in wanted]
    return [value for row in zip(*gathered, strict=True) for value in row]
