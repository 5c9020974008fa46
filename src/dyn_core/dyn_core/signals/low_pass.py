# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters without delay.

A Butterworth filter of order n runs forwards and then backwards, so that its phase is 0 and its gain

    |G(f)| = 1 / (1 + (f / fc)^(2 n))     (analogue; the digital one is warped near the Nyquist frequency)

1/2 at the cutoff fc. The slowest part of its answer to an end decays as exp(-2 pi fc sin(pi / (2 n)) t): for
n = 4 to 0.1 % within `SETTLING` / fc.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError

FEWEST = 8
"""Samples that can be filtered."""
SETTLING = 3.0
"""Periods of the cutoff after which an end is forgotten."""


def low_pass(values: Array, rate: float, cutoff: float, order: int = 4) -> Array:
    """Answer values, (N,) or (N, ...), without what is faster than the cutoff, with no delay.

    Args:
        values: evenly sampled along the first axis.
        rate: samples a second (Hz).
        cutoff: frequency where the gain is 1/2 (Hz).
        order: of the filter that runs each way.

    Raises:
        DynError: the cutoff is not below half of the rate, or there are too few samples.
    """
    from scipy.signal import butter

    if not 0.0 < cutoff < 0.5 * rate:
        raise DynError(
            f"a cutoff of {cutoff:g} Hz is impossible at {rate:.4g} samples a second: give one below "
            f"{0.5 * rate:.4g} Hz"
        )
    return both_ways(butter(order, cutoff, fs=rate, output="sos"), values)


def both_ways(sections: Any, values: Array) -> Array:
    """Answer values, (N, ...), filtered by second-order sections forwards and backwards.

    The ends are continued by their point reflection, as far as there are samples.

    Raises:
        DynError: there are too few samples.
    """
    from scipy.signal import sosfiltfilt

    if len(values) < FEWEST:
        raise DynError(f"{len(values)} samples are too few to be filtered: give longer segments")
    usual = 3 * (2 * len(sections) + 1 - min((sections[:, 2] == 0).sum(), (sections[:, 5] == 0).sum()))
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=min(int(usual), len(values) - 1)))


def settling_samples(rate: float, cutoff: float) -> int:
    """Answer how many samples at an end still feel it."""
    return math.ceil(SETTLING * rate / cutoff)
