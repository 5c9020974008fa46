# SPDX-License-Identifier: Apache-2.0
"""From a log to signals: even times, filter, differences, ends left out, in this order."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.logs.conditioning.filters import BANDS, propose_cutoff
from dyn_core.logs.conditioning.sample_rate import EvenSegment, even_segment
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log import Log
from dyn_core.signals.decimation import EDGE, Decimation
from dyn_core.signals.differences import differences, gains
from dyn_core.signals.low_pass import low_pass, settling_samples
from dyn_core.signals.position_noise import PositionNoise
from dyn_core.signals.protocol import Protocol

USUAL = Protocol()
PARALLEL = 5.0
"""Bands of the motion that parallel filtering lets through."""
FASTER = 10.0
"""Rate that logs are resampled at at most, in parts of their own: splines know no more than the samples."""
FEWEST = 500
"""Samples that decimation leaves at least."""
_HOW = {
    "even": "samples are even in time",
    "resampled": "resampled to even times by cubic splines",
    "stamps ignored": "taken as even in time, which makes positions smoother than their stamps do",
}


def condition(log: Log, protocol: Protocol = USUAL) -> Signals:
    """Answer signals that are ready for identification.

    Args:
        log: what was recorded.
        protocol: what is to be done; what it leaves open is chosen by the data, and said in `Signals.done`.

    Raises:
        DynError: a setting does not go with the log, or too little of it is left.
    """
    if protocol.rate is not None and protocol.rate > FASTER / log.period:
        raise DynError(
            f"a rate of {protocol.rate:g} Hz says no more than the log, which has {1.0 / log.period:.5g} "
            f"samples a second: give at most {FASTER / log.period:.5g} Hz, or none"
        )
    period = log.period if protocol.rate is None else 1.0 / protocol.rate
    rate = 1.0 / period
    parts = [even_segment(log, segment, (log.q, log.tau), period) for segment in log.segments]
    done = [
        *log.done,
        *(f"{count} segments: {_HOW[how]}" for how, count in Counter(p.how for p in parts).items()),
    ]
    done[-1] += f", at {rate:.5g} Hz"
    proposal = propose_cutoff(
        np.concatenate([part.arrays[0] for part in parts]), rate, _segments(parts), log.joint_names
    )
    cutoff = proposal.cutoff if protocol.cutoff is None else protocol.cutoff
    if protocol.cutoff is None:
        done.append(proposal.reason)
    elif cutoff < BANDS * proposal.band:
        done.append(
            f"the cutoff of {cutoff:.3g} Hz takes a part of the motion, whose band goes up to "
            f"{proposal.band:.3g} Hz"
        )
    margin = protocol.margin if protocol.margin is not None else settling_samples(rate, cutoff)
    margin = max(margin, protocol.half_width)
    made = [_differentiated(part, period, cutoff, protocol, margin) for part in parts]
    decimate = protocol.decimate
    if decimate is None:
        left = sum(len(columns[0]) for columns in made)
        decimate = _decimation(rate, min(PARALLEL * proposal.band, cutoff), left)
    shortest = Decimation(decimate).shortest
    made = [columns for columns in made if len(columns[0]) >= shortest]
    if not made:
        longest = max(len(part.time) for part in parts)
        raise DynError(
            f"nothing is left of the log: {margin} samples at each end of a segment are left out, and the "
            f"longest has {longest}; give a higher cutoff or a smaller margin"
        )
    time, q, qd, qdd, tau = (np.concatenate(columns) for columns in zip(*made, strict=True))
    done += _sentences(protocol, cutoff, rate, margin, len(parts) - len(made), decimate)
    ends = np.cumsum([len(columns[0]) for columns in made])
    return Signals(
        joint_names=log.joint_names,
        time=time,
        q=q,
        qd=qd,
        qdd=qdd,
        tau=tau,
        segments=tuple((int(end) - len(c[0]), int(end)) for end, c in zip(ends, made, strict=True)),
        period=period,
        cutoff=cutoff,
        decimate=decimate,
        train=protocol.train,
        done=tuple(done),
        noise=PositionNoise(proposal.noise, period, cutoff, protocol.order, protocol.half_width),
        control=None if log.control is None else log.control.at(time, log.time),
        drives=log.drives,
    )


def _decimation(rate: float, passed: float, count: int) -> int:
    """Answer how many samples to make one of, so that frequencies up to `passed` (Hz) are left."""
    return max(min(int(0.5 * EDGE * rate / passed), count // FEWEST), 1)


def _segments(parts: list[EvenSegment]) -> list[tuple[int, int]]:
    ends = np.cumsum([len(part.time) for part in parts])
    return [(int(end) - len(part.time), int(end)) for end, part in zip(ends, parts, strict=True)]


def _differentiated(
    part: EvenSegment, period: float, cutoff: float, protocol: Protocol, margin: int
) -> tuple[Array, ...]:
    """Answer time, position, velocity, acceleration and effort of a segment, without its ends."""
    q, tau = part.arrays
    if len(q) <= 2 * margin or len(q) < 8:
        return (part.time[:0], q[:0], q[:0], q[:0], tau[:0])
    q = low_pass(q, 1.0 / period, cutoff, protocol.order)
    if protocol.filter_effort:
        tau = low_pass(tau, 1.0 / period, cutoff, protocol.order)
    m = protocol.half_width
    qd, qdd = differences(q, period, m)
    inner = slice(margin, len(q) - margin)
    shifted = slice(margin - m, len(q) - margin - m)
    return part.time[inner], q[inner], qd[shifted], qdd[shifted], tau[inner]


def _sentences(
    protocol: Protocol, cutoff: float, rate: float, margin: int, lost: int, decimate: int
) -> list[str]:
    first, second = gains(cutoff, 1.0 / rate, protocol.half_width)
    sentences = [
        f"{'positions and efforts' if protocol.filter_effort else 'positions'} through a Butterworth filter "
        "of order "
        f"{protocol.order} forwards and backwards, cutoff {cutoff:.4g} Hz",
        f"velocities and accelerations by central differences of {2 * protocol.half_width + 1} samples, "
        "which take "
        f"{100 * (1 - first):.2g} % and {100 * (1 - second):.2g} % off at the cutoff",
        f"{margin} samples at each end of each segment left out",
    ]
    if lost:
        sentences.append(f"{lost} segments that were too short for this left out")
    if decimate > 1:
        sentences.append(f"regressor and efforts to be filtered alike, and one of {decimate} samples kept")
    return sentences
