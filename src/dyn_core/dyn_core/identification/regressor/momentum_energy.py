# SPDX-License-Identifier: Apache-2.0
"""The columns of base parameters in the models without accelerations: filtered, energy, power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dyn_core.algorithms.dynamics.regressors import filtered_model
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.dynamics.energy_model import energy_row
from dyn_core.facade.closed import closed
from dyn_core.facade.run_by import run_by
from dyn_core.identification.motor_coupling import LETTERS, coupling_columns
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.linalg.dot import dot
from dyn_core.loops.coordinates import Configuration, configuration
from dyn_core.model.fixed_base.dynamics_programs import Vector
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar

ROTOR = LETTERS[0]


def momenta(base: BaseColumns) -> Callable[[Array, Array], Array]:
    """Answer D1 and D2 of the base parameters, (N, 2, n, p), as a function of positions and velocities."""
    rigid, motors = _without_motors(base)
    run = run_by(base.robot, filtered_program(base.robot, rigid))
    if not motors:
        return run

    def with_motors(q: Array, qd: Array) -> Array:
        columns = _of_motors(base, motors, qd)
        momentum = np.array([name.startswith(ROTOR) for name in motors])
        D = np.stack([np.where(momentum, columns, 0.0), np.where(momentum, 0.0, columns)], axis=1)
        return np.concatenate([run(q, qd), D], axis=-1)

    return with_motors


def energies(base: BaseColumns) -> Callable[[Array, Array], Array]:
    """Answer the row h of the base parameters, (N, p), as a function of positions and velocities."""
    rigid, motors = _without_motors(base)
    bodies = [name for name in rigid if name not in base.passive]
    run = run_by(base.robot, energy_program(base.robot, bodies))
    if not motors and bodies == rigid:
        return run

    def with_others(q: Array, qd: Array) -> Array:
        kinetic = 0.5 * _powers_of_motors(base, motors, qd)
        rotor = np.array([name.startswith(ROTOR) for name in motors])
        none = np.zeros((len(qd), len(rigid) - len(bodies)))
        return np.concatenate([run(q, qd), none, np.where(rotor, kinetic, 0.0)], axis=-1)

    return with_others


def dissipated(base: BaseColumns, q: Array, qd: Array) -> Array:
    """Answer what friction of passive joints, and of motors that move several joints, takes.

    It is the power (W) for each base parameter, (N, p).
    """
    rigid, motors = _without_motors(base)
    friction = np.array([not name.startswith(ROTOR) for name in motors], dtype=bool)
    power = _powers_of_motors(base, motors, qd)
    of_joints = np.zeros((len(qd), len(rigid)))
    passive = [k for k, name in enumerate(rigid) if name in base.passive]
    if passive:
        columns = base.columns(q, qd, np.zeros_like(qd))[..., passive]
        of_joints[:, passive] = np.einsum("kjm,kj->km", columns, qd)
    return np.concatenate([of_joints, np.where(friction, power, 0.0)], axis=1)


def _without_motors(base: BaseColumns) -> tuple[list[str], list[str]]:
    """Answer the base parameters of bodies, and those of motors, which come after them."""
    known = set(base.robot.parameter_names)
    return [k for k in base.kept if k in known], [k for k in base.kept if k not in known]


def _of_motors(base: BaseColumns, motors: Sequence[str], qd: Array) -> Array:
    """Columns of some parameters of motors, (N, n, m): of rotors those of their momentum."""
    names = [name for coupling in base.couplings for name in coupling.parameter_names]
    columns = coupling_columns(base.robot, base.couplings, qd, qd)
    return np.asarray(columns[..., [names.index(name) for name in motors]])


def _powers_of_motors(base: BaseColumns, motors: Sequence[str], qd: Array) -> Array:
    if not motors:
        return np.zeros((len(qd), 0))
    return np.asarray(np.einsum("kjm,kj->km", _of_motors(base, motors, qd), qd))


def filtered_program(robot: Robot, names: Sequence[str]) -> Program:
    """Answer the filtered dynamic model of some parameters as a program of q and qd: D1, then D2."""
    wanted = [robot.parameter_names.index(name) for name in names]
    sizes = {"q": robot.dof, "qd": robot.dof}
    shape = (2, robot.dof, len(wanted))
    return closed(robot, trace("filtered_model", partial(_filtered, robot, wanted), sizes, shape))


def energy_program(robot: Robot, names: Sequence[str]) -> Program:
    """Answer the energy model of some parameters as a program of q and qd."""
    places = [divmod(robot.parameter_names.index(name), PER_JOINT) for name in names]
    wanted = [(len(INERTIAL) + 1) * body + k for body, k in places]
    sizes = {"q": robot.dof, "qd": robot.dof}
    return closed(robot, trace("energy_model", partial(_energy, robot, wanted), sizes, (len(wanted),)))


def _filtered(robot: Robot, wanted: Sequence[int], q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    model = filtered_model(robot, at.q, at.rates(qd), robot.gravity_0)
    momenta, others = (list(zip(*D, strict=True)) for D in model)
    D1 = at.many_torques([momenta[k] for k in wanted])
    D2 = at.many_torques([others[k] for k in wanted])
    if robot.loops:
        changes = _gradient_rates(at, robot.dof, qd)
        D2 = [
            [entry - dot(change, momenta[k]) for entry, change in zip(column, changes, strict=True)]
            for k, column in zip(wanted, D2, strict=True)
        ]
    return [value for D in (D1, D2) for row in zip(*D, strict=True) for value in row]


def _gradient_rates(at: Configuration, n: int, qd: Vector) -> list[list[Scalar]]:
    """Columns of the rate of G, ``qd_tree = G qd``: joints that follow others do so by factors that change.

    ``d/dt (G^T D1) = G^T d/dt D1 + Gdot^T D1``. The accelerations without those of the coordinates,
    ``Gdot qd``, are a quadratic form of qd; a column of Gdot is its bilinear form with the unit of a
    coordinate.
    """
    rest: Vector = [0.0] * n
    own = at.accelerations(qd, rest)
    columns = []
    for k in range(n):
        unit: list[Scalar] = [float(i == k) for i in range(n)]
        both = at.accelerations([a + b for a, b in zip(qd, unit, strict=True)], rest)
        alone = at.accelerations(unit, rest)
        columns.append([0.5 * (x - y - z) for x, y, z in zip(both, own, alone, strict=True)])
    return columns


def _energy(robot: Robot, wanted: Sequence[int], q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    row = energy_row(robot, at.q, at.rates(qd), robot.gravity_0)
    return [row[k] for k in wanted]
