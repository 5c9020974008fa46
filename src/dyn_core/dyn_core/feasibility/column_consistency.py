# SPDX-License-Identifier: Apache-2.0
"""Whether columns of rates are those of values: velocities of positions, accelerations of velocities.

Measured values are noisy, sparse samples are no integral, and impacts make velocities jump. So changes of the
values are compared with integrals of the rates over a time in which the values move, not over one sample, and
have to differ most of the time; what noise makes of both is estimated from differences of higher order, in
which a motion has next to no part. Rates that are a multiple of the real ones, as with a wrong gear ratio,
differ less than that: their factor is looked at by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.feasibility.gain import gain

APART = 0.5
"""The part by which changes and integrals may differ: trapezoids of a sine with four samples in a period are
off by a fifth, with three by two fifths."""
HALF = 0.5
"""A time in which values move is the shortest in which they change by this part of the most that they do."""
STILL = 1e-3
"""Part of the greatest change below which there is none."""
NOISE = 2.0
"""How many times what noise makes of it a difference has to be, where there are many samples."""
FEW = 10.0
"""Number of samples with which it has to be twice as many times: of few, noise is hard to tell."""
CLEAN = 1e-3
"""Part of rates that noise is at most where they are computed, and have no offset."""
LESS = 0.1
"""Part of the differences that do not matter elsewhere which do of multiples where rates are computed."""
LATE = 3.0
"""Samples by which rates may be late: of a motion that has few, that looks like a factor."""
ORDER = 3
"""Order of the differences that noise is estimated from."""


@dataclass(frozen=True)
class Contradiction:
    """A joint whose rates are not those of its values.

    Attributes:
        joint: index of the joint.
        begin: begin of the time in which it is seen best (s).
        end: its end (s).
        given: mean of the rates in it.
        made: the rate at which the values change in it.
    """

    joint: int
    begin: float
    end: float
    given: float
    made: float


def contradictions(
    times: Array, values: Array, rates: Array, least_change: float, least_rate: float
) -> list[Contradiction]:
    """Answer the joints whose rates are clearly of another motion, or in another unit.

    Args:
        times: times of the samples (s), increasing, (m,).
        values: what changes, (m, n).
        rates: at which rates, (m, n).
        least_change: difference of changes that does not matter.
        least_rate: difference of rates that does not matter.
    """
    steps = np.diff(times)[:, None]
    areas = 0.5 * steps * (rates[:-1] + rates[1:])
    integral = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(areas, axis=0)))
    # Times of 1, 2, 4 ... samples, at most a quarter of all.
    lags = 2 ** np.arange(max(1, (len(times) - 1) // 4).bit_length())
    spans = np.array([_rms((times[lag:] - times[:-lag])[:, None])[0] for lag in lags])
    changed, integrated, apart = (
        np.array([_rms(x[lag:] - x[:-lag]) for lag in lags]) for x in (values, integral, values - integral)
    )
    # White noise of the rates makes a random walk of their integral.
    walk = _rms(steps) * _noise(rates)[None, :] * np.sqrt(lags)[:, None]
    noise = math.sqrt(2.0) * _noise(values)[None, :] + walk
    different = apart > APART * np.maximum(changed, integrated)
    clear = NOISE * (1.0 + FEW / len(times))
    least = np.maximum(least_change, least_rate * spans)[:, None]
    matters, shows = ((apart > clear * noise) & (apart > part * least) for part in (1.0, LESS))
    found = []
    for j in range(values.shape[1]):
        moving = [int(np.argmax(x[:, j] >= HALF * x[:, j].max())) for x in (changed, integrated)]
        telling = [k for k in moving if (shows if is_clean(rates[:, j]) else matters)[k, j]]
        if not telling:
            continue
        others = (
            matters[moving, j].any()
            and different[moving, j].all()
            and all(_mostly(values[:, j], integral[:, j], int(lags[k])) for k in moving)
        )
        if others or _scaled(times, values[:, j], rates[:, j], integral[:, j], int(lags[max(moving)])):
            lag = int(lags[telling[0]])
            change, area = (x[lag:, j] - x[:-lag, j] for x in (values, integral))
            worst = int(np.abs(change - area).argmax())
            begin, end = float(times[worst]), float(times[worst + lag])
            span = end - begin
            found.append(Contradiction(j, begin, end, float(area[worst]) / span, float(change[worst]) / span))
    return found


def _mostly(values: Array, integral: Array, lag: int) -> bool:
    """Whether changes over so many samples differ from integrals most of the time that there are any.

    Where a stop or an impact makes velocities jump they differ for a moment.
    """
    change, area = (x[lag:] - x[:-lag] for x in (values, integral))
    size = np.maximum(np.abs(change), np.abs(area))
    moving = size > STILL * size.max()
    different = np.abs(change - area)[moving] > APART * size[moving]
    return bool(np.count_nonzero(different) > HALF * len(different))


def _scaled(times: Array, values: Array, rates: Array, integral: Array, lag: int) -> bool:
    """Whether integrals over so many samples are clearly multiples of the changes."""
    if lag < 2:
        return False
    area = integral[lag:] - integral[:-lag]
    found = gain(area, values[lag:] - values[:-lag], offset=not is_clean(rates))
    if found is None:
        return False
    # Trapezoids of half as many samples are off by four times as much.
    rough = np.concatenate(([0.0], np.cumsum(0.5 * np.diff(times[::2]) * (rates[:-2:2] + rates[2::2]))))
    off = integral[::2] - rough
    half = lag // 2
    sparse = float(_rms(off[half:] - off[:-half]) / _rms(area))
    return found.is_off(sparse + LATE / len(times))


def is_clean(rates: Array) -> bool:
    """Whether rates (m,) have next to no noise, and so come from no sensor."""
    return bool(_noise(rates[:, None])[0] <= CLEAN * _rms(rates))


def _rms(values: Array) -> Array:
    mean: Array = np.sqrt(np.mean(values * values, axis=0))
    return mean


def _noise(values: Array) -> Array:
    """Answer the deviation of white noise with the same differences as values (m, n), by column."""
    order = min(ORDER, len(values) - 1)
    return _rms(np.diff(values, n=order, axis=0)) / math.sqrt(math.comb(2 * order, order))
