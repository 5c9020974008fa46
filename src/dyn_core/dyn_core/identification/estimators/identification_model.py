# SPDX-License-Identifier: Apache-2.0
"""The identification models of a motion, to look at and to estimate parameters with (SYMORO+ 2003, 3.5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError, listed
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.energy_equations import energy_rows, power_rows, scalar_factors
from dyn_core.identification.estimators.identification_settings import check_length, check_signals
from dyn_core.identification.estimators.least_squares import own_columns, weighted
from dyn_core.identification.factors import Factors, factors
from dyn_core.identification.friction.friction_model import FrictionModel, unit
from dyn_core.identification.link_by_link import link_by_link, structure
from dyn_core.identification.motor_coupling import MotorCoupling, motors_of
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.momentum_energy import momenta
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rows import Rows
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.units import unit_of
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

ModelKind = Literal["dynamic", "filtered", "energy", "power"]
ALL_JOINTS = -1
"""Stands in the place of a joint where an equation is that of all of them."""
OF_JOINTS = ("dynamic", "filtered")


@dataclass(frozen=True, eq=False)
class ModelEstimate:
    """Parameters by one model.

    Attributes:
        names: base parameters, then the friction of each joint.
        values: their values (SI units).
        deviations: their standard deviations, of residuals that are white before the filter of both sides;
            inf for those that the equations do not show.
        sigma: deviation of the residuals of each joint (N m or N); of energy (J) and power (W) one for all.
    """

    names: tuple[str, ...]
    values: Array
    deviations: Array
    sigma: Array

    @property
    def parameters(self) -> Mapping[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class IdentificationModel:
    """Equations ``columns K = measured`` of a motion, K the base parameters and friction.

    Attributes:
        kind: which model.
        names: names of K, in the order of the columns.
        units: their units.
        columns: (N, p).
        measured: what is on the other side, (N,): torques or forces (N m or N) behind the filter of both
            sides, work (J), or power (W) behind that filter.
        joints: the joint that each equation is of, by its place; -1 where it is of all, (N,).
        base: the columns of the base parameters.
        memory: samples that white noise behind the filter is worth one of.
        factors: triangular factors of the equations.
    """

    kind: ModelKind
    names: tuple[str, ...]
    units: tuple[str, ...]
    columns: Array
    measured: Array
    joints: npt.NDArray[np.int64]
    base: BaseColumns
    memory: float
    factors: Factors

    @property
    def condition(self) -> float:
        """Condition number of the columns, each of unit length."""
        return weighted(self.factors).condition

    @property
    def structure(self) -> BoolArray:
        """Which parameters the equations of each joint may depend on, (n, p): triangular in a chain.

        Raises:
            DynError: the equations are those of all joints together.
        """
        self._check_of_joints()
        allowed = np.zeros((len(self.base.robot.coordinates), len(self.names)), dtype=bool)
        allowed[:, : self.factors.shared] = structure(self.base)
        for row, own in zip(allowed, own_columns(self.factors), strict=True):
            row[list(own)] = True
        return allowed

    def estimate(self) -> ModelEstimate:
        """Answer weighted least squares: each joint counts by the deviation of its residuals."""
        found = weighted(self.factors)
        return ModelEstimate(self.names, found.x, self.memory**0.5 * found.deviations, found.sigma)

    def link_by_link(self) -> ModelEstimate:
        """Answer least squares of one joint after the other, from the leaves to the base (eq. (3.108)).

        Raises:
            DynError: the equations are those of all joints together.
        """
        self._check_of_joints()
        found = link_by_link(self.base, self.factors)
        return ModelEstimate(self.names, found.x, self.memory**0.5 * found.deviations, found.sigma)

    def _check_of_joints(self) -> None:
        if self.kind not in OF_JOINTS:
            raise DynError(
                f"the {self.kind} model has one equation for all joints, not one for each: use the dynamic "
                "or the filtered model"
            )


@one_thread()
def identification_model(
    robot: Robot,
    signals: Signals,
    kind: ModelKind = "dynamic",
    friction: Sequence[FrictionModel] | None = None,
    couplings: Sequence[MotorCoupling] = (),
    interval: int | None = None,
) -> IdentificationModel:
    """Answer a model of a motion that is linear in base parameters and friction.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        signals: the motion, all of which is used, and the filter of both sides: see `condition`.
        kind: ``dynamic``: torques = D K; ``filtered``: the same without accelerations, by D1 and D2;
            ``energy``: work = (h(t2) - h(t1)) K; ``power``: its derivative. The last two have one equation
            for all joints.
        friction: friction of each joint, which does not depend on the load; viscous, Coulomb and offset by
            default, and of energy and power in any case.
        couplings: motors that move several joints, beside those that the map of the log names.
        interval: of energy, samples from one equation to the next; by default twice `signals.decimate`.

    Raises:
        DynError: the signals are not those of the robot, too few, or not what the model needs.
        ValueError: there is no such model, or it has no such friction.
    """
    if kind not in get_args(ModelKind):
        raise ValueError(f"kind: expected one of {', '.join(get_args(ModelKind))}, but it is {kind!r}")
    models = (FrictionModel(),) * robot.dof if friction is None else tuple(friction)
    if any(model.loaded for model in models) or (kind not in OF_JOINTS and set(models) - {FrictionModel()}):
        raise ValueError(
            f"friction: the {kind} model cannot have it; use viscous, Coulomb, offset, or identify"
        )
    signals = signals.of_joints(robot.coordinate_names)
    check_signals(robot, signals, IdentificationSettings(models))
    if kind in ("filtered", "power") and signals.decimate < 2:
        raise DynError(
            f"the filter of both sides differentiates in the {kind} model: keep one sample of 2 or more, by "
            "decimate in the protocol"
        )
    signals = at_rest(signals)
    motors = motors_of(robot, signals, couplings)
    base = base_columns(robot, motors)
    names = [name for j, model in zip(robot.coordinates, models, strict=True) for name in model.names(j)]
    units = [unit_of(name, robot) for name in base.kept]
    units += [
        unit(term, joint)
        for joint, model in zip(robot.independent_joints, models, strict=True)
        for term in model.terms
    ]
    known = (kind, (*base.names, *names), tuple(units))
    memory = 1.0 if kind == "energy" else signals.decimation.memory
    if kind in OF_JOINTS:
        equations = Equations(signals, base, momenta(base) if kind == "filtered" else None)
        check_length(equations, 1)
        rows = Rows(equations, tuple((model,) for model in models))
        data = factors(rows)
        return IdentificationModel(*known, *_whole(rows, data), base, memory, data)
    unknown = [
        name for name, there in zip(robot.coordinate_names, signals.has_effort, strict=True) if not there
    ]
    if unknown:
        raise DynError(
            f"the effort of {listed(unknown)} was not measured: the {kind} model needs that of all joints"
        )
    if kind == "energy":
        table = energy_rows(signals, base, 2 * signals.decimate if interval is None else interval)
    else:
        table = power_rows(signals, base)
    if len(table) < table.shape[1] - 1:
        raise DynError(
            f"the motion gives {len(table)} equations of {kind} for {table.shape[1] - 1} parameters: measure "
            "for longer, or take shorter intervals"
        )
    joints = np.full(len(table), ALL_JOINTS)
    data = scalar_factors(table)
    return IdentificationModel(*known, table[:, :-1], table[:, -1], joints, base, memory, data)


def _whole(rows: Rows, data: Factors) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Answer all equations of joints that were measured: columns, torques, and whose they are."""
    own = own_columns(data)
    count = rows.shared + sum(len(places) for places in own)
    columns: list[Array] = []
    torques: list[Array] = []
    joints: list[npt.NDArray[np.int64]] = []
    for which, pieces in rows.pieces():
        for i, (all_of_them, places) in enumerate(zip(pieces, own, strict=True)):
            if not rows.equations.measured[i]:
                continue
            piece = all_of_them[rows.used[which, i]]  # not those of times at which the joint stands
            block = np.zeros((len(piece), count))
            block[:, : rows.shared] = piece[:, : rows.shared]
            block[:, list(places)] = piece[:, rows.shared : -1]
            columns.append(block)
            torques.append(piece[:, -1])
            joints.append(np.full(len(piece), i))
    return np.concatenate(columns), np.concatenate(torques), np.concatenate(joints)
