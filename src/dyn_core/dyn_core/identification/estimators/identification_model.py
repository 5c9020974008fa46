# SPDX-License-Identifier: Apache-2.0
"""Identification models of a motion: dynamic, filtered, energy, power (SYMORO+ 2003, 3.5.3).

Parameters are estimated all at once or link by link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.identification.estimators.identification_settings import (
    IdentificationSettings,
    check_length,
    check_signals,
)
from dyn_core.identification.estimators.least_squares import (
    SINGULAR,
    Factors,
    factors,
    own_columns,
    triangular,
    weighted,
)
from dyn_core.identification.friction.friction_model import FrictionModel, unit
from dyn_core.identification.friction.friction_selection import Rows
from dyn_core.identification.regressor.base_columns import (
    BaseColumns,
    MotorCoupling,
    base_columns,
    motors_of,
    unit_of,
)
from dyn_core.identification.regressor.momentum_energy import dissipated, energies, momenta
from dyn_core.identification.regressor.motion_equations import Equations, at_rest
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.mdh.direct_geometry import lineage
from dyn_core.robot.robot import Robot

ModelKind = Literal["dynamic", "filtered", "energy", "power"]
ALL_JOINTS = -1  # index for equations of all joints together
OF_JOINTS = ("dynamic", "filtered")


@dataclass(frozen=True, eq=False)
class ModelEstimate:
    """Parameters by one model.

    Attributes:
        names: base parameters, then the friction of each joint.
        values: their values (SI units).
        deviations: their standard deviations, for residuals that are white before the filter of both sides;
            inf for those that the equations do not show.
        sigma: deviation of the residuals of each joint (N m or N); one for all of energy (J) and power (W).
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
        names: names of K, in the order of the columns, with their `units`.
        columns: (N, p).
        measured: right-hand side, (N,): torques or forces (N m or N) behind the filter of both sides, work
            (J), or power (W) behind that filter.
        joints: index of the joint of each equation, (N,); -1 for all joints together.
        base: the columns of the base parameters.
        memory: number of samples of filtered white noise that are worth one independent sample.
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

        Raise DynError if the equations are those of all joints together.
        """
        self._check_of_joints()
        allowed = np.zeros((len(self.base.robot.coordinates), len(self.names)), dtype=bool)
        allowed[:, : self.factors.shared] = structure(self.base)
        for row, own in zip(allowed, own_columns(self.factors), strict=True):
            row[list(own)] = True
        return allowed

    def estimate(self) -> ModelEstimate:
        """Return weighted least squares: the deviation of its residuals weights each joint."""
        found = weighted(self.factors)
        return ModelEstimate(self.names, found.x, self.memory**0.5 * found.deviations, found.sigma)

    def link_by_link(self) -> ModelEstimate:
        """Return least squares of one joint after the other, from the leaves to the base (eq. (3.108)).

        Raise DynError if the equations are those of all joints together.
        """
        self._check_of_joints()
        x, deviations, sigma = link_by_link(self.base, self.factors)
        return ModelEstimate(self.names, x, self.memory**0.5 * deviations, sigma)

    def _check_of_joints(self) -> None:
        if self.kind not in OF_JOINTS:
            raise DynError("model-without-joint-equations", model=self.kind)


@one_thread()
def identification_model(
    robot: Robot,
    signals: Signals,
    kind: ModelKind = "dynamic",
    friction: Sequence[FrictionModel] | None = None,
    couplings: Sequence[MotorCoupling] = (),
    interval: int | None = None,
) -> IdentificationModel:
    """Return a model of a motion that is linear in base parameters and friction.

    Args:
        robot: the robot; the values of its dynamic parameters do not matter.
        signals: the motion, which is used whole, and the filter of both sides: see `condition`.
        kind: ``dynamic``: torques = D K; ``filtered``: the same without accelerations, by D1 and D2;
            ``energy``: work = (h(t2) - h(t1)) K; ``power``: its derivative. The last two have one equation
            for all joints.
        friction: friction of each joint, independent of the load; by default viscous, Coulomb and offset,
            which is the only choice for energy and power.
        couplings: motors that move several joints, beside those in the map of the log.
        interval: samples from one equation of energy to the next; by default twice `signals.decimate`.

    Raises:
        DynError: the signals do not fit the robot or the model, or are too few.
        ValueError: the model is unknown, or it does not support the friction.
    """
    if kind not in get_args(ModelKind):
        known = f"one of {', '.join(get_args(ModelKind))}"
        raise ArgumentError("argument-choice-unknown", argument="kind", known=known, given=kind)
    models = (FrictionModel(),) * robot.dof if friction is None else tuple(friction)
    if any(model.loaded for model in models) or (kind not in OF_JOINTS and set(models) - {FrictionModel()}):
        raise ArgumentError("model-friction-unsupported", model=kind)
    signals = signals.of_joints(robot.coordinate_names)
    check_signals(robot, signals, IdentificationSettings(models))
    if kind in ("filtered", "power") and signals.decimate < 2:
        raise DynError("model-needs-decimation", model=kind)
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
    head = (kind, (*base.names, *names), tuple(units))
    memory = 1.0 if kind == "energy" else signals.decimation.memory
    if kind in OF_JOINTS:
        equations = Equations(signals, base, momenta(base) if kind == "filtered" else None)
        check_length(equations, 1)
        rows = Rows(equations, tuple((model,) for model in models))
        data = factors(rows)
        return IdentificationModel(*head, *_whole(rows, data), base, memory, data)
    has_effort = zip(robot.coordinate_names, signals.has_effort, strict=True)
    if missing := [name for name, is_measured in has_effort if not is_measured]:
        raise DynError("joint-effort-missing", joints=missing, model=kind)
    if kind == "energy":
        table = energy_rows(signals, base, 2 * signals.decimate if interval is None else interval)
    else:
        table = power_rows(signals, base)
    if len(table) < table.shape[1] - 1:
        raise DynError("motion-equations-too-few", count=len(table), model=kind, needed=table.shape[1] - 1)
    joints = np.full(len(table), ALL_JOINTS)
    columns, measured = table[:, :-1], table[:, -1]
    data = Factors(columns.shape[1], (triangular(table),), np.array([len(table)]))
    return IdentificationModel(*head, columns, measured, joints, base, memory, data)


def _whole(rows: Rows, data: Factors) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Return all equations of measured joints: columns, torques, and joints."""
    own = own_columns(data)
    count = rows.shared + sum(len(places) for places in own)
    blocks = []
    for which, pieces in rows.pieces():
        for i in np.flatnonzero(rows.equations.measured):
            piece = pieces[i][rows.used[which, i]]  # without the times at which the joint stands
            columns = np.zeros((len(piece), count))
            columns[:, : rows.shared] = piece[:, : rows.shared]
            columns[:, list(own[i])] = piece[:, rows.shared : -1]
            blocks.append((columns, piece[:, -1], np.full(len(piece), i)))
    columns, torques, joints = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return columns, torques, joints


# Parameters link by link, from the leaves to the base (SYMORO+ 2003, eq. (3.108))
#
# The torque of a joint depends only on the links that it carries and on its own friction: the equations are
# triangular. The parameters of the last link come from the torque of the last joint, those of the link before
# from the torque of its joint less the known part, and so on. The systems are small; each parameter has few
# equations, and takes over the errors of the links behind it. Parameters of a link that its own
# torque does not show are found from the joints before it.

SHOWN = 1e-3  # least independent part of a column of unit length for a joint to determine its parameter


def structure(base: BaseColumns) -> BoolArray:
    """Return which base parameters the torque of each joint may depend on, (n, p)."""
    robot = base.robot
    carried = np.full((robot.dof, len(base.kept)), bool(robot.loops))
    if robot.loops:  # an actuated joint can move any body of its loop
        return carried
    row = {number: i for i, number in enumerate(robot.coordinates)}
    motors = {name: motor for motor in base.couplings for name in motor.parameter_names}
    for k, name in enumerate(base.kept):
        if name in motors:
            carried[:, k] = motors[name].speeds(robot) != 0.0
            continue
        body = int(name[len(name.rstrip("0123456789")) :])
        for j in lineage(robot, body):
            mimic = robot.joints[j - 1].mimic if j else None
            number = mimic.leader if mimic else j
            if number in row:
                carried[row[number], k] = True
    return carried


def link_by_link(base: BaseColumns, data: Factors) -> tuple[Array, Array, Array]:
    """Return the parameters of equations, link by link, their deviations, and those of the residuals.

    The deviations are those for independent residuals; inf for parameters that were not found.
    """
    carried, own, shared = structure(base), own_columns(data), data.shared
    count = shared + sum(len(columns) for columns in own)
    x, covariance = np.zeros(count), np.zeros((count, count))
    known = np.zeros(count, dtype=bool)
    sigma = np.zeros(data.dof)
    for i in reversed(range(data.dof)):
        R = data.parts[i]
        columns = [*np.flatnonzero(carried[i]).tolist(), *own[i]]
        places = {k: k if k < shared else shared + k - own[i].start for k in columns}
        free = _decided(R, [k for k in columns if not known[k]], places)
        fixed = [k for k in columns if known[k]]
        W = R[:, [places[k] for k in free]]
        V = R[:, [places[k] for k in fixed]]
        right = R[:, -1] - V @ x[fixed]
        inverse = np.linalg.pinv(W)
        found = inverse @ right
        rest = float(np.sum((right - W @ found) ** 2))
        sigma[i] = np.sqrt(rest / max(data.count[i] - len(free), 1))
        passed = -inverse @ V  # effect of errors of the known parameters
        x[free] = found
        cross = passed @ covariance[np.ix_(fixed, range(count))]
        covariance[free, :] = cross
        covariance[:, free] = cross.T
        covariance[np.ix_(free, free)] = sigma[i] ** 2 * inverse @ inverse.T + cross[:, fixed] @ passed.T
        known[free] = True
    deviations = np.where(known, np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.inf)
    return x, deviations, sigma


def _decided(R: Array, unknown: list[int], places: dict[int, int]) -> list[int]:
    """Return the unknown parameters that the rows of a joint determine: friction, and independent columns."""
    ordered = sorted(unknown, reverse=True)  # friction, the links far from the joint, then its own
    W = R[:, [places[k] for k in ordered]]
    lengths = np.linalg.norm(W, axis=0)
    present = lengths > SINGULAR * lengths.max(initial=0.0)
    kept = [k for k, is_present in zip(ordered, present, strict=True) if is_present]
    T = np.linalg.qr(W[:, present] / lengths[present], mode="r")
    independent = np.abs(np.diag(T)) > SHOWN
    return sorted(k for k, good in zip(kept, independent, strict=False) if good)


# Equations of energy and power: one for all joints, without accelerations
#
# Over an interval, the work of the actuators is the change of energy and the loss by friction:
#
#     integral of tau . qd  =  (h(t2) - h(t1)) K + sum_j integral of (Fv_j qd_j^2 + Fs_j |qd_j| + Fo_j qd_j)
#
# (SYMORO+ 2003, (3.112)), and at each time, behind a filter of both sides, ``tau . qd = d/dt h K + ...``
# (3.113). The parameters are the base parameters, then Fv, Fs and Fo of each joint.


def energy_rows(signals: Signals, base: BaseColumns, interval: int) -> Array:
    """Return the equations of energy, rows ``[columns | work]``, one each `interval` samples."""
    if interval < 1:
        expected = "a number of samples >= 1"
        raise ArgumentError("argument-range", argument="interval", expected=expected, given=interval)
    h = energies(base)
    rows = []
    for first, last in signals.segments:
        part = signals.part(first, last)
        places = np.arange(0, len(part), interval)
        done = _integrals(_powers(part, base), part.time)[places]
        energy = h(part.q[places], part.qd[places])
        done[:, : energy.shape[1]] += energy
        rows.append(np.diff(done, axis=0))
    return np.concatenate(rows)


def power_rows(signals: Signals, base: BaseColumns) -> Array:
    """Return the equations of power, rows ``[columns | power]``.

    The filter of both sides differentiates the energy, so that it has to keep one of 2 samples or more.
    """
    h, decimation = energies(base), signals.decimation
    rows = []
    for first, last in signals.segments:
        part = signals.part(first, last)
        gained = decimation.derivative(h(part.q, part.qd)) / part.period
        total = decimation.of(_powers(part, base))
        total[:, : gained.shape[1]] += gained
        rows.append(total)
    return np.concatenate(rows)


def _powers(signals: Signals, base: BaseColumns) -> Array:
    """Return the power (W) of friction per unit of each parameter, and that of the actuators, last."""
    work = np.sum(signals.tau * signals.qd, axis=1)
    rates = np.ascontiguousarray(signals.qd.T)
    friction = [FrictionModel().columns(qd, np.zeros_like(qd)) * qd[:, None] for qd in rates]
    return np.column_stack([dissipated(base, signals.q, signals.qd), *friction, work])


def _integrals(values: Array, t: Array) -> Array:
    """Return the integrals of values (N, ...) from the first time to each, by the trapezoidal rule."""
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
