# SPDX-License-Identifier: Apache-2.0
"""The function that a search makes small: the condition of the columns, and penalties beyond limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array
from dyn_core.excitation.condition_number import Columns
from dyn_core.excitation.drive_torques import DriveTorques
from dyn_core.excitation.excitation_settings import CoordinateBox
from dyn_core.excitation.loop_limits import LoopLimits
from dyn_core.excitation.motion_limits import MotionLimits
from dyn_core.excitation.series import Series
from dyn_core.excitation.spectrum import Spread, spread

PER_CYCLE = 20
"""Samples of the columns in a cycle of the highest harmonic."""
FINER = 3
"""Samples of the limits for each of the columns."""
MOST_SAMPLES = 1500
"""Samples of the columns at the most."""
INSIDE = 0.995
"""Part of the limits that the search keeps to, so that between its samples there is room."""
SMOOTH = 0.05
"""Part of the greatest speed over which the sign of Coulomb friction is smoothed, for the search alone."""
STEP = 1e-7
"""Change of a state that slopes are taken over (rad or m, and these per s and s^2)."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Coefficients of a series in, how good it is out.

    Attributes:
        series: the motions.
        columns: the columns of all parameters.
        torques: the torques.
        limits: the limits.
        boxes: what may not be entered.
        scales: size of each coefficient (2 K + 1, n): a search is in multiples of these.
        coarse: the basis at the samples of the columns.
        fine: the basis at the samples of the limits.
        loops: what loops allow; None where there are none.
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
        """Answer the function and its slopes at the coefficients x (in `scales`), and the condition number.

        Args:
            x: coefficients, one after the other.
            power: how near to the condition number it is, see `spread`.
            weight: of the penalties.
        """
        coefficients = x.reshape(self.scales.shape) * self.scales
        motion = self.series.at(self.coarse, coefficients)
        v0 = SMOOTH * self.limits.velocity
        W = self.columns.at(*motion, v0)
        found: Spread = spread(W.reshape(-1, W.shape[2]), power)
        slopes = self._column_slopes(motion, found.gradient.reshape(W.shape), v0)
        gradient = _through(self.coarse, slopes)
        motion = self.series.at(self.fine, coefficients)
        penalty, slopes = self._penalty(motion)
        gradient = gradient + weight * _through(self.fine, slopes)
        return found.value + weight * penalty, (gradient * self.scales).ravel(), found.condition

    def _column_slopes(self, motion: Motion, G: Array, v0: Array) -> Motion:
        """Answer the slopes of the condition with respect to the states, from those G of the columns."""
        bodies = self.columns.bodies
        rigid = np.ascontiguousarray(G[:, :, :bodies]).reshape(len(G), -1)

        def weighed(q: Array, qd: Array, qdd: Array) -> Array:
            total: Array = np.einsum("ij,ij->i", rigid, self.columns.rigid(q, qd, qdd).reshape(len(G), -1))
            return total

        slopes = _differences(weighed, motion)
        n = motion.q.shape[1]
        own = np.zeros((len(G), n, 3 * n))
        own[:, :, self.columns.friction] = G[:, :, bodies:]
        each = np.arange(n)
        steep = 1.0 / (v0 * np.cosh(np.clip(motion.qd / v0, -50.0, 50.0)) ** 2)
        slopes.qd[...] += own[:, each, 3 * each] + own[:, each, 3 * each + 1] * steep
        return slopes

    def _penalty(self, motion: Motion) -> tuple[float, Motion]:
        """Answer the sum of the squares of what is beyond limits, as parts of these, and its slopes."""
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

                def weighed(q: Array, qd: Array, qdd: Array) -> Array:
                    weighed: Array = (of_torque * self.torques.smooth(q, qd, qdd)).sum(axis=1)
                    return weighed

                for part, more in zip(slopes, _differences(weighed, motion), strict=True):
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
    """Answer the problem of a robot: its samples and scales."""
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
    return Problem(
        series,
        columns,
        torques,
        limits,
        tuple(boxes),
        scales,
        series.basis(coarse),
        series.basis(fine),
        loops,
    )


def _through(basis: Motion, slopes: Motion) -> Array:
    """Answer the slopes with respect to coefficients, from those with respect to the states."""
    total: Array = sum(part.T @ slope for part, slope in zip(basis, slopes, strict=True))
    return total


def _differences(function: Callable[[Array, Array, Array], Array], motion: Motion) -> Motion:
    """Answer the slopes of a function (N,) of the states (N, n) of the same samples, by differences."""
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
    """Answer the sum of squares of what is beyond `INSIDE`, and its slopes."""
    over = np.maximum(np.abs(parts) - INSIDE, 0.0)
    return float((over**2).sum()), 2.0 * over * np.sign(parts)


def _in_boxes(boxes: Sequence[CoordinateBox], q: Array, limits: MotionLimits, slopes: Array) -> float:
    """Answer the sum of the squares of how deep the steps between positions q (N, n) reach into boxes.

    Its slopes are added to `slopes` (N, n). All steps of one visit leave the box through the same face, the
    one that is nearest on the whole: else those near either end of a visit would leave through different
    ones, and the motion could never get free.
    """
    total = 0.0
    half = 0.5 * (limits.upper - limits.lower)
    for box in boxes:
        own = q[:, box.joints]
        descends = own[:-1] > own[1:]
        least, greatest = np.where(descends, own[1:], own[:-1]), np.where(descends, own[:-1], own[1:])
        # By face: through that at the lower end of the range of each joint, then through that at the upper.
        depths = np.concatenate([greatest - box.lower, box.upper - least], axis=1)
        open_faces = np.concatenate(
            [box.lower > limits.lower[box.joints], box.upper < limits.upper[box.joints]]
        )
        inside = (depths > 0.0).all(axis=1)
        if not inside.any():
            continue
        parts = depths / np.tile(half[box.joints], 2)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
        for begin, end in edges.reshape(-1, 2).tolist():
            costs = np.where(open_faces, (parts[begin:end] ** 2).sum(axis=0), np.inf)
            face = int(costs.argmin())
            total += float(costs[face])
            k = face % len(box.joints)
            down = face < len(box.joints)  # the greatest of both ends of a step has to go down
            ends = np.arange(begin, end) + (descends[begin:end, k] != down)
            sign = 2.0 if down else -2.0
            np.add.at(slopes[:, box.joints[k]], ends, sign * parts[begin:end, face] / half[box.joints[k]])
    return total
