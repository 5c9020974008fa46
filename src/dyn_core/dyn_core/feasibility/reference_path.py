# SPDX-License-Identifier: Apache-2.0
"""References of a stream as a path.

Stamps have noise: at 1 kHz 20 us are one part in 50, by which positions would seem to go faster or slower
than their velocities. The time from one reference to the next is therefore the one in which the
velocities lead there, where the stamps say about the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dyn_core.core.arrays import Array

ON_PATH = 1e-9
"""Distance that is none (rad or m)."""
SAME = 0.05
"""By which part stamps and velocities may differ about the time between two references."""
RESTING = 1e-6
"""Speed that is none (rad/s or m/s)."""


@dataclass(eq=False)
class ReferencePath:
    """References that are still to be reached, and the last that was.

    Attributes:
        s: their times on the path (s), which grow.
        q: positions (rad or m), (n,) each.
        qd: velocities (rad/s or m/s), (n,) each.
    """

    s: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)

    def reach(self, T: float, q: Array, qd: Array) -> None:
        """Take the next one, a time T (s) after the last, both of which are reached: it is at the time 0."""
        self.s, self.q, self.qd = [-T, 0.0], [self.q[-1], q], [self.qd[-1], qd]

    def append(self, T: float, q: Array, qd: Array) -> None:
        """Take the next one, by its stamp a time T (s) after the last."""
        self.s.append(self.s[-1] + self._time_to(T, q, qd) if self.s else 0.0)
        self.q.append(q)
        self.qd.append(qd)

    def _time_to(self, T: float, q: Array, qd: Array) -> float:
        """Answer the time (s) to the next reference: with a parabola through three velocities, or T."""
        if len(self.s) < 2:
            return T
        T_before = self.s[-1] - self.s[-2]
        slope, slope_before = (qd - self.qd[-1]) / T, (self.qd[-1] - self.qd[-2]) / T_before
        bend = (slope - slope_before) / (T + T_before)
        mean = 0.5 * (self.qd[-1] + qd) - bend * T * T / 6.0
        square = float(mean @ mean)
        by_velocities = float((q - self.q[-1]) @ mean) / square if square > 0.0 else T
        return by_velocities if abs(by_velocities - T) < SAME * T else T

    def forget_before(self, s: float) -> None:
        """Forget what is behind s, but for the reference before it."""
        while len(self.s) > 2 and self.s[1] <= s:
            del self.s[0], self.q[0], self.qd[0]

    def at(self, s: float) -> tuple[Array, Array]:
        """Answer position and velocity, by cubics between references."""
        if s >= self.s[-1] or len(self.s) == 1:
            return self.q[-1], self.qd[-1]
        k = next(i for i in range(1, len(self.s)) if s < self.s[i])
        T = self.s[k] - self.s[k - 1]
        u = max(0.0, (s - self.s[k - 1]) / T)
        q0, q1, h0, h1 = self.q[k - 1], self.q[k], T * self.qd[k - 1], T * self.qd[k]
        c2 = 3.0 * (q1 - q0) - 2.0 * h0 - h1
        c3 = h0 + h1 - 2.0 * (q1 - q0)
        return q0 + u * (h0 + u * (c2 + u * c3)), (h0 + u * (2.0 * c2 + 3.0 * u * c3)) / T

    def rests_at(self, s: float) -> bool:
        """Whether the path has no velocity at s."""
        return bool(np.abs(self.at(s)[1]).max() <= RESTING)

    def following(self, s: float) -> float:
        """Answer the time of the next reference after s, or of the last."""
        return next((time for time in self.s if time > s), self.s[-1])

    def rest_until(self, s: float) -> float:
        """Answer until when the path stays where it is at s, which is s where it moves on."""
        q, qd = self.at(s)
        if np.abs(qd).max() > RESTING:
            return s
        for time, position, velocity in zip(self.s, self.q, self.qd, strict=True):
            if time <= s:
                continue
            if np.abs(velocity).max() > RESTING or np.abs(position - q).max() > ON_PATH:
                break
            s = time
        return s
