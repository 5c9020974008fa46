# SPDX-License-Identifier: Apache-2.0
"""XML text as a tree of elements with line numbers, safe for text from anywhere.

Document types and entities are refused, and size, nesting and number of elements are bounded, so
that no text can make the reader hang, read other files, or fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.text import MAX_BYTES

MAX_DEPTH = 200
MAX_ELEMENTS = 200_000


@dataclass(frozen=True)
class Element:
    """An XML element.

    Attributes:
        tag: its name.
        attributes: its attributes.
        line: the line it begins on, from 1.
        children: the elements in it.
        text: the text directly in it, without the spaces around it.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: tuple[Element, ...]
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """Answer the children of that name, in document order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Answer the first child of that name."""
        return next(self.all(tag), None)


@dataclass
class _Open:
    """An element whose end has not been read yet."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def closed(self) -> Element:
        return Element(self.tag, self.attributes, self.line, tuple(self.children), "".join(self.text).strip())


def parse_xml(text: str) -> Element:
    """Answer the root element of XML text; DynError where the text is malformed or unsafe."""
    body = text.removeprefix("\ufeff").lstrip()
    lines_before = text[: len(text) - len(body)].count("\n")
    try:
        data = body.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DynError("the text holds a lone surrogate, which is no character") from error
    if len(data) > MAX_BYTES:
        raise DynError(f"the text has {len(data)} bytes, more than the {MAX_BYTES} that are read")
    return _Reader(lines_before).read(data)


class _Reader:
    """Builds the tree from the events of the expat parser."""

    def __init__(self, lines_before: int) -> None:
        self._lines_before = lines_before
        self._stack = [_Open("", {}, 0)]
        self._count = 0
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            line = error.lineno + self._lines_before
            raise DynError(
                f"malformed XML in line {line}: {expat.ErrorString(error.code)}", line=line
            ) from error
        return self._stack[0].children[0]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._stack) > MAX_DEPTH:
            self._refuse(f"elements are nested more than {MAX_DEPTH} deep", tag)
        if self._count > MAX_ELEMENTS:
            self._refuse(f"there are more than {MAX_ELEMENTS} elements", tag)
        self._stack.append(_Open(tag, attributes, self._line()))

    def _end(self, _tag: str) -> None:
        element = self._stack.pop().closed()
        self._stack[-1].children.append(element)

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._stack[-1].text.append(text)

    def _doctype(self, name: str, *_rest: object) -> None:
        self._refuse("a document type or entity declaration is not allowed: remove <!DOCTYPE>", name)

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._lines_before

    def _refuse(self, what: str, element: str) -> NoReturn:
        line = self._line()
        raise DynError(f"line {line}: {what}", element=shortened(element, 40), line=line)
