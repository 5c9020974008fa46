# SPDX-License-Identifier: Apache-2.0
"""Cosine and sine that are exact where the constant angle is a multiple of pi/2.

``math.cos(math.pi / 2)`` is 6e-17. A zero that is not quite zero costs a multiplication at each
of its uses and hides the structure of the robot, so quarter turns are counted instead.
"""

from __future__ import annotations

import math

from dyn_core.symbolic.scalar import Scalar, cos, sin

QUARTER = math.pi / 2


def quarter_turns(angle: float) -> int | None:
    """Answer k where `angle` (rad) is the float nearest to k pi/2, else None."""
    k = round(angle / QUARTER)
    return k if angle == k * QUARTER else None


def wrapped(angle: float) -> float:
    """Answer the same angle (rad) in (-pi, pi]."""
    turned = math.remainder(angle, 2 * math.pi)
    return math.pi if turned == -math.pi else turned


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine of a constant angle (rad)."""
    return _turned(1.0, 0.0, angle) or (math.cos(angle), math.sin(angle))


def cos_sin_of_sum(variable: Scalar, constant: float) -> tuple[Scalar, Scalar]:
    """Cosine and sine of ``variable + constant`` (rad), by a swap where the constant is k pi/2."""
    if quarter_turns(constant) is None:
        return cos(variable + constant), sin(variable + constant)
    turned = _turned(cos(variable), sin(variable), constant)
    assert turned is not None
    return turned


def _turned(c: Scalar, s: Scalar, angle: float) -> tuple[Scalar, Scalar] | None:
    """Turn the point (c, s) of the unit circle by k pi/2; None where `angle` is no such angle."""
    k = quarter_turns(angle)
    return None if k is None else ((c, s), (-s, c), (-c, -s), (s, -c))[k % 4]
