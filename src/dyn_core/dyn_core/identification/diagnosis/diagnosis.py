# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals of a motion, before anything is believed that comes from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.findings import Finding
from dyn_core.identification.diagnosis.signal_diagnosis import delay_findings
from dyn_core.identification.diagnosis.wrong_signals import BETTER, PERHAPS, mixed_up, mixed_up_findings
from dyn_core.identification.effort_scale import effort_scale_findings
from dyn_core.identification.estimators.least_squares import weighted
from dyn_core.identification.factors import factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.hypothesis import Evidence
from dyn_core.identification.miscalibrated import miscalibrated, miscalibrated_findings
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.rows import Rows
from dyn_core.identification.saturation import flat_parts, saturation_findings


@one_thread()
def diagnosis(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Answer what is wrong with the signals: signs, swapped joints, gains, zeros, saturation, delays.

    What explains most is named, and nothing else, for with that all else looks wrong too: where signs are
    wrong or joints swapped, nothing else is asked, no gain, zero or delay where torques are cut, and of
    delays on the one side, gains and zeros on the other, only those that explain more. A unit of all
    torques is another matter: what it is, the description says alone.

    Args:
        equations: the equations, of torques that are not filtered.
        friction: friction of each joint.
    """
    return (*effort_scale_findings(equations), *_of_signals(equations, friction))


def _of_signals(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Answer what the signals say of each other."""
    robot, evidence = equations.base.robot, Evidence(equations, friction)
    exchanged = mixed_up(evidence)
    calibrated = miscalibrated(evidence, exchanged.score)
    of_numbers = miscalibrated_findings(robot, calibrated)
    if calibrated.score > exchanged.score - PERHAPS:
        found = mixed_up_findings(robot, evidence, exchanged)
        if found:
            return tuple(found)
    late, explained = delay_findings(evidence)
    is_number = bool(of_numbers) and calibrated.gain > explained
    if not (is_number and calibrated.gain > BETTER):
        cut = saturation_findings(robot, equations.signals.tau, _without_flat_parts(equations, friction))
        if cut:
            return tuple(cut)
    return tuple(of_numbers if is_number else late)


def _without_flat_parts(equations: Equations, friction: Sequence[FrictionModel]) -> Array:
    """Torques by a model that was fitted to the samples at which no torque is at its greatest or least."""
    rows = Rows(equations, tuple((model,) for model in friction))
    weights = np.ones((len(rows), rows.dof))
    reach = equations.decimation.reach
    for joint, _, samples in flat_parts(equations.signals.tau):
        # A filtered equation is one of them if any sample near its middle is.
        near = np.convolve(samples, np.ones(2 * (reach // 4) + 1), mode="same") > 0.0
        at = np.searchsorted(equations.signals.time, equations.times)
        weights[:, joint] *= np.where(near[at], 0.0, 1.0)
    enough = weights.sum(axis=0) > _FEWEST
    data = factors(rows, weights=np.where(enough, weights, 1.0))
    return _torques(equations, friction, weighted(data).x)


_FEWEST = 100
"""Equations of a joint that have to be left for a fit without its flat parts."""


def _torques(equations: Equations, friction: Sequence[FrictionModel], x: Array) -> Array:
    signals, shared = equations.signals, equations.shared
    torque = rigid_torques(equations, x)
    start = shared
    for i, model in enumerate(friction):
        columns = model.columns(signals.qd[:, i], torque[:, i])
        torque[:, i] += columns @ x[start : start + len(model.terms)]
        start += len(model.terms)
    return torque
