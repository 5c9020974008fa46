# SPDX-License-Identifier: Apache-2.0
"""Where elements are in XML text, so that parts of it can be replaced and the rest stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat


@dataclass
class Span:
    """An element in the bytes of a text.

    Attributes:
        tag: its name.
        attributes: its attributes.
        start: where it begins.
        inside: where its start tag ends.
        end: where it ends.
        closing: where its end tag begins; `end` where it has none, as in ``<a/>``.
        children: the elements in it.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    inside: int
    end: int = 0
    closing: int = 0
    children: list[Span] = field(default_factory=list)

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as one tag, ``<a/>``."""
        return self.inside == self.end

    def all(self, tag: str) -> Iterator[Span]:
        """Answer the children of that name."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Span | None:
        """Answer the first child of that name."""
        return next(self.all(tag), None)


class Edit(NamedTuple):
    """Bytes from `start` to `end` that are to be `new`."""

    start: int
    end: int
    new: bytes


def xml_spans(data: bytes) -> Span:
    """Answer the root element of XML that `parse_xml` has taken, in UTF-8 without anything before it."""
    stack = [Span("", {}, 0, 0)]
    parser = expat.ParserCreate("UTF-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        stack.append(Span(tag, attributes, at, _end_of_tag(data, at)))

    def end(_tag: str) -> None:
        span = stack.pop()
        if data[span.inside - 2 : span.inside] == b"/>":
            span.closing = span.end = span.inside
        else:
            span.closing = parser.CurrentByteIndex
            span.end = data.index(b">", span.closing) + 1
        stack[-1].children.append(span)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.Parse(data, True)
    return stack[0].children[0]


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Answer the text with all its edits, which do not overlap."""
    parts, place = [], 0
    for edit in sorted(edits):
        parts += [data[place : edit.start], edit.new]
        place = edit.end
    return b"".join([*parts, data[place:]])


def indentation(data: bytes, at: int) -> str | None:
    """Answer the spaces between the beginning of the line and a place; None where there is more."""
    before = data[data.rfind(b"\n", 0, at) + 1 : at]
    return None if before.strip(b" \t") else before.decode()


def _end_of_tag(data: bytes, start: int) -> int:
    """Answer where a start tag ends: a > between quotation marks does not end it."""
    quote = 0
    for k in range(start, len(data)):
        byte = data[k]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b"\"'":
            quote = byte
        elif byte == ord(">"):
            return k + 1
    return len(data)
