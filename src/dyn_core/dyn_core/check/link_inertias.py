# SPDX-License-Identifier: Apache-2.0
"""Check masses, centres of mass and inertia tensors of the links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dyn_core.check.subject import Subject
from dyn_core.check.whole_robot import extent, first_links, shape_reach
from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity, of_first
from dyn_core.core.messages import Message
from dyn_core.robot.description import UrdfInertial
from dyn_core.robot.links import INERTIA_TOLERANCE, why_impossible
from dyn_core.robot.robot import Robot
from dyn_core.robot.urdf.writer import inertial_about_centre
from dyn_core.symbolic import vec3


class LinkInertia(NamedTuple):
    """The inertia of a link of body `body` about its centre of mass."""

    name: str
    body: int
    inertial: UrdfInertial

    @property
    def mass(self) -> float:
        """Mass (kg)."""
        return self.inertial.mass

    @property
    def distance(self) -> float:
        """Distance of the centre of mass from the frame of the link (m)."""
        return vec3.norm(self.inertial.origin.xyz)

    @property
    def is_impossible(self) -> bool:
        """True if no physical body has this inertia."""
        return why_impossible(self.mass, self.inertial.matrix) is not None

    @property
    def moments(self) -> Array:
        """Principal moments about the centre of mass (kg m^2), ascending."""
        moments: Array = np.linalg.eigvalsh(np.array(self.inertial.matrix))
        return moments


def link_inertias(subject: Subject) -> list[LinkInertia]:
    """Return the inertias of the links in the URDF; without a URDF those of the bodies.

    A robot with grouped parameters and without a URDF gives none.
    """
    robot = subject.robot
    if subject.description is None:
        return [
            LinkInertia(name, body, inertial_about_centre(robot.bodies[body]))
            for body, name in first_links(robot).items()
            if any(robot.bodies[body].values) and not grouped_bodies(robot)
        ]
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    return [
        LinkInertia(link.name, body_of[link.name], link.inertial)
        for link in subject.description.links
        if link.inertial is not None
    ]


def grouped_bodies(robot: Robot) -> list[int]:
    """Return the bodies with grouped parameters: a negative mass, or first moments without a mass."""
    return [
        index for index, body in enumerate(robot.bodies) if body.M < 0.0 or (body.M == 0.0 and any(body.MS))
    ]


# Impossible, implausible and placeholder inertias
#
# A link gets only the first finding that applies to it, because a wrong unit also gives a wrong size.

DENSEST = 22590.0
"""Density of osmium (kg/m^3)."""

SMALLEST = 0.25
"""Fraction of the robot's reach that every link may have as its length, because meshes are not read."""

COMMON = 0.3
"""Length (m) that a link of unknown shape may have in a robot of any size, such as a wheel or a reel."""

FAR = 2.0
"""Largest distance of a centre of mass as a multiple of the robot's reach."""

NEAR = 1.0
"""Distance of a centre of mass that is always accepted (m)."""

SAME = 3
"""Number of links with equal values from which these look like placeholders."""

MOST = 0.8
"""Fraction of the moving links that counts as nearly all."""


class Case(NamedTuple):
    """A kind of suspicious inertia; the message is about the link with the greatest `size`."""

    severity: Severity
    applies: Callable[[LinkInertia], bool]
    size: Callable[[LinkInertia], float]
    message: Callable[[LinkInertia], Message]


def inertias(subject: Subject) -> Iterator[Finding]:
    """Find inertias that are impossible, too large, too small, or placeholders."""
    left = link_inertias(subject)
    for case in _cases(subject, left):
        applies = [case.applies(link) for link in left]
        found = [link for link, is_case in zip(left, applies, strict=True) if is_case]
        left = [link for link, is_case in zip(left, applies, strict=True) if not is_case]
        if found:
            found.sort(key=case.size, reverse=True)
            yield of_first(case.severity, "link", [link.name for link in found], case.message(found[0]))


def _cases(subject: Subject, links: list[LinkInertia]) -> tuple[Case, ...]:
    size, shapes = extent(subject.robot), shape_reach(subject)
    masses: dict[tuple[float, ...], list[float]] = {}  # of the links with an inertia
    for link in links:
        if any(link.inertial.moments) and link.mass > 0.0:
            masses.setdefault(link.inertial.moments, []).append(link.mass)
    shared = {key for key, of_key in masses.items() if len(of_key) >= SAME and len(set(of_key)) > 1}

    def is_too_large(link: LinkInertia) -> bool:
        # No point of a shape is further from the centre of mass than both distances together.
        distance, shape = link.distance, shapes.get(link.name, 0.0)
        own = distance + shape if shape > 0.0 else max(distance, COMMON)
        length = max(size.of_body[link.body], own, SMALLEST * size.reach)
        return link.body != 0 and size.reach > 0.0 and _gyration(link) > length

    return (
        Case(
            Severity.WARNING,
            lambda link: link.mass == 0.0 and link.is_impossible,
            _greatest,
            lambda link: Message("inertia-without-mass", moment=_greatest(link)),
        ),
        Case(
            Severity.WARNING,
            lambda link: link.is_impossible and _least(link) < -INERTIA_TOLERANCE * _greatest(link),
            lambda link: -_least(link),
            lambda link: Message("inertia-negative", moment=_least(link)),
        ),
        Case(Severity.WARNING, lambda link: link.is_impossible, _excess, _unbalanced),
        Case(
            Severity.WARNING,
            is_too_large,
            _gyration,
            lambda link: Message(
                "inertia-too-large", moment=_greatest(link), mass=link.mass, gyration=_gyration(link)
            ),
        ),
        Case(
            Severity.WARNING,
            lambda link: _density(link) > DENSEST,
            _density,
            lambda link: Message(
                "inertia-too-dense", mass=link.mass, moment=_greatest(link), density=_density(link)
            ),
        ),
        Case(
            Severity.WARNING,
            lambda link: link.inertial.moments in shared,
            _greatest,
            lambda link: Message("inertia-shared", moment=_greatest(link)),
        ),
        Case(
            Severity.NOTE,
            _is_placeholder,
            lambda link: link.mass,
            lambda link: Message("inertia-placeholder", moment=link.inertial.ixx),
        ),
        Case(
            Severity.NOTE,
            lambda link: link.body != 0 and link.mass > 0.0 and not any(link.inertial.moments),
            lambda link: link.mass,
            lambda link: Message("inertia-missing", mass=link.mass),
        ),
    )


def _least(link: LinkInertia) -> float:
    return float(link.moments[0])


def _greatest(link: LinkInertia) -> float:
    return float(link.moments[-1])


def _rounded(link: LinkInertia) -> list[float]:
    """Return the principal moments (kg m^2), without the digits that come from rounding."""
    greatest = float(np.abs(link.moments).max())
    return [0.0 if abs(x) <= 1e-9 * greatest else x for x in link.moments.tolist()]


def _excess(link: LinkInertia) -> float:
    """Return the percentage by which a moment exceeds the sum of the two others."""
    least, middle, greatest = _rounded(link)
    return 100.0 * (greatest / (least + middle) - 1.0) if least + middle > 0.0 else math.inf


def _unbalanced(link: LinkInertia) -> Message:
    (least, middle, greatest), percent = _rounded(link), _excess(link)
    code = "inertia-unbalanced" if percent < 1e4 else "inertia-far-unbalanced"
    return Message(code, least=least, middle=middle, greatest=greatest, excess=percent)


def _gyration(inertia: LinkInertia) -> float:
    """Return the greatest radius of gyration (m), a lower bound of the size of a body."""
    return math.sqrt(max(float(inertia.moments[-1]), 0.0) / inertia.mass) if inertia.mass > 0.0 else 0.0


def _density(link: LinkInertia) -> float:
    """Return the least density (kg/m^3) of a body with this inertia, which is that of a ball."""
    trace = float(link.moments.sum())
    if link.mass <= 0.0 or trace <= 0.0:
        return 0.0
    radius = math.sqrt(5.0 / 6.0 * trace / link.mass)
    volume = 4.0 / 3.0 * math.pi * radius * radius * radius
    return link.mass / volume if volume > 0.0 else math.inf


def _is_placeholder(link: LinkInertia) -> bool:
    ixx, *_ = key = link.inertial.moments
    power = ixx > 0.0 and float(f"1e{round(math.log10(ixx))}") == ixx
    return link.body != 0 and power and key == (ixx, 0.0, 0.0, ixx, 0.0, ixx)


# Centres of mass


def centres_of_mass(subject: Subject) -> Iterator[Finding]:
    """Find centres of mass that are far from their links."""
    reach = extent(subject.robot).reach
    distances = [(link.distance, link.name) for link in link_inertias(subject) if link.mass > 0.0]
    far = sorted((d for d in distances if d[0] > max(FAR * reach, NEAR)), reverse=True)
    if far:
        message = Message("centre-of-mass-far", distance=far[0][0], reach=reach)
        yield of_first(Severity.WARNING, "link", [name for _, name in far], message)


def centres_at_origins(subject: Subject) -> Iterator[Finding]:
    """Find robots with the centres of mass of most links at the origins of their frames."""
    moving = [inertia for inertia in link_inertias(subject) if inertia.body != 0 and inertia.mass > 0.0]
    central = tuple(inertia.name for inertia in moving if inertia.distance == 0.0)
    if len(central) >= SAME and len(central) >= MOST * len(moving):
        yield Finding(Severity.NOTE, "link", central, Message("centres-of-mass-at-origins"))


# Missing masses, and masses without effect


def shapes_without_mass(subject: Subject) -> Iterator[Finding]:
    """Find links with a visual or collision shape but without a mass."""
    robot = subject.robot
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    given = {link.name for link in link_inertias(subject) if link.mass > 0.0 or link.is_impossible}
    elements = (link for link in subject.elements("link") if link.first("visual") or link.first("collision"))
    shapes = [element.attributes.get("name", "").strip() for element in elements]
    shaped = [name for name in shapes if name not in given and body_of[name] != 0]
    alone = tuple(name for name in shaped if robot.bodies[body_of[name]].M == 0.0)
    beside = tuple(name for name in shaped if name not in alone)
    if alone:
        yield Finding(Severity.WARNING, "link", alone, Message("mass-missing"))
    if beside:
        yield Finding(Severity.NOTE, "link", beside, Message("mass-missing-on-body"))


def grouped_parameters(subject: Subject) -> Iterator[Finding]:
    """Find bodies with first moments but no mass, or with a negative mass, as base parameters give."""
    first = first_links(subject.robot)
    names = tuple(first[body] for body in grouped_bodies(subject.robot))
    if names:
        yield Finding(Severity.NOTE, "link", names, Message("parameters-grouped"))


def mass_of_base(subject: Subject) -> Iterator[Finding]:
    """Find a base with a mass, which has no effect unless a side file declares a moving base."""
    mass = subject.robot.bodies[0].M
    if mass > 0.0 and subject.robot.base is None:
        root = first_links(subject.robot)[0]
        yield Finding(Severity.NOTE, "link", (root,), Message("base-mass-without-effect", mass=mass))
