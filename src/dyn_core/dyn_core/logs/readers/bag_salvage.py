# SPDX-License-Identifier: Apache-2.0
"""Rows of tables in an SQLite file, page by page, whether its trees are whole or not.

The format is that of https://sqlite.org/fileformat2.html: pages that are leaves of a table have the rows, as
records of typed columns; what of a record does not fit goes on in a chain of other pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "int | float | str | bytes | None"

MAGIC = b"SQLite format 3\x00"
_LEAF = 0x0D
_HEADER = 100
"""Bytes in front of the first page."""
_WHOLE = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of integers, by their type."""
_BLOB = 12
"""Type of the first blob; those of texts are odd."""
_COLUMNS = 64
"""Columns of a row at most: more are those of a damaged one."""


class Place(NamedTuple):
    """Where a row is.

    Attributes:
        row: its number.
        payload: its length (bytes).
        offset: where it begins in the file.
        end: where the page ends on which it begins.
    """

    row: int
    payload: int
    offset: int
    end: int


@dataclass(frozen=True, eq=False)
class SqlitePages:
    """An SQLite file, or what is left of it.

    Attributes:
        data: its bytes.
        size: length of a page (bytes).
        usable: what of it holds data (bytes).
    """

    data: memoryview
    size: int
    usable: int

    def places(self) -> Iterator[Place]:
        """Answer where the rows of all tables are, in the order of the pages."""
        for first in range(0, len(self.data) - self.size + 1, self.size):
            head = first + (_HEADER if first == 0 else 0)
            if self.data[head] != _LEAF:
                continue
            (count,) = struct.unpack_from(">H", self.data, head + 3)
            end = first + self.usable
            for k in range(min(count, (self.usable - 8) // 2)):
                (start,) = struct.unpack_from(">H", self.data, head + 8 + 2 * k)
                place = self._place(first + start, end)
                if place is not None:
                    yield place

    def record(self, place: Place) -> list[Value] | None:
        """Answer the columns of a row; None where it is damaged or not whole."""
        payload = self._payload(place)
        if payload is None:
            return None
        try:
            return _columns(payload)
        except (struct.error, UnicodeDecodeError, ValueError):
            return None

    def _place(self, offset: int, end: int) -> Place | None:
        try:
            payload, offset = _varint(self.data, offset, end)
            row, offset = _varint(self.data, offset, end)
        except ValueError:
            return None
        return Place(row, payload, offset, end) if payload <= len(self.data) else None

    def _payload(self, place: Place) -> memoryview | None:
        """Answer the bytes of a row, with those on other pages; None where they are not there."""
        most = self.usable - 35
        if place.payload <= most:
            end = place.offset + place.payload
            return self.data[place.offset : end] if end <= place.end else None
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (place.payload - least) % (self.usable - 4)
        here = here if here <= most else least
        if place.offset + here + 4 > place.end:
            return None
        found = bytearray(self.data[place.offset : place.offset + here])
        (page,) = struct.unpack_from(">I", self.data, place.offset + here)
        while len(found) < place.payload:
            first = (page - 1) * self.size
            if page == 0 or first + self.size > len(self.data):
                return None
            (page,) = struct.unpack_from(">I", self.data, first)
            found += self.data[first + 4 : first + min(self.usable, 4 + place.payload - len(found))]
        return memoryview(found)


def sqlite_pages(data: memoryview) -> SqlitePages | None:
    """Answer the pages of the bytes of a file; None where they are none of SQLite."""
    if len(data) < _HEADER or data[: len(MAGIC)] != MAGIC:
        return None
    (size,) = struct.unpack_from(">H", data, 16)
    size = 65536 if size == 1 else size
    usable = size - data[20]
    return SqlitePages(data, size, usable) if size >= 512 and usable >= 480 else None


def _columns(payload: memoryview) -> list[Value]:
    length, at = _varint(payload, 0, len(payload))
    if length > len(payload):
        raise ValueError("the head of the record is longer than the record")
    types: list[int] = []
    while at < length and len(types) < _COLUMNS:
        kind, at = _varint(payload, at, length)
        types.append(kind)
    values: list[Value] = []
    for kind in types:
        value, length = _value(payload, kind, length)
        values.append(value)
    return values


def _value(payload: memoryview, kind: int, at: int) -> tuple[Value, int]:
    """Answer a value of some type, and where the next one begins."""
    if kind >= _BLOB:
        end = at + (kind - _BLOB) // 2
        if end > len(payload):
            raise ValueError("the record is not whole")
        part = bytes(payload[at:end])
        return (part.decode() if kind % 2 else part), end
    if kind < len(_WHOLE):
        end = at + _WHOLE[kind]
        return (int.from_bytes(payload[at:end], "big", signed=True) if kind else None), end
    if kind == 7:
        return float(struct.unpack_from(">d", payload, at)[0]), at + 8
    if kind in (8, 9):
        return kind - 8, at
    raise ValueError(f"there is no type {kind}")


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Answer a number of 1 to 9 bytes, and where it ends."""
    value = 0
    for k in range(9):
        if at >= end:
            raise ValueError("the number is not whole")
        byte = data[at]
        at += 1
        if k == 8:
            return (value << 8) | byte, at
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at
    raise AssertionError
