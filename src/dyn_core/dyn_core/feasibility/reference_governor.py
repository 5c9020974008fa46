# SPDX-License-Identifier: Apache-2.0
"""A stream of references that actuators can follow: as it is while it is feasible, else late on its path.

The references so far are a path p(s), s their own time. What goes out is p(s(t)); while all is feasible
s = t. Where a step is not, the rate ds/dt is made as small as it takes, and stays so until the path
rests: what a motion needs to speed up it mostly needs to slow down as well, and nobody knows yet how it goes
on. Where the path rests, s goes on to the end of the rest at once. Where only positions ask for it, as one
that jumps, the rate is as before after the next reference.

A reference is feasible where the step to it is. Where its velocities do not lead to its positions, as where a
filter has made them late, positions and velocities are looked at apart, as two motions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.control.motion import Motion
from dyn_core.control.trajectory_ranges import OVERSHOOT
from dyn_core.control.vectors import check_vector
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError
from dyn_core.feasibility.excess import Excess, bounds, excesses
from dyn_core.feasibility.feasible_step import FeasibleStep
from dyn_core.feasibility.reference_path import ReferencePath
from dyn_core.feasibility.reference_positions import GLANCE_S, ReferencePositions
from dyn_core.feasibility.step_feasibility import Feasibility

Place: TypeAlias = Callable[[float], tuple[float, Array, Array]]
"""Of a rate: s, position and velocity where a step along the path ends."""

ROUNDS = 6
"""How often the greatest rate is computed anew: the direction where the step ends depends on it."""
ROOM = (1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
"""Parts by which the rate is made smaller in turn, until the step is feasible in spite of rounding."""
REJOIN_S = 0.1
"""Time constant with which joints that had to leave the path come back to where they left it (s)."""
FASTER = 1.1
"""How many times its greatest speed a joint may seem to have from one position to the next, by noise."""
NEVER_S = 1e9
"""A time so long that a step does not look at where velocities lead (s)."""
HALVINGS = 12
"""How often the rate is halved where positions jump, and then the interval in which the greatest one is."""
PIECES, AHEAD = 16, 1.05
"""Into how many pieces the way to a reference is cut to see whether it can be gone at a rate, and faster."""
JOINED = 1e-5
"""Distance from the path (rad or m), and speed (per s), at which they are back."""


class InfeasibleReference(Exception):
    """A reference that is refused, as the actuators cannot make the step to it.

    Attributes:
        excess: what it asks for first.
    """

    def __init__(self, excess: Excess) -> None:
        """Say what it asks for."""
        super().__init__(excess.sentence)
        self.excess = excess


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


@dataclass(frozen=True, eq=False)
class _Found:
    """A step along the path, if there is one: where it ends (s), its rate, what full rate asked for.

    `jumps` says that it is only positions that ask for the rate.
    """

    step: FeasibleStep | None
    s: float
    rate: float
    asked: tuple[Excess, ...]
    jumps: bool = False


class ReferenceGovernor:
    """Makes a stream of references feasible. It has a state: the path, and where on it the joints are.

    Attributes:
        steps: what is feasible.
        timeout: time after which a reference begins a new stream (s).
        most: greatest lag at which references are still taken (s).
        slow: whether a stream that is not feasible is slowed down; else such references are refused.
    """

    def __init__(
        self, steps: Feasibility, timeout: float = 0.2, most: float = 10.0, *, slow: bool = True
    ) -> None:
        """Begin without references; ValueError where the times are none."""
        for name, time in (("timeout", timeout), ("most", most)):
            if not (math.isfinite(time) and time > 0.0):
                raise ValueError(f"{name}: expected a finite time > 0, but it is {time}")
        self.steps = steps
        self.slow = slow
        self.timeout = timeout
        self.most = most
        self.reset()

    def reset(self) -> None:
        """Forget all references: the next begins a new stream."""
        self._path = ReferencePath()
        self._positions = ReferencePositions()
        self._jump: tuple[float, float] | None = None
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
        self,
        t: float,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        measured: Array | None = None,
    ) -> GovernedReference:
        """Take the next reference and answer what goes out for it.

        Args:
            t: its time (s).
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None for what the positions give.
            measured: measured positions (rad or m), (n,); where they are out of range, so may references be.

        Raises:
            ValueError: a vector has another shape, or a number is not finite.
            DynError: a position is out of range, which no rate mends, what goes out is too late already, or
                the time is not after the last; what was taken before stays.
            InfeasibleReference: it is not feasible, and nothing is slowed down. As after a position out of
                range, the next one has to be reached from the last that went through, but after a pause.
        """
        if not math.isfinite(t):
            raise ValueError(f"t: expected a finite time, but it is {t}")
        q, qd = self._vector("q", q), None if qd is None else self._vector("qd", qd)
        dt = t - self._t
        if dt <= 0.0:
            raise DynError(
                f"the reference is of {t:.6g} s, not after the last one of {self._t:.6g} s: give each "
                "a later time, or begin anew with reset()"
            )
        follows = dt <= self.timeout
        try:
            self._check_range(q, [at for at in (measured, self._q if follows else None) if at is not None])
        except DynError:
            if follows and not self.behind:
                self._hold(t)
            raise
        if follows and self.lag > self.most:
            raise DynError(
                f"what goes out is {self.lag:.4g} s late, at most {self.most:g} s are made up for: wish "
                "motions that the actuators can make, or pause"
            )
        if not follows:
            return self._begin(t, q, qd)
        since = t - self._positions.t[-1]
        if qd is None:
            qd = (q - self._positions.q[-1]) / since
        self._positions.append(t, q)
        if not self.behind:
            step = self._step_to(q, qd, dt)
            if not (step.feasible or self.slow):
                self._hold(t)
                raise InfeasibleReference(step.asked[0])
            if step.feasible:
                self._path.reach(since, q, qd)
                self._s, self._t, self._q, self._qd = 0.0, t, q, qd
                self._rate, self._most, self._jump = 1.0, 1.0, None
                return GovernedReference(q, qd, step.qdd, True, (), 1.0, 0.0, 0.0)
        self._path.append(since, q, qd)
        return self.advance(t)

    def advance(self, t: float) -> GovernedReference:
        """Go on along the path until t (s), with no new reference, where some are still to be reached."""
        dt = t - self._t
        if not dt > 0.0:
            raise ValueError(f"t: expected a time (s) after {self._t:g}, but it is {t}: begin with `take`")
        self._t = t
        if self._off:
            return self._joining(dt)
        rest = self._path.rest_until(self._s)
        if rest > self._s:
            self._s, self._rate, self._most, self._jump = rest, 1.0, 1.0, None
        if self._jump is not None and self._s >= self._jump[0]:
            most = self._jump[1]
            if self._can_go_on(most):
                self._most, self._jump = most, None
            else:
                self._jump = self._path.following(self._s), most
        most = self._most
        found = self._fastest(dt)
        if found.step is None:
            # Back to the next reference, and not into a corner of the path.
            self._off, self._s = True, self._path.following(self._s)
            return replace(self._joining(dt), asked=found.asked)
        if found.jumps and self._jump is None:
            self._jump = self._path.following(self._s), most
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
        limits = self.steps.limits
        with np.errstate(divide="ignore"):
            rate = float(np.min(limits.velocity / np.abs(qd), initial=1.0))
        asked = () if rate == 1.0 else excesses(limits, bounds(limits, q, qd, qd, 0.0 * qd))
        if asked and not self.slow:
            raise InfeasibleReference(asked[0])
        self.reset()
        self._path.append(math.inf, q, qd)
        self._positions.begin(t, q, qd)
        self._s, self._t, self._q, self._qd = 0.0, t, q, qd
        if not asked:
            return GovernedReference(q, qd, np.zeros(len(q)), True, (), 1.0, 0.0, 0.0)
        self._rate = self._most = rate
        self._qd = rate * qd
        return self._answer(np.zeros(len(q)), asked)

    def _vector(self, name: str, value: npt.ArrayLike) -> Array:
        """Answer an array of one finite number for each joint; one that is that already is itself."""
        array = as_floats(name, value)
        check_vector(name, self.steps.limits.joint_names, array)
        return array

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

    def _hold(self, t: float) -> None:
        """Look at the next reference as if the last that went through had come at t (s)."""
        self._t = t
        self._positions.begin(t, self._q, self._qd)

    def _step_to(self, q: Array, qd: Array, dt: float) -> FeasibleStep:
        """Answer the step to a reference; it is feasible as well where its motions are so apart."""
        step = self.steps.nearest(self._q, self._qd, q, qd, dt)
        if step.feasible:
            return step
        by_velocities = self.steps.nearest(self._q, self._qd, q, qd, dt, catch_up=NEVER_S)
        too_far = np.abs(q - self._q) > FASTER * dt * np.maximum(self.steps.limits.velocity, np.abs(self._qd))
        if too_far.any() or not by_velocities.feasible:
            return step
        T, before, middle, mean = self._positions.change()
        by_positions = self.steps.nearest(middle, before, q, mean, T)
        return by_velocities if by_positions.feasible else step

    def _fastest(self, dt: float) -> _Found:
        """Answer the feasible step with the greatest rate."""
        place = partial(self._place, dt, self._path.rests_at(self._s))
        greatest = self._most
        s, q, speed = place(greatest)
        step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt, catch_up=max(dt, GLANCE_S))
        if step.feasible:
            return _Found(step, s, greatest, ())
        asked, rate = step.asked, greatest
        for _ in range(ROUNDS):
            if math.isnan(step.part):
                # The direction at the full rate will not do, that at the present place may.
                _, q, speed = place(0.0)
                step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt)
                if math.isnan(step.part):
                    return _Found(None, self._s, 0.0, asked)
            rate = greatest * step.part
            _, q, speed = place(rate)
            step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt)
        for room in ROOM:
            found = self._found(place, rate * (1.0 - room), dt, asked)
            if found.step is not None:
                return found
        return self._fastest_in_jump(place, rate, dt, asked)

    def _fastest_in_jump(self, place: Place, rate: float, dt: float, asked: tuple[Excess, ...]) -> _Found:
        """Answer the same where velocities allow a rate (per s), but positions do not."""
        too_fast, best = rate, _Found(None, self._s, 0.0, asked)
        for _ in range(HALVINGS):
            rate *= 0.5
            found = self._found(place, rate, dt, asked)
            if found.step is not None:
                best = found
                if self._can_go_on(rate):
                    break
            too_fast = rate
        if best.step is None:
            return best
        for _ in range(HALVINGS):
            rate = 0.5 * (best.rate + too_fast)
            found = self._found(place, rate, dt, asked)
            if found.step is not None and self._can_go_on(rate):
                best = found
            else:
                too_fast = rate
        return replace(best, jumps=True)

    def _can_go_on(self, rate: float) -> bool:
        """Whether the way to the next reference can be gone at one rate, so that it can end in time."""
        begin, end = self._s, self._path.following(self._s)
        if end <= begin:
            return True
        places = [self._path.at(s) for s in np.linspace(begin, end, PIECES + 1)]
        T = (end - begin) / PIECES / rate
        return all(
            self.steps.nearest(q, AHEAD * rate * v, q_next, AHEAD * rate * v_next, T / AHEAD).feasible
            for (q, v), (q_next, v_next) in pairwise(places)
        )

    def _found(self, place: Place, rate: float, dt: float, asked: tuple[Excess, ...]) -> _Found:
        """Answer the step with a rate, if it is feasible."""
        s, q, speed = place(rate)
        step = self.steps.nearest(self._q, self._qd, q, rate * speed, dt, catch_up=max(dt, GLANCE_S))
        return _Found(step if step.feasible else None, s, rate, asked)

    def _place(self, dt: float, rests: bool, rate: float) -> tuple[float, Array, Array]:
        """Answer s, position and velocity of the path where a step with a rate at its end leads to.

        The rate grows or shrinks evenly in the step; where the path rests it can be any at once.
        """
        s = min(self._s + 0.5 * dt * ((rate if rests else self._rate) + rate), self._path.s[-1])
        return (s, *self._path.at(s))
