# SPDX-License-Identifier: Apache-2.0
"""Recursive estimation from samples as they come: with stamps, gaps, repetitions, and without velocities."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.online.recursive_estimator import (
    Knowledge,
    RecursiveEstimate,
    RecursiveEstimator,
)
from dyn_core.identification.regressor.base_columns import BaseColumns

_FIRST = 50
"""Samples by which the period is found."""
_ODD = 0.5
"""Part of the period by which a sample may be early or late; clocks of drives and computers differ."""
STILL = 0.01
"""Greatest speed of joints that stand (rad/s or m/s). Friction may then be anything up to what sets them off:
a robot that stands shows nothing."""
_STOPPED_S = 0.1
"""Time after which joints that are so slow stand, and do not merely turn round (s)."""
_IN_A_ROW = 3
"""Estimates that have to agree on whether they have converged."""


class OnlineEstimator:
    """Takes samples and answers parameters. It has a state, and is for one thread.

    Without velocities, each sample is taken together with the one before: at the middle of both the velocity
    is their difference, and positions and torques are their means. All that is causal.
    """

    def __init__(self, base: BaseColumns, cutoff: float = 10.0, memory: float = math.inf) -> None:
        """Begin; `cutoff` (Hz) and `memory` (s) are those of `RecursiveEstimator`."""
        self._base, self._cutoff, self._memory = base, cutoff, memory
        self._estimator: RecursiveEstimator | None = None
        self._steps: list[float] = []
        self._last: tuple[float, Array, Array] | None = None
        self._moved_at = -math.inf
        self.period: float | None = None

    @property
    def samples(self) -> int:
        """Samples that were used."""
        return 0 if self._estimator is None else self._estimator.samples

    def add(self, t: float, q: Array, qd: Array | None, tau: Array) -> None:
        """Take a sample of time t (s); one that is not after the last is passed over.

        Args:
            t: when it was measured (s).
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,), or None.
            tau: torques (N m or N), (n,).
        """
        last, self._last = self._last, (t, q, tau)
        if last is None:
            return
        step = t - last[0]
        if step <= 0.0:
            self._last = last if step == 0.0 else (t, q, tau)
            return
        if self._estimator is None or self.period is None:
            self._find_period(step)
            return
        speed = np.abs(q - last[1]) / step if qd is None else np.abs(qd)
        if (speed > STILL).any():
            self._moved_at = t
        if abs(step - self.period) > _ODD * self.period or t - self._moved_at > _STOPPED_S:
            self._estimator.interrupt()
            return
        if qd is None:
            self._estimator.add(0.5 * (q + last[1]), (q - last[1]) / step, 0.5 * (tau + last[2]))
        else:
            self._estimator.add(q, qd, tau)

    def estimate(self) -> RecursiveEstimate | None:
        """Answer the parameters as they are known now; None where too little is."""
        if self._estimator is None:
            return None
        # Of a robot that stands, what is not known is not finite.
        with one_thread(), np.errstate(all="ignore"):
            return self._estimator.estimate()

    def knowledge(self) -> Knowledge | None:
        """Answer what the samples have said until now; None where that is too little."""
        if self._estimator is None:
            return None
        with one_thread(), np.errstate(all="ignore"):
            return self._estimator.knowledge()

    def _find_period(self, step: float) -> None:
        self._steps.append(step)
        if len(self._steps) == _FIRST:
            self.period = float(np.median(self._steps))
            friction = (FrictionModel(),) * self._base.robot.dof
            self._estimator = RecursiveEstimator(
                self._base, friction, self.period, self._cutoff, self._memory
            )


class Convergence:
    """Whether estimates have settled. It has a state: one estimate alone changes nothing.

    Attributes:
        reached: whether they have.
    """

    def __init__(self, doubt: float) -> None:
        """Begin; `doubt` is the greatest deviation of the torques, as a part of them."""
        self.reached = False
        self._doubt = doubt
        self._others = 0

    def look(self, estimate: RecursiveEstimate) -> bool:
        """Take an estimate; answer whether what was reached is another now."""
        self._others = 0 if estimate.converged(self._doubt) == self.reached else self._others + 1
        if self._others < _IN_A_ROW:
            return False
        self.reached, self._others = not self.reached, 0
        return True
