# SPDX-License-Identifier: Apache-2.0
"""YAML text: bounded parsing with line numbers, and checked values.

Nothing is constructed and no type is guessed: a scalar is its text, and the reader of an entry chooses its
type (``on`` can be the name of a joint). Anchors, aliases, tags and several documents are refused, and size
and nesting are bounded, so that no text can make the reader hang or fill the memory. PyYAML is imported when
it is needed: it is slow to import, and few robots need it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeAlias

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import finite_number
from dyn_core.robot.description import Triple
from dyn_core.robot.xml_text import LARGEST_LENGTH

MAX_CHARACTERS = 200_000
MAX_DEPTH = 20
_MOST_WHOLE = 10**15
"""Limit of whole numbers that are shown without rounding."""


@dataclass(frozen=True)
class Scalar:
    """A name or a number, as text; `line` is 0 where there is no text."""

    text: str
    line: int = 0


@dataclass(frozen=True)
class Items:
    """A list."""

    values: tuple[Node, ...]
    line: int = 0


@dataclass(frozen=True)
class Entries:
    """A mapping; no key is there twice."""

    values: dict[str, Node]
    line: int = 0


Node: TypeAlias = Scalar | Items | Entries

Owner: TypeAlias = str | Place


def parse_yaml(text: str) -> Node:
    """Return the one document of YAML text; DynError where it is malformed or unsafe."""
    try:
        import yaml
    except ImportError as error:
        raise DynError("pyyaml-missing") from error
    if len(text) > MAX_CHARACTERS:
        raise DynError("yaml-too-long", count=len(text), limit=MAX_CHARACTERS)
    try:
        return next(iter([*yaml.compose_all(text, Loader=_composer())]), Scalar(""))
    except yaml.YAMLError as error:
        raise _malformed(error) from error


def as_node(value: object, place: tuple[str, ...] = ()) -> Node:
    """Return Python data (mappings, sequences, text, numbers) as if it had been read from YAML.

    The keys `place` lead to it.
    """
    if len(place) > MAX_DEPTH:
        raise DynError("data-too-deep", limit=MAX_DEPTH)
    if value is None:
        return Scalar("")
    if isinstance(value, str):
        return Scalar(value)
    if isinstance(value, bool):
        return Scalar(str(value).lower())
    if isinstance(value, Integral) and abs(int(value)) < _MOST_WHOLE:
        return Scalar(str(int(value)))
    if isinstance(value, Real):
        return Scalar(repr(_float(value)))
    if isinstance(value, Mapping):
        return Entries({str(key): as_node(item, (*place, str(key))) for key, item in value.items()})
    if isinstance(value, Sequence) or hasattr(value, "tolist"):
        items: Iterable[object] = value  # type: ignore[assignment]
        return Items(tuple(as_node(item, (*place, str(k))) for k, item in enumerate(items)))
    found_at = Place(shortened(", ".join(place))) if place else None
    raise DynError("data-type-unknown", place=found_at, given=repr(value))


def _float(value: Real) -> float:
    """Return a number as a float, infinite if it is too great for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _malformed(error: Any) -> DynError:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    what = shortened(" ".join(str(problem or getattr(error, "reason", None) or "not text").split()), 120)
    if mark is None:
        return DynError("yaml-malformed", reason=what)
    return DynError("yaml-malformed-in-line", line_number=mark.line + 1, reason=what, line=mark.line + 1)


@cache
def _composer() -> type:
    """Return PyYAML's composer, changed to refuse what is unsafe and to make the nodes above."""
    import yaml

    class Composer(yaml.BaseLoader):  # type: ignore[misc]
        depth = documents = 0

        def compose_node(self, parent: object, index: object) -> Node:
            event = self.peek_event()
            line = event.start_mark.line + 1
            if event.anchor is not None:  # an alias has one too
                raise DynError("yaml-anchor", place=Place(line=line))
            if event.tag is not None:
                raise DynError("yaml-tag", place=Place(line=line))
            if self.depth >= MAX_DEPTH and not isinstance(event, yaml.ScalarEvent):
                raise DynError("yaml-nested-too-deep", place=Place(line=line), limit=MAX_DEPTH)
            self.depth += 1
            node = _node(super().compose_node(parent, index), line)
            self.depth -= 1
            self.documents += parent is None
            if self.documents > 1:
                raise DynError("yaml-second-document", place=Place(line=line))
            return node

    return Composer


def _node(node: Any, line: int) -> Node:
    """Return a node of PyYAML, whose children are nodes of ours, as a node of ours."""
    if node.id == "scalar":
        is_empty = node.style is None and node.value in ("~", "null")
        return Scalar("" if is_empty else node.value, line)
    if node.id == "sequence":
        return Items(tuple(node.value), line)
    entries: dict[str, Node] = {}
    for key, value in node.value:
        if not isinstance(key, Scalar):
            raise DynError("yaml-key-not-name", place=Place(line=key.line))
        if key.text in entries:
            raise DynError("yaml-key-repeated", place=Place(line=key.line), key=key.text)
        entries[key.text] = value
    return Entries(entries, line)


# Nodes as names, numbers, lists and mappings. `owner` is the element, or the part of one, with the node:
# ``loop 'closure', parent``


def place_in(owner: Owner, node: Node) -> Place:
    """Return the place of a node that belongs to `owner`."""
    return replace(owner if isinstance(owner, Place) else Place(owner), line=node.line or None)


def entries(
    owner: Owner, node: Node, known: tuple[str, ...] = (), example: str = "name: value"
) -> dict[str, Node]:
    """Return a mapping; DynError if it has other keys than those `known`, unless none are given.

    Messages show the example.
    """
    if node == Scalar("", node.line):
        return {}
    if not isinstance(node, Entries):
        raise DynError("node-not-mapping", place=place_in(owner, node), example=example)
    for key in node.values:
        if known and key not in known:
            raise DynError("entry-unknown", place=place_in(owner, node), given=key, known=known)
    return node.values


def items(owner: Owner, node: Node) -> tuple[Node, ...]:
    """Return a list."""
    if node == Scalar("", node.line):
        return ()
    if not isinstance(node, Items):
        raise DynError("node-not-list", place=place_in(owner, node))
    return node.values


def name(owner: Owner, node: Node) -> str:
    """Return a name."""
    if not isinstance(node, Scalar) or not node.text.strip():
        raise DynError("node-not-name", place=place_in(owner, node))
    return node.text.strip()


def number(owner: Owner, node: Node, unit: str = "") -> float:
    """Return a finite number; messages show the unit."""
    value = finite_number(node.text) if isinstance(node, Scalar) else None
    if value is not None:
        return value
    expected = f"a finite number ({unit})" if unit else "a finite number"
    place = place_in(owner, node)
    if not isinstance(node, Scalar):
        raise DynError("node-not-number", place=place, expected=expected)
    if not node.text:
        raise DynError("node-empty", place=place, expected=expected)
    raise DynError("node-not-finite", place=place, given=node.text, expected=expected)


def not_negative(owner: Owner, node: Node, unit: str = "") -> float:
    """Return a number that must not be negative."""
    value = number(owner, node, unit)
    if value < 0.0:
        raise DynError("value-negative", place=place_in(owner, node), given=value)
    return value


def triple(owner: Owner, node: Node) -> Triple:
    """Return three lengths (m), angles (rad) or components."""
    values = items(owner, node)
    if len(values) != 3:
        raise DynError("node-not-triple", place=place_in(owner, node), count=len(values))
    x, y, z = (number(owner, value) for value in values)
    if max(abs(x), abs(y), abs(z)) > LARGEST_LENGTH:
        raise DynError("value-too-large", place=place_in(owner, node), limit=LARGEST_LENGTH)
    return (x, y, z)


def words(node: Node) -> tuple[str, ...]:
    """Return the texts of the items of a list."""
    items = node.values if isinstance(node, Items) else ()
    return tuple(item.text for item in items if isinstance(item, Scalar))
