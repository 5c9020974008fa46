# SPDX-License-Identifier: Apache-2.0
"""Diagnose the signals of a motion: signs, swaps, gains, units, delays and saturation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.signal_hypotheses import (
    Channels,
    Evidence,
    channels,
    lowest,
    nothing_wrong,
)
from dyn_core.identification.diagnosis.wrong_signals import (
    BETTER,
    PERHAPS,
    effort_scale_findings,
    miscalibrated,
    miscalibrated_findings,
    mixed_up,
    mixed_up_findings,
)
from dyn_core.identification.estimators.least_squares import factors, weighted
from dyn_core.identification.estimators.standard_deviations import residual_rows, residuals
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import model_torques, rows_of
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot


@one_thread()
def diagnosis(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Return findings about signals: signs, swapped joints, gains, zeros, saturation, delays, units.

    Only the fault that explains most is reported, because it makes other signals look wrong, too. Wrong signs
    or swapped joints exclude all other findings, and saturation excludes gains, zeros and delays. Between
    delays, and gains and zeros, the better explanation is reported. The unit of all torques is checked
    separately, with the description. The torques of the equations must not be filtered.
    """
    return (*effort_scale_findings(equations), *_of_signals(equations, friction))


def _of_signals(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Return the findings from the comparison of the signals."""
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
    """Return torques by a model that was fitted without samples of greatest or least torque."""
    rows = rows_of(equations, friction)
    weights = np.ones((len(rows), rows.dof))
    reach = equations.decimation.reach
    for joint, _, samples in flat_parts(equations.signals.tau):
        # A filtered equation is flat if any sample near its middle is.
        near = np.convolve(samples, np.ones(2 * (reach // 4) + 1), mode="same") > 0.0
        at = np.searchsorted(equations.signals.time, equations.times)
        weights[:, joint] *= np.where(near[at], 0.0, 1.0)
    enough = weights.sum(axis=0) > _FEWEST
    data = factors(rows, weights=np.where(enough, weights, 1.0))
    return model_torques(equations, friction, weighted(data).x)


_FEWEST = 100  # least number of equations of a joint for a fit without its flat parts


# Torques that stay at a greatest value although the motion needs more: a saturated sensor or drive
#
# A quantised torque, or one at rest, is flat too. So the samples are compared with a model that was fitted to
# the other samples: beyond a limit, the model goes on while the torque stays.

FLAT = 2e-3  # part of the range within which samples are at the greatest value
FEWEST = 20  # least number of samples at the greatest value
BEYOND = 0.01  # least excess of the model over the greatest value, as a part of the range


def flat_parts(tau: Array) -> list[tuple[int, float, BoolArray]]:
    """Return where unfiltered torques (N, n) stay at an extreme value: joint, value, samples (N,)."""
    found = []
    for i in range(tau.shape[1]):
        width = FLAT * float(np.ptp(tau[:, i]))
        for limit in (float(tau[:, i].max()), float(tau[:, i].min())):
            samples = np.abs(tau[:, i] - limit) <= width
            if width > 0.0 and np.sum(samples) >= FEWEST:
                found.append((i, limit, samples))
    return found


def saturation_findings(robot: Robot, tau: Array, expected: Array) -> list[Finding]:
    """Return which unfiltered torques `tau` are cut (N m or N), (N, n).

    `expected` are those of a model that was fitted without the flat parts.
    """
    found = []
    for joint, limit, samples in flat_parts(tau):
        measured, predicted = tau[:, joint], expected[:, joint]
        others = measured[~samples] - predicted[~samples]
        noise = float(np.sqrt(np.mean(others**2))) if others.size else 0.0
        beyond = float(np.mean(predicted[samples]) - limit) * (1.0 if limit > np.median(measured) else -1.0)
        # Of successive samples, about one in ten is independent.
        doubt = 3.0 * noise / np.sqrt(max(np.sum(samples) / 10.0, 1.0))
        if beyond > max(BEYOND * float(np.ptp(measured)), doubt):
            one = robot.independent_joints[joint]
            count, unit = int(np.sum(samples)), one.effort_unit
            message = Message("torque-saturated", limit=limit, unit=unit, count=count, excess=beyond)
            found.append(Finding(Severity.ERROR, "joint", (one.name,), message))
    return found


# Delays between positions and torques
#
# A torque that was recorded d after its position is ``tau(t) = model(t - d)``, for a short delay ``model(t) -
# d d/dt model(t)``. The derivative of the model torque is one more column, with the parameter -d: an estimate
# with a deviation. Positions are then shifted by d, until no delay is left.

ROUNDS = 4
SIGNIFICANT = 5.0  # least delay in deviations that is significant
LEAST = 1e-3  # least delay that is reported (s); for one joint alone, half a period if that is more
CLOSER = 9  # evaluations that refine the delay of a joint near a first guess
# part of the residuals explained by a delay from which parameters are wrong without it. Stick friction, and
# torques that are held from sample to sample, look like small delays
DOMINANT = 0.4


@dataclass(frozen=True, eq=False)
class Delay:
    """Delay of torques behind positions."""

    common: float  # of all joints together (s)
    deviation: float  # its standard deviation (s)
    by_joint: Array  # of each joint (s), (n,)
    deviations: Array  # their standard deviations (s), (n,)
    gain: float  # part of the residuals that the common delay explains, by the geometric mean over joints


def delay(equations: Equations, friction: Sequence[FrictionModel]) -> Delay:
    """Return the delay of the torques of a motion behind its positions."""
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
    # The scatter among the joints bounds the deviation from below.
    scatter = float(np.sum(weights * (found - step) ** 2)) / max(len(found) - 1, 1)
    common = math.sqrt(max(scatter, 1.0) / known)
    gain = 1.0 - float(np.exp(np.mean(np.log(sigmas[-1] / sigmas[0]))))
    return Delay(shift, common, shift - step + found, spread, gain)


def delay_findings(evidence: Evidence) -> tuple[list[Finding], float]:
    """Return findings about delays of torques, positive or negative, and the misfit that they explain."""
    equations = evidence.equations
    found = delay(equations, evidence.friction)
    if _is_significant(found.common, found.deviation):
        severity = Severity.ERROR if found.gain > DOMINANT else Severity.WARNING
        message = _message("torques", found.common, found.deviation)
        gain = -evidence.dof * math.log(max(1.0 - found.gain, 1e-6))
        return [Finding(severity, "robot", (), message)], gain
    names, findings, gain = equations.base.robot.coordinate_names, [], 0.0
    for joint, value, deviation, explained in _of_single_joints(evidence, found):
        severity = Severity.ERROR if 1.0 - math.exp(-explained) > DOMINANT else Severity.WARNING
        findings.append(Finding(severity, "joint", (names[joint],), _message("torque", value, deviation)))
        gain += explained
    return findings, gain


def _of_single_joints(evidence: Evidence, found: Delay) -> list[tuple[int, float, float, float]]:
    """Return the joints whose torques have a delay of their own, it and its deviation, and explained misfit.

    The equations of one joint after the other are replaced by those of the earlier motion.
    """
    plain = nothing_wrong(evidence.dof)
    least = max(LEAST, 0.5 * evidence.equations.signals.period)
    values, deviations = found.by_joint.tolist(), found.deviations.tolist()
    late = [i for i in range(evidence.dof) if _is_significant(values[i], deviations[i], least)]
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
            singles.append((i, value, deviations[i], misfit - now))
            seen, misfit = earlier_by(value), now
        else:
            singles.append((i, values[i], deviations[i], 0.0))
    return singles


def _is_significant(value: float, deviation: float, least: float = LEAST) -> bool:
    return abs(value) > max(least, SIGNIFICANT * deviation)


def _message(what: str, value: float, deviation: float) -> Message:
    code = f"{what}-late" if value > 0.0 else f"{what}-early"
    return Message(code, delay=value, size_ms=1e3 * abs(value), deviation_ms=1e3 * deviation)


def earlier(signals: Signals, shift: float) -> Signals:
    """Return the motion with positions and their rates as they were `shift` (s) earlier; torques stay."""
    if shift == 0.0:
        return signals

    def moved(values: Array, slopes: Array) -> Array:
        parts = [(signals.time[a:b], values[a:b], slopes[a:b]) for a, b in signals.segments]
        return np.concatenate([_interpolated(t - shift, t, low, slope) for t, low, slope in parts])

    jerk = np.gradient(signals.qdd, signals.period, axis=0)
    q, qd = moved(signals.q, signals.qd), moved(signals.qd, signals.qdd)
    return replace(signals, q=q, qd=qd, qdd=moved(signals.qdd, jerk))


def _interpolated(at: Array, t: Array, values: Array, slopes: Array) -> Array:
    """Return the cubic Hermite interpolation; beyond the ends, the value there."""
    k = np.clip(np.searchsorted(t, at) - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = np.clip((at - t[k])[:, None] / h, 0.0, 1.0)
    low, high = values[k], values[k + 1]
    a, b = h * slopes[k] - (high - low), (high - low) - h * slopes[k + 1]
    found: Array = (1.0 - s) * low + s * high + s * (1.0 - s) * ((1.0 - s) * a + s * b)
    return found


def _left(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Array, Array, Array]:
    """Return remaining delays of the joints, their deviations (s), and those of residuals (N m or N)."""
    rows = rows_of(equations, friction)
    solution = weighted(factors(rows))
    errors = residual_rows(rows, solution.x)
    columns = -_slopes(equations, friction, solution.x) * rows.used / solution.sigma**2
    normal = np.diag(np.sum(columns**2, axis=0) * solution.sigma**2)
    cross = np.zeros((len(solution.x), rows.dof))
    for which, pieces in rows.pieces():
        for i, piece in enumerate(pieces):
            cross[rows.columns[i], i] += piece[:, :-1].T @ columns[which, i]
    # The Schur complement removes the effect that the parameters can have as well.
    part = np.linalg.pinv(solution.R[:, solution.identifiable]).T @ cross[solution.identifiable]
    covariance = np.linalg.pinv(normal - part.T @ part)
    found = covariance @ np.sum(columns * errors, axis=0)
    worth = residuals(errors).effective / len(rows)
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny) / worth)
    # A joint that stands all the time has no equations, and no known delay.
    spread = np.where(np.diag(normal) > 0.0, spread, np.inf)
    return found, spread, solution.sigma


def _slopes(equations: Equations, friction: Sequence[FrictionModel], x: Array) -> Array:
    """Return filtered derivatives of the model torques at the equations, (N, n)."""
    signals, torque = equations.signals, model_torques(equations, friction, x)
    return np.concatenate(
        [
            np.gradient(torque[a:b], signals.period, axis=0)
            if equations.decimation.factor == 1
            else equations.decimation.derivative(torque[a:b]) / signals.period
            for a, b in signals.segments
        ]
    )
