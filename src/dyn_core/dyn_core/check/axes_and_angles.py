# SPDX-License-Identifier: Apache-2.0
"""Check axes and angles: rounded values, degrees instead of radians, odd axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.core.messages import Message
from dyn_core.core.text import printed_digits
from dyn_core.robot.description import UrdfJoint, UrdfOrigin
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Snapped
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import QUARTER

# Rounded angles: those that were snapped, and those that were not

EIGHTH = math.pi / 4
FIGURES = 3
"""Number of significant digits from which a number like 1.57 is taken as a rounded multiple of pi/4."""

LARGEST = 4.0 * math.pi
"""Largest angle that is taken as a rounded multiple of pi/4 (rad)."""

EXACT = 1e-14
"""Rounding error of double precision (rad)."""

NOISE = 1e-7
"""Change that is too small to report (rad)."""


def snapped_values(subject: Subject) -> Iterator[Finding]:
    """Report snapped values: one finding for the angles of joints, one for axes, one for inertias.

    Changes up to `NOISE` are not reported: such a small difference cannot be intended.
    """
    by_parameter: dict[tuple[str, str], list[Snapped]] = {}
    changes_that_count = (item for item in subject.robot.snapped if _moved(item) > NOISE)
    for snapped in sorted(changes_that_count, key=_moved, reverse=True):
        by_parameter.setdefault((snapped.place.kind, snapped.parameter.partition("[")[0]), []).append(snapped)
    for (kind, parameter), changes in by_parameter.items():
        names = dict.fromkeys(change.place.name for change in changes if change.place.name)
        different = {str(message): message for message in map(_change, changes)}
        message = Message(
            "components-snapped" if parameter.startswith("axis") else "angles-snapped",
            parameter=parameter,
            changes=tuple(different.values()),
            greatest=_moved(changes[0]),
        )
        yield Finding(Severity.NOTE, kind, tuple(names), message)


def roundings_left(subject: Subject) -> Iterator[Finding]:
    """Find rounded angles with too few digits for snapping: they make axes nearly parallel."""
    by_word: dict[tuple[str, float], list[str]] = {}
    for joint in subject.urdf_joints():
        for word, exact in roundings_of(joint):
            key = (word.lstrip("+-"), abs(exact))
            by_word.setdefault(key, []).append(joint.name)
    for (text, angle), names in by_word.items():
        away = abs(float(text) - angle)
        message = Message(
            "angle-rounded", given=text, difference=away, exact=in_pi(angle), snap=_just_above(away)
        )
        yield Finding(Severity.WARNING, "joint", tuple(dict.fromkeys(names)), message)


def roundings_of(joint: UrdfJoint) -> Iterator[tuple[str, float]]:
    """Yield the angles of a joint that look rounded, as printed, and the exact angles."""
    for angle, word in zip(joint.origin.rpy, joint.origin.rpy_words, strict=False):
        exact = round(angle / EIGHTH) * EIGHTH
        figures, unit = printed_digits(word)
        error = abs(exact) - abs(angle)
        is_rounded = abs(error) <= 0.500001 * unit or 0.0 < error < unit
        # An angle that is exact up to double precision has no cost.
        is_other = abs(error) > EXACT and 0.0 < abs(exact) <= LARGEST
        if figures >= FIGURES and is_rounded and is_other:
            yield word, exact


def _just_above(value: float) -> float:
    """Return the least number with one significant digit that is greater than a small number."""
    unit = 10.0 ** math.floor(math.log10(value))
    return (math.floor(value / unit) + 1) * unit


def in_pi(angle: float) -> str:
    """Return a non-negative multiple of pi/4 as text, such as ``3 pi/4``."""
    fraction = Fraction(round(angle / EIGHTH), 4)
    number = {1: "pi", 0: "0"}.get(fraction.numerator, f"{fraction.numerator} pi")
    return number if fraction.denominator == 1 else f"{number}/{fraction.denominator}"


def _moved(change: Snapped) -> float:
    return abs(change.value - change.snapped_to)


def _change(change: Snapped) -> Message:
    given, used = abs(change.value), abs(change.snapped_to)
    if change.parameter.startswith("axis"):
        return Message("component-snapped", given=given, used=used)
    return Message("angle-snapped", given=given, used=in_pi(used))


# Angles in degrees

TURN = 2.0 * math.pi + 0.01
"""Largest angle that is taken as radians: a full turn, rounded (rad)."""


def degrees(subject: Subject) -> Iterator[Finding]:
    """Find origins of joints and of inertias with angles of more than a full turn."""
    if subject.description is None:
        return
    joints = [(joint.name, joint.origin) for joint in subject.description.joints]
    inertias = [(link.name, link.inertial.origin) for link in subject.description.links if link.inertial]
    for kind, code, origins in (
        ("joint", "joint-angle-in-degrees", joints),
        ("link", "inertia-angle-in-degrees", inertias),
    ):
        found = sorted(
            ((_greatest(origin), name) for name, origin in origins if _greatest(origin) > TURN),
            key=lambda item: item[0],
            reverse=True,
        )
        if found:
            names = [name for _, name in found]
            yield of_first(Severity.WARNING, kind, names, Message(code, angle=found[0][0]))


def _greatest(origin: UrdfOrigin) -> float:
    return max(map(abs, origin.rpy))


# Axes

UNIT = 1e-3
"""Largest difference of the norm of an axis from 1: the rounding error of three digits."""

ROUNDED = 1e-9
"""Value that counts as 0, because it cannot be measured (rad or m)."""

NEARLY = 1e-2
"""Largest angle that is suspiciously small (rad)."""

CLOSE = 1e-4
"""Largest distance that is suspiciously small (m)."""


def axes(subject: Subject) -> Iterator[Finding]:
    """Find axes that are missing, or are not unit vectors."""
    joints = [joint for joint in subject.moving_urdf_joints() if joint.type != "floating"]
    omitted = tuple(joint.name for joint in joints if not joint.axis_words)
    if omitted:
        yield Finding(Severity.NOTE, "joint", omitted, Message("axis-missing"))
    long = {joint.name: vec3.norm(joint.axis) for joint in joints}
    long = {name: norm for name, norm in long.items() if abs(norm - 1.0) > UNIT}
    if long:
        message = Message("axis-not-unit", norm=next(iter(long.values())))
        yield of_first(Severity.NOTE, "joint", tuple(long), message)


def near_axes(subject: Subject) -> Iterator[Finding]:
    """Find axes that are nearly, not exactly, parallel or normal to the axis before, or nearly meet it."""
    explained = _explained(subject)
    joints = [joint for joint in _followers(subject) if joint.name not in explained]
    yield from _near(
        [joint for joint in joints if 0.0 < _off_quarter(joint) <= NEARLY],
        _off_quarter,
        lambda joint: Message(
            "axis-nearly-normal" if _is_normal(joint) else "axis-nearly-parallel", angle=_off_quarter(joint)
        ),
    )
    yield from _near(
        [joint for joint in joints if _both_revolute(subject, joint) and ROUNDED < abs(joint.mdh.d) <= CLOSE],
        lambda joint: abs(joint.mdh.d),
        lambda joint: Message("axes-nearly-meeting", distance=abs(joint.mdh.d)),
    )


def collinear_axes(subject: Subject) -> Iterator[Finding]:
    """Find joints that turn about the same line as the joint before them."""
    for joint in _followers(subject):
        before = subject.robot.joints[joint.antecedent - 1]
        sine = abs(math.sin(joint.mdh.alpha))
        follows = joint.mimic is not None or before.mimic is not None
        if _both_revolute(subject, joint) and sine < 1e-9 and abs(joint.mdh.d) < 1e-9 and not follows:
            message = Message("axes-collinear", joint=before.name)
            yield Finding(Severity.WARNING, "joint", (joint.name,), message)


def _followers(subject: Subject) -> Iterator[Joint]:
    """Return the joints that another joint carries."""
    return (joint for joint in subject.robot.joints if joint.antecedent != 0)


def _both_revolute(subject: Subject, joint: Joint) -> bool:
    before = subject.robot.joints[joint.antecedent - 1]
    return joint.sigma is Sigma.REVOLUTE and before.sigma is Sigma.REVOLUTE


def _off_quarter(joint: Joint) -> float:
    """Angle (rad) of the axis from the nearest direction parallel or normal to the axis before it."""
    off = abs(joint.mdh.alpha - round(joint.mdh.alpha / QUARTER) * QUARTER)
    return off if off > ROUNDED else 0.0


def _is_normal(joint: Joint) -> bool:
    """True if the axis is nearer to normal than to parallel to the axis before it."""
    return round(joint.mdh.alpha / QUARTER) % 2 == 1


def _near(
    joints: list[Joint], amount: Callable[[Joint], float], message: Callable[[Joint], Message]
) -> Iterator[Finding]:
    """Yield one finding about all these joints, the worst first; none without joints."""
    if joints:
        joints = sorted(joints, key=amount, reverse=True)
        yield of_first(Severity.NOTE, "joint", [joint.name for joint in joints], message(joints[0]))


def _explained(subject: Subject) -> set[str]:
    """Return the joints with an angle of too few digits between them and the joint before."""
    carried_by = {joint.child: joint for joint in subject.urdf_joints()}
    return {
        joint.name
        for joint in subject.moving_urdf_joints()
        if any(any(roundings_of(part)) for part in _joint_and_fixed_joints(joint, carried_by))
    }


def _joint_and_fixed_joints(joint: UrdfJoint, carried_by: dict[str, UrdfJoint]) -> Iterator[UrdfJoint]:
    """Yield the joint and the fixed joints up to the moving joint before it."""
    part: UrdfJoint | None = joint
    while part is not None:
        yield part
        part = carried_by.get(part.parent)
        if part is not None and part.type != "fixed":
            return
