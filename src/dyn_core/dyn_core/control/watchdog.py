# SPDX-License-Identifier: Apache-2.0
"""The watchdog for stale data, and its transitions without a step: ramps, crossfades and blends."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import le, sub
from typing import Literal, NamedTuple, get_args

import numpy as np

from dyn_core.control.command_limits import check_vector, number
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.tunable_parameters import accepted
from dyn_core.robot.robot import checked_gravity

# Ramps

STEEPEST = 1.875  # Greatest slope of `smooth_step`


def smooth_step(u: float) -> float:
    """Return 6 u^5 - 15 u^4 + 10 u^3 for u in [0, 1], 0 below and 1 above; the slope is 0 at both ends."""
    if u <= 0.0:
        return 0.0
    if u >= 1.0:
        return 1.0
    return min(1.0, u * u * u * (10.0 + u * (6.0 * u - 15.0)))


@dataclass(frozen=True)
class Ramp:
    """A factor in [0, 1] over time; its rate is at most ``1.875 |final - initial| / duration``.

    `begin` is the start of the change (s), `duration` its duration (s), 0 for a step at `begin`.
    """

    begin: float
    duration: float
    initial: float = 0.0
    final: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for values that are not finite or out of range."""
        if not (math.isfinite(self.begin) and 0.0 <= self.duration < math.inf):
            raise ArgumentError("ramp-times-not-finite", begin=self.begin, duration=self.duration)
        if not (0.0 <= self.initial <= 1.0 and 0.0 <= self.final <= 1.0):
            raise ArgumentError("ramp-factors-out-of-range", initial=self.initial, final=self.final)

    def at(self, t: float) -> float:
        """Return the factor at time t (s)."""
        s = smooth_step(progress(self.begin, self.duration, t))
        return self.final if s == 1.0 else (1.0 - s) * self.initial + s * self.final

    def over(self, t: float) -> bool:
        """True if the final value is reached at time t (s)."""
        return progress(self.begin, self.duration, t) >= 1.0

    def toward(self, t: float, final: float, duration: float) -> Ramp:
        """Return the ramp from the value at time t (s) to another value in `duration` (s)."""
        return Ramp(t, duration, self.at(t), final)


def progress(begin: float, duration: float, t: float) -> float:
    """Return the fraction of `duration` that has passed from `begin` to time t (all s), in [0, 1]."""
    if not math.isfinite(t):
        raise ArgumentError("argument-time-not-finite", argument="t", given=t)
    elapsed = t - begin
    if elapsed < 0.0:
        return 0.0
    return 1.0 if elapsed >= duration else elapsed / duration


# Crossfades of torques


class Fade:
    """Crossfade from the torques that were sent at a change. Its state is the torques that were sent last.

    For f from 0 to 1, (1 - f) a + f b changes from a, the torques at the time of the change, to the target
    torques b, which may vary. It begins at a without a step, and is within any limits that a and b keep.

    `sent` are the torques returned last (N m or N), (n,), read-only; zero before the first call. `behind`
    tells whether the greatest step held the last ones back.
    """

    behind = False

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Begin with torques of zero."""
        self.joint_names = tuple(joint_names)
        self.reset()

    def reset(self) -> None:
        """Begin again from zero, because the receiver no longer holds the torques that were sent."""
        self.sent = np.zeros(len(self.joint_names))
        self._from = self.sent
        self._change: Hashable = None

    def toward(self, change: Hashable, factor: float, torques: Array, step: Array | None = None) -> Array:
        """Return the torques to send.

        Raise ValueError if a number is not finite, or the factor not in [0, 1]; the state is unchanged.

        Args:
            change: key whose value differs after a change, such as `Watch.change`.
            factor: f, in [0, 1].
            torques: b, the target torques (N m or N), (n,).
            step: greatest change from `sent` (N m or N), (n,); None for any change.
        """
        if torques.shape != self.sent.shape or not math.isfinite(sum(torques.tolist())):
            check_vector("torque", self.joint_names, torques)
        if not 0.0 <= factor <= 1.0:
            raise ArgumentError("argument-not-fraction", argument="factor", given=factor)
        if change != self._change:
            self._change, self._from = change, self.sent
        before = self.sent
        self.sent = torques.copy() if factor == 1.0 else _mixed(self._from, torques, factor)
        self.behind = False
        if step is not None and not _within(step, before, self.sent):
            self.behind = True
            self.sent = np.minimum(np.maximum(self.sent, before - step), before + step)
        self.sent.flags.writeable = False
        return self.sent


def _within(step: Array, a: Array, b: Array) -> bool:
    """Return whether a and b, (n,), are at most `step` apart; in about 1 us."""
    return all(map(le, map(abs, map(sub, b.tolist(), a.tolist())), step.tolist()))


def _mixed(a: Array, b: Array, f: float) -> Array:
    """Return (1 - f) a + f b, bounded by a and b against rounding."""
    mixture = (1.0 - f) * a + f * b
    return np.minimum(np.maximum(mixture, np.minimum(a, b)), np.maximum(a, b))


class ParameterBlend:
    """Blend of the parameters of a model with ``parameters="runtime"``, which only this object may set.

    The torque is linear in the parameters p, tau = Y(q, qd, qdd) p. So with p = (1 - s) p_0 + s p_1 it is the
    same mixture of the torques: it has no step, and its rate is at most 1.875 ``|Y (p_1 - p_0)|`` / duration
    greater than that of the motion. It is also linear in gravity, but of second degree in s if both change.
    The physical parameters of a body are a convex set, so a blend of two physical sets is physical.

    A change during a blend begins at the current values of the model. Values by name change the target of
    the running blend.
    """

    def __init__(self, model: Model) -> None:
        """Begin with the current parameters of the model; raise DynError if they are baked in."""
        model.set_parameters()
        self.model = model
        self._target: Array = np.array([*model.parameters, *model.gravity])
        options = {"friction": model.friction, "rotor_inertia": model.rotor_inertia}
        self._excluded = frozenset(option for option, included in options.items() if not included)
        self._initial = self._target
        self._begin = -math.inf
        self._duration = 0.0
        self._finished = True

    @property
    def target(self) -> Array:
        """Parameters of the model at the end of the blend (SI units)."""
        return np.array(self._target[:-3])

    @property
    def gravity(self) -> Array:
        """Gravity of the model at the end of the blend (m/s^2)."""
        return np.array(self._target[-3:])

    def change(
        self,
        now: float,
        values: Mapping[str, float] | Iterable[float] | None = None,
        gravity: Iterable[float] | None = None,
        duration: float = 1.0,
    ) -> None:
        """Begin a blend to other parameters, which `update` performs.

        Raise DynError if a value is invalid; the running blend continues.

        Args:
            now: current time (s).
            values: as for `Model.set_parameters`.
            gravity: acceleration of gravity in the frame of the root link (m/s^2).
            duration: duration of the blend (s); 0 for a step.
        """
        seconds = number("the duration of a blend (s)", duration, least=0.0)
        model, target = self.model, self._target
        names = model.parameter_names
        new = accepted(names, target[:-3].tolist(), {} if values is None else values, self._excluded)
        field = target[-3:] if gravity is None else checked_gravity(gravity)
        self._initial = self._at(now)
        self._target = np.array([*new, *field])
        self._begin, self._duration, self._finished = now, seconds, False

    def update(self, now: float) -> bool:
        """Set the parameters of the model for time `now` (s); return True while they still change.

        A call costs nothing without a running blend, else the time of `Model.set_parameters`.
        """
        if self._finished:
            return False
        values = self._at(now)
        self.model.set_parameters(values[:-3], gravity=values[-3:])
        self._finished = progress(self._begin, self._duration, now) >= 1.0
        return not self._finished

    def _at(self, now: float) -> Array:
        s = smooth_step(progress(self._begin, self._duration, now))
        return self._target if s == 1.0 else (1.0 - s) * self._initial + s * self._target


# Watchdog of input data: status and target torques while data is fresh, stale, or fresh again.
#
#     status                                   data     next
#     NO_DATA, HOLDING, RAMPING_DOWN, STOPPED  fresh    RECOVERING
#     RECOVERING                               fresh    GOOD, after ramp_up
#     RECOVERING, GOOD                         stale    HOLDING, RAMPING_DOWN or STOPPED, by the reaction
#     RAMPING_DOWN                             stale    STOPPED, after ramp_down
#
#     status         target                                     factor
#     NO_DATA        NOTHING                                    0
#     RECOVERING     LIVE                                       0 to 1 in ramp_up
#     GOOD           LIVE                                       1
#     HOLDING        HELD                                       0 to 1 in ramp_down
#     RAMPING_DOWN   ZERO                                       0 to 1 in ramp_down
#     STOPPED        ZERO, or NOTHING with reaction "stop"      1, or 0
#
# Data is fresh while the last good sample is at most `timeout` old, and at most `timeout` in the future. The
# factor is the progress from the torques that were sent when the status changed to those of the target (see
# `Fade`). So the torques that are sent never have a step, after any sequence of changes.

Reaction = Literal["hold", "ramp_to_zero", "stop"]


class Status(Enum):
    """Status of the data and of the reaction to it."""

    NO_DATA = "no data"
    RECOVERING = "recovering"
    GOOD = "good"
    HOLDING = "holding"
    RAMPING_DOWN = "ramping down"
    STOPPED = "stopped"


class Target(Enum):
    """Target of the torques."""

    NOTHING = "nothing"
    """Nothing is sent; many controllers hold the last torques that they received."""
    LIVE = "live"
    """Torques for the present data."""
    HELD = "held"
    """Torques that hold the robot at the position of the last good data."""
    ZERO = "zero"


@dataclass(frozen=True)
class WatchSettings:
    """Timeout of data, and the reaction to stale data."""

    timeout: float  # age beyond which data is stale (s)
    reaction: Reaction = "ramp_to_zero"  # reaction while data is stale
    ramp_down: float = 0.5  # duration of the change to the torques of the reaction (s); 0 for a step
    ramp_up: float = 0.5  # duration of the change back to live torques (s); 0 for a step

    def __post_init__(self) -> None:
        """Raise DynError for invalid settings."""
        number("the timeout (s)", self.timeout, above=0.0)
        number("ramp_down (s)", self.ramp_down, least=0.0)
        number("ramp_up (s)", self.ramp_up, least=0.0)
        if self.reaction not in get_args(Reaction):
            known = "'hold', 'ramp_to_zero' or 'stop'"
            raise DynError("choice-unknown", setting="the reaction", given=self.reaction, known=known)


class Watch(NamedTuple):
    """Status since a time (s), with the target of the torques and their progress to it, in [0, 1]."""

    status: Status
    since: float
    target: Target
    factor: float

    @property
    def publishes(self) -> bool:
        """True if torques are sent."""
        return self.target is not Target.NOTHING

    @property
    def change(self) -> tuple[Target, float]:
        """Key that changes from one crossfade to the next, for `Fade.toward`."""
        return self.target, self.since


NO_DATA = Watch(Status.NO_DATA, 0.0, Target.NOTHING, 0.0)  # The watch before any data

_ON_STALE = {"hold": Status.HOLDING, "ramp_to_zero": Status.RAMPING_DOWN, "stop": Status.STOPPED}
_TARGETS = {
    Status.NO_DATA: Target.NOTHING,
    Status.RECOVERING: Target.LIVE,
    Status.GOOD: Target.LIVE,
    Status.HOLDING: Target.HELD,
    Status.RAMPING_DOWN: Target.ZERO,
    Status.STOPPED: Target.ZERO,
}


def watched(settings: WatchSettings, watch: Watch, now: float, last_good: float | None) -> Watch:
    """Return the watch at time `now` from the watch of the last cycle, `NO_DATA` at first.

    `now`, and the time of the last good sample (None before the first), are times of a monotonic clock (s).
    """
    if not math.isfinite(now):
        raise ArgumentError("argument-time-not-finite", argument="now", given=now)
    fresh = last_good is not None and abs(now - last_good) <= settings.timeout
    if fresh and watch.status is Status.GOOD:
        # Shortcut for nearly all cycles.
        return Watch(Status.GOOD, watch.since, Target.LIVE, 1.0)
    status = _next(settings, watch, now, fresh=fresh)
    since = watch.since if status is watch.status else now
    target = _TARGETS[status]
    if status is Status.STOPPED and settings.reaction == "stop":
        target = Target.NOTHING
    return Watch(status, since, target, _factor(settings, status, target, since, now))


def _next(settings: WatchSettings, watch: Watch, now: float, *, fresh: bool) -> Status:
    status = watch.status
    if fresh:
        if status is Status.GOOD:
            return status
        if status is Status.RECOVERING:
            return Status.GOOD if progress(watch.since, settings.ramp_up, now) >= 1.0 else status
        return Status.RECOVERING
    if status in (Status.GOOD, Status.RECOVERING):
        return _ON_STALE[settings.reaction]
    if status is Status.RAMPING_DOWN and progress(watch.since, settings.ramp_down, now) >= 1.0:
        return Status.STOPPED
    return status


def _factor(settings: WatchSettings, status: Status, target: Target, since: float, now: float) -> float:
    if target is Target.NOTHING:
        return 0.0
    if status in (Status.GOOD, Status.STOPPED):
        return 1.0
    duration = settings.ramp_up if status is Status.RECOVERING else settings.ramp_down
    return smooth_step(progress(since, duration, now))
