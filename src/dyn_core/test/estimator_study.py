# SPDX-License-Identifier: Apache-2.0
"""Estimators beside each other: what they find of an arm under a control, with noisy positions, many times.

The arm is simulated under a proportional-derivative control; its friction is smooth, as that of the
simulation has to be. Sensors have ten times the noise of positions of `identification_study`. A filter of the
positions with a cutoff of 40 Hz lets much of it through, so that biases show; one that is chosen by the data
does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from simulated_truth import RATE, SIX, arm, excitation, sensed, true_values, with_drives

import dyn_core
from dyn_core import FrictionModel, Protocol, Signals
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.deviations import deviations, residual_rows
from dyn_core.identification.equations import Equations
from dyn_core.identification.factors import factors
from dyn_core.identification.least_squares import ordinary, weighted
from dyn_core.identification.robust import reweighted
from dyn_core.identification.rows import Rows, rows_of
from dyn_core.identification.simulated import Control, simulated
from dyn_core.identification.simulation_estimators import by_simulation
from dyn_core.identification.total_least_squares import total_least_squares

POSITION_NOISE = 1e-4
PROTOCOLS = {
    "chosen by the data": Protocol(train=1.0),
    "40 Hz": Protocol(cutoff=40.0, decimate=10, train=1.0),
}
MODELS = (FrictionModel(v0=0.15),) * len(SIX)


@dataclass(frozen=True, eq=False)
class Controlled:
    """An arm under a control.

    Attributes:
        robot: the arm, whose parameters are the true ones.
        base: the columns of its base parameters.
        control: what moves it.
        exact: what it does.
        expected: base parameters and friction.
    """

    robot: dyn_core.Robot
    base: BaseColumns
    control: Control
    exact: Signals
    expected: np.ndarray


def controlled(duration: float) -> Controlled:
    """Answer an arm that follows a Fourier series, as well as a control without knowledge of it can."""
    robot = with_drives(arm(SIX))
    base = base_columns(robot)
    t, q, qd, qdd = excitation(robot.dof, duration)
    model = dyn_core.compile_model(robot, friction=False)
    stiffness = np.diag(model.inertia_matrix(q[0]))
    control = Control(
        q, qd, np.zeros_like(q), 900.0 * stiffness, 60.0 * stiffness, np.full(robot.dof, np.inf)
    )
    start = dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, qdd, np.zeros_like(q))
    expected = true_values(robot, base)
    friction = expected[len(base.kept) :]
    return Controlled(robot, base, control, simulated(model, MODELS, friction, control, start), expected)


def measured(case: Controlled, seed: int, protocol: Protocol) -> tuple[Signals, Control]:
    """Answer what sensors say of the arm, and the control at these times."""
    q, tau = sensed(case.exact, seed, position_noise=POSITION_NOISE)
    log = dyn_core.log_of_arrays(case.robot.joint_names, case.exact.time, q, tau)
    signals = dyn_core.condition(log, protocol)
    first = round(signals.time[0] * RATE)
    inner = slice(first, first + len(signals))
    control = case.control
    return signals, replace(
        control, q=control.q[inner], qd=control.qd[inner], feedforward=control.feedforward[inner]
    )


def estimates(case: Controlled, seed: int, protocol: Protocol) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Answer parameters and their deviations by each estimator, from the same signals."""
    signals, control = measured(case, seed, protocol)
    equations = Equations(signals, case.base)
    rows = rows_of(equations, MODELS)
    data = factors(rows)
    plain = weighted(data)
    spread = deviations(rows, plain, residual_rows(rows, plain.x))
    robust, _ = reweighted(rows, plain.x)
    found = {
        "ols": (ordinary(data).x, spread),
        "wls": (plain.x, spread),
        "irls": (robust.x, spread),
        "total": (_total(case, signals, plain.sigma), spread),
    }
    for name, method in (("idim-iv", "instrumental"), ("output error", "output_error")):
        solution = by_simulation(equations, MODELS, control, method)  # type: ignore[arg-type]
        found[name] = solution.x, np.sqrt(signals.decimation.memory) * solution.deviations
    return found


def _total(case: Controlled, signals: Signals, sigma: np.ndarray) -> np.ndarray:
    """Total least squares, told how noisy each column is, which only a simulation knows."""
    first = round(signals.time[0] * RATE)
    inner = slice(first, first + len(signals))
    true = replace(signals, **{name: getattr(case.exact, name)[inner] for name in ("q", "qd", "qdd", "tau")})
    both = [_stacked(rows_of(Equations(one, case.base), MODELS), sigma) for one in (signals, true)]
    noise = np.sqrt(np.mean((both[0] - both[1]) ** 2, axis=0))
    noise[noise < 1e-9 * np.abs(both[0]).max(axis=0)] = 0.0
    return total_least_squares(both[0], noise)


def _stacked(rows: Rows, sigma: np.ndarray) -> np.ndarray:
    """All weighted equations ``[W tau]``, one below the other."""
    p = rows.shared + sum(len(model.terms) for models in rows.frictions for model in models)
    blocks = []
    for _, pieces in rows.pieces():
        start = rows.shared
        for piece, s in zip(pieces, sigma, strict=True):
            block = np.zeros((len(piece), p + 1))
            own = piece.shape[1] - 1 - rows.shared
            block[:, : rows.shared] = piece[:, : rows.shared]
            block[:, start : start + own] = piece[:, rows.shared : -1]
            block[:, -1] = piece[:, -1]
            blocks.append(block / s)
            start += own
    return np.concatenate(blocks)
