# SPDX-License-Identifier: Apache-2.0
"""How far joints were from where they should have been."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.core.arrays import Array


class TrackingError(NamedTuple):
    """Errors over a motion, each (n,).

    Attributes:
        rms: root of the mean square (rad or m).
        greatest: greatest either way (rad or m).
    """

    rms: Array
    greatest: Array


def tracking_error(desired: Array, measured: Array) -> TrackingError:
    """Answer the errors of N positions (rad or m), (N, n) each, at the same times; N is at least 1."""
    if desired.shape != measured.shape or desired.ndim != 2 or not len(desired):
        raise ValueError(
            f"positions: expected two shapes (N, n) that are the same, but they are {desired.shape} "
            f"and {measured.shape}"
        )
    error = desired - measured
    return TrackingError(np.sqrt((error * error).mean(0)), np.abs(error).max(0))


def together(rms: Array) -> float:
    """Answer the root of the mean square of some joints' errors, which have one unit."""
    return float(np.sqrt((rms * rms).mean()))
