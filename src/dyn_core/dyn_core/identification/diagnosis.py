# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals of a motion, before anything is believed that comes from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.check.finding import Finding
from dyn_core.facade.arrays import Array
from dyn_core.facade.one_thread import one_thread
from dyn_core.identification.delays import delay_findings
from dyn_core.identification.equations import Equations
from dyn_core.identification.factors import factors
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.hypothesis import Evidence
from dyn_core.identification.least_squares import weighted
from dyn_core.identification.mixed_up import mixed_up, mixed_up_findings
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.rows import Rows
from dyn_core.identification.saturation import flat_parts, saturation_findings


@one_thread()
def diagnosis(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Answer what is wrong with the signals: signs, swapped joints, saturation, delays.

    Where signs are wrong or joints swapped, nothing else is asked, and no delay where torques are cut: all
    would look wrong.

    Args:
        equations: the equations, of torques that are not filtered.
        friction: friction of each joint.
    """
    evidence = Evidence(equations, friction)
    found = mixed_up_findings(equations.base.robot, evidence, mixed_up(evidence))
    if found:
        return tuple(found)
    cut = saturation_findings(
        equations.base.robot, equations.signals.tau, _without_flat_parts(equations, friction)
    )
    return tuple(cut) or tuple(delay_findings(equations, friction))


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
