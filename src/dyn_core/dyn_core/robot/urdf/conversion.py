# SPDX-License-Identifier: Apache-2.0
"""Angles and axes that are roundings of multiples of pi/4 and of zero are made exact.

A ``1.5708`` costs a robot its structure: two axes that are parallel become nearly parallel, and no
product with their angle vanishes. But a robot may also be calibrated, and then its digits count. So
by default a value is snapped only where the digits of the text say that it is a rounding:

* an angle, to k pi/4 up to two turns, when that, rounded to the digits printed, is what is printed,
  and there are at least 4 of them (``0.7854``, ``3.142``, ``-1.570796``, but not ``1.57``);
* likewise when that, cut off after the digits printed, is what is printed, and there are at least 5
  of them (``1.5707``, ``3.14159265358979``);
* an angle to 0, when it is at most half the last digit of an angle beside it that was snapped
  (the -3.67e-06 in ``1.5708 -3.67e-06 0`` is what a program makes of its own rounding);
* a component of an axis to 0, when it is at most half the last digit of another component that has
  at least 4 digits (``0.7071 0.7071 1e-05``);
* whatever is that value up to the rounding of double precision (``6.1e-17``).

So no angle moves by more than the last digit that the description's author chose to write for it
or beside it, which is as far as it may be from what the author had. With a tolerance (rad; for
axes, relative to the greatest component) given instead, everything within it is snapped; with 0
nothing is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from dyn_core.core.errors import DynError
from dyn_core.io.digits import printed_digits
from dyn_core.model.snapped import Snapped
from dyn_core.robot.description import Triple, UrdfDescription, UrdfJoint, UrdfLink, UrdfLoop, UrdfOrigin

Snap = float | Literal["digits"]

EIGHTH = math.pi / 4
_LARGEST = 4.0 * math.pi
_NOISE = 64 * sys.float_info.epsilon
_ROUNDED, _CUT_OFF = 4, 5  # significant digits that make a rounding credible


def checked_snap(snap: Snap) -> Snap:
    """Answer a setting of `snap`; DynError where it is none."""
    if snap == "digits":
        return snap
    try:
        tolerance = float(snap)
    except (TypeError, ValueError):
        tolerance = math.nan
    if not 0.0 <= tolerance < EIGHTH / 2:
        raise DynError(f'snap is {snap!r}: give "digits", 0, or a tolerance in rad less than pi/8')
    return tolerance


def snapped_description(
    description: UrdfDescription, snap: Snap
) -> tuple[UrdfDescription, tuple[Snapped, ...]]:
    """Answer the description with its angles and axes snapped, and what was snapped."""
    if snap == 0.0:
        return description, ()
    records: list[Snapped] = []
    joints = tuple(_joint(joint, snap, records) for joint in description.joints)
    links = tuple(_link(link, snap, records) for link in description.links)
    loops, of_loops = snapped_loops(description.loops, snap)
    return replace(description, joints=joints, links=links, loops=loops), (*records, *of_loops)


def snapped_loops(loops: Sequence[UrdfLoop], snap: Snap) -> tuple[tuple[UrdfLoop, ...], tuple[Snapped, ...]]:
    """Answer loops with the angles of their cut frames snapped, and what was snapped."""
    if snap == 0.0:
        return tuple(loops), ()
    records: list[Snapped] = []
    return tuple(_loop(loop, snap, records) for loop in loops), tuple(records)


def snapped_angles(angles: Triple, words: Sequence[str], snap: Snap) -> Triple:
    """Answer angles (rad), which are printed as `words`, with those snapped that are roundings."""
    if snap != "digits":
        return _triple(_nearest(angle) if abs(angle - _nearest(angle)) <= snap else angle for angle in angles)
    rounding = 0.0
    result = []
    for angle, word in zip(angles, words, strict=True):  # the word of an expression is empty
        result.append(_by_digits(angle, word))
        if result[-1] != angle:
            rounding = max(rounding, printed_digits(word).unit)
    return _triple(0.0 if abs(angle) <= max(_NOISE, 0.5 * rounding) else angle for angle in result)


def snapped_axis(axis: Triple, words: Sequence[str], snap: Snap) -> Triple:
    """Answer an axis, which is printed as `words`, with the components made 0 that are roundings of 0."""
    largest = max(map(abs, axis))
    if snap != "digits":
        return _triple(0.0 if abs(x) <= snap * largest else x for x in axis)
    digits = map(printed_digits, words)
    rounding = max(
        (0.5 * unit for figures, unit in digits if figures >= _ROUNDED and unit < 1.0), default=0.0
    )
    least = max(_NOISE * largest, rounding)
    return _triple(0.0 if abs(x) <= least else x for x in axis)


def _by_digits(angle: float, word: str) -> float:
    nearest = _nearest(angle)
    if nearest == 0.0 or abs(angle) > _LARGEST:
        return angle
    figures, unit = printed_digits(word)
    error = abs(nearest) - abs(angle)
    rounded = figures >= _ROUNDED and abs(error) <= 0.500001 * unit
    cut_off = figures >= _CUT_OFF and 0.0 < error < unit
    return nearest if rounded or cut_off or abs(error) <= _NOISE else angle


def _nearest(angle: float) -> float:
    """Answer the multiple of pi/4 that is nearest to an angle (rad)."""
    return round(angle / EIGHTH) * EIGHTH


def _triple(values: Iterable[float]) -> Triple:
    x, y, z = values
    return (x, y, z)


def _joint(joint: UrdfJoint, snap: Snap, records: list[Snapped]) -> UrdfJoint:
    owner = f"joint '{joint.name}'"
    origin = _origin(joint.origin, snap, records, owner, "origin rpy", joint.line)
    axis = snapped_axis(joint.axis, joint.axis_words, snap) if joint.axis_words else joint.axis
    records.extend(_changes(owner, "axis xyz", joint.line, joint.axis, axis))
    return replace(joint, origin=origin, axis=axis)


def _link(link: UrdfLink, snap: Snap, records: list[Snapped]) -> UrdfLink:
    if link.inertial is None:
        return link
    owner, given = f"link '{link.name}'", link.inertial
    origin = _origin(given.origin, snap, records, owner, "inertial rpy", link.line)
    return replace(link, inertial=replace(given, origin=origin))


def _loop(loop: UrdfLoop, snap: Snap, records: list[Snapped]) -> UrdfLoop:
    owner = f"loop '{loop.name}'"
    parent = _origin(loop.parent.origin, snap, records, owner, "parent rpy", loop.line)
    child = _origin(loop.child.origin, snap, records, owner, "child rpy", loop.line)
    return replace(loop, parent=replace(loop.parent, origin=parent), child=replace(loop.child, origin=child))


def _origin(
    origin: UrdfOrigin, snap: Snap, records: list[Snapped], owner: str, parameter: str, line: int
) -> UrdfOrigin:
    if not origin.rpy_words:
        return origin
    rpy = snapped_angles(origin.rpy, origin.rpy_words, snap)
    records.extend(_changes(owner, parameter, line, origin.rpy, rpy))
    return replace(origin, rpy=rpy)


def _changes(owner: str, parameter: str, line: int, given: Triple, used: Triple) -> list[Snapped]:
    return [
        Snapped(owner, f"{parameter}[{k}]", line, a, b)
        for k, (a, b) in enumerate(zip(given, used, strict=True))
        if a != b
    ]
