# SPDX-License-Identifier: Apache-2.0
"""A smooth motion of all joints at once: a Fourier series that begins and ends at rest.

    q(t) = rest + w(t) (centre - rest + sum over k of amplitudes_k sin(2 pi k t / period + phases_k))

w goes from 0 to 1 in the first part of the motion and back in the last, by `smooth_step`. Positions,
velocities and accelerations are continuous everywhere; before and after, the joints stand at `rest`.
Where the series is within a range of positions that `rest` is in, so is the motion, all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array

FADE = 0.2
"""Part of the motion in which it comes up from rest, and in which it goes down to it."""


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """The motion of n joints in K harmonics.

    Attributes:
        duration: time from rest to rest (s).
        centre: mean position of the series (rad or m), (n,).
        amplitudes: of the harmonics (rad or m), (K, n).
        phases: of the harmonics (rad), (K, n).
        rest: position before, and after (rad or m), (n,); None for the centre.
        period: period of the first harmonic (s); None for the duration.
        fade: time in which it comes up from rest, and in which it goes down to it (s), at most half of the
            duration; None for `FADE` of it.
    """

    duration: float
    centre: Array
    amplitudes: Array
    phases: Array
    rest: Array | None = None
    period: float | None = None
    fade: float | None = None

    def scaled(self, factors: npt.ArrayLike) -> FourierMotion:
        """Answer the same about the same centre, with other amplitudes: one factor, or one for each joint."""
        return replace(self, amplitudes=self.amplitudes * np.asarray(factors, dtype=np.float64))

    def at(self, t: float) -> Motion:
        """Answer the motion at time t after its beginning (s), in vectors (n,)."""
        q, qd, qdd = self.at_many(np.array([t]))
        return Motion(q[0], qd[0], qdd[0])

    def at_many(self, t: Array) -> Motion:
        """Answer the motion at N times after its beginning (s), (N,), in matrices (N, n)."""
        order = np.arange(1, len(self.amplitudes) + 1)[:, None]
        w = 2.0 * math.pi / (self.duration if self.period is None else self.period) * order
        angle = w * np.asarray(t)[:, None, None] + self.phases
        sine, cosine = np.sin(angle), np.cos(angle)
        s = (self.amplitudes * sine).sum(1)
        sd = (self.amplitudes * w * cosine).sum(1)
        sdd = (-self.amplitudes * w * w * sine).sum(1)
        f, fd, fdd = (x[:, None] for x in self._window(np.asarray(t)))
        rest = self.centre if self.rest is None else self.rest
        s = s + (self.centre - rest)
        return Motion(rest + f * s, fd * s + f * sd, fdd * s + 2.0 * fd * sd + f * sdd)

    def _window(self, t: Array) -> tuple[Array, Array, Array]:
        """Answer w and its derivatives (1/s, 1/s^2), each (N,)."""
        fade = FADE * self.duration if self.fade is None else self.fade
        up = t < 0.5 * self.duration
        u = np.clip(np.where(up, t, self.duration - t) / fade, 0.0, 1.0)
        sign = np.where(up, 1.0, -1.0)
        w = u**3 * (10.0 + u * (6.0 * u - 15.0))
        wd = sign * 30.0 * (u * (1.0 - u)) ** 2 / fade
        wdd = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / fade**2
        return w, wd, wdd
