# SPDX-License-Identifier: Apache-2.0
"""The columns of the dynamic model that can be told apart: those of the base parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import Combinations
from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.numeric_relations import SAMPLES, random_states
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.codegen.traced_program import trace
from dyn_core.core.arrays import Array
from dyn_core.dynamics.regressor import regressor
from dyn_core.facade.closed import closed
from dyn_core.facade.run_by import run_by
from dyn_core.grouping.base_parameters import PER_BODY, BaseParameters
from dyn_core.identification.closing import always, closing
from dyn_core.identification.motor_coupling import MotorCoupling, coupling_columns
from dyn_core.identification.passive_friction import passive_friction
from dyn_core.loops.coordinates import configuration
from dyn_core.model.fixed_base.dynamics_programs import Vector
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot

_NEAR = 0.05
"""How far from its assembly the loops of a robot are taken to close (rad or m)."""


@dataclass(frozen=True, eq=False)
class BaseColumns(Combinations):
    """The columns of base parameters, of rigid bodies and rotors, and of the friction of passive joints.

    Attributes:
        standard_names: names of the standard inertial parameters and rotor inertias, 11 for each joint, of
            the friction of passive joints, and of the parameters of motors that move several joints.
        kept: the standard parameter that each base parameter stands in the place of: those of
            `base_parameters`, then friction of passive joints, then motors.
        matrix: ``base = matrix @ standard`` (SI units).
        columns: the columns (N, n, p) at positions, velocities and accelerations (N, n).
        robot: the robot.
        couplings: the motors that move several joints.
        passive: names of the friction of passive joints.
        closes: whether the loops of the robot close at all positions (N, n).
    """

    columns: Callable[[Array, Array, Array], Array]
    robot: Robot
    couplings: tuple[MotorCoupling, ...] = ()
    passive: tuple[str, ...] = ()
    closes: Callable[[Array], bool] = always


def base_columns(robot: Robot, couplings: Sequence[MotorCoupling] = ()) -> BaseColumns:
    """Answer the columns of the base parameters of a robot, compiled for it alone.

    Args:
        robot: the robot.
        couplings: motors that move several joints, whose parameters come after the others.
    """
    refuse_springs(robot, "identification")
    refuse_moving_base(robot, "identification")
    found = _with_friction(base_parameters(robot), passive_friction(robot))
    places = [robot.parameter_names.index(name) for name in found.kept]
    program = trace(
        "base_regressor",
        partial(regressor_columns, robot, places),
        {"q": robot.dof, "qd": robot.dof, "qdd": robot.dof},
        (robot.dof, len(found.kept)),
    )
    of_bodies = run_by(robot, closed(robot, program))
    passive = found.standard_names[len(PER_BODY) * len(robot.joints) :]
    if not couplings:
        names, kept, matrix = found.standard_names, found.kept, found.matrix
        return BaseColumns(names, kept, matrix, of_bodies, robot, (), passive, closing(robot))
    return _with_motors(robot, found, of_bodies, couplings, passive)


def _with_friction(bodies: BaseParameters, passive: Combinations) -> Combinations:
    """Answer base parameters, and friction of passive joints behind them."""
    (a, b), (c, d) = bodies.matrix.shape, passive.matrix.shape
    matrix = np.block([[bodies.matrix, np.zeros((a, d))], [np.zeros((c, b)), passive.matrix]])
    names = (*bodies.standard_names, *passive.standard_names)
    return Combinations(names, (*bodies.kept, *passive.kept), matrix)


def _with_motors(
    robot: Robot,
    found: Combinations,
    of_bodies: Callable[[Array, Array, Array], Array],
    couplings: Sequence[MotorCoupling],
    passive: tuple[str, ...],
) -> BaseColumns:
    """Answer the columns of base parameters and of what of the motors no body does."""
    states = some_states(robot)
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
        passive,
        closing(robot),
    )


def some_states(robot: Robot) -> Array:
    """Random positions, velocities and accelerations, (3, N, n): of a robot with loops near its assembly."""
    random = np.random.default_rng(0)
    if not robot.loops:
        return np.ascontiguousarray(random_states(robot, random).swapaxes(1, 2))
    states = random.uniform(-1.0, 1.0, (3, SAMPLES, robot.dof))
    at = dict(zip(robot.independent, structure(robot).reference, strict=True))
    states[0] = np.array([at[j] for j in robot.coordinates]) + _NEAR * states[0]
    return states


def regressor_columns(robot: Robot, wanted: Sequence[int], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Answer columns of the regressor, row by row: those at these places of `Robot.parameter_names`."""
    at = configuration(robot, q)
    rows = regressor(robot, at.q, at.rates(qd), at.accelerations(qd, qdd), robot.gravity_0)
    columns = list(zip(*rows, strict=True))
    gathered = at.many_torques([columns[k] for k in wanted])
    return [value for row in zip(*gathered, strict=True) for value in row]
