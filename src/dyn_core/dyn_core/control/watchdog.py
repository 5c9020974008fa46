# SPDX-License-Identifier: Apache-2.0
"""What to send while data is good, missing, or good again.

    status                                   data     next
    NO_DATA, HOLDING, RAMPING_DOWN, STOPPED  fresh    RECOVERING
    RECOVERING                               fresh    GOOD, after ramp_up
    RECOVERING, GOOD                         stale    HOLDING, RAMPING_DOWN or STOPPED, as the reaction says
    RAMPING_DOWN                             stale    STOPPED, after ramp_down

    status         target                                     factor
    NO_DATA        NOTHING                                    0
    RECOVERING     LIVE                                       0 to 1 in ramp_up
    GOOD           LIVE                                       1
    HOLDING        HELD                                       0 to 1 in ramp_down
    RAMPING_DOWN   ZERO                                       0 to 1 in ramp_down
    STOPPED        ZERO, or NOTHING with reaction "stop"      1, or 0

Data is fresh while the last good sample is at most `timeout` old, and not further in the future either. The
factor says which part of the way has been gone from the torques that were sent when the status changed to
those of the target (see `Fade`): whatever happens, and however often, what is sent has no step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple, get_args

from dyn_core.control.ramp import progress, smooth_step
from dyn_core.control.settings import number
from dyn_core.core.errors import DynError

Reaction = Literal["hold", "ramp_to_zero", "stop"]


class Status(Enum):
    """How the data is, and what is done about it."""

    NO_DATA = "no data"
    RECOVERING = "recovering"
    GOOD = "good"
    HOLDING = "holding"
    RAMPING_DOWN = "ramping down"
    STOPPED = "stopped"


class Target(Enum):
    """What torques go to."""

    NOTHING = "nothing"
    """Nothing is sent; many controllers hold what they got last."""
    LIVE = "live"
    """Torques for the present data."""
    HELD = "held"
    """Torques that hold the robot where the last good data saw it."""
    ZERO = "zero"


@dataclass(frozen=True)
class WatchSettings:
    """When data is stale, and what is done then.

    Attributes:
        timeout: age at which data is stale (s).
        reaction: what is done while it is.
        ramp_down: how long torques take to those of the reaction (s); 0 for at once.
        ramp_up: how long torques take to live ones again (s); 0 for at once.
    """

    timeout: float
    reaction: Reaction = "ramp_to_zero"
    ramp_down: float = 0.5
    ramp_up: float = 0.5

    def __post_init__(self) -> None:
        """Refuse settings that will not do."""
        number("the timeout (s)", self.timeout, above=0.0)
        number("ramp_down (s)", self.ramp_down, least=0.0)
        number("ramp_up (s)", self.ramp_up, least=0.0)
        if self.reaction not in get_args(Reaction):
            raise DynError(f"the reaction is {self.reaction!r}: choose 'hold', 'ramp_to_zero' or 'stop'")


class Watch(NamedTuple):
    """Status at one time, and what follows from it.

    Attributes:
        status: the status.
        since: time at which it began (s).
        target: what torques go to.
        factor: which part of the way they have gone, in [0, 1].
    """

    status: Status
    since: float
    target: Target
    factor: float

    @property
    def publishes(self) -> bool:
        """Whether anything is sent."""
        return self.target is not Target.NOTHING

    @property
    def change(self) -> tuple[Target, float]:
        """What differs from one fade to the next, for `Fade.toward`."""
        return self.target, self.since


NO_DATA = Watch(Status.NO_DATA, 0.0, Target.NOTHING, 0.0)
"""The watch before any data."""

_ON_STALE: dict[Reaction, Status] = {
    "hold": Status.HOLDING,
    "ramp_to_zero": Status.RAMPING_DOWN,
    "stop": Status.STOPPED,
}
_TARGETS = {
    Status.NO_DATA: Target.NOTHING,
    Status.RECOVERING: Target.LIVE,
    Status.GOOD: Target.LIVE,
    Status.HOLDING: Target.HELD,
    Status.RAMPING_DOWN: Target.ZERO,
    Status.STOPPED: Target.ZERO,
}


def watched(settings: WatchSettings, watch: Watch, now: float, last_good: float | None) -> Watch:
    """Answer the watch at time `now`, from that of the last cycle.

    Args:
        settings: when data is stale, and what is done then.
        watch: the last answer; `NO_DATA` at first.
        now: the present on a clock that never goes back (s).
        last_good: time of the last good sample on that clock (s); None before any.
    """
    if not math.isfinite(now):
        raise ValueError(f"now: expected a finite time, but it is {now}")
    fresh = last_good is not None and abs(now - last_good) <= settings.timeout
    if fresh and watch.status is Status.GOOD:
        # As nearly every cycle is.
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
