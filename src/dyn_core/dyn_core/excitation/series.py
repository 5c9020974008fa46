# SPDX-License-Identifier: Apache-2.0
"""Fourier motions that are linear in a matrix of coefficients.

The rows of the coefficients (2 K + 1, n) are the way from rest to the centre, and the factors of the sines
and the cosines, one row for each harmonic; what they are multiplied with is itself a `FourierMotion`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_core.excitation.settings import ExcitationSettings

STEEPEST = (1.0, 1.875, 10.0 / 3.0**0.5, 60.0, 360.0)
"""Greatest derivatives, by order, of the step that is blended with, where it takes a second."""
PIECE = 2000
"""Times that are computed at a time, so that memory stays bounded."""


@dataclass(frozen=True, eq=False)
class Series:
    """The motions of n joints that settings allow.

    Attributes:
        settings: times and number of harmonics.
        start: position before and after (rad or m), (n,).
    """

    settings: ExcitationSettings
    start: Array

    def motion(self, coefficients: Array) -> FourierMotion:
        """Answer the motion with coefficients (2 K + 1, n)."""
        K = self.settings.harmonics
        sines, cosines = coefficients[1 : K + 1], coefficients[K + 1 :]
        return FourierMotion(
            self.settings.duration,
            self.start + coefficients[0],
            np.hypot(sines, cosines),
            np.arctan2(cosines, sines),
            rest=self.start,
            period=self.settings.period,
            fade=self.settings.blend,
        )

    def basis(self, t: Array) -> Motion:
        """Answer what coefficients are multiplied with at N times, (N, 2 K + 1) each."""
        K = self.settings.harmonics
        amplitudes, phases = np.zeros((2, K, 2 * K + 1))
        k = np.arange(K)
        amplitudes[k, 1 + k] = amplitudes[k, 1 + K + k] = 1.0
        phases[k, 1 + K + k] = 0.5 * np.pi
        centre = np.zeros(2 * K + 1)
        centre[0] = 1.0
        motion = FourierMotion(
            self.settings.duration,
            centre,
            amplitudes,
            phases,
            rest=np.zeros(2 * K + 1),
            period=self.settings.period,
            fade=self.settings.blend,
        )
        pieces = [motion.at_many(t[begin : begin + PIECE]) for begin in range(0, len(t), PIECE)]
        return Motion(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))

    def at(self, basis: Motion, coefficients: Array) -> Motion:
        """Answer the motion with coefficients (2 K + 1, n) where the basis was taken, (N, n) each."""
        q, qd, qdd = (part @ coefficients for part in basis)
        return Motion(self.start + q, qd, qdd)

    def greatest(self, coefficients: Array, order: int) -> Array:
        """Answer a bound (n,) of a derivative of the positions, of order 1 to 4, at all times.

        The fourth one does not exist where a blend begins or ends.
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
        """Answer times at most `step` apart (s) with all states in them, among them the ends of both blends.

        Of several periods there is one only: where it ends, and the last blend begins, the state is the same.
        """
        blend, duration = self.settings.blend, self.settings.duration
        parts = [
            np.linspace(begin, end, max(2, int(np.ceil((end - begin) / step)) + 1))
            for begin, end in (
                (0.0, blend),
                (blend, blend + self.settings.period),
                (duration - blend, duration),
            )
        ]
        return np.concatenate([parts[0], parts[1][1:], parts[2]])
