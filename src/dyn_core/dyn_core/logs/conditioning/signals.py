# SPDX-License-Identifier: Apache-2.0
"""Signals for identification, from a log or from arrays that are already filtered and differentiated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.messages import Message
from dyn_core.logs.conditioning.filters import (
    BANDS,
    PositionNoise,
    differences,
    gains,
    low_pass,
    propose_cutoff,
    settling_samples,
)
from dyn_core.logs.conditioning.sample_rate import EDGE, Decimation, EvenSegment, even_segment
from dyn_core.logs.log import Control, Log

PARALLEL = 5.0
"""Bands of the motion that parallel filtering passes."""
FASTER = 10.0
"""Greatest rate of resampling, in rates of the log: splines add no information."""
FEWEST = 500
"""Least number of samples after decimation."""


@dataclass(frozen=True, eq=False)
class Signals:
    """Evenly sampled, filtered motion and efforts of n joints.

    Attributes:
        joint_names: the order of every column.
        time: times (s), (N,), `period` apart within each segment.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: efforts of the actuators on the joint side (N m or N), (N, n); the column of a joint without
            measured effort is NaN.
        segments: stretches without gaps, as first sample and the one after the last.
        period: sampling period (s).
        cutoff: cutoff of the filter of positions (Hz); inf without a filter.
        decimate: parallel filtering keeps one of so many samples.
        train: part of the time, from the start, for the fit; the rest is held out.
        done: processing steps.
        noise: noise of the positions, if it is known.
        control: control law with its set points at these times; None if it is unknown.
        drives: drives that move several joints, as in `Log.drives`.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    segments: tuple[tuple[int, int], ...]
    period: float
    cutoff: float
    decimate: int
    train: float
    done: tuple[Message, ...] = ()
    noise: PositionNoise | None = None
    control: Control | None = None
    drives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def __repr__(self) -> str:
        """Return numbers of joints and samples, and the rate."""
        return f"<Signals of {self.dof} joints, {len(self)} samples at {1.0 / self.period:.4g} Hz>"

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @cached_property
    def has_effort(self) -> tuple[bool, ...]:
        """Whether the effort of each joint was measured."""
        return tuple(bool(np.isfinite(effort).all()) for effort in self.tau.T)

    @cached_property
    def decimation(self) -> Decimation:
        """The parallel filter."""
        return Decimation(self.decimate)

    def parallel(self, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of this length, such as regressor and efforts, with the same filter and decimated.

        Raises:
            ValueError: an array has another length.
        """
        for array in arrays:
            if len(array) != len(self):
                raise ArgumentError("array-length", expected=len(self), given=len(array))
        parts = ([array[:0], *(self.decimation.of(array[a:b]) for a, b in self.segments)] for array in arrays)
        return tuple(np.concatenate(of_array) for of_array in parts)

    @property
    def decimated_segments(self) -> tuple[tuple[int, int], ...]:
        """Segments of the arrays that `parallel` returns."""
        return self.decimation.segments(self.segments)

    def split(self) -> tuple[Signals, Signals]:
        """Return the part for the fit, and the part after it, which is held out."""
        count = round(self.train * len(self))
        return self.part(0, count), self.part(count, len(self))

    def part(self, first: int, last: int) -> Signals:
        """Return the samples from `first` to `last`, exclusive."""
        kept = ((max(a, first) - first, min(b, last) - first) for a, b in self.segments)
        q, qd, qdd, tau = (array[first:last] for array in (self.q, self.qd, self.qdd, self.tau))
        segments = tuple((a, b) for a, b in kept if b > a)
        control = None if self.control is None else self.control.part(first, last)
        changed = replace(self, q=q, qd=qd, qdd=qdd, tau=tau, control=control)
        return replace(changed, time=self.time[first:last], segments=segments)

    def of_joints(self, names: Sequence[str]) -> Signals:
        """Return the signals of some joints, in this order; DynError for an unknown joint."""
        if tuple(names) == self.joint_names:
            return self
        missing = [name for name in names if name not in self.joint_names]
        if missing:
            raise DynError("signals-joint-missing", missing=missing, known=self.joint_names)
        order = [self.joint_names.index(name) for name in names]
        q, qd, qdd, tau = (array[:, order] for array in (self.q, self.qd, self.qdd, self.tau))
        noise = self.noise
        if noise is not None:
            noise = replace(noise, deviations=tuple(noise.deviations[k] for k in order))
        control = None if self.control is None else self.control.of_joints(order)
        changed = replace(self, q=q, qd=qd, qdd=qdd, tau=tau, control=control)
        return replace(changed, joint_names=tuple(names), noise=noise)


@dataclass(frozen=True)
class Protocol:
    """Settings of `condition`.

    Attributes:
        cutoff: cutoff of the low-pass filter (Hz); None to determine it from the spectrum of the positions.
        order: order of the Butterworth filter, which runs forwards and backwards.
        filter_effort: whether efforts get the same filter as positions. Unlike parallel filtering, this
            removes parts of steps of the regressor, such as those of Coulomb friction, from one side only.
        rate: sample rate for irregular logs (Hz); None for their own.
        half_width: half width of the central differences; see `differences`.
        margin: samples that are cut off at each end of a segment; None until the filter has settled.
        decimate: parallel filtering keeps one of so many samples; None for as many as the cutoff needs.
        train: part of the log, from its start, for the fit; the rest is held out.
    """

    cutoff: float | None = None
    order: int = 4
    filter_effort: bool = False
    rate: float | None = None
    half_width: int = 2
    margin: int | None = None
    decimate: int | None = None
    train: float = 0.65

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, least in (("cutoff", 0.0), ("rate", 0.0), ("order", 0), ("half_width", 0)):
            value = getattr(self, name)
            if value is not None and not value > least:
                raise DynError("setting-too-small", setting=name, given=value, least=least)
        for name, least, expected in (
            ("margin", 0, "a number of samples"),
            ("decimate", 1, "a whole number from 1"),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise DynError("setting-range", setting=name, given=value, expected=expected)
        if not 0.0 < self.train <= 1.0:
            raise DynError("train-part-out-of-range", given=self.train)


USUAL = Protocol()


def condition(log: Log, protocol: Protocol = USUAL) -> Signals:
    """Return signals of a log: at even times, filtered, differentiated, and with the ends cut off.

    Settings that the protocol leaves open are chosen by the data, and listed in `Signals.done`.

    Raises:
        DynError: a setting does not fit the log, or too little of the log is left.
    """
    if protocol.rate is not None and protocol.rate > FASTER / log.period:
        rate, most = 1.0 / log.period, FASTER / log.period
        raise DynError("rate-above-log", rate=protocol.rate, log_rate=rate, most=most)
    period = log.period if protocol.rate is None else 1.0 / protocol.rate
    rate = 1.0 / period
    parts = [even_segment(log, segment, (log.q, log.tau), period) for segment in log.segments]
    *before, (how, count) = Counter(part.how for part in parts).items()
    done = [
        *log.done,
        *(Message(f"segments-{one}", count=number) for one, number in before),
        Message(f"segments-{how}-at-rate", count=count, rate=rate),
    ]
    positions = np.concatenate([part.arrays[0] for part in parts])
    proposal = propose_cutoff(positions, rate, _segments([part.time for part in parts]), log.joint_names)
    cutoff = proposal.cutoff if protocol.cutoff is None else protocol.cutoff
    if protocol.cutoff is None:
        done.append(proposal.reason)
    elif cutoff < BANDS * proposal.band:
        done.append(Message("cutoff-within-band", cutoff=cutoff, band=proposal.band))
    margin = protocol.margin if protocol.margin is not None else settling_samples(rate, cutoff)
    margin = max(margin, protocol.half_width)
    made = [_differentiated(part, period, cutoff, protocol, margin) for part in parts]
    decimate = protocol.decimate
    if decimate is None:  # frequencies up to `passed` (Hz) remain
        count, passed = sum(len(columns[0]) for columns in made), min(PARALLEL * proposal.band, cutoff)
        decimate = max(min(int(0.5 * EDGE * rate / passed), count // FEWEST), 1)
    shortest = Decimation(decimate).shortest
    made = [columns for columns in made if len(columns[0]) >= shortest]
    if not made:
        longest = max(len(part.time) for part in parts)
        raise DynError("log-segments-too-short", margin=margin, longest=longest)
    time, q, qd, qdd, tau = (np.concatenate(columns) for columns in zip(*made, strict=True))
    done += _steps(protocol, cutoff, rate, margin, len(parts) - len(made), decimate)
    return Signals(
        joint_names=log.joint_names,
        time=time,
        q=q,
        qd=qd,
        qdd=qdd,
        tau=tau,
        segments=tuple(_segments([columns[0] for columns in made])),
        period=period,
        cutoff=cutoff,
        decimate=decimate,
        train=protocol.train,
        done=tuple(done),
        noise=PositionNoise(proposal.noise, period, cutoff, protocol.order, protocol.half_width),
        control=None if log.control is None else log.control.at(time, log.time),
        drives=log.drives,
    )


def _segments(times: list[Array]) -> list[tuple[int, int]]:
    """Return the segments of joined arrays, as first sample and the one after the last."""
    ends = np.cumsum([0, *map(len, times)]).tolist()
    return list(pairwise(ends))


def _differentiated(
    part: EvenSegment, period: float, cutoff: float, protocol: Protocol, margin: int
) -> tuple[Array, ...]:
    """Return time, positions, velocities, accelerations and efforts of a segment, without its ends."""
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


def _steps(
    protocol: Protocol, cutoff: float, rate: float, margin: int, lost: int, decimate: int
) -> list[Message]:
    first, second = (100 * (1 - gain) for gain in gains(cutoff, 1.0 / rate, protocol.half_width))
    samples = 2 * protocol.half_width + 1
    filtered = "positions-and-efforts-filtered" if protocol.filter_effort else "positions-filtered"
    steps = [
        Message(filtered, order=protocol.order, cutoff=cutoff),
        Message("positions-differentiated", samples=samples, velocity_loss=first, acceleration_loss=second),
        Message("segment-ends-left-out", margin=margin),
    ]
    if lost:
        steps.append(Message("segments-left-out", count=lost))
    if decimate > 1:
        steps.append(Message("samples-decimated", factor=decimate))
    return steps


def signals_of_arrays(
    joint_names: Sequence[str],
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    segments: Sequence[tuple[int, int]] | None = None,
    *,
    decimate: int = 1,
    train: float = Protocol.train,
) -> Signals:
    """Return signals from arrays that are filtered and differentiated; the arguments are those of `Signals`.

    One segment is the default, and every sample is kept.

    Raises:
        ValueError: a shape does not match, a number is not finite, there are fewer than two samples, or time
            does not increase.
    """
    times = as_floats("time", time)
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    arrays = {name: as_floats(name, value) for name, value in values.items()}
    if times.ndim != 1 or len(times) < 2:
        raise ArgumentError("time-array-shape", given=times.shape)
    samples, joints = len(times), len(joint_names)
    for name, array in arrays.items():
        if array.shape != (samples, joints):
            given = array.shape
            raise ArgumentError(
                "signal-array-shape", argument=name, samples=samples, joints=joints, given=given
            )
    missing = np.isnan(arrays["tau"]).all(axis=0)
    if missing.all():
        raise ArgumentError("effort-array-empty")
    for name, array in {"time": times, **arrays, "tau": arrays["tau"][:, ~missing]}.items():
        if not np.isfinite(array).all():
            sample = int(np.flatnonzero(~np.isfinite(array).reshape(samples, -1).all(axis=1))[0])
            raise ArgumentError("sample-not-finite", argument=name, sample=sample)
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        raise ArgumentError("time-array-not-increasing", sample=int(late[0]))
    stretches = ((0, samples),) if segments is None else tuple((int(a), int(b)) for a, b in segments)
    return Signals(
        tuple(joint_names),
        times,
        arrays["q"],
        arrays["qd"],
        arrays["qdd"],
        arrays["tau"],
        segments=stretches,
        period=float(np.median(np.diff(times))),
        cutoff=math.inf,
        decimate=decimate,
        train=train,
    )
