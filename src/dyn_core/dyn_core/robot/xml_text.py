# SPDX-License-Identifier: Apache-2.0
"""XML text: bounded parsing with line numbers, checked attributes, and edits in place.

Document types and entities are refused, and size, nesting and number of elements are bounded, so that no
text can make the reader hang, read other files, or fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import MAX_BYTES, finite_number
from dyn_core.robot.description import Triple, UrdfOrigin

MAX_DEPTH = 200
MAX_ELEMENTS = 200_000


@dataclass(slots=True)
class Element:
    """An XML element, which begins on a line (from 1) and at the byte `start` of the text.

    Its end tag, if it has one, begins at the byte `closing`. `texts` are the parts of its own text.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    start: int = 0
    closing: int = 0
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly in it, without the spaces around it."""
        return "".join(self.texts).strip()

    def all(self, tag: str) -> Iterator[Element]:
        """Return the children with this tag, in document order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Return the first child with this tag."""
        return next(self.all(tag), None)


def parse_xml(text: str) -> Element:
    """Return the root element of XML text; DynError where the text is malformed or unsafe."""
    body = text.removeprefix("\ufeff").lstrip()
    lines_before = text[: len(text) - len(body)].count("\n")
    try:
        data = body.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DynError("text-surrogate") from error
    if len(data) > MAX_BYTES:
        raise DynError("xml-too-large", size=len(data), limit=MAX_BYTES)
    return _Reader(lines_before).read(data)


class _Reader:
    """Builds the tree from the events of the expat parser."""

    def __init__(self, lines_before: int) -> None:
        self._lines_before = lines_before
        self._stack = [Element("", {}, 0)]
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
            reason = expat.ErrorString(error.code)
            raise DynError("xml-malformed", line_number=line, reason=reason, line=line) from error
        return self._stack[0].children[0]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._stack) > MAX_DEPTH:
            self._refuse("xml-nested-too-deep", tag, limit=MAX_DEPTH)
        if self._count > MAX_ELEMENTS:
            self._refuse("xml-elements-too-many", tag, limit=MAX_ELEMENTS)
        element = Element(tag, attributes, self._line(), self._parser.CurrentByteIndex)
        self._stack[-1].children.append(element)
        self._stack.append(element)

    def _end(self, _tag: str) -> None:
        self._stack.pop().closing = self._parser.CurrentByteIndex

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._stack[-1].texts.append(text)

    def _doctype(self, name: str, *_rest: object) -> None:
        self._refuse("xml-document-type", name)

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._lines_before

    def _refuse(self, code: str, element: str, **values: Any) -> NoReturn:
        raise DynError(code, place=Place(line=self._line()), element=shortened(element, 40), **values)


# Attributes as names and finite numbers; `owner` is the place of the link or joint that an element belongs to

LARGEST_LENGTH = 1e9
"""Greatest coordinate (m) and angle (rad): beyond it, rounding hides the dimensions of a robot."""

LARGEST_MASS = 1e30
"""Greatest mass (kg) and inertia (kg m^2): with it no product overflows."""

LONGEST_TEXT = 400
"""Greatest number of characters of a name: messages show names."""


def place_of(element: Element) -> Place:
    """Return the place of an element that has a name, e.g. ``joint 'elbow' (line 7)``."""
    return Place(element.tag, element.attributes.get("name", ""), line=element.line)


def place_in(owner: Place, element: Element) -> Place:
    """Return the place of an element that belongs to `owner`, e.g. ``joint 'elbow', <mimic> (line 7)``."""
    return owner.within(element.tag, element.line)


def text(owner: Place, element: Element, attribute: str) -> str:
    """Return an attribute that must be there and not be empty."""
    value = element.attributes.get(attribute, "").strip()
    if not value:
        raise _error("attribute-missing", owner, element, attribute)
    if len(value) > LONGEST_TEXT:
        raise _error("attribute-too-long", owner, element, attribute, count=len(value), limit=LONGEST_TEXT)
    if "${" in value or "$(" in value:
        raise _error("attribute-needs-xacro", owner, element, attribute, given=value)
    return value


def words(element: Element | None, attribute: str) -> tuple[str, ...]:
    """Return the words of an attribute; none where it, or the element, is absent."""
    return () if element is None else tuple(element.attributes.get(attribute, "").split())


def vector(owner: Place, element: Element | None, attribute: str, default: Triple) -> Triple:
    """Return an attribute of three numbers; `default` where it, or the element, is absent."""
    if element is None or attribute not in element.attributes:
        return default
    value = element.attributes[attribute]
    numbers = value.split()
    if len(numbers) != 3:
        raise _error("attribute-not-triple", owner, element, attribute, given=value, count=len(numbers))
    x, y, z = (_finite(owner, element, attribute, word) for word in numbers)
    return (x, y, z)


def placement_vector(owner: Place, element: Element | None, attribute: str) -> Triple:
    """Return an attribute of three lengths (m) or angles (rad); zeros where it is absent."""
    value = vector(owner, element, attribute, (0.0, 0.0, 0.0))
    if element is not None and max(map(abs, value)) > LARGEST_LENGTH:
        raise _error("attribute-too-large", owner, element, attribute, limit=LARGEST_LENGTH)
    return value


def placement(owner: Place, element: Element | None) -> UrdfOrigin:
    """Return the placement that xyz and rpy of an element give; zeros where it is absent."""
    xyz, rpy = (placement_vector(owner, element, name) for name in ("xyz", "rpy"))
    return UrdfOrigin(xyz, rpy, words(element, "rpy"))


def origin(owner: Place, element: Element) -> UrdfOrigin:
    """Return the <origin> of an element; zeros where there is none."""
    child = element.first("origin")
    if child is not None and "quat_xyzw" in child.attributes:
        raise DynError("quaternion-unsupported", place=place_in(owner, child))
    return placement(owner, child)


def placement_number(owner: Place, element: Element, attribute: str) -> float | None:
    """Return an attribute of one length (m), angle (rad) or ratio; None where it is absent."""
    value = optional_number(owner, element, attribute)
    if value is not None and abs(value) > LARGEST_LENGTH:
        raise _error("attribute-too-large", owner, element, attribute, limit=LARGEST_LENGTH)
    return value


def mass_number(owner: Place, element: Element, attribute: str) -> float:
    """Return an attribute that must be one mass (kg) or inertia (kg m^2)."""
    value = number(owner, element, attribute)
    if abs(value) > LARGEST_MASS:
        raise _error("attribute-too-large", owner, element, attribute, limit=LARGEST_MASS)
    return value


def number(owner: Place, element: Element, attribute: str) -> float:
    """Return an attribute that must be one number."""
    return _finite(owner, element, attribute, text(owner, element, attribute))


def optional_number(owner: Place, element: Element | None, attribute: str) -> float | None:
    """Return an attribute of one number; None where it, or the element, is absent."""
    if element is None or attribute not in element.attributes:
        return None
    return number(owner, element, attribute)


def not_negative(owner: Place, element: Element | None, attribute: str) -> float | None:
    """Return an attribute of one number that must not be negative; None where it is absent."""
    value = optional_number(owner, element, attribute)
    if element is not None and value is not None and value < 0.0:
        raise _error("attribute-negative", owner, element, attribute, given=value)
    return value


def _finite(owner: Place, element: Element, attribute: str, word: str) -> float:
    value = finite_number(word)
    if value is None:
        code = "attribute-needs-xacro" if "$" in word else "attribute-not-finite"
        raise _error(code, owner, element, attribute, given=word)
    return value


def _error(code: str, owner: Place, element: Element, attribute: str, **values: Any) -> DynError:
    return DynError(code, place=place_in(owner, element), attribute=attribute, **values)


# Edits of parts of a text; the rest of the text stays as it is


class Span(NamedTuple):
    """Bytes at which an element begins, its start tag ends, and the element ends."""

    start: int
    inside: int
    end: int

    @property
    def is_empty_tag(self) -> bool:
        """True for an element that is one tag, ``<a/>``."""
        return self.inside == self.end


def span(data: bytes, element: Element) -> Span:
    """Return the bytes of an element in its text, which is in UTF-8 and begins with the XML."""
    inside = _end_of_tag(data, element.start)
    is_empty_tag = data[inside - 2 : inside] == b"/>"
    return Span(element.start, inside, inside if is_empty_tag else data.index(b">", element.closing) + 1)


class Edit(NamedTuple):
    """Bytes from `start` to `end` that `new` replaces."""

    start: int
    end: int
    new: bytes


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the text after edits that do not overlap."""
    parts, place = [], 0
    for edit in sorted(edits):
        parts += [data[place : edit.start], edit.new]
        place = edit.end
    return b"".join([*parts, data[place:]])


def indentation(data: bytes, at: int) -> str | None:
    """Return the spaces between the beginning of the line and a byte; None where other text is there."""
    before = data[data.rfind(b"\n", 0, at) + 1 : at]
    return None if before.strip(b" \t") else before.decode()


def _end_of_tag(data: bytes, start: int) -> int:
    """Return the byte after a start tag, which a > between quotation marks does not end."""
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
