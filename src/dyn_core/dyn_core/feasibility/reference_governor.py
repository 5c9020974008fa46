# SPDX-License-Identifier: Apache-2.0
"""Make a stream of references feasible: unchanged if possible, else delayed on its path.

The references form a path p(s) with their own time s. The output is p(s(t)), with s = t while all steps
are feasible. At an infeasible step the rate ds/dt is reduced as far as needed. It stays reduced until the
path rests, because a motion needs to slow down about as much as to speed up, and its continuation is
unknown. Where the path rests, s jumps to the end of the rest. If only positions require the reduction, as
a position that jumps, the rate is restored after the next reference.

A reference is feasible if the step to it is. Where its velocities do not lead to its positions, for
example because a filter delays them, positions and velocities are checked separately, as two motions.
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

from dyn_core.control.command_limits import check_vector
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import OVERSHOOT
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError, at_joint
from dyn_core.feasibility.limit_violations import Excess, bounds, excesses
from dyn_core.feasibility.step_feasibility import Feasibility, FeasibleStep
from dyn_core.feasibility.trajectory_governor import GLANCE_S, ReferencePath, ReferencePositions

Place: TypeAlias = Callable[[float], tuple[float, Array, Array]]
"""From a rate to s, position and velocity at the end of a step along the path."""

ROUNDS = 6  # Iterations for the greatest rate, because the direction at the end of the step depends on it
ROOM = (1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
"""Relative reductions of the rate that are tried until the step is feasible in spite of rounding."""
REJOIN_S = 0.1  # Time constant of the return to the path where joints had to leave it (s)
FASTER = 1.1  # Factor of the greatest speed that positions may seem to have because of noise
NEVER_S = 1e9  # Time to reach positions that is long enough to ignore where velocities lead (s)
HALVINGS = 12  # Halvings of the rate where positions jump, and bisections for the greatest rate after that
PIECES, AHEAD = 16, 1.05
"""Pieces of the path to a reference on which a rate is checked, and the factor of the rate there."""
JOINED = 1e-5  # Distance from the path (rad or m), and speed (per s), at which they are back on it


class InfeasibleReference(Exception):
    """A rejected reference that the actuators cannot reach; `excess` is its first violation."""

    def __init__(self, excess: Excess) -> None:
        """Keep the first violation."""
        super().__init__(excess)
        self.excess = excess

    def __str__(self) -> str:
        """Return the sentence."""
        return self.excess.sentence


@dataclass(frozen=True, eq=False)
class GovernedReference:
    """Output for a reference."""

    q: Array  # positions (rad or m), (n,)
    qd: Array  # velocities (rad/s or m/s), (n,)
    qdd: Array  # accelerations of the step to them (rad/s^2 or m/s^2), (n,)
    unchanged: bool  # whether this is the given reference
    asked: tuple[Excess, ...]  # violations of the step at full rate, by joint
    rate: float  # ds/dt after the step
    lag: float  # delay relative to the newest reference (s)
    distance: float  # greatest distance of a joint from the path (rad or m)


@dataclass(frozen=True, eq=False)
class _PathStep:
    """End (s) and rate of a step along the path, None if infeasible, and the violations at full rate.

    `jumps` tells that only positions limit the rate.
    """

    step: FeasibleStep | None
    s: float
    rate: float
    asked: tuple[Excess, ...]
    jumps: bool = False


class ReferenceGovernor:
    """Make a stream of references feasible. The state is the path and the present place on it.

    References begin a new stream after a `timeout` (s), and are accepted up to a lag of `most` (s). An
    infeasible stream is slowed down if `slow`; else infeasible references are rejected.
    """

    def __init__(
        self, steps: Feasibility, timeout: float = 0.2, most: float = 10.0, *, slow: bool = True
    ) -> None:
        """Begin without references; raise ValueError for invalid times."""
        for name, time in (("timeout", timeout), ("most", most)):
            if not (math.isfinite(time) and time > 0.0):
                raise ArgumentError("argument-time-not-positive", argument=name, given=time)
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
        """Delay of the output relative to the newest reference (s)."""
        return self._path.s[-1] - self._s if self._path.s else 0.0

    @property
    def behind(self) -> bool:
        """True if references are still to be reached."""
        return self.lag > 0.0 or self._off

    @property
    def motion(self) -> Motion | None:
        """The last output, with no acceleration; None before the first."""
        return Motion(self._q, self._qd, np.zeros(len(self._q))) if self._path.s else None

    def take(
        self, t: float, q: npt.ArrayLike, qd: npt.ArrayLike | None = None, measured: Array | None = None
    ) -> GovernedReference:
        """Take the next reference and return the output for it.

        Raise ValueError if a vector has another shape, or a number is not finite. Raise DynError if a
        position is out of range, the lag is too great, or the time is not after the last; the earlier
        references stay. Raise InfeasibleReference if the step is infeasible, and nothing is slowed down.
        Then, as after a position out of range, the next reference must be reached from the last accepted one,
        or after a timeout.

        Args:
            t: its time (s).
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None for those of the positions.
            measured: measured positions (rad or m), (n,); references may be as far out of range as these.
        """
        if not math.isfinite(t):
            raise ArgumentError("argument-time-not-finite", argument="t", given=t)
        q, qd = self._vector("q", q), None if qd is None else self._vector("qd", qd)
        dt = t - self._t
        if dt <= 0.0:
            raise DynError("reference-not-later", time=t, last=self._t)
        follows = dt <= self.timeout
        try:
            self._check_range(q, [at for at in (measured, self._q if follows else None) if at is not None])
        except DynError:
            if follows and not self.behind:
                self._hold(t)
            raise
        if follows and self.lag > self.most:
            raise DynError("reference-lag-exceeded", lag=self.lag, most=self.most)
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
        """Continue on the path until t (s), without a new reference."""
        dt = t - self._t
        if not dt > 0.0:
            raise ArgumentError("argument-time-not-later", argument="t", last=self._t, given=t)
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
            # Return to the next reference, not into a corner of the path.
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
        return self._output(found.step.qdd, found.asked)

    def _joining(self, dt: float) -> GovernedReference:
        """Stop with the nearest feasible torques, and return to where the path was left."""
        at, before = self._q, self._qd
        place = self._path.at(self._s)[0]
        target = (place - self._q) / REJOIN_S
        step = self.steps.nearest(self._q, self._qd, self._q + 0.5 * dt * (self._qd + target), target, dt)
        self._q, self._qd, self._rate = step.q, step.qd, 0.0
        if not step.possible:
            # No torques keep ranges and speeds: without these bounds the motion would diverge.
            fastest = np.maximum(self.steps.limits.velocity, np.abs(before))
            self._qd = np.clip(np.nan_to_num(step.qd), -fastest, fastest)
            self._q = at + 0.5 * dt * (before + self._qd)
        if max(np.abs(place - self._q).max(), np.abs(self._qd).max()) < JOINED:
            self._off = False
        return self._output(step.qdd, ())

    def _output(self, qdd: Array, asked: tuple[Excess, ...]) -> GovernedReference:
        distance = float(np.abs(self._path.at(self._s)[0] - self._q).max())
        return GovernedReference(self._q, self._qd, qdd, False, asked, self._rate, self.lag, distance)

    def _begin(self, t: float, q: Array, qd: Array | None) -> GovernedReference:
        qd = np.zeros(len(q)) if qd is None else qd
        limits = self.steps.limits
        with np.errstate(divide="ignore", over="ignore"):
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
        return self._output(np.zeros(len(q)), asked)

    def _vector(self, name: str, value: npt.ArrayLike) -> Array:
        """Return an array of one finite number for each joint, not copied if it is one already."""
        array = as_floats(name, value)
        check_vector(name, self.steps.limits.joint_names, array)
        return array

    def _check_range(self, q: Array, others: Sequence[Array]) -> None:
        """Raise DynError for positions further out of range than `others`, where the joints may be."""
        limits = self.steps.limits
        lower, upper = limits.lower, limits.upper
        if ((q >= lower) & (q <= upper)).all():
            return
        for other in others:
            lower, upper = np.minimum(lower, other), np.maximum(upper, other)
        beyond = np.maximum(lower - q, q - upper)
        j = int(beyond.argmax())
        if beyond[j] > OVERSHOOT:
            unit, lower, upper = limits.position_units[j], limits.lower, limits.upper
            raise at_joint(
                limits.joint_names[j],
                "reference-out-of-range",
                position=q[j],
                unit=unit,
                lower=lower[j],
                upper=upper[j],
            )

    def _hold(self, t: float) -> None:
        """Treat the next reference as if the last accepted one had come at t (s)."""
        self._t = t
        self._positions.begin(t, self._q, self._qd)

    def _step_to(self, q: Array, qd: Array, dt: float) -> FeasibleStep:
        """Return the step to a reference, feasible also if its two motions are feasible separately."""
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

    def _fastest(self, dt: float) -> _PathStep:
        """Return the feasible step with the greatest rate."""
        place = partial(self._place, dt, self._path.rests_at(self._s))
        greatest = self._most
        s, q, speed = place(greatest)
        step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt, catch_up=max(dt, GLANCE_S))
        if step.feasible:
            return _PathStep(step, s, greatest, ())
        asked, rate = step.asked, greatest
        for _ in range(ROUNDS):
            if math.isnan(step.part):
                # The direction at the full rate is infeasible, that at the present place may be feasible.
                _, q, speed = place(0.0)
                step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt)
                if math.isnan(step.part):
                    return _PathStep(None, self._s, 0.0, asked)
            rate = greatest * step.part
            _, q, speed = place(rate)
            step = self.steps.on_path(self._q, self._qd, q, greatest * speed, dt)
        for room in ROOM:
            found = self._at_rate(place, rate * (1.0 - room), dt, asked)
            if found.step is not None:
                return found
        return self._fastest_in_jump(place, rate, dt, asked)

    def _fastest_in_jump(self, place: Place, rate: float, dt: float, asked: tuple[Excess, ...]) -> _PathStep:
        """Return the step with the greatest rate below `rate` (per s) that positions allow, too."""
        too_fast, best = rate, _PathStep(None, self._s, 0.0, asked)
        for _ in range(HALVINGS):
            rate *= 0.5
            found = self._at_rate(place, rate, dt, asked)
            if found.step is not None:
                best = found
                if self._can_go_on(rate):
                    break
            too_fast = rate
        if best.step is None:
            return best
        for _ in range(HALVINGS):
            rate = 0.5 * (best.rate + too_fast)
            found = self._at_rate(place, rate, dt, asked)
            if found.step is not None and self._can_go_on(rate):
                best = found
            else:
                too_fast = rate
        return replace(best, jumps=True)

    def _can_go_on(self, rate: float) -> bool:
        """True if the path to the next reference is feasible at a constant rate, so it can end in time."""
        begin, end = self._s, self._path.following(self._s)
        if end <= begin:
            return True
        places = [self._path.at(s) for s in np.linspace(begin, end, PIECES + 1)]
        T = (end - begin) / PIECES / rate
        return all(
            self.steps.nearest(q, AHEAD * rate * v, q_next, AHEAD * rate * v_next, T / AHEAD).feasible
            for (q, v), (q_next, v_next) in pairwise(places)
        )

    def _at_rate(self, place: Place, rate: float, dt: float, asked: tuple[Excess, ...]) -> _PathStep:
        """Return the step with a rate, None in it if that is infeasible."""
        s, q, speed = place(rate)
        step = self.steps.nearest(self._q, self._qd, q, rate * speed, dt, catch_up=max(dt, GLANCE_S))
        return _PathStep(step if step.feasible else None, s, rate, asked)

    def _place(self, dt: float, rests: bool, rate: float) -> tuple[float, Array, Array]:
        """Return s, position and velocity of the path after a step with a rate at its end.

        The rate changes linearly during the step; where the path rests it changes at once.
        """
        s = min(self._s + 0.5 * dt * ((rate if rests else self._rate) + rate), self._path.s[-1])
        return (s, *self._path.at(s))
