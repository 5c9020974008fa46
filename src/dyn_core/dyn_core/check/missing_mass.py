# SPDX-License-Identifier: Apache-2.0
"""Links that lack a mass, and masses that do not matter."""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.check.extent import first_links
from dyn_core.check.link_inertias import grouped_bodies, link_inertias
from dyn_core.check.subject import Subject
from dyn_core.core.findings import Finding, Severity
from dyn_core.robot.xml_text import Element


def shapes_without_mass(subject: Subject) -> Iterator[Finding]:
    """Find links that can be seen or touched but have no mass."""
    robot = subject.robot
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    given = {link.name for link in link_inertias(subject) if link.mass > 0.0 or link.is_impossible}
    shaped = [
        name
        for name in (element.attributes.get("name", "").strip() for element in _shaped(subject))
        if name not in given and body_of[name] != 0
    ]
    alone = tuple(name for name in shaped if robot.bodies[body_of[name]].M == 0.0)
    beside = tuple(name for name in shaped if name not in alone)
    if alone:
        message = "a shape that moves, but no mass: give its mass and inertia"
        yield Finding(Severity.WARNING, "link", alone, message)
    if beside:
        message = "a shape but no mass: give it, unless it is in that of the link that this is fixed to"
        yield Finding(Severity.NOTE, "link", beside, message)


def grouped_parameters(subject: Subject) -> Iterator[Finding]:
    """Find bodies that have first moments without a mass, or a negative mass, as base parameters do."""
    first = first_links(subject.robot)
    names = tuple(first[body] for body in grouped_bodies(subject.robot))
    if names:
        message = (
            "first moments without a mass that fits, as grouped parameters have them: torques are right, but "
            "the inertias of single links say nothing"
        )
        yield Finding(Severity.NOTE, "link", names, message)


def mass_of_base(subject: Subject) -> Iterator[Finding]:
    """Find a base that has a mass: it does not move, unless a side file says that it does."""
    mass = subject.robot.bodies[0].M
    if mass > 0.0 and subject.robot.base is None:
        root = first_links(subject.robot)[0]
        message = (
            f"its mass of {mass:.4g} kg, with what is fixed to it, has no effect: the root does not move"
        )
        yield Finding(Severity.NOTE, "link", (root,), message)


def _shaped(subject: Subject) -> Iterator[Element]:
    return (link for link in subject.elements("link") if link.first("visual") or link.first("collision"))
