# SPDX-License-Identifier: Apache-2.0
"""From desired torques to sent torques: limits, reactions to stale data, transitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dyn_core.control.command_limits import EffortLimits, RateLimit
from dyn_core.control.laws.inverse_dynamics_control import Terms
from dyn_core.control.watchdog import NO_DATA, Fade, Status, Target, Watch, WatchSettings, watched
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.data_checks import Notice, Rejection, clipped, effort_excess
from dyn_nodes.common.parameters import PART, SECONDS, parameter

MAX_TORQUE_RATE = 50.0
"""Default of the rate of torques, in effort limits per second: a full reversal takes 40 ms. It is a share
because the limits of the joints of an arm differ by a factor of ten.

It is as small as feedback allows. Torques that follow too slowly make an error grow until it needs the whole
torque: after a push, gains for a natural frequency of more than a fifth of this rate swing for ever
(measured: 10 per second with 5 Hz, 20 with 8 Hz, 30 with 10 Hz, 50 with 15 Hz)."""
LONGEST_STEP_S = 0.004
"""Longest time between two messages that counts for the rate (s), so that no message jumps after a pause: it
changes torques by at most a fifth of the limit. A loop that is slower than 250 Hz has a lower rate, still
four times the greatest natural frequency that it can have, a twentieth of its own rate."""
_TRANSITIONS = (Status.RECOVERING, Status.HOLDING, Status.RAMPING_DOWN)
_STATUS_OF_TARGET = {Target.HELD: JointTorques.STATUS_HELD, Target.ZERO: JointTorques.STATUS_ZERO}


@dataclass(frozen=True)
class Smoothing:
    """How fast torques change: the first ones, and all others."""

    ramp_start: float = parameter(
        0.5,
        "Duration of the ramp to the first torques after activation, from those sent last or zero, s; 0: a "
        "step.",
        SECONDS,
        live=True,
    )
    max_rate: float = parameter(
        MAX_TORQUE_RATE,
        "Greatest rate of a torque, in effort limits of its joint per second; 0: no bound. More than 4 ms "
        "since the last message count as 4 ms. Ramps of 0 s and the last message are not bounded.",
        (0.0, 2000.0),
        name="max_torque_rate",
        live=True,
    )
    effort_scale: float = parameter(
        1.0,
        "Part of the effort limits that torques may use; where the drive adds gravity, with what it adds.",
        PART,
        live=True,
    )


class Output(NamedTuple):
    """Torques to be published."""

    terms: Terms  # terms of the desired torques
    total: Array  # the torques (N m or N), (n,)
    status: int
    excess: Notice | None  # which joint exceeded its limit most; None where no joint did


class OutputStage:
    """The stage between the terms of one model and the published torques. State: watch, and the last torques.

    `watch` is the state of the data and the reaction to it, `last_good` the time of the last good data (s).
    While it is `suspended`, all torques are zero.
    """

    suspended = False

    def __init__(
        self, limits: EffortLimits, units: tuple[str, ...], settings: WatchSettings, smoothing: Smoothing
    ) -> None:
        """Begin without data; `units` are of the torque of each joint."""
        self.limits = self._outer = limits
        self.watch = NO_DATA
        self.last_good: float | None = None
        self.units = units
        self._settings = settings
        self._timeout = settings.timeout
        self._at_first = replace(settings, ramp_up=smoothing.ramp_start)
        self._sent_at = -math.inf
        rates = (smoothing.max_rate or math.inf) * limits.limits
        self._rates = RateLimit(limits.joint_names, rates)
        self._first = True
        self._fade = Fade(limits.joint_names)
        zero = np.zeros(len(limits.joint_names))
        zero.flags.writeable = False
        self.zero = Terms(zero, zero, zero, zero, zero)

    def tune(
        self, limits: EffortLimits, settings: WatchSettings, smoothing: Smoothing, now: float, *, ramp: bool
    ) -> None:
        """Use other settings from time `now` (s) on.

        With `ramp`, or with other limits, torques go over to theirs as after missing data.
        """
        ramp = ramp or limits is not self.limits
        if not self.is_settled or (limits.limits < self.limits.limits).any():
            # Torques that were sent may be above smaller limits until they have gone over to them.
            self._outer = EffortLimits(limits.joint_names, np.maximum(self._outer.limits, limits.limits))
        self.limits, self._settings = limits, settings
        self._at_first = replace(settings, ramp_up=smoothing.ramp_start)
        self._rates = RateLimit(limits.joint_names, (smoothing.max_rate or math.inf) * limits.limits)
        if ramp:
            self.recover(now)

    def take_over(self, other: OutputStage, now: float) -> None:
        """Continue from the torques of another stage, with a ramp, for joints of the same name."""
        self.begin_from(other)
        if other.last_good is None:
            return
        self.last_good, self._first = other.last_good, False
        status = other.watch.status
        if status is Status.STOPPED:
            self.watch = other.watch
        else:
            status = Status.RECOVERING if status is Status.GOOD else status
            self.watch = Watch(status, now, other.watch.target, 0.0)

    def begin_from(self, other: OutputStage) -> None:
        """Begin the first ramp at the last torques of another stage: their receiver still holds them."""
        before = dict(zip(other.limits.joint_names, other.sent.tolist(), strict=True))
        sent = np.array([before.get(name, 0.0) for name in self.limits.joint_names])
        self._sent_at = other._sent_at
        self._fade.toward("taken over", 1.0, clipped(sent, self.limits))

    @property
    def is_settled(self) -> bool:
        """Whether the last torques are those that were computed, and not on their way to them."""
        return self.watch.status is Status.GOOD and not self._fade.behind

    @property
    def sent(self) -> Array:
        """The last sent torques (N m or N), (n,); zero before any."""
        return self._fade.sent

    def live(self, terms: Terms, now: float) -> Output:
        """Return what to send for good data at time `now` (s).

        Raises:
            Rejection: a torque is above its limit and withheld, or not finite.
        """
        torques, excess = self._limited(terms)
        if self._goes_on(now):
            watch = self.watch
        else:
            self.notice_silence(now)
            watch = watched(self._present_settings, self.watch, now, now)
        output = self._output(watch, terms, torques, excess, now)
        self._first = self._first and watch.status is not Status.GOOD
        self.watch, self.last_good = watch, now
        return output

    def _goes_on(self, now: float) -> bool:
        """Return whether data was good and still is, so that the watch does not change."""
        last = self.last_good
        return self.watch.status is Status.GOOD and last is not None and last <= now <= last + self._timeout

    def notice_silence(self, now: float) -> None:
        """Make up for a missed check at `now` (s): if the node was late, the data may have been stale."""
        if self.last_good is not None and now - self.last_good > self._settings.timeout:
            self._look(now)

    def recover(self, now: float) -> None:
        """Use a ramp from time `now` (s) on, as after missing data.

        Data counts as good until then: if no more data comes, it is stale after the usual timeout.
        """
        if self.last_good is None:
            return
        self._first = False
        if self.watch.status in (Status.GOOD, Status.RECOVERING):
            self.watch = Watch(Status.RECOVERING, now, Target.LIVE, 0.0)

    def idle(self, held: Callable[[], Terms], now: float) -> Output | None:
        """Return what to send at time `now` (s) where no good data has come; None for nothing.

        `held` returns the terms of the torques that hold the robot at its last position.

        Raises:
            Rejection: nothing can be sent.
        """
        watch = self._look(now)
        if watch.target not in _STATUS_OF_TARGET:
            return None
        terms = held() if watch.target is Target.HELD else self.zero
        return self._output(watch, terms, *self._limited(terms), now)

    def given_up(self, held: Callable[[], Terms], now: float) -> Output:
        """Return what to send at time `now` (s) where feedback has given up: the reaction to stale data.

        Nothing would leave the last torques of the feedback for ever: instead of that, they go to zero.
        """
        reaction = self._settings.reaction
        settings = replace(self._settings, reaction="ramp_to_zero" if reaction == "stop" else reaction)
        self.watch = watch = watched(settings, self.watch, now, None)
        terms = held() if watch.target is Target.HELD else self.zero
        return self._output(watch, terms, *self._limited(terms), now)

    def last(self, terms: Terms) -> Output:
        """Return the last torques to send, at once, whatever the state of the data is."""
        terms = self.zero if self.suspended else terms
        torques, excess = self._limited(terms)
        status = JointTorques.STATUS_ZERO if terms is self.zero else JointTorques.STATUS_HELD
        return Output(terms, clipped(self._fade.toward("last", 1.0, torques), self.limits), status, excess)

    def restart(self) -> None:
        """Wait for data as at the start; the first ramp begins at the last sent torques."""
        self.watch, self.last_good, self._first = NO_DATA, None, True

    def _look(self, now: float) -> Watch:
        self.watch = watch = watched(self._present_settings, self.watch, now, self.last_good)
        # Data after a reaction is always a recovery.
        self._first = self._first and watch.status in (Status.NO_DATA, Status.RECOVERING)
        return watch

    @property
    def _present_settings(self) -> WatchSettings:
        return self._at_first if self._first else self._settings

    def _limited(self, terms: Terms) -> tuple[Array, Notice | None]:
        if terms.by_drive is None and self.limits.within(terms.total):
            return terms.total, None
        limited = self.limits.applied(terms.total, terms.by_drive)
        if limited.excess is None:
            return terms.total, None
        excess = effort_excess(terms.total, self.limits, self.units, terms.by_drive)
        if limited.torques is None:
            raise Rejection(excess.code, **excess.values)
        return limited.torques, excess

    def _output(
        self, watch: Watch, terms: Terms, torques: Array, excess: Notice | None, now: float
    ) -> Output:
        if self.suspended:
            self._fade.reset()
            return Output(terms, self._fade.sent, JointTorques.STATUS_ZERO, excess)
        settings = self._present_settings
        ramp = settings.ramp_up if watch.status is Status.RECOVERING else settings.ramp_down
        # A ramp of 0 s is a step that was asked for; nothing else is.
        free = watch.status in _TRANSITIONS and ramp == 0.0
        step = None if free else self._rates.step(min(now - self._sent_at, LONGEST_STEP_S))
        sent = clipped(self._fade.toward(watch.change, watch.factor, torques, step), self._outer)
        self._sent_at = now
        ramping = watch.factor < 1.0 or self._fade.behind
        if not ramping:
            self._outer = self.limits
        return Output(terms, sent, _status(watch, ramping=ramping, limited=excess is not None), excess)


def _status(watch: Watch, *, ramping: bool, limited: bool) -> int:
    if ramping:
        return int(JointTorques.STATUS_RAMPING)
    live = JointTorques.STATUS_LIMITED if limited else JointTorques.STATUS_OK
    return int(_STATUS_OF_TARGET.get(watch.target, live))
