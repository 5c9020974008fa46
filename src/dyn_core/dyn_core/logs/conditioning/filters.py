# SPDX-License-Identifier: Apache-2.0
"""The cutoff of the filter, from the spectrum of the positions.

The motion that was asked for has most of the power, at low frequencies; then come what it excites, and noise,
whose spectrum is flat. Two frequencies count, for each joint:

* the *band* of the motion, below which are 99.9 % of the power of the velocity: a filter of order 4 must have
its
  cutoff at 2.4 times that, or it takes more than 0.1 % off the motion (gain 1 / (1 + (f / fc)^8));
* the *end* of the signal, from where on the spectrum of the position is less than `ABOVE` times its noise:
beyond it
  derivatives are nothing but noise.

The proposal is the greatest end over the joints that move, not below the least cutoff for their bands, and
not above `HIGHEST` of the rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array

POWER = 0.999
BANDS = 2.4
ABOVE = 4.0
LOWEST = 1.0
"""Lowest cutoff (Hz)."""
HIGHEST = 0.4
"""Highest cutoff, in parts of the rate."""
STILL = 1e-4
"""Greatest range of the positions of a joint that does not move (rad or m)."""
FEW_LEVELS = 3
"""Different positions that a joint has at most of which only the last bit changes."""
NOISE_ALONE = 2.0
"""Mean power of a spectrum, in parts of its floor, below which it is that of noise."""
WINDOW = 4.0
"""Length of the pieces of which spectra are averaged (s)."""


@dataclass(frozen=True)
class CutoffProposal:
    """A cutoff, and why.

    Attributes:
        cutoff: (Hz).
        reason: a sentence.
        band: greatest band of the motion of a joint (Hz); the highest cutoff where no joint moves.
        noise: deviation of the flat noise of each position (rad or m); 0 where a joint does not move.
    """

    cutoff: float
    reason: str
    band: float
    noise: tuple[float, ...]


def propose_cutoff(
    q: Array, rate: float, segments: Sequence[tuple[int, int]], joint_names: Sequence[str]
) -> CutoffProposal:
    """Answer the cutoff that the positions, (N, n), ask for."""
    found: list[tuple[float, float, str]] = []
    noise: list[float] = []
    for k, joint in enumerate(joint_names):
        spectrum = _spectrum(q[:, k], rate, segments)
        if spectrum is None:
            noise.append(0.0)
            continue
        frequency, power = spectrum
        noise.append(math.sqrt(_floor(frequency, power) * frequency[-1]))
        if _stands(q[:, k], frequency, power):
            continue
        found.append((_end(frequency, power), _band(frequency, power), joint))
    highest = HIGHEST * rate
    if not found:
        reason = f"no joint moves: cutoff at {HIGHEST:g} of the rate, {highest:.3g} Hz"
        return CutoffProposal(highest, reason, highest, tuple(noise))
    end, _, joint = max(found)
    _, band, widest = max(found, key=lambda item: item[1])
    band = max(band, LOWEST / BANDS)
    cutoff = min(max(end, BANDS * band, LOWEST), highest)
    if cutoff == highest:
        reason = (
            f"the positions have signal up to {end:.3g} Hz: {HIGHEST:g} of the rate is as high as it can be"
        )
    elif cutoff == LOWEST:
        reason = "the positions hold next to no motion: the lowest that is proposed"
    elif end >= BANDS * band:
        reason = f"beyond it the position of every joint is noise, of '{joint}' last"
    else:
        reason = f"{BANDS:g} times the {band:.3g} Hz below which is 99.9 % of the motion of '{widest}'"
    return CutoffProposal(cutoff, f"cutoff {cutoff:.3g} Hz: {reason}", band, tuple(noise))


def _spectrum(q: Array, rate: float, segments: Sequence[tuple[int, int]]) -> tuple[Array, Array] | None:
    """Answer frequencies (Hz) and mean power of a position; None where it does not move."""
    from scipy.signal import welch

    longest = max(b - a for a, b in segments)
    length = min(int(WINDOW * rate), longest)
    total: Array | None = None
    samples = 0
    frequency = np.empty(0)
    for a, b in segments:
        if b - a < length or np.ptp(q[a:b]) == 0.0:
            continue
        frequency, power = welch(q[a:b], fs=rate, window="blackmanharris", nperseg=length, detrend="linear")
        total = power * (b - a) if total is None else total + power * (b - a)
        samples += b - a
    return None if total is None else (frequency, total / samples)


def _stands(q: Array, frequency: Array, power: Array) -> bool:
    """Answer whether a joint stands: what its position shows is noise, or the last bit of a counter."""
    if np.ptp(q) <= STILL or len(np.unique(q)) <= FEW_LEVELS:
        return True
    return float(power[1:].mean()) < NOISE_ALONE * _floor(frequency, power)


def _floor(frequency: Array, power: Array) -> float:
    """Answer the power of the noise, which is flat."""
    return float(np.median(power[frequency > 0.6 * frequency[-1]]))


def _end(frequency: Array, power: Array) -> float:
    """Answer the frequency from which on the spectrum is noise."""
    floor = _floor(frequency, power)
    above = np.flatnonzero(power > ABOVE * floor)
    if floor <= 0.0 or not len(above):
        return float(frequency[-1])
    # The first stretch of noise ends the signal: lines beyond it are no motion.
    quiet = power <= ABOVE * floor
    width = max(5, int(2.0 / (frequency[1] - frequency[0])))
    run = np.convolve(quiet, np.ones(width), mode="valid") == width
    first = int(np.argmax(run)) if run.any() else len(frequency) - 1
    return float(frequency[first])


def _band(frequency: Array, power: Array) -> float:
    """Answer the frequency below which is most of the power of the velocity, up to the end of the signal."""
    limit = _end(frequency, power)
    velocity = np.where(frequency <= limit, power * frequency**2, 0.0)
    share = np.cumsum(velocity) / max(float(velocity.sum()), 1e-300)
    return float(frequency[min(int(np.searchsorted(share, POWER)), len(frequency) - 1)])
