# SPDX-License-Identifier: Apache-2.0
"""Attributes of XML elements as names and finite numbers, and the <origin> that they make."""

from __future__ import annotations

from dyn_core.core.errors import DynError, shortened
from dyn_core.io.number import finite_number
from dyn_core.robot.description import Triple, UrdfOrigin
from dyn_core.robot.xml_text import Element

LARGEST_LENGTH = 1e9
"""Greatest coordinate (m) and angle (rad): further away, no digit of a robot is left."""

LARGEST_MASS = 1e30
"""Greatest mass (kg) and inertia (kg m^2): with it no product overflows."""

LONGEST_TEXT = 400
"""Most characters of a name: messages show names."""


def fail(owner: str, at: Element, what: str) -> DynError:
    """Answer the error for an element `at`, which belongs to `owner` (e.g. ``joint 'elbow'``)."""
    place = owner if owner.split(" ")[0] == at.tag else f"{owner}, <{at.tag}>"
    return DynError(f"{place} (line {at.line}): {what}", element=owner, line=at.line)


def label(element: Element) -> str:
    """Answer how an element is called in messages, e.g. ``joint 'elbow'``."""
    name = element.attributes.get("name", "")
    return f"{element.tag} '{shortened(name, 60)}'" if name else element.tag


def text(owner: str, element: Element, attribute: str) -> str:
    """Answer an attribute that must be there and not be empty."""
    value = element.attributes.get(attribute, "").strip()
    if not value:
        raise fail(owner, element, f'it has no {attribute}: add {attribute}="..."')
    if len(value) > LONGEST_TEXT:
        raise fail(owner, element, f"{attribute} has {len(value)} characters, more than {LONGEST_TEXT}")
    if "${" in value or "$(" in value:
        raise fail(owner, element, f'{attribute} holds "{shortened(value, 40)}": run xacro on the file first')
    return value


def words(element: Element | None, attribute: str) -> tuple[str, ...]:
    """Answer the words of an attribute; none where it, or the element, is absent."""
    return () if element is None else tuple(element.attributes.get(attribute, "").split())


def vector(owner: str, element: Element | None, attribute: str, default: Triple) -> Triple:
    """Answer an attribute of three numbers; `default` where it, or the element, is absent."""
    if element is None or attribute not in element.attributes:
        return default
    value = element.attributes[attribute]
    numbers = value.split()
    if len(numbers) != 3:
        shown = shortened(value)
        raise fail(owner, element, f'{attribute}="{shown}" has {len(numbers)} numbers, not 3')
    x, y, z = (_finite(owner, element, attribute, word) for word in numbers)
    return (x, y, z)


def placement_vector(owner: str, element: Element | None, attribute: str) -> Triple:
    """Answer an attribute of three lengths (m) or angles (rad); zeros where it is absent."""
    value = vector(owner, element, attribute, (0.0, 0.0, 0.0))
    if element is not None and max(map(abs, value)) > LARGEST_LENGTH:
        raise fail(owner, element, f"{attribute} exceeds {LARGEST_LENGTH:g}: check its unit")
    return value


def origin(owner: str, element: Element) -> UrdfOrigin:
    """Answer the <origin> of an element; zeros where there is none."""
    child = element.first("origin")
    if child is not None and "quat_xyzw" in child.attributes:
        raise fail(owner, child, "quat_xyzw is not supported: give the rotation as rpy")
    return UrdfOrigin(
        xyz=placement_vector(owner, child, "xyz"),
        rpy=placement_vector(owner, child, "rpy"),
        rpy_words=words(child, "rpy"),
    )


def placement_number(owner: str, element: Element, attribute: str) -> float | None:
    """Answer an attribute of one length (m), angle (rad) or ratio; None where it is absent."""
    value = optional_number(owner, element, attribute)
    if value is not None and abs(value) > LARGEST_LENGTH:
        raise fail(owner, element, f"{attribute} exceeds {LARGEST_LENGTH:g}: check its unit")
    return value


def mass_number(owner: str, element: Element, attribute: str) -> float:
    """Answer an attribute that must be one mass (kg) or inertia (kg m^2)."""
    value = number(owner, element, attribute)
    if abs(value) > LARGEST_MASS:
        raise fail(owner, element, f"{attribute} exceeds {LARGEST_MASS:g}: check its unit")
    return value


def number(owner: str, element: Element, attribute: str) -> float:
    """Answer an attribute that must be one number."""
    return _finite(owner, element, attribute, text(owner, element, attribute))


def optional_number(owner: str, element: Element | None, attribute: str) -> float | None:
    """Answer an attribute of one number; None where it, or the element, is absent."""
    if element is None or attribute not in element.attributes:
        return None
    return number(owner, element, attribute)


def not_negative(owner: str, element: Element | None, attribute: str) -> float | None:
    """Answer an attribute of one number that must not be negative; None where it is absent."""
    value = optional_number(owner, element, attribute)
    if element is not None and value is not None and value < 0.0:
        raise fail(owner, element, f"{attribute} is {value:g}: it cannot be negative")
    return value


def _finite(owner: str, element: Element, attribute: str, word: str) -> float:
    value = finite_number(word)
    if value is None:
        remedy = "run xacro on the file first" if "$" in word else "write a finite number"
        raise fail(owner, element, f'{attribute} holds "{shortened(word, 40)}": {remedy}')
    return value
