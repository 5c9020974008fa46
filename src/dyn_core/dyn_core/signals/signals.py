# SPDX-License-Identifier: Apache-2.0
"""Signals that are ready for identification."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_core.facade.arrays import Array
from dyn_core.signals.decimation import decimated_segments, parallel_filtered, shortest


@dataclass(frozen=True, eq=False)
class Signals:
    """Evenly sampled, filtered motion and efforts of n joints.

    Attributes:
        joint_names: the order of every column.
        time: (s), (N,), `period` apart within each segment.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: efforts (N m or N), (N, n); NaN all over for a joint whose effort was not measured.
        segments: stretches without gaps, as first sample and the one after the last.
        period: time between two samples (s).
        cutoff: of the filter of positions (Hz).
        decimate: how many samples parallel filtering is to make one of.
        train: part of the time, from the start, that fits.
        done: what was done, one sentence a step.
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
    done: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Answer its size."""
        size = f"{len(self.joint_names)} joints, {len(self.time)} samples"
        return f"<Signals of {size} at {1.0 / self.period:.4g} Hz>"

    @property
    def has_effort(self) -> tuple[bool, ...]:
        """Whether the effort of each joint was measured."""
        return tuple(np.isfinite(self.tau[0]).tolist())

    def parallel(self, *arrays: Array) -> tuple[Array, ...]:
        """Answer arrays of this length, such as regressor and efforts, filtered alike and decimated."""
        return parallel_filtered(arrays, self.decimate, self.segments)

    @property
    def decimated_segments(self) -> tuple[tuple[int, int], ...]:
        """Segments of what `parallel` answers."""
        return decimated_segments(self.segments, self.decimate)

    def split(self) -> tuple[Signals, Signals]:
        """Answer the part that fits, and the part that is held out, which begins where the other ends.

        What a cut leaves of a segment is left out where it is too short to be decimated.
        """
        count = round(self.train * len(self.time))
        return self.part(0, count), self.part(count, len(self.time))

    def part(self, first: int, last: int) -> Signals:
        """Answer the samples from `first` up to, and without, `last`, in segments that can be decimated."""
        kept = [(max(a, first), min(b, last)) for a, b in self.segments]
        kept = [(a, b) for a, b in kept if b - a >= shortest(self.decimate)]
        index = np.concatenate([np.arange(0), *(np.arange(a, b) for a, b in kept)])
        ends = np.cumsum([b - a for a, b in kept])
        return replace(
            self,
            time=self.time[index],
            q=self.q[index],
            qd=self.qd[index],
            qdd=self.qdd[index],
            tau=self.tau[index],
            segments=tuple((int(end) - (b - a), int(end)) for end, (a, b) in zip(ends, kept, strict=True)),
        )
