# SPDX-License-Identifier: Apache-2.0
"""Estimators beside each other: what they find of an arm under a control, with noisy positions, many times.

The arm is simulated under a proportional-derivative control; its friction is smooth, as that of the
simulation has to be. Sensors have ten times the noise of positions of `identification_study`. A filter of the
positions with a cutoff of 40 Hz lets much of it through, so that biases show; one that is chosen by the data
does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simulated_truth import SIX, arm, excitation, sensed, true_values, with_drives

import dyn_core
from dyn_core import FrictionModel, IdentificationSettings, Protocol, Signals
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.estimators import ESTIMATORS
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.simulated import simulated
from dyn_core.logs.control import Control

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


def measured(case: Controlled, seed: int, protocol: Protocol) -> Signals:
    """Answer what sensors say of the arm, with the control at these times."""
    q, tau = sensed(case.exact, seed, position_noise=POSITION_NOISE)
    log = dyn_core.log_of_arrays(case.robot.joint_names, case.exact.time, q, tau)
    return dyn_core.condition(log.with_control(case.control), protocol)


def estimates(case: Controlled, seed: int, protocol: Protocol) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Answer parameters and their deviations by each estimator, from the same signals."""
    equations = Equations(measured(case, seed, protocol), case.base)
    found = {}
    for name in ESTIMATORS:
        settings = IdentificationSettings(estimator=name)
        fit = Estimation(case.robot, case.base, settings).fit(equations, MODELS)
        found[name] = fit.solution.x, fit.deviations(fit.residuals)
    return found
