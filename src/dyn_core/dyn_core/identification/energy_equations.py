# SPDX-License-Identifier: Apache-2.0
"""Equations of energy and of power: one for all joints, and no accelerations in them.

Over an interval, what the actuators do is what the energy gains and friction takes (SYMORO+ 2003, (3.112)):

    integral of tau . qd  =  (h(t2) - h(t1)) K + sum_j integral of (Fv_j qd_j^2 + Fs_j |qd_j| + Fo_j qd_j)

and at each moment, behind a filter of both sides, ``tau . qd = d/dt h K + ...`` (3.113). The parameters are
the base parameters, then Fv, Fs and Fo of each joint.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.identification.factors import Factors, triangular
from dyn_core.identification.friction.friction_model import STANDARD, FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.momentum_energy import dissipated, energies
from dyn_core.logs.conditioning.signals import Signals


def scalar_names(base: BaseColumns) -> tuple[str, ...]:
    """Names of the parameters of the models of energy and power."""
    standard = FrictionModel(STANDARD)
    friction = (name for j in base.robot.coordinates for name in standard.names(j))
    return (*base.names, *friction)


def energy_factors(signals: Signals, base: BaseColumns, interval: int) -> Factors:
    """Answer the factors of the equations of energy; see `energy_rows`."""
    return scalar_factors(energy_rows(signals, base, interval))


def energy_rows(signals: Signals, base: BaseColumns, interval: int) -> Array:
    """Answer the equations of energy, rows ``[columns | work]``.

    Args:
        signals: the motion.
        base: the columns of the base parameters.
        interval: samples from the beginning of one equation to that of the next.
    """
    if interval < 1:
        raise ValueError(f"interval: expected a number of samples >= 1, but it is {interval!r}")
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


def power_factors(signals: Signals, base: BaseColumns) -> Factors:
    """Answer the factors of the equations of power; see `power_rows`."""
    return scalar_factors(power_rows(signals, base))


def power_rows(signals: Signals, base: BaseColumns) -> Array:
    """Answer the equations of power, rows ``[columns | power]``.

    Args:
        signals: the motion; the filter of both sides differentiates the energy, so that it keeps one of 2
            samples or more.
        base: the columns of the base parameters.
    """
    h, decimation = energies(base), signals.decimation
    rows = []
    for first, last in signals.segments:
        part = signals.part(first, last)
        gained = decimation.derivative(h(part.q, part.qd)) / part.period
        all_of_it = decimation.of(_powers(part, base))
        all_of_it[:, : gained.shape[1]] += gained
        rows.append(all_of_it)
    return np.concatenate(rows)


def _powers(signals: Signals, base: BaseColumns) -> Array:
    """Power (W) that friction takes of each parameter, and that of the actuators, (N, p + 3 n + 1)."""
    work = np.sum(signals.tau * signals.qd, axis=1)
    standard = FrictionModel(STANDARD)
    columns = [
        standard.columns(qd, np.zeros_like(qd)) * qd[:, None] for qd in np.ascontiguousarray(signals.qd.T)
    ]
    return np.column_stack([dissipated(base, signals.q, signals.qd), *columns, work])


def _integrals(values: Array, t: Array) -> Array:
    """Integrals of values (N, ...) from the first time to each, by the trapezoidal rule."""
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])


def scalar_factors(rows: Array) -> Factors:
    """Answer the factors of equations that are those of all joints together."""
    return Factors(rows.shape[1] - 1, ((triangular(rows),),), (np.array([len(rows)]),))
