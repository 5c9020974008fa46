# SPDX-License-Identifier: Apache-2.0
"""Columns of the models without accelerations (filtered, energy, power), and the models as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.algorithms.dynamics.regressors import energy_row, filtered_model
from dyn_core.algorithms.loops.passive_joint_positions import Configuration, configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.identification.regressor.base_columns import (
    LETTERS,
    BaseColumns,
    coupling_columns,
    passive_friction,
    regressor_columns,
)
from dyn_core.model.builder import Vector
from dyn_core.model.fixed_base.closed_loops import closed
from dyn_core.model.fixed_base.compiled_model import run_by
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, dot

ROTOR = LETTERS[0]


def momenta(base: BaseColumns) -> Callable[[Array, Array], Array]:
    """Return D1 and D2 of the base parameters, (N, 2, n, p), as a function of positions and velocities."""
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
    """Return the row h of the base parameters, (N, p), as a function of positions and velocities."""
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
    """Return the power (W) lost to passive-joint and motor friction, per unit of base parameters, (N, p)."""
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
    """Return the base parameters of bodies, and those of motors, which come after them."""
    known = set(base.robot.parameter_names)
    return [k for k in base.kept if k in known], [k for k in base.kept if k not in known]


def _of_motors(base: BaseColumns, motors: Sequence[str], qd: Array) -> Array:
    """Return the columns of some motor parameters, (N, n, m); for rotors, the columns of their momentum."""
    names = [name for coupling in base.couplings for name in coupling.parameter_names]
    columns = coupling_columns(base.robot, base.couplings, qd, qd)
    return np.asarray(columns[..., [names.index(name) for name in motors]])


def _powers_of_motors(base: BaseColumns, motors: Sequence[str], qd: Array) -> Array:
    return np.asarray(np.einsum("kjm,kj->km", _of_motors(base, motors, qd), qd))


def filtered_program(robot: Robot, names: Sequence[str]) -> Program:
    """Return the filtered dynamic model of some parameters as a program of q and qd: D1, then D2."""
    selected = [robot.parameter_names.index(name) for name in names]
    sizes = {"q": robot.dof, "qd": robot.dof}
    shape = (2, robot.dof, len(selected))
    return closed(robot, trace("filtered_model", partial(_filtered, robot, selected), sizes, shape))


def energy_program(robot: Robot, names: Sequence[str]) -> Program:
    """Return the energy model of some parameters as a program of q and qd."""
    places = [divmod(robot.parameter_names.index(name), PER_JOINT) for name in names]
    selected = [(len(INERTIAL) + 1) * body + k for body, k in places]
    sizes = {"q": robot.dof, "qd": robot.dof}
    return closed(robot, trace("energy_model", partial(_energy, robot, selected), sizes, (len(selected),)))


def _filtered(robot: Robot, selected: Sequence[int], q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    model = filtered_model(robot, at.q, at.rates(qd), robot.gravity_0)
    momenta, others = (list(zip(*D, strict=True)) for D in model)
    D1 = at.many_torques([momenta[k] for k in selected])
    D2 = at.many_torques([others[k] for k in selected])
    if robot.loops:
        changes = _gradient_rates(at, robot.dof, qd)
        D2 = [
            [entry - dot(change, momenta[k]) for entry, change in zip(column, changes, strict=True)]
            for k, column in zip(selected, D2, strict=True)
        ]
    return [value for D in (D1, D2) for row in zip(*D, strict=True) for value in row]


def _gradient_rates(at: Configuration, n: int, qd: Vector) -> list[list[Scalar]]:
    """Return the columns of Gdot, where ``qd_tree = G qd`` and ``d/dt (G^T D1) = G^T d/dt D1 + Gdot^T D1``.

    ``Gdot qd``, the accelerations at zero accelerations of the coordinates, is a quadratic form of qd. A
    column of Gdot is its bilinear form with a unit vector.
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


def _energy(robot: Robot, selected: Sequence[int], q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    row = energy_row(robot, at.q, at.rates(qd), robot.gravity_0)
    return [row[k] for k in selected]


# The identification models as programs: base parameters and friction
#
# With K the parameters that name the columns, and F a filter of both sides:
#
#     base_regressor   torques = D(q, qd, qdd) K
#     filtered_model   F torques = (s F D1(q, qd) + F D2(q, qd)) K    (SYMORO+ 2003, eq. (3.117))
#     energy_model     energy = h(q, qd) K, without friction          (eq. (3.112))

_K = "K the parameters that the columns are named after (see dyn base)"
# documentation of each model
MODELS = {
    "base_regressor": f"D of torques = D K, with {_K}",
    "filtered_model": f"the rows D1 of all joints, then D2: torques = d/dt (D1 K) plus D2 K, with {_K}",
    "energy_model": f"the row h of energy = h K (J), with {_K}",
}
OF_FRICTION = ("Fv", "Fs", "Fo")


def identification_program(
    robot: Robot, name: str, *, friction: bool = True, rotor_inertia: bool = True
) -> Program:
    """Return an identification model of a robot, one of `MODELS`, as a program with named columns.

    `friction` adds viscous and Coulomb friction and offset of each joint, and the observable friction of
    passive joints. `rotor_inertia` adds the rotors of the joints. The values of the robot's dynamic
    parameters do not matter.
    """
    found = base_parameters(robot, rotor_inertia=rotor_inertia)
    kept, columns = found.kept, found.names
    own = [f"{letters}{j}" for j in robot.coordinates for letters in OF_FRICTION] if friction else []
    passive = passive_friction(robot)
    n = robot.dof
    if name == "energy_model":
        program = energy_program(robot, kept)
        return replace(program, columns=columns, documentation=MODELS[name])
    if friction:
        kept, columns = (*kept, *passive.kept), (*columns, *passive.names)
    parameters = [*kept, *own]
    if name == "filtered_model":
        program = replace(filtered_program(robot, parameters), shape=(2 * n, len(parameters)))
    else:
        places = [robot.parameter_names.index(parameter) for parameter in parameters]
        algorithm = partial(regressor_columns, robot, places)
        program = closed(robot, trace(name, algorithm, {"q": n, "qd": n, "qdd": n}, (n, len(parameters))))
    return replace(program, columns=(*columns, *own), documentation=MODELS[name])
