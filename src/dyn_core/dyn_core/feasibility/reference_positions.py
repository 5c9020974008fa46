# SPDX-License-Identifier: Apache-2.0
"""The positions of a stream of references, as a motion by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from dyn_core.core.arrays import Array

GLANCE_S = 0.01
"""Time over which mean velocities are taken (s): over less, noise of stamps and positions is seen."""


@dataclass(eq=False)
class ReferencePositions:
    """Positions of the last references.

    Attributes:
        t: times (s), which grow.
        q: positions (rad or m), (n,) each.
    """

    t: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)

    def begin(self, t: float, q: Array, qd: Array) -> None:
        """Begin a stream, as if it had had its velocity (rad/s or m/s) for long."""
        self.t, self.q = [t - 1.0, t], [q - qd, q]

    def append(self, t: float, q: Array) -> None:
        """Take the next reference."""
        self.t.append(t)
        self.q.append(q)
        needed = t - 2.0 * self._span
        while self.t[1] <= needed:
            del self.t[0], self.q[0]

    def change(self) -> tuple[float, Array, Array, Array]:
        """Answer a span of time before the last reference: how long it is (s), and what was when it began.

        These are the mean velocity in as long a time before it (rad/s or m/s), and the position (rad or m);
        at last comes the mean velocity in it.
        """
        last, T = self.t[-1], self._span
        first, middle = self._at(last - 2.0 * T), self._at(last - T)
        return T, (middle - first) / T, middle, (self.q[-1] - middle) / T

    @property
    def _span(self) -> float:
        return max(GLANCE_S, self.t[-1] - self.t[-2])

    def _at(self, t: float) -> Array:
        k = next((i for i in range(1, len(self.t)) if t < self.t[i]), len(self.t) - 1)
        part = (t - self.t[k - 1]) / (self.t[k] - self.t[k - 1])
        return self.q[k - 1] + part * (self.q[k] - self.q[k - 1])
