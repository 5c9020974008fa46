# SPDX-License-Identifier: Apache-2.0
"""Equations of energy and of power: one for all joints, and no accelerations in them.

Over an interval, what the actuators do is what the energy gains and friction takes (SYMORO+ 2003, (3.112)):

    integral of tau . qd  =  (h(t2) - h(t1)) K + sum_j integral of (Fv_j qd_j^2 + Fs_j |qd_j| + Fo_j qd_j)

and at each moment, behind a filter of both sides, ``tau . qd = d/dt h K + ...`` (3.113). The parameters are
the base parameters, then Fv, Fs and Fo of each joint.
"""

from __future__ import annotations

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns
from dyn_core.identification.factors import Factors, triangular
from dyn_core.identification.friction import STANDARD, FrictionModel
from dyn_core.identification.momenta import energies
from dyn_core.signals.signals import Signals


def scalar_names(base: BaseColumns) -> tuple[str, ...]:
    """Names of the parameters of the models of energy and power."""
    standard = FrictionModel(STANDARD)
    friction = (name for j in base.robot.coordinates for name in standard.names(j))
    return (*base.names, *friction)


def energy_factors(signals: Signals, base: BaseColumns, interval: int) -> Factors:
    """Answer the factors of the equations of energy.

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
        work, dissipated = _powers(part)
        done = _integrals(np.column_stack([dissipated, work]), part.time)[places]
        energy = h(part.q[places], part.qd[places])
        rows.append(np.diff(np.column_stack([energy, done]), axis=0))
    return _factors(np.concatenate(rows))


def power_factors(signals: Signals, base: BaseColumns) -> Factors:
    """Answer the factors of the equations of power.

    Args:
        signals: the motion; the filter of both sides differentiates the energy, so that it keeps one of 2
            samples or more.
        base: the columns of the base parameters.
    """
    h, decimation = energies(base), signals.decimation
    rows = []
    for first, last in signals.segments:
        part = signals.part(first, last)
        work, dissipated = _powers(part)
        gained = decimation.derivative(h(part.q, part.qd)) / part.period
        others = decimation.of(np.column_stack([dissipated, work]))
        rows.append(np.column_stack([gained, others]))
    return _factors(np.concatenate(rows))


def _powers(signals: Signals) -> tuple[Array, Array]:
    """Power of the actuators (W), (N,), and what it is multiplied by friction parameters, (N, 3 n)."""
    work = np.sum(signals.tau * signals.qd, axis=1)
    standard = FrictionModel(STANDARD)
    columns = [
        standard.columns(qd, np.zeros_like(qd)) * qd[:, None] for qd in np.ascontiguousarray(signals.qd.T)
    ]
    return work, np.concatenate(columns, axis=1)


def _integrals(values: Array, t: Array) -> Array:
    """Integrals of values (N, ...) from the first time to each, by the trapezoidal rule."""
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])


def _factors(rows: Array) -> Factors:
    return Factors(rows.shape[1] - 1, ((triangular(rows),),), (np.array([len(rows)]),))
