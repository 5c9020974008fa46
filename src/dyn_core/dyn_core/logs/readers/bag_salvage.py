# SPDX-License-Identifier: Apache-2.0
"""Remaining messages of damaged bags: MCAP and SQLite files that were cut.

MCAP: the index at the end of the file, which other readers begin with, is missing. The records (type, length,
content) are read one after the other up to the first damaged one: schemas, channels, messages, and chunks of
records, which may be compressed (MCAP specification, "Records").

SQLite refuses a file with fewer pages than its header says, and reads a table from its root, which may point
to missing pages. Here each page is read by itself. The format is described at
https://sqlite.org/fileformat2.html: leaf pages of a table have the rows, as records of typed columns; the
rest of a long record is in a chain of other pages.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from dyn_core.logs.readers.bag_messages import RawMessage

Value: TypeAlias = "int | float | str | bytes | None"

_MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
_LARGEST_RECORD = 1_000_000_000
_SQLITE_MAGIC = b"SQLite format 3\x00"
_LEAF = 0x0D
_HEADER = 100
"""Bytes before the first page."""
_WHOLE = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of integers, by their type."""
_BLOB = 12
"""Type of the first blob; types of texts are odd."""
_COLUMNS = 64
"""Greatest number of columns of a row; a damaged row may claim more."""


class _Index:
    """Schemas and channels of an MCAP file so far."""

    def __init__(self) -> None:
        self.schemas: dict[int, tuple[str, str]] = {}
        self.channels: dict[int, tuple[int, str]] = {}

    def messages(self, kind: int, content: bytes) -> Iterator[RawMessage]:
        """Yield the messages of a record; keep its schema or channel."""
        if kind == _SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            name, place = _text(content, 2)
            encoding, place = _text(content, place)
            definition, _ = _text(content, place)
            self.schemas[number] = (name, definition if encoding == "ros2msg" else "")
        elif kind == _CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            self.channels[number] = (schema, _text(content, 4)[0])
        elif kind == _MESSAGE:
            number, _, received, _ = struct.unpack_from("<HIQQ", content)
            if number in self.channels:
                schema, topic = self.channels[number]
                name, definition = self.schemas.get(schema, ("", ""))
                yield RawMessage(topic, name, definition, received, content[22:])
        elif kind == _CHUNK:
            place = 0
            inner = _unpacked(content)
            while place + 9 <= len(inner):
                kind, length = struct.unpack_from("<BQ", inner, place)
                if place + 9 + length > len(inner):
                    return
                yield from self.messages(kind, inner[place + 9 : place + 9 + length])
                place += 9 + length


def remaining_messages(path: Path) -> Iterator[RawMessage]:
    """Yield the messages of an MCAP file up to its end or the first damage."""
    index = _Index()
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        for kind, content in _records(file):
            try:
                yield from index.messages(kind, content)
            except (struct.error, UnicodeDecodeError, ValueError, RuntimeError, EOFError):
                return


def _records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the whole records of a file, and the beginning of a chunk that was cut."""
    while len(head := file.read(9)) == 9:
        kind, length = struct.unpack("<BQ", head)
        if kind == _DATA_END or length > _LARGEST_RECORD:
            return
        content = file.read(length)
        if len(content) < length and kind != _CHUNK:
            return
        yield kind, content


def _text(content: bytes, place: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, place)
    end = place + 4 + length
    return content[place + 4 : end].decode(), end


def _unpacked(content: bytes) -> bytes:
    """Return the records of a chunk, or the first ones of a chunk that was cut."""
    compression, place = _text(content, 28)
    packed = content[place + 8 :]
    if compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        return bytes(LZ4FrameDecompressor().decompress(packed))
    if compression == "zstd":
        try:
            from compression import zstd
        except ImportError:
            from backports import zstd
        return bytes(zstd.ZstdDecompressor().decompress(packed))
    return packed


class Place(NamedTuple):
    """Place of a row: its number, length (bytes), offset in the file, and the end of its first page."""

    row: int
    payload: int
    offset: int
    end: int


@dataclass(frozen=True, eq=False)
class SqlitePages:
    """A complete or damaged SQLite file.

    Attributes:
        data: its bytes.
        size: length of a page (bytes).
        usable: bytes of a page that hold data.
    """

    data: memoryview
    size: int
    usable: int

    def places(self) -> Iterator[Place]:
        """Yield the places of the rows of all tables, in the order of the pages."""
        for first in range(0, len(self.data) - self.size + 1, self.size):
            head = first + (_HEADER if first == 0 else 0)
            if self.data[head] != _LEAF:
                continue
            (count,) = struct.unpack_from(">H", self.data, head + 3)
            end = first + self.usable
            for k in range(min(count, (self.usable - 8) // 2)):
                (start,) = struct.unpack_from(">H", self.data, head + 8 + 2 * k)
                try:
                    payload, offset = _varint(self.data, first + start, end)
                    row, offset = _varint(self.data, offset, end)
                except ValueError:
                    continue
                if payload <= len(self.data):
                    yield Place(row, payload, offset, end)

    def record(self, place: Place) -> list[Value] | None:
        """Return the columns of a row; None if it is damaged or incomplete."""
        payload = self._payload(place)
        if payload is None:
            return None
        try:
            return _columns(payload)
        except (struct.error, UnicodeDecodeError, ValueError):
            return None

    def _payload(self, place: Place) -> memoryview | None:
        """Return the bytes of a row, also those on other pages; None if some are missing."""
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
    """Return the pages of a file from its bytes; None if it is not an SQLite file."""
    if len(data) < _HEADER or data[: len(_SQLITE_MAGIC)] != _SQLITE_MAGIC:
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
    """Return a value of a type, and the begin of the next value."""
    if kind >= _BLOB:
        end = at + (kind - _BLOB) // 2
        if end > len(payload):
            raise ValueError("the record is incomplete")
        part = bytes(payload[at:end])
        return (part.decode() if kind % 2 else part), end
    if kind < len(_WHOLE):
        end = at + _WHOLE[kind]
        return (int.from_bytes(payload[at:end], "big", signed=True) if kind else None), end
    if kind == 7:
        return float(struct.unpack_from(">d", payload, at)[0]), at + 8
    if kind in (8, 9):
        return kind - 8, at
    raise ValueError(f"type {kind} does not exist")


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Return a number of 1 to 9 bytes, and its end."""
    value = 0
    for k in range(9):
        if at >= end:
            raise ValueError("the number is incomplete")
        byte = data[at]
        at += 1
        if k == 8:
            return (value << 8) | byte, at
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at
    raise AssertionError


def remaining_rows(path: Path) -> Iterator[RawMessage]:
    """Yield the remaining messages of an SQLite bag, in the order of recording."""
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data = memoryview(mapped)
        try:
            pages = sqlite_pages(data)
            if pages is not None:
                yield from _messages(pages)
        finally:
            data.release()


def _messages(pages: SqlitePages) -> Iterator[RawMessage]:
    topics: dict[int, tuple[str, str]] = {}
    definitions: dict[str, str] = {}
    found: list[Place] = []
    for place in pages.places():
        match pages.record(place):
            case [_, int(), int(), bytes()]:
                found.append(place)
            case [_, str(kind), "ros2msg", str(definition), *_]:
                definitions[kind] = definition
            case [_, str(topic), str(kind), str(), *_]:
                topics[place.row] = (topic, kind)
    # Rows that SQLite has moved between pages occur twice.
    last = None
    for place in sorted(found, key=lambda place: place.row):
        match pages.record(place):
            case [_, int(number), int(received), bytes(data)] if place.row != last:
                topic, kind = topics.get(number, ("", ""))
                yield RawMessage(topic, kind, definitions.get(kind, ""), received, data)
        last = place.row
