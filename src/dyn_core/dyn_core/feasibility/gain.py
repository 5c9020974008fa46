# SPDX-License-Identifier: Apache-2.0
"""The factor between two courses that should be one and the same.

With ``s`` the ratio of their deviations and ``rho`` their correlation, one of them regressed on the other and
the other on the one give the factors ``rho s`` and ``s / rho``. Whatever else is different, as by noise,
delays and filters, takes these apart; where both are above 1, or both below, it is the factor that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array

ALIKE = 0.9
"""Correlation below which courses are different altogether, and no multiples of each other."""
ROOM = 0.1
"""By how much a factor may be off: sensors and filters have gains, too."""


@dataclass(frozen=True)
class Gain:
    """The factor of a course over another one.

    Attributes:
        least: the least that it can be.
        greatest: the greatest.
    """

    least: float
    greatest: float

    def is_off(self, room: float = 0.0) -> bool:
        """Whether it is clearly not 1; `room` is what else makes it differ, as a part."""
        most = 1.0 + ROOM + room
        return self.least > most or self.greatest * most < 1.0


def gain(given: Array, real: Array, *, offset: bool) -> Gain | None:
    """Answer the factor of a course over another one, (m,) each; None where these are different altogether.

    Args:
        given: the one.
        real: the other.
        offset: whether they may be apart by a constant as well, as those of sensors are.
    """
    if offset:
        given, real = given - given.mean(), real - real.mean()
    both = float(given @ real)
    own, other = float(given @ given), float(real @ real)
    if not both > ALIKE * np.sqrt(own * other):
        return None
    return Gain(both / other, own / both)
