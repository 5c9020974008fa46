# SPDX-License-Identifier: Apache-2.0
"""Read the messages of SQLite bags: with SQLite, and page by page where a file was cut or is damaged.

SQLite refuses a file with fewer pages than its header says, and reads a table from its root, which may point
to missing pages. `SqlitePages` reads each page by itself. The format is described at
https://sqlite.org/fileformat2.html: leaf pages of a table have the rows, as records of typed columns; the
rest of a long record is in a chain of other pages. Files are read and never mapped: another process may cut
them at any time.
"""

from __future__ import annotations

import sqlite3
import struct
from array import array
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.logs.readers.bag_messages import RawMessage
from dyn_core.logs.reading_budget import ITEM_COST, Budget

Value: TypeAlias = "int | float | str | bytes | None"

_TABLES = {
    "messages": ("topic_id", "timestamp", "data"),
    "topics": ("id", "name", "type"),
    "message_definitions": ("topic_type", "encoding", "encoded_message_definition"),
}
_STEPS = 1_000_000
"""Steps of SQLite after which they are counted; as many are allowed as the budget has bytes of memory."""
_MAGIC = b"SQLite format 3\x00"
_LEAF = 0x0D
_HEADER = 100
"""Bytes before the first page."""
_WHOLE = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of integers, by their type."""
_BLOB = 12
"""Type of the first blob; types of texts are odd."""
_COLUMNS = 64
"""Greatest number of columns of a row; a damaged row may claim more."""
_PAGES = 256
"""Pages that are kept in memory."""


def sqlite_messages(path: Path, kinds: Collection[str], budget: Budget) -> Iterator[RawMessage]:
    """Yield the messages of some types, in the order of recording; of topics of others, one without data.

    Where SQLite cannot read on, the further messages are those of all pages that are whole.

    Raises:
        DynError: the file was cut or is damaged, or is too large, and has no further messages.
    """
    last = -(2**63)
    try:
        for row, message in _queried(path, kinds, budget):
            last = row
            yield message
    except sqlite3.Error as error:
        yield from _remaining(path, budget, last)
        raise DynError("sqlite-damaged", reason=str(error)) from error


def _queried(path: Path, kinds: Collection[str], budget: Budget) -> Iterator[tuple[int, RawMessage]]:
    """Yield the numbers and messages of rows that SQLite reads."""
    steps = 0

    def stop() -> bool:
        nonlocal steps
        steps += _STEPS
        return steps > budget.memory

    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.set_progress_handler(stop, _STEPS)
        for setting in ("mmap_size=0", "trusted_schema=OFF", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {setting}")
        yield from _rows(connection, kinds, budget)
    except sqlite3.OperationalError as error:
        if steps > budget.memory:
            raise budget.exceeded(2 * budget.memory) from error
        raise
    finally:
        connection.close()


def _rows(
    connection: sqlite3.Connection, kinds: Collection[str], budget: Budget
) -> Iterator[tuple[int, RawMessage]]:
    tables = [name for name, columns in _TABLES.items() if _is_table(connection, name, columns)]
    if not {"messages", "topics"} <= set(tables):
        raise sqlite3.DatabaseError("no tables 'messages' and 'topics' of a bag")
    topics: dict[int, tuple[str, str]] = {}
    for number, topic, kind in connection.execute("SELECT id, name, type FROM topics"):
        budget.take(ITEM_COST + len(str(topic)) + len(str(kind)))
        if kind in kinds:
            topics[number] = (str(topic), kind)
        else:
            yield -(2**63), RawMessage(str(topic), str(kind), "", "", 0, b"")
    definitions: dict[str, tuple[str, str]] = {}
    if "message_definitions" in tables:
        query = f"SELECT {', '.join(_TABLES['message_definitions'])} FROM message_definitions"
        for kind, encoding, definition in connection.execute(
            f"{query} WHERE topic_type IN {_marks(kinds)}", [*kinds]
        ):
            budget.take(ITEM_COST + len(str(definition)))
            definitions[kind] = (str(encoding), str(definition))
    heads = {k: (topic, kind, *definitions.get(kind, ("", ""))) for k, (topic, kind) in topics.items()}
    # SQLite tells the length of the data without reading it.
    data = f"CASE WHEN length(data) <= {budget.largest_block} THEN data END"
    query = f"SELECT rowid, topic_id, timestamp, {data} FROM messages WHERE topic_id IN {_marks(topics)}"
    for row, number, received, content in connection.execute(f"{query} ORDER BY rowid", [*topics]):
        yield row, RawMessage(*heads[number], received, content if isinstance(content, bytes) else b"")


def _marks(values: Collection[object]) -> str:
    return f"({','.join('?' * len(values))})"


def _is_table(connection: sqlite3.Connection, name: str, columns: Collection[str]) -> bool:
    """Return whether there is a table of stored columns: views and generated columns can be of any size."""
    found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", [name]).fetchall()
    if len(found) != 1 or found[0][0] != "table" or "VIRTUAL" in str(found[0][1]).upper().split("(")[0]:
        return False
    rows = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
    stored = {str(row[1]) for row in rows if not row[6]}
    return stored >= set(columns)


class Place(NamedTuple):
    """Place of a row: its number, length (bytes), offset in the file, and the end of its first page."""

    row: int
    payload: int
    offset: int
    end: int


class SqlitePages:
    """A complete or damaged SQLite file.

    Attributes:
        count: number of its whole pages.
        size: length of a page (bytes).
        usable: bytes of a page that hold data.
    """

    def __init__(self, file: BinaryIO, header: bytes, most: int) -> None:
        """Use an open file that begins with a header; rows of more than `most` bytes are left out."""
        (size,) = struct.unpack_from(">H", header, 16)
        self.size = 65536 if size == 1 else size
        self.usable = self.size - header[20]
        self._file, self._most = file, most
        self.count = file.seek(0, 2) // max(self.size, 1)
        self._page = lru_cache(_PAGES)(self._read)

    def _read(self, number: int) -> bytes:
        self._file.seek(number * self.size)
        # The file may have been cut since it was opened.
        return self._file.read(self.size).ljust(self.size, b"\0")

    def places(self) -> Iterator[Place]:
        """Yield the places of the rows of all tables, in the order of the pages."""
        for number in range(self.count):
            page, head = self._page(number), 0 if number else _HEADER
            if page[head] != _LEAF:
                continue
            (count,) = struct.unpack_from(">H", page, head + 3)
            for k in range(min(count, (self.usable - 8 - head) // 2)):
                (start,) = struct.unpack_from(">H", page, head + 8 + 2 * k)
                try:
                    payload, offset = _varint(page, start, self.usable)
                    row, offset = _varint(page, offset, self.usable)
                except ValueError:
                    continue
                if payload <= min(self._most, self.count * self.size):
                    first = number * self.size
                    yield Place(row, payload, first + offset, first + self.usable)

    def record(self, place: Place) -> list[Value] | None:
        """Return the columns of a row; None if it is damaged or incomplete."""
        payload = self._payload(place)
        if payload is None:
            return None
        try:
            return _columns(payload)
        except (struct.error, UnicodeDecodeError, ValueError):
            return None

    def _payload(self, place: Place) -> bytes | bytearray | None:
        """Return the bytes of a row, also those on other pages; None if some are missing."""
        number, offset = divmod(place.offset, self.size)
        end, page, most = place.end - number * self.size, self._page(number), self.usable - 35
        if place.payload <= most:
            return page[offset : offset + place.payload] if offset + place.payload <= end else None
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (place.payload - least) % (self.usable - 4)
        here = here if here <= most else least
        if offset + here + 4 > end:
            return None
        found = bytearray(page[offset : offset + here])
        (following,) = struct.unpack_from(">I", page, offset + here)
        while len(found) < place.payload:
            if not 0 < following <= self.count:
                return None
            page = self._read(following - 1)
            (following,) = struct.unpack_from(">I", page)
            found += page[4 : min(self.usable, 4 + place.payload - len(found))]
        return found


def _columns(payload: bytes | bytearray) -> list[Value]:
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


def _value(payload: bytes | bytearray, kind: int, at: int) -> tuple[Value, int]:
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


def _varint(data: bytes | bytearray, at: int, end: int) -> tuple[int, int]:
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


def _remaining(path: Path, budget: Budget, last: int) -> Iterator[RawMessage]:
    """Yield the messages behind row `last` of a cut or damaged file, in the order of recording."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or not header.startswith(_MAGIC):
            return
        pages = SqlitePages(file, header, budget.largest_block)
        if pages.size < 512 or pages.usable < 480:
            return
        yield from _messages(pages, budget, last)


def _messages(pages: SqlitePages, budget: Budget, last: int) -> Iterator[RawMessage]:
    topics: dict[int, tuple[str, str]] = {}
    definitions: dict[str, str] = {}
    found = array("q")
    # Rows of a damaged file can share pages: all together may have twice the bytes of the file.
    room = 2 * pages.count * pages.size
    for count, place in enumerate(pages.places()):
        room -= place.payload
        if room < 0 or count > budget.most_messages:
            break
        match pages.record(place):
            case [_, int(), int(), bytes()] if last < place.row < 2**63:
                budget.take(len(place) * found.itemsize)
                found.extend(place)
            case [_, str(kind), "ros2msg", str(definition), *_]:
                budget.take(ITEM_COST + len(definition))
                definitions[kind] = definition
            case [_, str(topic), str(kind), str(), *_]:
                budget.take(ITEM_COST + len(topic))
                topics[place.row] = (topic, kind)
    places = np.frombuffer(found, dtype=np.int64).reshape(-1, len(Place._fields))
    # Rows that SQLite has moved between pages occur twice.
    for k in np.unique(places[:, 0], return_index=True)[1].tolist():
        match pages.record(Place(*places[k].tolist())):
            case [_, int(number), int(received), bytes(data)]:
                topic, kind = topics.get(number, ("", ""))
                yield RawMessage(topic, kind, "ros2msg", definitions.get(kind, ""), received, data)
