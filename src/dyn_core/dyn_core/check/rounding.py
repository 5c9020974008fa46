# SPDX-License-Identifier: Apache-2.0
"""Angles that were taken for roundings, and angles that look like roundings but were not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dyn_core.check.place import owner_of
from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.io.digits import printed_digits
from dyn_core.model.snapped import Snapped
from dyn_core.robot.description import UrdfJoint

EIGHTH = math.pi / 4
FIGURES = 3
"""Significant digits from which on a number like 1.57 is hardly anything but a rounding."""

LARGEST = 4.0 * math.pi
"""Angle beyond which nobody means a multiple of pi/4 (rad)."""

EXACT = 1e-14
"""Rounding of double precision (rad)."""

SHOWN = 4
"""How many values are shown of those that were snapped."""

NOISE = 1e-7
"""Change that is no news (rad)."""


def snapped_values(subject: Subject) -> Iterator[Finding]:
    """Say what was snapped: one finding for the angles of joints, one for axes, one for inertias.

    What moved by less than `NOISE` does not count: it cannot be what the author meant.
    """
    by_parameter: dict[tuple[str, str], list[Snapped]] = {}
    changes_that_count = (item for item in subject.robot.snapped if _moved(item) > NOISE)
    for snapped in sorted(changes_that_count, key=_moved, reverse=True):
        kind, _ = owner_of(snapped.element)
        by_parameter.setdefault((kind, snapped.parameter.partition("[")[0]), []).append(snapped)
    for (kind, parameter), changes in by_parameter.items():
        names = dict.fromkeys(name for change in changes for name in owner_of(change.element)[1])
        texts = dict.fromkeys(f"{abs(change.value):.9g} for {_used(change)}" for change in changes)
        unit = "" if parameter.startswith("axis") else " rad"
        what = f"{parameter} taken as {_first(list(texts))}, at most {_moved(changes[0]):.1e}{unit} away"
        yield Finding(Severity.NOTE, kind, tuple(names), what)


def roundings_left(subject: Subject) -> Iterator[Finding]:
    """Find angles that have too few digits to be snapped: they make axes nearly parallel."""
    by_word: dict[tuple[str, float], list[str]] = {}
    for joint in subject.urdf_joints():
        for word, exact in roundings_of(joint):
            key = (word.lstrip("+-"), abs(exact))
            by_word.setdefault(key, []).append(joint.name)
    for (text, angle), names in by_word.items():
        away = abs(float(text) - angle)
        what = (
            f"the angle {text} is {away:.1e} rad away from {in_pi(angle)}, for which it probably stands, and "
            f"costs accuracy and speed: give more digits, or load with snap={_just_above(away):g}"
        )
        yield Finding(Severity.WARNING, "joint", tuple(dict.fromkeys(names)), what)


def roundings_of(joint: UrdfJoint) -> Iterator[tuple[str, float]]:
    """Answer the angles of a joint, as printed, that look like roundings, and what they stand for."""
    for angle, word in zip(joint.origin.rpy, joint.origin.rpy_words, strict=False):
        exact = round(angle / EIGHTH) * EIGHTH
        figures, unit = printed_digits(word)
        error = abs(exact) - abs(angle)
        is_rounded = abs(error) <= 0.500001 * unit or 0.0 < error < unit
        # What is exact up to double precision costs nothing.
        is_other = abs(error) > EXACT and 0.0 < abs(exact) <= LARGEST
        if figures >= FIGURES and is_rounded and is_other:
            yield word, exact


def _just_above(value: float) -> float:
    """Answer the least number with one significant digit that is greater than a small one."""
    unit = 10.0 ** math.floor(math.log10(value))
    return (math.floor(value / unit) + 1) * unit


def in_pi(angle: float) -> str:
    """Answer a multiple of pi/4, not negative, as text: ``3 pi/4``."""
    fraction = Fraction(round(angle / EIGHTH), 4)
    number = {1: "pi", 0: "0"}.get(fraction.numerator, f"{fraction.numerator} pi")
    return number if fraction.denominator == 1 else f"{number}/{fraction.denominator}"


def _moved(change: Snapped) -> float:
    return abs(change.value - change.snapped_to)


def _used(change: Snapped) -> str:
    used = abs(change.snapped_to)
    return f"{used:.9g}" if change.parameter.startswith("axis") else in_pi(used)


def _first(texts: Sequence[str]) -> str:
    rest = len(texts) - SHOWN
    shown = ", ".join(texts[:SHOWN])
    return f"{shown} and {rest} more" if rest > 0 else shown
