# SPDX-License-Identifier: Apache-2.0
"""Zero-phase low-pass filter, its cutoff from the spectrum, central differences, and noise gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message

FEWEST = 8
"""Least number of samples that can be filtered."""
SETTLING = 3.0
"""Periods of the cutoff after which the effect of an end has decayed."""
POWER = 0.999
"""Part of the power of the velocity within the band."""
BANDS = 2.4
"""Least ratio of the cutoff to the band of the motion: a filter of order 4 then takes at most 0.1 % off."""
ABOVE = 4.0
"""Least power of the signal, in multiples of that of the noise."""
LOWEST = 1.0
"""Lowest cutoff (Hz)."""
HIGHEST = 0.4
"""Highest cutoff, in parts of the rate."""
STILL = 1e-4
"""Greatest range of the positions of a joint that does not move (rad or m)."""
FEW_LEVELS = 3
"""A position with at most this many values stands still: only its last bit changes."""
NOISE_ALONE = 2.0
"""Greatest mean power of the spectrum of noise, in multiples of its floor."""
WINDOW = 4.0
"""Length of the pieces whose spectra are averaged (s)."""


def low_pass(values: Array, rate: float, cutoff: float, order: int = 4) -> Array:
    """Return values (N, ...) without frequencies above the cutoff, and without delay.

    A Butterworth filter of order n runs forwards and then backwards, so that its phase is 0 and its gain is

        |G(f)| = 1 / (1 + (f / fc)^(2 n))     (analogue; the digital one is warped near the Nyquist frequency)

    It is 1/2 at the cutoff fc. The slowest part of the response to an end decays as
    exp(-2 pi fc sin(pi / (2 n)) t): for n = 4 to 0.1 % within `SETTLING` / fc. The ends are continued by
    their point reflection, as far as there are samples.

    Args:
        values: evenly sampled along the first axis.
        rate: sample rate (Hz).
        cutoff: frequency where the gain is 1/2 (Hz).
        order: order of the filter in each direction.

    Raises:
        DynError: the cutoff is not below half of the rate, or there are too few samples.
    """
    from scipy.signal import butter, sosfiltfilt

    if not 0.0 < cutoff < 0.5 * rate:
        raise DynError("cutoff-too-high", cutoff=cutoff, rate=rate, most=0.5 * rate)
    if len(values) < FEWEST:
        raise DynError("filter-samples-too-few", count=len(values))
    sections = butter(order, cutoff, fs=rate, output="sos")
    usual = 3 * (2 * len(sections) + 1 - min((sections[:, 2] == 0).sum(), (sections[:, 5] == 0).sum()))
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=min(int(usual), len(values) - 1)))


def settling_samples(rate: float, cutoff: float) -> int:
    """Return the number of samples at an end that its effect reaches."""
    return math.ceil(SETTLING * rate / cutoff)


@dataclass(frozen=True)
class CutoffProposal:
    """A cutoff (Hz), and its reason.

    Attributes:
        cutoff: cutoff (Hz).
        reason: sentence for the report on how the cutoff was chosen.
        band: greatest band of the motion of a joint (Hz); the highest cutoff if no joint moves.
        noise: deviation of the flat noise of each position (rad or m); 0 if a joint does not move.
    """

    cutoff: float
    reason: Message
    band: float
    noise: tuple[float, ...]


def propose_cutoff(
    q: Array, rate: float, segments: Sequence[tuple[int, int]], joint_names: Sequence[str]
) -> CutoffProposal:
    """Return the cutoff for positions (N, n), from their spectrum.

    The motion has most of the power, at low frequencies; noise has a flat spectrum. Two frequencies count for
    each joint: its band, below which the motion has 99.9 % of the power of the velocity, and the end of the
    signal, above which derivatives are only noise. The cutoff is the greatest end of the moving joints, at
    least `BANDS` times their bands, and at most `HIGHEST` of the rate.
    """
    found: list[tuple[float, float, str]] = []
    noise: list[float] = []
    for k, joint in enumerate(joint_names):
        spectrum = _spectrum(q[:, k], rate, segments)
        if spectrum is None:
            noise.append(0.0)
            continue
        frequency, power = spectrum
        noise.append(math.sqrt(_floor(frequency, power) * frequency[-1]))
        if _is_still(q[:, k], frequency, power):
            continue
        found.append((_end(frequency, power), _band(frequency, power), joint))
    highest = HIGHEST * rate
    if not found:
        reason = Message("cutoff-for-still-joints", part=HIGHEST, cutoff=highest)
        return CutoffProposal(highest, reason, highest, tuple(noise))
    end, _, joint = max(found)
    _, band, widest = max(found, key=lambda item: item[1])
    band = max(band, LOWEST / BANDS)
    cutoff = min(max(end, BANDS * band, LOWEST), highest)
    if cutoff == highest:
        reason = Message("cutoff-highest", cutoff=cutoff, end=end, part=HIGHEST)
    elif cutoff == LOWEST:
        reason = Message("cutoff-lowest", cutoff=cutoff)
    elif end >= BANDS * band:
        reason = Message("cutoff-by-noise", cutoff=cutoff, joint=joint)
    else:
        reason = Message("cutoff-by-band", cutoff=cutoff, factor=BANDS, band=band, joint=widest)
    return CutoffProposal(cutoff, reason, band, tuple(noise))


def _spectrum(q: Array, rate: float, segments: Sequence[tuple[int, int]]) -> tuple[Array, Array] | None:
    """Return frequencies (Hz) and mean power of a position; None if it is constant."""
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


def _is_still(q: Array, frequency: Array, power: Array) -> bool:
    """Return whether only noise, or the last bit of a counter, changes a position."""
    if np.ptp(q) <= STILL or len(np.unique(q)) <= FEW_LEVELS:
        return True
    return float(power[1:].mean()) < NOISE_ALONE * _floor(frequency, power)


def _floor(frequency: Array, power: Array) -> float:
    """Return the power of the flat noise."""
    return float(np.median(power[frequency > 0.6 * frequency[-1]]))


def _end(frequency: Array, power: Array) -> float:
    """Return the frequency (Hz) above which the spectrum is noise."""
    floor = _floor(frequency, power)
    quiet = power <= ABOVE * floor
    if floor <= 0.0 or quiet.all():
        return float(frequency[-1])
    # The signal ends at the first stretch of noise: lines above it are not motion.
    width = max(5, int(2.0 / (frequency[1] - frequency[0])))
    run = np.convolve(quiet, np.ones(width), mode="valid") == width
    first = int(np.argmax(run)) if run.any() else len(frequency) - 1
    return float(frequency[first])


def _band(frequency: Array, power: Array) -> float:
    """Return the frequency (Hz) below which most of the power of the velocity is."""
    limit = _end(frequency, power)
    velocity = np.where(frequency <= limit, power * frequency**2, 0.0)
    share = np.cumsum(velocity) / max(float(velocity.sum()), 1e-300)
    return float(frequency[min(int(np.searchsorted(share, POWER)), len(frequency) - 1)])


def coefficients(half_width: int) -> tuple[Array, Array]:
    """Return a_k and b_k of `differences` for k = 1 to m."""
    m = half_width
    k = np.arange(1, m + 1)
    a = -((-1.0) ** k) * [math.comb(2 * m, m + i) / math.comb(2 * m, m) for i in k.tolist()] / k
    return a, 2.0 * a / k


def differences(q: Array, period: float, half_width: int = 1) -> tuple[Array, Array]:
    """Return velocities and accelerations, each (N - 2 m, ...), of positions (N, ...) by central differences.

    With the half width m, they are those of the polynomial of degree 2 m through 2 m + 1 samples:

        qd_i  = sum over k = 1..m of a_k (q_(i+k) - q_(i-k)) / T
        qdd_i = sum over k = 1..m of b_k (q_(i+k) - 2 q_i + q_(i-k)) / T^2
        a_k = (-1)^(k+1) (m!)^2 / (k (m-k)! (m+k)!),  b_k = 2 a_k / k

    At the frequency w, their gains, instead of j w and -w^2, are D1 = 2 j sum a_k sin(k w T) / T and
    D2 = -2 sum b_k (1 - cos(k w T)) / T^2: without delay, and too small by about

        m = 1:  (w T)^2 / 6  and  (w T)^2 / 12      m = 2:  (w T)^4 / 30  and  (w T)^4 / 90
        m = 3:  (w T)^6 / 140 and (w T)^6 / 560
    """
    m = half_width
    a, b = coefficients(m)
    count = len(q) - 2 * m
    middle = q[m : m + count]
    qd = np.zeros_like(middle)
    qdd = np.zeros_like(middle)
    for k in range(1, m + 1):
        after, before = q[m + k : m + k + count], q[m - k : m - k + count]
        qd += a[k - 1] * (after - before)
        qdd += b[k - 1] * ((after - middle) - (middle - before))
    return qd / period, qdd / period**2


def gains(frequency: float, period: float, half_width: int = 1) -> tuple[float, float]:
    """Return D1 / (j w) and D2 / (-w^2) at a frequency (Hz), see `differences`."""
    a, b = coefficients(half_width)
    wT = 2.0 * math.pi * frequency * period
    k = np.arange(1, half_width + 1)
    return float(2.0 * (a @ np.sin(k * wT)) / wT), float(2.0 * (b @ (1.0 - np.cos(k * wT))) / wT**2)


@dataclass(frozen=True)
class PositionNoise:
    """White noise of positions, with the filter and differences that are applied to it.

    Attributes:
        deviations: deviation of each joint, before the filter (rad or m).
        period: sampling period (s).
        cutoff: cutoff of the filter (Hz).
        order: order of the filter.
        half_width: half width of the differences.
    """

    deviations: tuple[float, ...]
    period: float
    cutoff: float
    order: int
    half_width: int

    def passed(self, count: int) -> tuple[Array, Array, Array]:
        """Return samples of the filtered noise of positions, velocities and accelerations, (count, n)."""
        rate, m = 1.0 / self.period, self.half_width
        margin = settling_samples(rate, self.cutoff) + m
        random = np.random.default_rng(0)
        white = np.array(self.deviations) * random.normal(size=(count + 2 * margin, len(self.deviations)))
        q = low_pass(white, rate, self.cutoff, self.order)
        qd, qdd = differences(q, self.period, m)
        shifted = slice(margin - m, margin - m + count)
        return q[margin : margin + count], qd[shifted], qdd[shifted]
