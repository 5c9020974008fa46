# SPDX-License-Identifier: Apache-2.0
"""How far the shapes of links reach, where these are boxes, cylinders and spheres."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dyn_core.check.subject import Subject
from dyn_core.io.number import finite_number
from dyn_core.robot.xml_text import Element
from dyn_core.symbolic import vec3

LENGTHS = {"box": ("size",), "cylinder": ("radius", "radius", "length"), "sphere": ("radius",)}
"""Attributes whose values are the sides of a box around the shape; a radius is half a side."""


def shape_reach(subject: Subject) -> dict[str, float]:
    """Answer by link how far its shapes are from the origin of its frame at most (m); meshes are not read."""
    reach: dict[str, float] = {}
    for link in subject.elements("link"):
        found = [_reach(shape) for shape in (*link.all("visual"), *link.all("collision"))]
        reach[link.attributes.get("name", "").strip()] = max(found, default=0.0)
    return reach


def _reach(shape: Element) -> float:
    """Distance of the farthest point of a shape from the frame of its link, or more (m); 0 if unknown."""
    geometry = shape.first("geometry")
    half = max(map(_half_diagonal, geometry.children), default=0.0) if geometry else 0.0
    origin = shape.first("origin")
    away = list(_numbers(origin, "xyz")) if origin else []
    return half + (vec3.norm((away[0], away[1], away[2])) if half > 0.0 and len(away) == 3 else 0.0)


def _half_diagonal(body: Element) -> float:
    sides = [
        2.0 * value if attribute == "radius" else value
        for attribute in LENGTHS.get(body.tag, ())
        for value in _numbers(body, attribute)
    ]
    return 0.5 * (sides[0] if body.tag == "sphere" and sides else math.hypot(*sides))


def _numbers(element: Element, attribute: str) -> Iterator[float]:
    """Answer the numbers of an attribute; what is none counts for nothing here."""
    words = element.attributes.get(attribute, "").split()
    return (value for value in map(finite_number, words) if value is not None)
