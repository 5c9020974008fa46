# SPDX-License-Identifier: Apache-2.0
"""What a governor changed, as a message."""

from __future__ import annotations

import math
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from dyn_core.feasibility.excess import Excess
from dyn_core.feasibility.reference_governor import GovernedReference
from dyn_core.feasibility.trajectory_governor import Governed
from dyn_msgs.msg import Intervention


def of_trajectory(governed: Governed, stamp: Time) -> Intervention:
    """Answer what was changed of a trajectory that begins at `stamp`."""
    if governed.failures:
        worst = max(governed.failures, key=lambda failure: failure.excess.part)
        more = len({failure.excess.joint for failure in governed.failures}) - 1
        others = f", and {more} more joint{'s' * (more > 1)}" if more else ""
        sentence = f"{worst.sentence}{others}: it takes {governed.factor:.4g} times as long"
        action = Intervention.SLOWED
    else:
        sentence = (
            "the points of the trajectory have positions only: they are given the velocities of a spline"
        )
        action = Intervention.COMPLETED
    return _message(
        action,
        stamp,
        [failure.excess for failure in governed.failures],
        [failure.time for failure in governed.failures],
        governed.factor,
        0.0,
        sentence,
    )


def of_reference(governed: GovernedReference, asked: Sequence[Excess], stamp: Time) -> Intervention:
    """Answer what was changed of references; `asked` is what they asked for too much."""
    off = governed.distance > 1e-6
    action = Intervention.OFF_PATH if off else Intervention.SLOWED
    first = f"{asked[0].sentence}: " if asked else ""
    done = (
        f"the path cannot be kept, a joint is {governed.distance:.3g} away from it"
        if off
        else f"references go on at {100.0 * governed.rate:.0f} % of their rate, {governed.lag:.3g} s late"
    )
    factor = 1.0 / governed.rate if governed.rate > 0.0 else math.inf
    return _message(action, stamp, asked, [0.0] * len(asked), factor, governed.lag, first + done)


def refused(sentence: str, stamp: Time) -> Intervention:
    """Answer that nothing was sent on, and why."""
    return _message(Intervention.REFUSED, stamp, (), (), 0.0, 0.0, sentence)


def _message(
    action: int,
    stamp: Time,
    asked: Sequence[Excess],
    times: Sequence[float],
    time_scaling: float,
    lag: float,
    sentence: str,
) -> Intervention:
    return Intervention(
        header=Header(stamp=stamp),
        action=action,
        joint=[excess.joint for excess in asked],
        quantity=[excess.quantity for excess in asked],
        time=[float(time) for time in times],
        value=[excess.value for excess in asked],
        limit=[excess.limit for excess in asked],
        time_scaling=float(time_scaling),
        lag=float(lag),
        message=sentence,
    )
