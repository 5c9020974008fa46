# SPDX-License-Identifier: Apache-2.0
"""The delay between positions and torques.

A torque that was recorded d after the position that goes with it is ``tau(t) = model(t - d)``, which is
``model(t) - d d/dt model(t)`` for a delay that is short beside the motion. The derivative of the torque by
the model, as one more column, has the parameter -d: an estimate with a deviation. Positions are then taken
as of d earlier, until nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.diagnosis.signal_hypotheses import Channels, channels
from dyn_core.identification.estimators.least_squares import weighted
from dyn_core.identification.estimators.standard_deviations import residuals
from dyn_core.identification.factors import factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.golden import lowest
from dyn_core.identification.hypothesis import Evidence, nothing_wrong
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rigid_torques import rigid_torques
from dyn_core.identification.rows import Rows
from dyn_core.logs.conditioning.signals import Signals

ROUNDS = 4
SIGNIFICANT = 5.0
"""Deviations from 0 of a delay that is one."""
LEAST = 1e-3
"""Least delay that is worth a word (s); of one joint alone, half a period is the least."""
CLOSER = 9
"""Evaluations that find the delay of a joint near a first guess."""
DOMINANT = 0.4
"""Part of the residuals that goes away with a delay, where parameters without it are wrong. Friction that
sticks, and torques that act from their sample to the next, look like small delays."""


@dataclass(frozen=True, eq=False)
class Delay:
    """By how much torques are recorded later than positions.

    Attributes:
        common: of all joints together (s).
        deviation: its standard deviation (s).
        by_joint: of each joint (s), (n,).
        deviations: their standard deviations (s), (n,).
        gain: part of the residuals that goes away with the common one, by the geometric mean over joints.
    """

    common: float
    deviation: float
    by_joint: Array
    deviations: Array
    gain: float


def delay(equations: Equations, friction: Sequence[FrictionModel]) -> Delay:
    """Answer by how much the torques of a motion are recorded later than its positions.

    Args:
        equations: the equations.
        friction: friction of each joint.
    """
    signals = equations.signals
    shift, sigmas = 0.0, list[Array]()
    for _ in range(ROUNDS):
        moved = replace(equations, signals=earlier(signals, shift), _known={})
        found, spread, sigma = _left(moved, friction)
        sigmas.append(sigma)
        weights = 1.0 / spread**2
        known = max(float(np.sum(weights)), float(np.finfo(float).tiny))
        step = float(np.sum(weights * found)) / known
        shift += step
        if abs(step) < 0.02 * signals.period:
            break
    # Joints that differ among each other by more than they should are no better known than that.
    scatter = float(np.sum(weights * (found - step) ** 2)) / max(len(found) - 1, 1)
    common = math.sqrt(max(scatter, 1.0) / known)
    gain = 1.0 - float(np.exp(np.mean(np.log(sigmas[-1] / sigmas[0]))))
    return Delay(shift, common, shift - step + found, spread, gain)


def delay_findings(evidence: Evidence) -> tuple[list[Finding], float]:
    """Answer whether torques are recorded later, or earlier, than positions, and how much that explains.

    Returns:
        the findings, and the gain in misfit.
    """
    equations = evidence.equations
    found = delay(equations, evidence.friction)
    if _is_one(found.common, found.deviation):
        severity = Severity.ERROR if found.gain > DOMINANT else Severity.WARNING
        sentence = _sentence("torques", found.common, found.deviation)
        gain = -evidence.dof * math.log(max(1.0 - found.gain, 1e-6))
        return [Finding(severity, "robot", (), sentence)], gain
    names, findings, gain = equations.base.robot.coordinate_names, [], 0.0
    for one in _of_single_joints(evidence, found):
        severity = Severity.ERROR if 1.0 - math.exp(-one.gain) > DOMINANT else Severity.WARNING
        sentence = _sentence("its torque", one.value, one.deviation)
        findings.append(Finding(severity, "joint", (names[one.joint],), sentence))
        gain += one.gain
    return findings, gain


class _Single(NamedTuple):
    """A delay of the torque of one joint.

    Attributes:
        joint: place of the joint.
        value: by how much it is later than the positions (s).
        deviation: standard deviation (s).
        gain: what that explains, in misfit.
    """

    joint: int
    value: float
    deviation: float
    gain: float


def _of_single_joints(evidence: Evidence, found: Delay) -> list[_Single]:
    """Answer the joints whose torques are late for themselves, and how much of the misfit that is.

    The equations of such a joint are taken as of the motion earlier, one joint after the other.
    """
    plain = nothing_wrong(evidence.dof)
    least = max(LEAST, 0.5 * evidence.equations.signals.period)
    values, deviations = found.by_joint.tolist(), found.deviations.tolist()
    late = [i for i in range(evidence.dof) if _is_one(values[i], deviations[i], least)]
    late.sort(key=lambda i: -abs(values[i]) / deviations[i])
    seen, singles = evidence.as_it_is, []
    misfit = seen.assigned(plain.torques, plain.factors).misfit
    for i in late:

        def earlier_by(value: float, joint: int = i, before: Channels = seen) -> Channels:
            signals = earlier(evidence.equations.signals, value)
            equations = replace(evidence.equations, signals=signals, _known={})
            moved = channels(equations, evidence.friction)
            return before.with_joint_of(moved, joint)

        def misfit_at(value: float) -> float:
            return earlier_by(value).assigned(plain.torques, plain.factors).misfit

        value = lowest(misfit_at, 0.5 * values[i], 1.5 * values[i], CLOSER)
        now = misfit_at(value)
        if now < misfit:
            singles.append(_Single(i, value, deviations[i], misfit - now))
            seen, misfit = earlier_by(value), now
        else:
            singles.append(_Single(i, values[i], deviations[i], 0.0))
    return singles


def _is_one(value: float, deviation: float, least: float = LEAST) -> bool:
    return abs(value) > max(least, SIGNIFICANT * deviation)


def _sentence(what: str, value: float, deviation: float) -> str:
    order = "later" if value > 0.0 else "earlier"
    verb = "are" if what == "torques" else "is"
    entry = f"delays: {{effort: {value:.4f}}}" if what == "torques" else f"effort: {{delay: {value:.4f}}}"
    size = 1e3 * abs(value)
    digits = f"{size:.2g}" if size < 99.0 else f"{size:.0f}"
    return (
        f"{what} {verb} recorded {digits} ms (+- {1e3 * deviation:.1g} ms) {order} than the "
        f"positions that go with them: say '{entry}' in the map of the log"
    )


def earlier(signals: Signals, shift: float) -> Signals:
    """Answer the motion with positions and their rates as they were `shift` (s) earlier; torques stay."""
    if shift == 0.0:
        return signals
    parts = []
    for first, last in signals.segments:
        t = signals.time[first:last]
        parts.append(
            [
                _interpolated(t - shift, t, values[first:last], slopes[first:last])
                for values, slopes in (
                    (signals.q, signals.qd),
                    (signals.qd, signals.qdd),
                    (signals.qdd, np.gradient(signals.qdd, signals.period, axis=0)),
                )
            ]
        )
    q, qd, qdd = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return replace(signals, q=q, qd=qd, qdd=qdd)


def _interpolated(at: Array, t: Array, values: Array, slopes: Array) -> Array:
    """Cubic Hermite interpolation; beyond the ends, the value there."""
    k = np.clip(np.searchsorted(t, at) - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = np.clip((at - t[k])[:, None] / h, 0.0, 1.0)
    low, high = values[k], values[k + 1]
    a, b = h * slopes[k] - (high - low), (high - low) - h * slopes[k + 1]
    found: Array = (1.0 - s) * low + s * high + s * (1.0 - s) * ((1.0 - s) * a + s * b)
    return found


def _left(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Array, Array, Array]:
    """Delays of the joints that are left, their deviations (s), and those of the residuals (N m or N)."""
    frictions = tuple((model,) for model in friction)
    rows = Rows(equations, frictions)
    solution = weighted(factors(rows))
    slopes = _slopes(equations, friction, solution.x)
    n, shared = equations.signals.dof, equations.shared
    starts = np.cumsum([shared, *(len(model.terms) for model in friction)])
    R = np.concatenate([solution.R[:, solution.identifiable]])
    inverse = np.linalg.pinv(R)
    found, spread = np.zeros(n), np.zeros(n)
    errors = np.empty((len(rows), n))
    normal = np.zeros((n, n))
    right = np.zeros(n)
    cross = np.zeros((len(solution.x), n))
    for which, pieces in rows.pieces():
        for i, piece in enumerate(pieces):
            own = range(starts[i], starts[i + 1])
            places = [*range(shared), *own]
            errors[which, i] = piece[:, -1] - piece[:, :-1] @ solution.x[places]
            D = -slopes[which, i] * rows.used[which, i]
            s = solution.sigma[i] ** 2
            normal[i, i] += D @ D / s
            right[i] += D @ errors[which, i] / s
            cross[places, i] += piece[:, :-1].T @ D / s
    # What the parameters could do as well is taken out: the Schur complement of their normal matrix.
    part = inverse.T @ cross[solution.identifiable]
    schur = normal - part.T @ part
    covariance = np.linalg.pinv(schur)
    found = covariance @ right
    worth = residuals(errors).effective / len(rows)
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny) / worth)
    # A joint that stands all the time has no equations, which say nothing of its delay.
    spread = np.where(np.diag(normal) > 0.0, spread, np.inf)
    return found, spread, solution.sigma


def _slopes(equations: Equations, friction: Sequence[FrictionModel], x: Array) -> Array:
    """Filtered derivatives of the torques by the model, at the equations, (N, n)."""
    signals, shared = equations.signals, equations.shared
    torque = rigid_torques(equations, x)
    start = shared
    for i, model in enumerate(friction):
        columns = model.columns(signals.qd[:, i], np.zeros(len(signals)))
        torque[:, i] += columns @ x[start : start + len(model.terms)]
        start += len(model.terms)
    return np.concatenate(
        [
            np.gradient(torque[a:b], signals.period, axis=0)
            if equations.decimation.factor == 1
            else equations.decimation.derivative(torque[a:b]) / signals.period
            for a, b in signals.segments
        ]
    )
