# SPDX-License-Identifier: Apache-2.0
"""YAML text as a tree of nodes with line numbers, safe for text from anywhere.

Nothing is constructed and no type is guessed: a scalar is its text, and who reads it says what it
should be (``on`` can be the name of a joint). Anchors, aliases, tags and several documents are
refused, and size and nesting are bounded, so that no text can make the reader hang or fill the
memory. PyYAML is imported when it is needed: it is slow to import, and few robots need it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

from dyn_core.core.errors import DynError, shortened

MAX_CHARACTERS = 200_000
MAX_DEPTH = 20
_MOST_WHOLE = 10**15
"""Whole numbers below it are shown as they are given."""


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


def parse_yaml(text: str) -> Node:
    """Answer the one document of YAML text; DynError where it is malformed or unsafe."""
    yaml = _yaml()
    if len(text) > MAX_CHARACTERS:
        raise DynError(f"the YAML has {len(text)} characters, more than the {MAX_CHARACTERS} that are read")
    reader = _Reader(yaml)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            reader.take(event)
    except yaml.YAMLError as error:
        raise _malformed(error) from error
    return reader.document or Scalar("")


def as_node(value: object, place: tuple[str, ...] = ()) -> Node:
    """Answer Python data (mappings, sequences, text, numbers) as if it had been read from YAML.

    Args:
        value: the data.
        place: keys that lead to it, for messages.
    """
    depth = len(place)
    if depth > MAX_DEPTH:
        raise DynError(f"the data is nested more than {MAX_DEPTH} deep")
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
    where = f"{shortened(', '.join(place))}: " if place else ""
    raise DynError(f"{where}{shortened(repr(value), 40)} is neither a mapping, a list, a text nor a number")


def _float(value: Real) -> float:
    """Answer a number as a float, infinite where it is too great for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise DynError("YAML cannot be read without PyYAML: install python3-yaml") from error
    return yaml


def _malformed(error: Any) -> DynError:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    what = shortened(" ".join(str(problem or getattr(error, "reason", None) or "not text").split()), 120)
    if mark is None:
        return DynError(f"malformed YAML: {what}")
    return DynError(f"malformed YAML in line {mark.line + 1}: {what}", line=mark.line + 1)


@dataclass
class _Open:
    """A list or a mapping whose end has not been read yet; keys and values alternate in a mapping."""

    is_mapping: bool
    line: int
    values: list[Node]


class _Reader:
    """Builds the tree from the events of the YAML parser."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._stack: list[_Open] = []
        self.document: Node | None = None

    def take(self, event: Any) -> None:
        yaml, line = self._yaml, event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _refused(line, "anchors and aliases (& and *) are not allowed: write the value out")
        if getattr(event, "tag", None) is not None:
            raise _refused(line, "tags (!) are not allowed: remove it")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            self._add(Scalar("" if plain and event.value in ("~", "null") else event.value, line))
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            if len(self._stack) >= MAX_DEPTH:
                raise _refused(line, f"it is nested more than {MAX_DEPTH} deep")
            self._stack.append(_Open(isinstance(event, yaml.MappingStartEvent), line, []))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._add(_closed(self._stack.pop()))

    def _add(self, node: Node) -> None:
        if self._stack:
            self._stack[-1].values.append(node)
        elif self.document is None:
            self.document = node
        else:
            raise _refused(node.line, "a second document begins: keep one")


def _closed(node: _Open) -> Node:
    if not node.is_mapping:
        return Items(tuple(node.values), node.line)
    entries: dict[str, Node] = {}
    for key, value in zip(node.values[::2], node.values[1::2], strict=True):
        if not isinstance(key, Scalar):
            raise _refused(key.line, "a key must be a name")
        if key.text in entries:
            raise _refused(key.line, f"'{shortened(key.text, 40)}' is there twice: keep one")
        entries[key.text] = value
    return Entries(entries, node.line)


def _refused(line: int, what: str) -> DynError:
    return DynError(f"line {line}: {what}", line=line)
