# SPDX-License-Identifier: Apache-2.0
"""The columns of the dynamic model that can be told apart: base parameters (SYMORO+ 2003, app. 4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.codegen.program import Program, trace
from dyn_core.dynamics.regressor import regressor
from dyn_core.facade.arrays import Array
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.programs import Vector
from dyn_core.facade.runnable import runnables
from dyn_core.identification.motor_coupling import MotorCoupling, coupling_columns
from dyn_core.model.coupling import coordinate_torques, joint_positions, joint_rates
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT

DEPENDENT = 1e-9
"""Least part of a column of unit length that has to be independent of those before it."""

_STATES = 60


@dataclass(frozen=True, eq=False)
class BaseColumns:
    """The columns of base parameters, of rigid bodies and rotors.

    Attributes:
        kept: the standard parameter that each base parameter stands in the place of.
        standard_names: names of the standard inertial parameters and rotor inertias, 11 for each joint, and
            of the parameters of motors that move several joints.
        matrix: ``base = matrix @ standard`` (SI units).
        columns: the columns (N, n, p) at positions, velocities and accelerations (N, n).
        robot: the robot.
    """

    kept: tuple[str, ...]
    standard_names: tuple[str, ...]
    matrix: Array
    columns: Callable[[Array, Array, Array], Array]
    robot: Robot

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: ``XXR2`` where others are grouped in XX2, ``XX2`` where none is."""
        return tuple(
            _grouped(name) if np.count_nonzero(row) > 1 else name
            for name, row in zip(self.kept, self.matrix, strict=True)
        )


def base_columns(robot: Robot, couplings: Sequence[MotorCoupling] = ()) -> BaseColumns:
    """Answer the columns of the base parameters of a robot, compiled for it alone.

    Args:
        robot: the robot.
        couplings: motors that move several joints, whose parameters come after the others.
    """
    standard = [k for k in range(PER_JOINT * len(robot.joints)) if k % PER_JOINT <= len(INERTIAL)]
    states = _random_states(robot)
    W = np.concatenate(
        [_standard_columns(robot, standard, *states), coupling_columns(robot, couplings, *states[1:])], axis=2
    )
    kept, matrix = independent_columns(np.concatenate(list(W.transpose(1, 0, 2))))
    of_bodies = [standard[k] for k in kept if k < len(standard)]
    of_motors = [k - len(standard) for k in kept if k >= len(standard)]
    program = trace(
        "base_regressor",
        partial(_columns, robot, of_bodies),
        {"q": robot.dof, "qd": robot.dof, "qdd": robot.dof},
        (robot.dof, len(of_bodies)),
    )
    compiled = run_by(robot, program)

    def columns(q: Array, qd: Array, qdd: Array) -> Array:
        rigid: Array = compiled(q, qd, qdd)
        if not of_motors:
            return rigid
        motors = coupling_columns(robot, couplings, qd, qdd)[..., of_motors]
        return np.concatenate([rigid, motors], axis=-1)

    names = (
        *(robot.parameter_names[k] for k in standard),
        *(name for coupling in couplings for name in coupling.parameter_names),
    )
    return BaseColumns(tuple(names[k] for k in kept), names, matrix, columns, robot)


def independent_columns(W: Array) -> tuple[list[int], Array]:
    """Answer the first independent columns of a matrix, and all columns as combinations of them.

    Returns:
        which columns are kept, and the matrix M of ``W = W[:, kept] M``.
    """
    lengths = np.linalg.norm(W, axis=0)
    present = np.flatnonzero(lengths > DEPENDENT * lengths.max(initial=0.0))
    scaled = W[:, present] / lengths[present]
    R = np.linalg.qr(scaled, mode="r")
    kept = present[np.abs(np.diag(R)) > DEPENDENT]
    matrix = np.zeros((len(kept), W.shape[1]))
    matrix[:, present] = np.linalg.lstsq(W[:, kept] / lengths[kept], scaled, rcond=None)[0]
    matrix = np.where(np.abs(matrix) > 1e3 * DEPENDENT, matrix, 0.0)
    matrix[:, kept] = np.eye(len(kept))
    scales = np.where(lengths > 0.0, lengths, 1.0)
    return [int(k) for k in kept], scales * matrix / scales[kept, None]


def run_by(robot: Robot, program: Program) -> Callable[..., Array]:
    """Answer a program of a robot as a function of arrays of one shape, compiled where that can be."""
    compiled = compiled_or_none(robot, [program], "auto") or runnables([program], "python")
    return partial(compiled[0].run, ())


def _columns(robot: Robot, wanted: list[int], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    q, qd, qdd = joint_positions(robot, q), joint_rates(robot, qd), joint_rates(robot, qdd)
    columns = list(zip(*regressor(robot, q, qd, qdd, robot.gravity_0), strict=True))
    gathered = [coordinate_torques(robot, columns[k]) for k in wanted]
    return [value for row in zip(*gathered, strict=True) for value in row]


def _random_states(robot: Robot) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations that excite everything, (N, n) each."""
    random = np.random.default_rng(0)
    q, qd, qdd = random.uniform(-1.0, 1.0, (3, _STATES, robot.dof))
    reach = [1.0 if joint.sigma is Sigma.PRISMATIC else math.pi for joint in robot.independent_joints]
    return np.array(reach) * q, qd, qdd


def _standard_columns(robot: Robot, wanted: list[int], q: Array, qd: Array, qdd: Array) -> Array:
    states = [list(np.ascontiguousarray(values.T)) for values in (q, qd, qdd)]
    values = [np.broadcast_to(value, len(q)) for value in _columns(robot, wanted, *states)]
    W: Array = np.array(values).reshape(robot.dof, len(wanted), len(q))
    return np.moveaxis(W, 2, 0)


def _grouped(name: str) -> str:
    letters = name.rstrip("0123456789")
    return f"{letters}R{name[len(letters) :]}"
