# SPDX-License-Identifier: Apache-2.0
"""Diagnose the signals of a motion: signs, swaps, gains, units, delays and saturation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.described_torques import (
    described_gains,
    effort_scale_findings,
    scaled_findings,
)
from dyn_core.identification.diagnosis.signal_hypotheses import (
    Channels,
    Evidence,
    channels,
    lowest,
    nothing_wrong,
)
from dyn_core.identification.diagnosis.wrong_signals import (
    BETTER,
    CLEAR,
    PERHAPS,
    currents,
    currents_finding,
    gravity_finding,
    miscalibrated,
    miscalibrated_findings,
    mixed_up,
    mixed_up_findings,
    slipped_findings,
    without_gravity,
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


def whole_diagnosis(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Return the same, and where nothing is wrong by the signals alone, what the description contradicts."""
    found = diagnosis(equations, friction)
    if any(one.severity is Severity.ERROR for one in found):
        return found
    evidence = Evidence(equations, friction)
    return (*(slipped_findings(evidence) or found), *scaled_findings(described_gains(evidence)))


def _of_signals(equations: Equations, friction: Sequence[FrictionModel]) -> tuple[Finding, ...]:
    """Return the findings from the comparison of the signals."""
    robot, evidence = equations.base.robot, Evidence(equations, friction)
    described = described_gains(evidence)
    of_drives = currents(evidence, described)
    weightless = without_gravity(evidence, described)
    exchanged = mixed_up(evidence)
    calibrated = miscalibrated(evidence, exchanged.score)
    of_numbers = miscalibrated_findings(robot, calibrated, evidence, described)
    others = min(exchanged.score - PERHAPS, calibrated.score + CLEAR)
    if of_drives and of_drives.score < min(others, weightless.score if weightless else math.inf):
        return (currents_finding(robot, of_drives, described),)
    if weightless and weightless.score < min(exchanged.score, calibrated.score):
        return (gravity_finding(weightless, described),)
    if calibrated.score > exchanged.score - PERHAPS:
        mixed = mixed_up_findings(robot, evidence, exchanged)
        if mixed:
            return tuple(mixed)
    late, explained = delay_findings(evidence)
    is_number = bool(of_numbers) and calibrated.gain > explained
    if not (is_number and calibrated.gain > BETTER):
        cut = _cut_torques(equations, friction)
        if cut:
            return tuple(cut)
    return tuple(of_numbers if is_number else late)


def _cut_torques(equations: Equations, friction: Sequence[FrictionModel]) -> list[Finding]:
    """Return the findings about saturated torques.

    A model of all samples shows which joints may be cut, a model without their greatest torques which are.
    """
    robot, tau = equations.base.robot, equations.signals.tau
    found = tops(tau)
    likely = saturated(found, tau, _expected(equations, friction, ()))
    cut = saturated(likely, tau, _expected(equations, friction, likely)) if likely else []
    return saturation_findings(robot, cut, tau)


def _expected(equations: Equations, friction: Sequence[FrictionModel], without: Sequence[Top]) -> Array:
    """Return torques by a model that was fitted without some samples of greatest torque."""
    rows = rows_of(equations, friction)
    weights = np.ones((len(rows), rows.dof))
    reach = equations.decimation.reach
    at = np.searchsorted(equations.signals.time, equations.times)
    for top in without:
        # A filtered equation has the torque of the top if any sample near its middle has.
        near = np.convolve(top.samples, np.ones(2 * (reach // 4) + 1), mode="same") > 0.0
        weights[:, top.joint] *= np.where(near[at], 0.0, 1.0)
    enough = weights.sum(axis=0) > _FEWEST
    data = factors(rows, weights=np.where(enough, weights, 1.0))
    return model_torques(equations, friction, weighted(data).x)


_FEWEST = 100  # least number of equations of a joint for a fit without its tops


# Torques that stay at a greatest value although the motion needs more: a saturated sensor or drive
#
# A quantised torque, or one at rest, is flat too, and noise hides the edge of a flat top. So the samples are
# compared with a model that was fitted to the others: beyond the limit, the model goes on while the torque
# stays, within its noise.

FLAT = 2e-3  # part of the range within which samples are at the greatest value
TOP = 0.998  # quantile of the samples at the greatest value: spikes are beyond
NOISY = 3.0  # deviations of the noise within which samples are at the greatest value
PILE = 1.5  # samples at the greatest value, relative to those in as wide a band below it
FEWEST = 20  # least number of samples beyond the greatest value, by the model
BEYOND = 0.01  # excess of the model over the greatest value, as a part of the range, that counts
EXCESS = 0.04  # least mean of that: the Coulomb friction of a joint that carries little is flat, too


class Top(NamedTuple):
    """Samples at the greatest or least torque of a joint."""

    joint: int
    limit: float  # the torque, without noise (N m or N)
    noise: float  # deviation of the noise of a sample
    samples: BoolArray  # (N,)
    beyond: int = 0  # number of samples at which a model is beyond it
    excess: float = 0.0  # by how much, on average


def tops(tau: Array) -> list[Top]:
    """Return the samples at the extreme values of unfiltered torques (N, n), where they pile up."""
    found = []
    for i in range(tau.shape[1]):
        width = FLAT * float(np.ptp(tau[:, i]))
        # The second differences of a smooth torque are small: noise is most of them.
        noise = 1.4826 * float(np.median(np.abs(np.diff(tau[:, i], 2)))) / math.sqrt(6.0)
        for sign in (1.0, -1.0) if width > 0.0 else ():
            heights = sign * tau[:, i]
            flat = heights >= float(heights.max()) - width
            if np.sum(flat) >= FEWEST:
                found.append(Top(i, sign * float(heights.max()), 0.0, flat))
                continue
            limit = float(np.quantile(heights, TOP)) - (NOISY - 0.5) * noise
            off = np.abs(heights - limit)
            near = NOISY * noise
            if np.sum(off < near) > PILE * np.sum((heights < limit) & (off >= near) & (off < 3.0 * near)):
                found.append(Top(i, sign * limit, noise, heights >= limit - near - width))
    return found


def saturated(candidates: Sequence[Top], tau: Array, expected: Array) -> list[Top]:
    """Return the tops at which unfiltered torques `tau` are cut (N m or N), (N, n), with their excess.

    `expected` are those of a model.
    """
    found = []
    for top in candidates:
        measured, predicted = tau[:, top.joint], expected[:, top.joint]
        span, sign = float(np.ptp(measured)), 1.0 if top.limit > np.median(measured) else -1.0
        beyond = sign * (predicted - top.limit) > BEYOND * span
        if np.sum(beyond) < FEWEST:
            continue
        others = measured[~beyond & ~top.samples] - predicted[~beyond & ~top.samples]
        noise = float(np.sqrt(np.mean(others**2))) if others.size else 0.0
        excess = float(np.mean(sign * (predicted[beyond] - top.limit)))
        off = float(np.sqrt(np.mean((measured[beyond] - top.limit) ** 2)))
        # Of successive samples, about one in ten is independent.
        doubt = 3.0 * noise / math.sqrt(max(np.sum(beyond) / 10.0, 1.0))
        stays = off < max(NOISY * top.noise, BEYOND * span)
        if stays and excess > max(EXCESS * span, doubt):
            found.append(top._replace(beyond=int(np.sum(beyond)), excess=excess))
    return found


def saturation_findings(robot: Robot, cut: Sequence[Top], tau: Array) -> list[Finding]:
    """Return the findings about torques that are cut, one for each joint."""
    found = []
    for joint in dict.fromkeys(top.joint for top in cut):
        of_joint = [top for top in cut if top.joint == joint]
        most, one = max(of_joint, key=lambda top: top.excess), robot.independent_joints[joint]
        count = sum(top.beyond for top in of_joint)
        values = {"limit": most.limit, "unit": one.effort_unit, "excess": most.excess, "count": count}
        message = Message("torque-saturated", **values, share=count / len(tau))
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
# a delay (s), or residuals that it causes, relative to the torque, from which parameters are wrong: drives
# hold their torques for a period
LONG, HARMFUL = 0.005, 0.02
CERTAIN = 30.0  # delay of all joints, in deviations, that all joints agree on: friction is not that alike


@dataclass(frozen=True, eq=False)
class Delay:
    """Delay of torques behind positions."""

    common: float  # of all joints together (s)
    deviation: float  # its standard deviation (s)
    by_joint: Array  # of each joint (s), (n,)
    deviations: Array  # their standard deviations (s), (n,)
    gain: float  # part of the residuals that the common delay explains, by the geometric mean over joints
    left: Array  # residuals of the joints with no delay, relative to their torques, (n,)


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
    torques = np.sqrt(np.mean(np.square(equations.signals.tau), axis=0))
    left = sigmas[0] / np.where(torques > 0.0, torques, 1.0)
    return Delay(shift, common, shift - step + found, spread, gain, left)


def delay_findings(evidence: Evidence) -> tuple[list[Finding], float]:
    """Return findings about delays of torques, positive or negative, and the misfit that they explain."""
    equations = evidence.equations
    found = delay(equations, evidence.friction)
    if _is_significant(found.common, found.deviation):
        sure = found.gain > DOMINANT or abs(found.common) > CERTAIN * found.deviation
        sure = sure and _is_harmful(found.common, float(np.nanmax(found.left)))
        severity = Severity.ERROR if sure else Severity.WARNING
        message = _message("torques", found.common, found.deviation)
        gain = -evidence.dof * math.log(max(1.0 - found.gain, 1e-6))
        return [Finding(severity, "robot", (), message)], gain
    names, findings, gain = equations.base.robot.coordinate_names, [], 0.0
    for joint, value, deviation, explained in _of_single_joints(evidence, found):
        sure = 1.0 - math.exp(-explained) > DOMINANT and _is_harmful(value, float(found.left[joint]))
        severity = Severity.ERROR if sure else Severity.WARNING
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


def _is_harmful(value: float, left: float) -> bool:
    return abs(value) >= LONG or left > HARMFUL


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
