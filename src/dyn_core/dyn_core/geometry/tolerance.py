# SPDX-License-Identifier: Apache-2.0
"""What counts as rounding, and what counts as far.

The placement of one axis relative to the next is the result of a few dozen floating-point
operations on numbers no greater than the lengths of the robot, so errors of tens of units in the
last place are rounding. Setting such values to the exact 0 or k pi/2 that they stand for moves no
result by more than rounding itself. Anything larger, such as the 4e-6 of a ``1.5708``, was said
by the URDF and is kept.
"""

from __future__ import annotations

import sys

from dyn_core.linalg.angle import QUARTER, wrapped

ROUNDING = 64 * sys.float_info.epsilon
"""Relative error, or angle (rad), that is taken for rounding: 1.4e-14."""

FAR = 10.0
"""A common normal is far when its foot is this many times the distance of the axes away.

A body's inertia about an origin that is k times its size away keeps eps k^2 of its accuracy: with
k = 10 still 14 digits, and any two axes at more than 6 degrees meet the limit.
"""


def clean_angle(angle: float) -> float:
    """Answer an angle (rad) in (-pi, pi], exact where it is a multiple of pi/2 up to rounding."""
    turned = wrapped(angle)
    nearest = round(turned / QUARTER) * QUARTER
    return wrapped(nearest) if abs(turned - nearest) <= ROUNDING else turned


def clean_length(length: float, size: float) -> float:
    """Answer a length (m), exact 0 where it is zero up to the rounding of lengths of `size` (m)."""
    return 0.0 if abs(length) <= ROUNDING * size else length
