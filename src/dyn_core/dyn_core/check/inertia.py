# SPDX-License-Identifier: Apache-2.0
"""Inertias that no body has, that no body of that size has, and that somebody made up.

A link gets the first of these findings that applies to it: what is wrong with its unit is also wrong
with its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dyn_core.check.extent import Extent, extent
from dyn_core.check.link_inertias import LinkInertia, link_inertias
from dyn_core.check.subject import Subject
from dyn_core.check.whole_robot import shape_reach
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.model.possible_inertia import INERTIA_TOLERANCE
from dyn_core.symbolic import vec3

DENSEST = 22590.0
"""Density of osmium (kg/m^3)."""

SMALLEST = 0.25
"""Part of the robot's reach that every link may be as large as, since meshes are not read."""

COMMON = 0.3
"""Length of a link whose shape is not known, be the robot ever so short: that of a wheel or a reel (m)."""

FAR = 2.0
"""Times the robot's reach that a centre of mass may be away."""

NEAR = 1.0
"""Distance that a centre of mass may be away in any case (m)."""

SAME = 3
"""Number of links from which on what they have in common looks made up."""

MOST = 0.8
"""Part of the moving links that are nearly all."""


class Case(NamedTuple):
    """Something that inertias are suspected of."""

    severity: Severity
    applies: Callable[[LinkInertia], bool]
    worst: Callable[[LinkInertia], float]
    message: Callable[[LinkInertia], str]


def inertias(subject: Subject) -> Iterator[Finding]:
    """Find inertias that are impossible, too large, too small, or made up."""
    left = link_inertias(subject)
    size = extent(subject.robot)
    shared = _shared(left)
    cases = (
        _massless(),
        _negative(),
        _triangle(),
        _too_large(size, shape_reach(subject)),
        _too_dense(),
        _same(shared),
    )
    for case in (*cases, _placeholder(), _point()):
        applies = [case.applies(inertia) for inertia in left]
        found = [inertia for inertia, is_case in zip(left, applies, strict=True) if is_case]
        left = [inertia for inertia, is_case in zip(left, applies, strict=True) if not is_case]
        if found:
            found.sort(key=case.worst, reverse=True)
            names = tuple(inertia.name for inertia in found)
            yield Finding(case.severity, "link", names, of_first(names, case.message(found[0])))


def centres_of_mass(subject: Subject) -> Iterator[Finding]:
    """Find centres of mass that are far away from the robot."""
    reach = extent(subject.robot).reach
    distances = [
        (_distance(inertia), inertia.name) for inertia in link_inertias(subject) if inertia.mass > 0.0
    ]
    far = sorted((d for d in distances if d[0] > max(FAR * reach, NEAR)), reverse=True)
    if far:
        names = tuple(name for _, name in far)
        message = (
            f"the centre of mass is {far[0][0]:.3g} m from the frame of the link, where the whole robot "
            f"reaches {reach:.3g} m: check its unit (m)"
        )
        yield Finding(Severity.WARNING, "link", names, of_first(names, message))


def centres_at_origins(subject: Subject) -> Iterator[Finding]:
    """Find robots most of whose links have their centres of mass in the origins of their frames."""
    moving = [inertia for inertia in link_inertias(subject) if inertia.body != 0 and inertia.mass > 0.0]
    central = tuple(inertia.name for inertia in moving if _distance(inertia) == 0.0)
    if len(central) >= SAME and len(central) >= MOST * len(moving):
        message = (
            "the centre of mass is in the origin of the frame of nearly every link: it looks as if it was "
            'not given: write <origin xyz="..."> in <inertial>'
        )
        yield Finding(Severity.NOTE, "link", central, message)


def _distance(inertia: LinkInertia) -> float:
    """Distance of the centre of mass from the frame of the link (m)."""
    return vec3.norm(inertia.inertial.origin.xyz)


def _massless() -> Case:
    return Case(
        Severity.WARNING,
        lambda inertia: inertia.mass == 0.0 and inertia.is_impossible,
        lambda inertia: float(inertia.moments[-1]),
        lambda inertia: f"an inertia of {inertia.moments[-1]:.3g} kg m^2 without a mass: give the mass",
    )


def _negative() -> Case:
    def applies(inertia: LinkInertia) -> bool:
        least, _, greatest = inertia.moments.tolist()
        return inertia.is_impossible and least < -INERTIA_TOLERANCE * greatest

    return Case(
        Severity.WARNING,
        applies,
        lambda inertia: -float(inertia.moments[0]),
        lambda inertia: (
            f"no body has a principal moment of inertia of {inertia.moments[0]:.3g} kg m^2: check the signs"
        ),
    )


def _triangle() -> Case:
    def excess(inertia: LinkInertia) -> float:
        least, middle, greatest = _rounded(inertia)
        return 100.0 * (greatest / (least + middle) - 1.0) if least + middle > 0.0 else math.inf

    def message(inertia: LinkInertia) -> str:
        least, middle, greatest = _rounded(inertia)
        amount = f"by {excess(inertia):.3g} %" if excess(inertia) < 1e4 else "by far"
        return (
            f"no body has such an inertia: of the principal moments {least:.3g}, {middle:.3g} and "
            f"{greatest:.3g} kg m^2 the greatest exceeds the sum of the others {amount}: check "
            "digits and axes"
        )

    return Case(Severity.WARNING, lambda inertia: inertia.is_impossible, excess, message)


def _rounded(inertia: LinkInertia) -> list[float]:
    """Principal moments (kg m^2), without the digits that come from rounding."""
    greatest = float(np.abs(inertia.moments).max())
    return [0.0 if abs(x) <= 1e-9 * greatest else x for x in inertia.moments.tolist()]


def _gyration(inertia: LinkInertia) -> float:
    """Greatest radius of gyration (m): no body is smaller than that."""
    return math.sqrt(max(float(inertia.moments[-1]), 0.0) / inertia.mass) if inertia.mass > 0.0 else 0.0


def _too_large(size: Extent, shapes: Mapping[str, float]) -> Case:
    def length(inertia: LinkInertia) -> float:
        # A shape about the frame is, from the centre of mass, no further away than both together.
        distance, shape = _distance(inertia), shapes.get(inertia.name, 0.0)
        own = distance + shape if shape > 0.0 else max(distance, COMMON)
        return max(size.of_body[inertia.body], own, SMALLEST * size.reach)

    return Case(
        Severity.WARNING,
        lambda inertia: inertia.body != 0 and size.reach > 0.0 and _gyration(inertia) > length(inertia),
        _gyration,
        lambda inertia: (
            f"an inertia of {inertia.moments[-1]:.3g} kg m^2 with a mass of {inertia.mass:.3g} kg has the "
            f"mass {_gyration(inertia):.3g} m from its centre, further than such a link is long: check its "
            "unit (kg m^2)"
        ),
    )


def _density(inertia: LinkInertia) -> float:
    """Least density (kg/m^3): that of a ball, which among all bodies has the least trace for its mass."""
    trace = float(inertia.moments.sum())
    if inertia.mass <= 0.0 or trace <= 0.0:
        return 0.0
    radius = math.sqrt(5.0 / 6.0 * trace / inertia.mass)
    volume = 4.0 / 3.0 * math.pi * radius * radius * radius
    return inertia.mass / volume if volume > 0.0 else math.inf


def _too_dense() -> Case:
    return Case(
        Severity.WARNING,
        lambda inertia: _density(inertia) > DENSEST,
        _density,
        lambda inertia: (
            f"a mass of {inertia.mass:.3g} kg with an inertia of at most {inertia.moments[-1]:.3g} kg m^2 is "
            f"denser than osmium ({_density(inertia):.2g} kg/m^3): check their units (kg, kg m^2)"
        ),
    )


def _tensor(inertia: LinkInertia) -> tuple[float, ...]:
    m = inertia.inertial
    return (m.ixx, m.ixy, m.ixz, m.iyy, m.iyz, m.izz)


def _shared(all_links: list[LinkInertia]) -> set[tuple[float, ...]]:
    """Answer the inertias that several links have whose masses differ."""
    masses: dict[tuple[float, ...], list[float]] = {}
    for inertia in all_links:
        if any(_tensor(inertia)) and inertia.mass > 0.0:
            masses.setdefault(_tensor(inertia), []).append(inertia.mass)
    return {key for key, of_key in masses.items() if len(of_key) >= SAME and len(set(of_key)) > 1}


def _same(shared: set[tuple[float, ...]]) -> Case:
    return Case(
        Severity.WARNING,
        lambda inertia: _tensor(inertia) in shared,
        lambda inertia: float(inertia.moments[-1]),
        lambda inertia: (
            f"one inertia of {inertia.moments[-1]:.3g} kg m^2 for links of several masses looks made up: "
            "take it from CAD, or estimate it from the shape"
        ),
    )


def _placeholder() -> Case:
    def applies(inertia: LinkInertia) -> bool:
        ixx, *_ = key = _tensor(inertia)
        power = ixx > 0.0 and float(f"1e{round(math.log10(ixx))}") == ixx
        return inertia.body != 0 and power and key == (ixx, 0.0, 0.0, ixx, 0.0, ixx)

    return Case(
        Severity.NOTE,
        applies,
        lambda inertia: inertia.mass,
        lambda inertia: (
            f"an inertia of {inertia.inertial.ixx:g} kg m^2 about all axes looks made up: take it from CAD, "
            "or estimate it from the shape"
        ),
    )


def _point() -> Case:
    return Case(
        Severity.NOTE,
        lambda inertia: inertia.body != 0 and inertia.mass > 0.0 and not any(_tensor(inertia)),
        lambda inertia: inertia.mass,
        lambda inertia: f"a mass of {inertia.mass:.3g} kg in one point: give its inertia",
    )
