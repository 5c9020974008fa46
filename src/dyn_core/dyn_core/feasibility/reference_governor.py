# SPDX-License-Identifier: Apache-2.0
"""A stream of references that actuators can follow: as it is while it is feasible, else late on its path.

The references so far are a path p(s), s their own time. What goes out is p(s(t)); while all is feasible
s = t. Where a step is not, the rate ds/dt is made as small as it takes, and stays so until the path
rests: what a motion needs to speed up it mostly needs to slow down as well, and nobody knows yet how it goes
on. Where the path rests, s goes on to the end of the rest at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.trajectory_ranges import OVERSHOOT
from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.feasibility.excess import Excess, bounds, excesses
from dyn_core.feasibility.feasibility import Feasibility
from dyn_core.feasibility.feasible_step import FeasibleStep

ROUNDS = 6
"""How often the greatest rate is computed anew: the direction where the step ends depends on it."""
ROOM = (1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
"""Parts by which the rate is made smaller in turn, until the step is feasible in spite of rounding."""
ON_PATH = 1e-9
"""Distance that is none (rad or m)."""
RESTING = 1e-6
"""Speed that is none (rad/s or m/s)."""
REJOIN_S = 0.1
"""Time constant with which joints that had to leave the path come back to where they left it (s)."""
JOINED = 1e-5
"""Distance from the path (rad or m), and speed (per s), at which they are back."""


@dataclass(frozen=True, eq=False)
class GovernedReference:
    """What goes out for a reference.

    Attributes:
        q: positions (rad or m), (n,).
        qd: velocities (rad/s or m/s), (n,).
        qdd: accelerations of the step to them (rad/s^2 or m/s^2), (n,).
        unchanged: whether this is the reference that came in.
        asked: what of the step at full rate is beyond limits, by joint.
        rate: ds/dt after the step.
        lag: by how much it is later than the newest reference (s).
        distance: from the path (rad or m), of the joint that is furthest.
    """

    q: Array
    qd: Array
    qdd: Array
    unchanged: bool
    asked: tuple[Excess, ...]
    rate: float
    lag: float
    distance: float


@dataclass(eq=False)
class _Path:
    """References that are still to be reached: times (s), positions and velocities."""

    s: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)

    def append(self, s: float, q: Array, qd: Array) -> None:
        self.s.append(s)
        self.q.append(q)
        self.qd.append(qd)

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


@dataclass(frozen=True, eq=False)
class _Found:
    """A step along the path, if there is one: where it ends (s), its rate, what full rate asked for."""

    step: FeasibleStep | None
    s: float
    rate: float
    asked: tuple[Excess, ...]


class ReferenceGovernor:
    """Makes a stream of references feasible. It has a state: the path, and where on it the joints are.

    Attributes:
        steps: what is feasible.
        timeout: time after which a reference begins a new stream (s).
        most: greatest lag at which references are still taken (s).
    """

    def __init__(self, steps: Feasibility, timeout: float = 0.2, most: float = 10.0) -> None:
        """Begin without references."""
        self.steps = steps
        self.timeout = timeout
        self.most = most
        self.reset()

    def reset(self) -> None:
        """Forget all references: the next begins a new stream."""
        self._path = _Path()
        self._s = self._t = math.nan
        self._rate = self._most = 1.0
        self._q = self._qd = np.zeros(0)
        self._off = False

    @property
    def lag(self) -> float:
        """By how much what goes out is later than the newest reference (s)."""
        return self._path.s[-1] - self._s if self._path.s else 0.0

    @property
    def behind(self) -> bool:
        """Whether references are still to be reached."""
        return self.lag > 0.0 or self._off

    @property
    def motion(self) -> Motion | None:
        """What went out last, with no acceleration; None before any."""
        return Motion(self._q, self._qd, np.zeros(len(self._q))) if self._path.s else None

    def take(
        self, t: float, q: Array, qd: Array | None = None, measured: Array | None = None
    ) -> GovernedReference:
        """Take the next reference and answer what goes out for it.

        Args:
            t: its time (s).
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None for what the positions give.
            measured: measured positions (rad or m), (n,); where they are out of range, so may references be.

        Raises:
            DynError: a position is out of range, which no rate mends, or what goes out is too late already;
                what was taken before stays.
        """
        dt = t - self._t
        follows = 0.0 < dt <= self.timeout
        self._check_range(
            q, [vector for vector in (measured, self._q if follows else None) if vector is not None]
        )
        if follows and self.lag > self.most:
            raise DynError(
                f"what goes out is {self.lag:.4g} s late, at most {self.most:g} s are made up for: wish "
                "motions that the actuators can make, or pause"
            )
        if not follows:
            return self._begin(t, q, qd)
        if qd is None:
            qd = (q - self._path.q[-1]) / (t - self._path.s[-1])
        if not self.behind:
            step = self.steps.nearest(self._q, self._qd, q, qd, dt)
            if step.feasible:
                self._path = _Path([t], [q], [qd])
                self._s, self._t, self._q, self._qd = t, t, q, qd
                self._rate = self._most = 1.0
                return GovernedReference(q, qd, step.qdd, True, (), 1.0, 0.0, 0.0)
        self._path.append(t, q, qd)
        return self.advance(t)

    def advance(self, t: float) -> GovernedReference:
        """Go on along the path until t (s), with no new reference, where some are still to be reached."""
        dt = t - self._t
        self._t = t
        if self._off:
            return self._joining(dt)
        rest = self._path.rest_until(self._s)
        if rest > self._s:
            self._s, self._rate, self._most = rest, 1.0, 1.0
        found = self._fastest(dt)
        if found.step is None:
            # Back to the next reference, and not into a corner of the path.
            self._off, self._s = True, self._path.following(self._s)
            return replace(self._joining(dt), asked=found.asked)
        if found.rate < self._rate:
            self._most = found.rate
        self._s, self._rate = found.s, found.rate
        self._q, speed = self._path.at(self._s)
        self._qd = self._rate * speed
        self._path.forget_before(self._s)
        return self._answer(found.step.qdd, found.asked)

    def _joining(self, dt: float) -> GovernedReference:
        """Stop, with the torques nearest to that, and come back to where the path was left."""
        at, before = self._q, self._qd
        place = self._path.at(self._s)[0]
        wish = (place - self._q) / REJOIN_S
        step = self.steps.nearest(self._q, self._qd, self._q + 0.5 * dt * (self._qd + wish), wish, dt)
        self._q, self._qd, self._rate = step.q, step.qd, 0.0
        if not step.possible:
            # No torques keep ranges and speeds: a model that is stepped on would run away.
            fastest = np.maximum(self.steps.limits.velocity, np.abs(before))
            self._qd = np.clip(np.nan_to_num(step.qd), -fastest, fastest)
            self._q = at + 0.5 * dt * (before + self._qd)
        if max(np.abs(place - self._q).max(), np.abs(self._qd).max()) < JOINED:
            self._off = False
        return self._answer(step.qdd, ())

    def _answer(self, qdd: Array, asked: tuple[Excess, ...]) -> GovernedReference:
        distance = float(np.abs(self._path.at(self._s)[0] - self._q).max())
        return GovernedReference(self._q, self._qd, qdd, False, asked, self._rate, self.lag, distance)

    def _begin(self, t: float, q: Array, qd: Array | None) -> GovernedReference:
        qd = np.zeros(len(q)) if qd is None else qd
        self.reset()
        self._path.append(t, q, qd)
        self._s, self._t, self._q, self._qd = t, t, q, qd
        limits = self.steps.limits
        with np.errstate(divide="ignore"):
            rate = float(np.min(limits.velocity / np.abs(qd), initial=1.0))
        if rate == 1.0:
            return GovernedReference(q, qd, np.zeros(len(q)), True, (), 1.0, 0.0, 0.0)
        asked = excesses(limits, bounds(limits, q, qd, qd, 0.0 * qd))
        self._rate = self._most = rate
        self._qd = rate * qd
        return self._answer(np.zeros(len(q)), asked)

    def _check_range(self, q: Array, others: Sequence[Array]) -> None:
        """Refuse positions out of range, and further out than those where the joints may be."""
        limits = self.steps.limits
        lower, upper = limits.lower, limits.upper
        if ((q >= lower) & (q <= upper)).all():
            return
        for other in others:
            lower, upper = np.minimum(lower, other), np.maximum(upper, other)
        beyond = np.maximum(lower - q, q - upper)
        j = int(beyond.argmax())
        if beyond[j] > OVERSHOOT:
            name, unit = limits.joint_names[j], limits.position_units[j]
            raise DynError(
                f"joint '{name}' asks for the position {q[j]:.4g} {unit}, its range is "
                f"{limits.lower[j]:.4g} to {limits.upper[j]:.4g} {unit}",
                element=f"joint '{name}'",
            )

    def _fastest(self, dt: float) -> _Found:
        """Answer the feasible step with the greatest rate."""

        def end(rate: float) -> float:
            return min(self._s + 0.5 * dt * (self._rate + rate), self._path.s[-1])

        rate = self._most
        s = end(rate)
        q, speed = self._path.at(s)
        step = self.steps.on_path(self._q, self._qd, q, rate * speed, dt)
        if step.feasible:
            return _Found(step, s, rate, ())
        asked = step.asked
        for _ in range(ROUNDS):
            if math.isnan(step.part):
                # The direction at the full rate will not do, that at the present place may.
                q, speed = self._path.at(end(0.0))
                step = self.steps.on_path(self._q, self._qd, q, self._most * speed, dt)
                if math.isnan(step.part):
                    return _Found(None, self._s, 0.0, asked)
            rate = self._most * step.part
            q, speed = self._path.at(end(rate))
            step = self.steps.on_path(self._q, self._qd, q, self._most * speed, dt)
        for room in ROOM:
            less = rate * (1.0 - room)
            s = end(less)
            q, speed = self._path.at(s)
            step = self.steps.nearest(self._q, self._qd, q, less * speed, dt)
            if step.feasible:
                return _Found(step, s, less, asked)
        return _Found(None, self._s, 0.0, asked)
