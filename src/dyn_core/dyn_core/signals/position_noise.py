# SPDX-License-Identifier: Apache-2.0
"""The noise of measured positions, and what the filter and differences let through of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.signals.differences import differences
from dyn_core.signals.low_pass import low_pass, settling_samples


@dataclass(frozen=True)
class PositionNoise:
    """White noise of positions, and what it goes through.

    Attributes:
        deviations: of each joint, before the filter (rad or m).
        period: time from sample to sample (s).
        cutoff: of the filter (Hz).
        order: of the filter.
        half_width: of the differences.
    """

    deviations: tuple[float, ...]
    period: float
    cutoff: float
    order: int
    half_width: int

    def passed(self, count: int) -> tuple[Array, Array, Array]:
        """Answer noise of positions, velocities and accelerations that is like theirs, (count, n) each."""
        rate, m = 1.0 / self.period, self.half_width
        margin = settling_samples(rate, self.cutoff) + m
        random = np.random.default_rng(0)
        white = np.array(self.deviations) * random.normal(size=(count + 2 * margin, len(self.deviations)))
        q = low_pass(white, rate, self.cutoff, self.order)
        qd, qdd = differences(q, self.period, m)
        shifted = slice(margin - m, margin - m + count)
        return q[margin : margin + count], qd[shifted], qdd[shifted]
