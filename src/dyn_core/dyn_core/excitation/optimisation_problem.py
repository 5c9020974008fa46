# SPDX-License-Identifier: Apache-2.0
"""Objective of the trajectory search: condition number and penalties over Fourier coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array
from dyn_core.excitation.condition_number import Columns, spread
from dyn_core.excitation.excitation_settings import CoordinateBox, ExcitationSettings
from dyn_core.excitation.motion_limits import DriveTorques, Function, LoopLimits, MotionLimits

STEEPEST = (1.0, 1.875, 10.0 / 3.0**0.5, 60.0, 360.0)
"""Greatest derivatives, by order, of a blend of one second."""
PIECE = 2000
"""Times that are computed at a time, so that memory stays bounded."""
PER_CYCLE = 20
"""Samples of the columns in a cycle of the highest harmonic."""
FINER = 3
"""Samples of the limits for each sample of the columns."""
MOST_SAMPLES = 1500
"""Greatest number of samples of the columns."""
INSIDE = 0.995
"""Part of the limits that the search uses, so that the motion can keep them between its samples."""
SMOOTH = 0.05
"""Part of the greatest speed over which the search smooths the sign of Coulomb friction."""
STEP = 1e-7
"""Change of a state for numerical derivatives (rad or m, and these per s and s^2)."""


@dataclass(frozen=True, eq=False)
class Series:
    """Fourier motions of n joints that are linear in a matrix of coefficients.

    The rows of the coefficients (2 K + 1, n) are the displacement from rest to the centre, and the factors of
    the sines and of the cosines, one row for each harmonic.

    Attributes:
        settings: times and number of harmonics.
        start: position before and after (rad or m), (n,).
    """

    settings: ExcitationSettings
    start: Array

    def motion(self, coefficients: Array) -> FourierMotion:
        """Return the motion with coefficients (2 K + 1, n)."""
        K = self.settings.harmonics
        sines, cosines = coefficients[1 : K + 1], coefficients[K + 1 :]
        amplitudes, phases = np.hypot(sines, cosines), np.arctan2(cosines, sines)
        return self._fourier(self.start + coefficients[0], amplitudes, phases, self.start)

    def _fourier(self, centre: Array, amplitudes: Array, phases: Array, rest: Array) -> FourierMotion:
        duration, period, fade = self.settings.duration, self.settings.period, self.settings.blend
        return FourierMotion(duration, centre, amplitudes, phases, rest=rest, period=period, fade=fade)

    def basis(self, t: Array) -> Motion:
        """Return the motions of unit coefficients at N times, (N, 2 K + 1) each."""
        K = self.settings.harmonics
        amplitudes, phases = np.zeros((2, K, 2 * K + 1))
        k = np.arange(K)
        amplitudes[k, 1 + k] = amplitudes[k, 1 + K + k] = 1.0
        phases[k, 1 + K + k] = 0.5 * np.pi
        motion = self._fourier(np.eye(2 * K + 1)[0], amplitudes, phases, np.zeros(2 * K + 1))
        pieces = [motion.at_many(t[begin : begin + PIECE]) for begin in range(0, len(t), PIECE)]
        return Motion(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))

    def at(self, basis: Motion, coefficients: Array) -> Motion:
        """Return the motion with coefficients (2 K + 1, n) at the times of the basis, (N, n) each."""
        q, qd, qdd = (part @ coefficients for part in basis)
        return Motion(self.start + q, qd, qdd)

    def greatest(self, coefficients: Array, order: int) -> Array:
        """Return a bound (n,) of a derivative of the positions, of order 1 to 4, at all times.

        The fourth derivative does not exist where a blend begins or ends.
        """
        K, blend = self.settings.harmonics, self.settings.blend
        sizes = np.hypot(coefficients[1 : K + 1], coefficients[K + 1 :])
        w = 2.0 * np.pi / self.settings.period * np.arange(1, K + 1)[:, None]
        of_series = [(sizes * w**i).sum(axis=0) for i in range(order + 1)]
        of_series[0] = of_series[0] + np.abs(coefficients[0])
        total = np.zeros(coefficients.shape[1])
        binomial = 1
        for i in range(order + 1):
            total = total + binomial * STEEPEST[i] / blend**i * of_series[order - i]
            binomial = binomial * (order - i) // (i + 1)
        return total

    def grid(self, step: float) -> Array:
        """Return times at most `step` (s) apart that contain all states, and the ends of both blends.

        One of several periods is enough: its end has the same state as the begin of the last blend.
        """
        blend, duration = self.settings.blend, self.settings.duration
        spans = (0.0, blend), (blend, blend + self.settings.period), (duration - blend, duration)
        start, middle, end = (
            np.linspace(first, last, max(2, int(np.ceil((last - first) / step)) + 1)) for first, last in spans
        )
        return np.concatenate([start, middle[1:], end])


@dataclass(frozen=True, eq=False)
class Problem:
    """Objective of the search: condition of the columns, and penalties beyond limits.

    Attributes:
        series: the motions.
        columns: the columns of all parameters.
        torques: the torques.
        limits: the limits.
        boxes: boxes that must not be entered.
        scales: unit of each coefficient in the search (2 K + 1, n).
        coarse: the basis at the samples of the columns.
        fine: the basis at the samples of the limits.
        loops: limits of loops; None if there are none.
    """

    series: Series
    columns: Columns
    torques: DriveTorques
    limits: MotionLimits
    boxes: tuple[CoordinateBox, ...]
    scales: Array
    coarse: Motion
    fine: Motion
    loops: LoopLimits | None = None

    def value(self, x: Array, power: float, weight: float) -> tuple[float, Array, float]:
        """Return objective, gradient and condition number at x, the coefficients in units of `scales`.

        `power` is that of `spread`, `weight` that of the penalties.
        """
        coefficients = x.reshape(self.scales.shape) * self.scales
        motion = self.series.at(self.coarse, coefficients)
        v0 = SMOOTH * self.limits.velocity
        W = self.columns.at(*motion, v0)
        found = spread(W.reshape(-1, W.shape[2]), power)
        slopes = self._column_slopes(motion, found.gradient.reshape(W.shape), v0)
        gradient = _through(self.coarse, slopes)
        motion = self.series.at(self.fine, coefficients)
        penalty, slopes = self._penalty(motion)
        gradient = gradient + weight * _through(self.fine, slopes)
        return found.value + weight * penalty, (gradient * self.scales).ravel(), found.condition

    def _column_slopes(self, motion: Motion, G: Array, v0: Array) -> Motion:
        """Return the derivatives of the condition by the states, from its derivatives G by the columns."""
        bodies = self.columns.bodies
        rigid = np.ascontiguousarray(G[:, :, :bodies]).reshape(len(G), -1)

        def weighted(q: Array, qd: Array, qdd: Array) -> Array:
            total: Array = np.einsum("ij,ij->i", rigid, self.columns.rigid(q, qd, qdd).reshape(len(G), -1))
            return total

        slopes = _differences(weighted, motion)
        n = motion.q.shape[1]
        own = np.zeros((len(G), n, 3 * n))
        own[:, :, self.columns.friction] = G[:, :, bodies:]
        each = np.arange(n)
        steep = 1.0 / (v0 * np.cosh(np.clip(motion.qd / v0, -50.0, 50.0)) ** 2)
        slopes.qd[...] += own[:, each, 3 * each] + own[:, each, 3 * each + 1] * steep
        return slopes

    def _penalty(self, motion: Motion) -> tuple[float, Motion]:
        """Return the sum of the squared violations, as parts of the limits, and its derivatives."""
        limits = self.limits
        half = 0.5 * (limits.upper - limits.lower)
        q, of_q = _beyond((motion.q - 0.5 * (limits.upper + limits.lower)) / half)
        qd, of_qd = _beyond(motion.qd / limits.velocity)
        qdd, of_qdd = _beyond(motion.qdd / limits.acceleration)
        total = q + qd + qdd
        slopes = Motion(of_q / half, of_qd / limits.velocity, of_qdd / limits.acceleration)
        bounded = np.isfinite(limits.effort)
        if bounded.any():
            torque = self.torques.smooth(*motion)
            room = np.where(bounded, limits.effort - self.torques.coulomb, 1.0)
            over, of_torque = _beyond(np.where(bounded, torque, 0.0) / room)
            total += over
            if over > 0.0:
                of_torque /= room

                def weighted(q: Array, qd: Array, qdd: Array) -> Array:
                    torques: Array = (of_torque * self.torques.smooth(q, qd, qdd)).sum(axis=1)
                    return torques

                for part, more in zip(slopes, _differences(weighted, motion), strict=True):
                    part[...] += more
        return total + _in_boxes(self.boxes, motion.q, limits, slopes.q), slopes


def problem(
    series: Series,
    columns: Columns,
    torques: DriveTorques,
    limits: MotionLimits,
    boxes: Sequence[CoordinateBox],
    loops: LoopLimits | None = None,
) -> Problem:
    """Return the search problem of a robot, with its samples and scales."""
    settings = series.settings
    K = settings.harmonics
    cycle = settings.period / K
    count = min(MOST_SAMPLES, int(np.ceil(PER_CYCLE * settings.duration / cycle)))
    coarse, fine = (
        (np.arange(samples) + 0.5) * settings.duration / samples for samples in (count, FINER * count)
    )
    half = 0.5 * (limits.upper - limits.lower)
    w = 2.0 * np.pi / settings.period * np.arange(1, K + 1)[:, None]
    sizes = np.minimum(np.minimum(half, limits.velocity / w), limits.acceleration / w**2) / np.sqrt(K)
    scales = np.concatenate([half[None, :], sizes, sizes])
    bases = series.basis(coarse), series.basis(fine)
    return Problem(series, columns, torques, limits, tuple(boxes), scales, *bases, loops)


def _through(basis: Motion, slopes: Motion) -> Array:
    """Return the derivatives by the coefficients, from those by the states."""
    total: Array = sum(part.T @ slope for part, slope in zip(basis, slopes, strict=True))
    return total


def _differences(function: Function, motion: Motion) -> Motion:
    """Return the numerical derivatives of a function (N,) of the states (N, n), sample by sample."""
    here = function(*motion)
    slopes = Motion(*(np.empty_like(part) for part in motion))
    for part, slope in zip(motion, slopes, strict=True):
        for j in range(part.shape[1]):
            kept = part[:, j].copy()
            part[:, j] += STEP
            slope[:, j] = (function(*motion) - here) / STEP
            part[:, j] = kept
    return slopes


def _beyond(parts: Array) -> tuple[float, Array]:
    """Return the sum of the squared excesses over `INSIDE`, and its derivatives."""
    over = np.maximum(np.abs(parts) - INSIDE, 0.0)
    return float((over**2).sum()), 2.0 * over * np.sign(parts)


def _in_boxes(boxes: Sequence[CoordinateBox], q: Array, limits: MotionLimits, slopes: Array) -> float:
    """Return the sum of the squared depths of the steps between positions q (N, n) in boxes.

    Its derivatives are added to `slopes` (N, n). All steps of one visit leave the box through the same face,
    the nearest for the whole visit: otherwise steps near its two ends would leave through different faces,
    and the motion could never leave the box.
    """
    total = 0.0
    half = 0.5 * (limits.upper - limits.lower)
    for box in boxes:
        own = q[:, box.joints]
        descends = own[:-1] > own[1:]
        least, greatest = np.where(descends, own[1:], own[:-1]), np.where(descends, own[:-1], own[1:])
        # Faces: those at the lower ends of the ranges of the joints, then those at the upper ends.
        depths = np.concatenate([greatest - box.lower, box.upper - least], axis=1)
        lower, upper = limits.lower[box.joints], limits.upper[box.joints]
        open_faces = np.concatenate([box.lower > lower, box.upper < upper])
        inside = (depths > 0.0).all(axis=1)
        if not inside.any():
            continue
        parts = depths / np.tile(half[box.joints], 2)
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        for begin, end in edges.reshape(-1, 2).tolist():
            costs = np.where(open_faces, (parts[begin:end] ** 2).sum(axis=0), np.inf)
            face = int(costs.argmin())
            total += float(costs[face])
            k = face % len(box.joints)
            down = face < len(box.joints)  # the higher end of a step has to go down
            ends = np.arange(begin, end) + (descends[begin:end, k] != down)
            sign = 2.0 if down else -2.0
            np.add.at(slopes[:, box.joints[k]], ends, sign * parts[begin:end, face] / half[box.joints[k]])
    return total
