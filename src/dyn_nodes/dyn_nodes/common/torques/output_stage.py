# SPDX-License-Identifier: Apache-2.0
"""From the torques that are wanted to those that are sent: limits, reactions to stale data, transitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.fade import Fade
from dyn_core.control.terms import Terms
from dyn_core.control.watchdog import NO_DATA, Status, Target, Watch, WatchSettings, watched
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointTorques
from dyn_nodes.gate import passed
from dyn_nodes.rejection import Rejection


class Output(NamedTuple):
    """Torques to be published.

    Attributes:
        terms: what the torques are made of, or on their way to.
        total: the torques (N m or N), (n,).
        status: a `JointTorques.STATUS_...`.
        excess: a sentence about the joint that asked for most above its limit; None where none did.
    """

    terms: Terms
    total: Array
    status: int
    excess: str | None


class OutputStage:
    """What stands between the terms of one model and its output. It has a state: watch, and what was sent.

    Attributes:
        limits: of the torques.
        units: of the torque of each joint.
        watch: how the data is, and what is done about it.
        last_good: time of the last good data (s); None before any.
    """

    def __init__(
        self, limits: EffortLimits, units: tuple[str, ...], settings: WatchSettings, ramp_start: float
    ) -> None:
        """Begin without data.

        Args:
            limits: of the torques.
            units: of the torque of each joint, for sentences.
            settings: when data is stale, and what is done then.
            ramp_start: how long the first torques take from those sent before, or zero (s).
        """
        self.limits = limits
        self.watch = NO_DATA
        self.last_good: float | None = None
        self.units = units
        self._settings = settings
        self._timeout = settings.timeout
        self._at_first = WatchSettings(settings.timeout, settings.reaction, settings.ramp_down, ramp_start)
        self._first = True
        self._fade = Fade(limits.joint_names)
        zero = np.zeros(len(limits.joint_names))
        zero.flags.writeable = False
        self.zero = Terms(zero, zero, zero, zero, zero)

    def take_over(self, other: OutputStage, now: float) -> None:
        """Go on from what another stage has sent, with a ramp, joint by joint of the same name."""
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
        """Have the first torques begin from what another stage has sent last, which is held by who got it."""
        before = dict(zip(other.limits.joint_names, other.sent.tolist(), strict=True))
        sent = np.array([before.get(name, 0.0) for name in self.limits.joint_names])
        self._fade.toward("taken over", 1.0, passed(sent, self.limits))

    @property
    def sent(self) -> Array:
        """The torques that were sent last (N m or N), (n,); zero before any."""
        return self._fade.sent

    def live(self, terms: Terms, now: float) -> Output:
        """Answer what to send for good data at time `now` (s).

        Raises:
            Rejection: nothing is to be sent, because a torque is above its limit, or not finite.
        """
        torques, excess = self._limited(terms)
        if self._goes_on(now):
            watch = self.watch
        else:
            self.notice_silence(now)
            watch = watched(self._present_settings, self.watch, now, now)
        output = self._output(watch, terms, torques, excess)
        self._first = self._first and watch.status is not Status.GOOD
        self.watch, self.last_good = watch, now
        return output

    def _goes_on(self, now: float) -> bool:
        """Whether data was good, and is, so that the watch stays what it is."""
        last = self.last_good
        return self.watch.status is Status.GOOD and last is not None and last <= now <= last + self._timeout

    def notice_silence(self, now: float) -> None:
        """See whether the data of the past was stale at time `now` (s).

        Where all that the node does was late, nobody has seen it yet: good data again would be taken for
        data that always was.
        """
        if self.last_good is not None and now - self.last_good > self._settings.timeout:
            self._look(now)

    def recover(self, now: float) -> None:
        """Go over to what comes next with a ramp from time `now` (s) on, as after data that was missing.

        Data was good until then: if nothing comes any more, it is stale as always.
        """
        if self.last_good is None:
            return
        self._first = False
        if self.watch.status in (Status.GOOD, Status.RECOVERING):
            self.watch = Watch(Status.RECOVERING, now, Target.LIVE, 0.0)

    def idle(self, held: Callable[[], Terms], now: float) -> Output | None:
        """Answer what to send at time `now` (s) because no good data has come, if anything.

        Args:
            held: answers the terms of the torques that hold the robot where it was last.
            now: the present (s).

        Raises:
            Rejection: nothing can be sent.
        """
        watch = self._look(now)
        if watch.target is Target.HELD:
            return self._limited_output(watch, held())
        if watch.target is Target.ZERO:
            return self._limited_output(watch, self.zero)
        return None

    def last(self, terms: Terms) -> Output:
        """Answer the last thing to send, at once, whatever the watch says."""
        torques, excess = self._limited(terms)
        status = JointTorques.STATUS_ZERO if terms is self.zero else JointTorques.STATUS_HELD
        return Output(terms, passed(self._fade.toward("last", 1.0, torques), self.limits), status, excess)

    def restart(self) -> None:
        """Wait for data as at first; what was sent last is what the first torques begin from."""
        self.watch, self.last_good, self._first = NO_DATA, None, True

    def _look(self, now: float) -> Watch:
        self.watch = watch = watched(self._present_settings, self.watch, now, self.last_good)
        # What comes after a reaction is a recovery, whatever was before it.
        self._first = self._first and watch.status in (Status.NO_DATA, Status.RECOVERING)
        return watch

    @property
    def _present_settings(self) -> WatchSettings:
        return self._at_first if self._first else self._settings

    def _limited_output(self, watch: Watch, terms: Terms) -> Output:
        torques, excess = self._limited(terms)
        return self._output(watch, terms, torques, excess)

    def _limited(self, terms: Terms) -> tuple[Array, str | None]:
        if self.limits.within(terms.total):
            return terms.total, None
        limited = self.limits.applied(terms.total)
        if limited.excess is None:
            return terms.total, None
        sentence = self.limits.sentence(terms.total, self.units)
        if limited.torques is None:
            joint = self.limits.joint_names[int(np.argmax(limited.excess))]
            raise Rejection(sentence, f"joint '{joint}' asks for too much")
        return limited.torques, sentence

    def _output(self, watch: Watch, terms: Terms, torques: Array, excess: str | None) -> Output:
        sent = passed(self._fade.toward(watch.change, watch.factor, torques), self.limits)
        return Output(terms, sent, _status(watch, limited=excess is not None), excess)


def _status(watch: Watch, *, limited: bool) -> int:
    if watch.factor < 1.0:
        status = JointTorques.STATUS_RAMPING
    elif watch.target is Target.LIVE:
        status = JointTorques.STATUS_LIMITED if limited else JointTorques.STATUS_OK
    elif watch.target is Target.HELD:
        status = JointTorques.STATUS_HELD
    elif watch.target is Target.ZERO:
        status = JointTorques.STATUS_ZERO
    else:
        status = JointTorques.STATUS_LIMITED if limited else JointTorques.STATUS_OK
    return int(status)
