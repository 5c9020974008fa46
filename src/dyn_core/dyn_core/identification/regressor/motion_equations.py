# SPDX-License-Identifier: Apache-2.0
"""The equations of a motion without friction: base-parameter columns, torques, and standing joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from dyn_core.core.arrays import Array, BoolArray
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.logs.conditioning.filters import STILL
from dyn_core.logs.conditioning.sample_rate import Decimation
from dyn_core.logs.conditioning.signals import Signals

# Standing joints. Their friction takes any value within stiction, so their torque gives no information.

# range of positions, in deviations of their noise, that is not a motion; one encoder step is 3.5
RESOLVED = 4.0
ROUNDED = 1e-7  # the same for positions without noise, as a part of the range of the whole motion
# time within that range that counts as standing: s, and periods of the cutoff (the filter smooths stops)
SHORTEST, SETTLED = 0.1, 3.0
CREEPING = 3.0  # drift, in multiples of that range, beyond which a joint that seems to stand is creeping
_POINTS = 12  # samples that are compared within that time; the filtered positions have no more information


def moving(signals: Signals) -> tuple[bool, ...]:
    """Return whether each joint moves at any time."""
    return tuple(not of_joint.all() for of_joint in standing(signals).T)


def standing(signals: Signals) -> BoolArray:
    """Return when each joint stands, (N, n): no motion is measured for longer than the filter settles.

    A creeping joint does not stand, however slow it is: its position drifts in the end.
    """
    found = np.zeros(signals.q.shape, dtype=bool)
    duration = max(SHORTEST, SETTLED / signals.cutoff)
    stride = max(1, int(duration / _POINTS / signals.period))
    width = max(2, int(np.ceil(duration / stride / signals.period)) + 1)
    limits = ROUNDED * np.ptp(signals.q, axis=0) if len(signals) else np.zeros(signals.dof)
    if signals.noise is not None:
        limits = np.maximum(limits, RESOLVED * np.array(signals.noise.deviations))
    for first, last in signals.segments:
        q = signals.q[first:last:stride]
        if len(q) < width:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(q, width, axis=0)
        within = windows.max(axis=-1) - windows.min(axis=-1) <= limits
        for i in range(signals.dof):
            still = [(a, b + width - 1) for a, b in _runs(within[:, i])]
            for a, b in _joined(still, q[:, i], width, CREEPING * limits[i]):
                if np.ptp(q[a:b, i]) <= CREEPING * limits[i]:
                    end = last if b == len(q) else first + (b - 1) * stride + 1
                    found[first + a * stride : end, i] = True
    if len(signals):
        # A joint whose whole range is this small also stands in stretches that are too short to test.
        found[:, np.ptp(signals.q, axis=0) <= np.maximum(STILL, CREEPING * limits)] = True
    return found


def at_rest(signals: Signals) -> Signals:
    """Return the signals with rates of exactly 0 for standing joints: noise has a sign, too."""
    still = standing(signals)
    if not still.any():
        return signals
    return replace(signals, qd=np.where(still, 0.0, signals.qd), qdd=np.where(still, 0.0, signals.qdd))


def _joined(stretches: list[tuple[int, int]], q: Array, width: int, step: float) -> Iterator[tuple[int, int]]:
    """Merge stretches that follow each other closely with a small step, as of a creeping joint."""
    begin, end = 0, 0
    for a, b in stretches:
        if end and a - end < width and abs(q[(a + b) // 2] - q[end - 1]) <= step:
            end = b
            continue
        if end:
            yield begin, end
        begin, end = a, b
    if end:
        yield begin, end


def _runs(which: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield the stretches of True as (first, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


# The equations without friction. They are computed in pieces, filtered, and cached while memory allows.

Momenta: TypeAlias = Callable[[Array, Array], Array]
PIECE = 8192  # approximate number of samples in a piece
KEPT = 256 * 2**20  # bytes of columns that are cached at most; larger ones are computed again each time


STOOD = 0.02  # part of an equation, by the weights of its filter, in which a joint may stand


class Piece(NamedTuple):
    """Some of the equations."""

    which: slice  # positions among all equations
    first: int  # first sample of the motion that they depend on
    last: int  # the one after the last


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations ``columns x = tau`` of a motion for each joint."""

    signals: Signals  # the motion, and the filter of both sides
    base: BaseColumns  # the columns that the joints share
    # function for D1 and D2 of columns without accelerations, (N, 2, n, p); None for the dynamic model
    momenta: Momenta | None = None
    stood: BoolArray | None = None  # when each joint stands, (N, n); None to find it from the motion
    _known: dict[int, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of equations of each joint, including those at which it stands."""
        return sum(self._counts)

    @cached_property
    def stands(self) -> BoolArray:
        """When each joint stands, (samples, n)."""
        return standing(self.signals) if self.stood is None else self.stood

    @cached_property
    def used(self) -> BoolArray:
        """Which equations of each joint are informative, (N, n): those at which it moves."""
        weights = np.abs(self.decimation.weights) / np.abs(self.decimation.weights).sum()
        found = np.ones((len(self), self.signals.dof), dtype=bool)
        start = 0
        for (first, last), count in zip(self.signals.segments, self._counts, strict=True):
            for i in range(self.signals.dof if count else 0):
                part = self.stands[first:last, i]
                if part.any():
                    share = np.convolve(part, weights, mode="valid")[:: self.decimation.factor]
                    found[start : start + count, i] = share <= STOOD
            start += count
        return found

    @cached_property
    def measured(self) -> tuple[bool, ...]:
        """Whether the torque of each joint was measured."""
        return self.signals.has_effort

    @property
    def decimation(self) -> Decimation:
        """The filter of both sides."""
        return self.signals.decimation

    @property
    def shared(self) -> int:
        """Number of columns that the joints share."""
        return len(self.base.kept)

    @property
    def times(self) -> Array:
        """Times of the equations (s)."""
        reach, factor = self.decimation.reach, self.decimation.factor
        stretches = zip(self.signals.segments, self._counts, strict=True)
        times = [self.signals.time[a + reach : b : factor][:count] for (a, b), count in stretches]
        return np.concatenate([np.zeros(0), *times])

    @property
    def _counts(self) -> list[int]:
        return [self.decimation.count(b - a) for a, b in self.signals.segments]

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in the order of time."""
        length = max(PIECE // self.decimation.factor, 64)
        start = 0  # of the segment, among the equations
        for (begin, _), count in zip(self.signals.segments, self._counts, strict=True):
            for first in range(0, count, length):
                last = min(first + length, count)
                inputs = self.decimation.inputs(first, last)
                yield Piece(slice(start + first, start + last), begin + inputs.start, begin + inputs.stop)
            start += count

    def filtered(self, piece: Piece) -> tuple[Array, Array]:
        """Return the shared columns (N, n, p) of a piece, and its torques (N, n)."""
        if piece.which.start in self._known:
            return self._known[piece.which.start]
        signals = self.signals
        part = slice(piece.first, piece.last)
        if self.momenta is None:
            columns = self.decimation.of(
                self.base.columns(signals.q[part], signals.qd[part], signals.qdd[part])
            )
        else:
            both_terms = self.momenta(signals.q[part], signals.qd[part])
            columns = self.decimation.derivative(both_terms[:, 0]) / signals.period
            columns += self.decimation.of(both_terms[:, 1])
        measured = np.array(self.measured)
        # Rows of zeros are not informative: a joint without measured torque has no equations.
        columns[:, ~measured] = 0.0
        both = columns, self.decimation.of(np.where(measured, signals.tau[part], 0.0))
        if len(self) * signals.dof * self.shared * 8 <= KEPT:
            self._known[piece.which.start] = both
        return both


def rigid_torques(equations: Equations, x: Array) -> Array:
    """Return the torques of bodies and rotors at all samples of a motion, (N, n), without friction."""
    signals, shared = equations.signals, x[: equations.shared]
    load = np.empty_like(signals.tau)
    for first in range(0, len(signals), PIECE):
        part = slice(first, first + PIECE)
        load[part] = equations.base.columns(signals.q[part], signals.qd[part], signals.qdd[part]) @ shared
    return load
