# SPDX-License-Identifier: Apache-2.0
"""Read MCAP files, whole or cut, record by record.

The records (type, length, content) are read one after the other up to the end of the data or the first
damage: schemas, channels, messages, and chunks of records, which may be packed (MCAP specification,
"Records"). The index at the end of the file is not used: it is missing from files that were cut, and can
claim anything.
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from dyn_core.core.errors import DynError
from dyn_core.logs.readers.bag_messages import RawMessage
from dyn_core.logs.reading_budget import ITEM_COST, Budget, unpacked

_MAGIC = b"\x89MCAP0\r\n"
_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
_HEAD = struct.Struct("<BQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_MESSAGE_HEAD = struct.Struct("<HIQQ")
_MOST_SKIPPED = 8
"""Records that may be skipped for each message that may be read."""


_NO_SCHEMA = ("", "", "")


class _Index:
    """Schemas and channels of a file so far."""

    def __init__(self, kinds: Collection[str], budget: Budget) -> None:
        self._kinds, self._budget = kinds, budget
        self._schemas: dict[int, tuple[str, str, str]] = {}
        self._channels: dict[int, tuple[int, str]] = {}
        self._wanted: set[int] = set()
        self._unpacked = 0
        self._skipped = 0

    def messages(self, kind: int, content: bytes | memoryview) -> Iterator[RawMessage]:
        """Yield the messages of a record; keep its schema or channel."""
        if kind == _SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            name, place = _text(content, 2)
            encoding, place = _text(content, place)
            definition, _ = _text(content, place) if name in self._kinds else ("", 0)
            schema = (name, encoding, definition)
            if self._schemas.get(number) != schema:
                self._budget.take(ITEM_COST + len(content))
                self._schemas[number] = schema
        elif kind == _CHANNEL:
            number, of_schema = struct.unpack_from("<HH", content)
            topic, _ = _text(content, 4)
            if self._channels.get(number) != (of_schema, topic):
                self._budget.take(ITEM_COST + len(content))
                self._channels[number] = (of_schema, topic)
            name = self._schemas.get(of_schema, _NO_SCHEMA)[0]
            if name in self._kinds:
                self._wanted.add(number)
            else:
                self._wanted.discard(number)
                yield RawMessage(topic, name, "", "", 0, b"")
        elif kind == _MESSAGE and self.is_wanted(kind, content, 0):
            number, _, received, _ = _MESSAGE_HEAD.unpack_from(content)
            of_schema, topic = self._channels[number]
            data = bytes(content[_MESSAGE_HEAD.size :])
            yield RawMessage(topic, *self._schemas[of_schema], received, data)
        elif kind == _CHUNK:
            yield from self._of_chunk(content)

    def is_wanted(self, kind: int, content: bytes | memoryview, place: int) -> bool:
        """Return whether a record has to be read; DynError for too many that have not."""
        if kind in (_SCHEMA, _CHANNEL, _CHUNK):
            return True
        if kind == _MESSAGE and content[place] | content[place + 1] << 8 in self._wanted:
            return True
        self._skipped += 1
        if self._skipped > _MOST_SKIPPED * self._budget.most_messages:
            raise self._budget.exceeded(2 * self._budget.memory)
        return False

    def _of_chunk(self, content: bytes | memoryview) -> Iterator[RawMessage]:
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(content)
        form, place = _text(content, _CHUNK_HEAD.size)
        (length,) = struct.unpack_from("<Q", content, place)
        packed = memoryview(content)[place + 8 : place + 8 + length]
        budget = self._budget
        budget.check_block(size)
        inner = unpacked(packed, form, size) if form else packed
        if inner is None:
            raise DynError("mcap-chunk-size", size=size)
        self._unpacked += len(inner)
        if self._unpacked > budget.most_unpacked:
            raise budget.exceeded(self._unpacked / budget.most_unpacked * budget.memory)
        is_whole = len(packed) == length and len(inner) == size
        if is_whole and checksum and crc32(inner) != checksum:
            raise DynError("mcap-chunk-checksum")
        yield from self._of_records(memoryview(inner))
        if not is_whole:
            raise DynError("mcap-cut")

    def _of_records(self, inner: memoryview) -> Iterator[RawMessage]:
        """Yield the messages of the records of a chunk, which may be cut."""
        place = 0
        while place + _HEAD.size <= len(inner):
            kind, length = _HEAD.unpack_from(inner, place)
            place += _HEAD.size
            if place + length > len(inner):
                return
            if kind == _CHUNK:
                raise DynError("mcap-chunk-nested")
            if self.is_wanted(kind, inner, place):
                yield from self.messages(kind, inner[place : place + length])
            place += length


def mcap_messages(path: Path, kinds: Collection[str], budget: Budget) -> Iterator[RawMessage]:
    """Yield the messages of some types in the order of the file; of topics of others, one without data.

    Raises:
        DynError: the file was cut or is damaged, or is too large, and has no further messages.
    """
    index = _Index(kinds, budget)
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise DynError("mcap-cut")
        for kind, content in _records(file, budget):
            try:
                yield from index.messages(kind, content)
            except DynError:
                raise
            except Exception as error:  # of the libraries that unpack, or of a record that is too short
                raise DynError("mcap-record-damaged", reason=str(error)) from error


def _records(file: BinaryIO, budget: Budget) -> Iterator[tuple[int, bytes]]:
    """Yield the records with messages, and the beginning of a chunk that was cut."""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        if kind in (_DATA_END, _FOOTER):
            file.seek(-len(_MAGIC), 2)
            if file.read() != _MAGIC:
                break
            return
        if kind not in (_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK) or length > budget.largest_block:
            if length > _left(file):
                break  # the length is not that of a record
            if kind in (_SCHEMA, _CHANNEL, _CHUNK):
                budget.check_block(length)
            file.seek(length, 1)
            continue
        content = file.read(length)
        if len(content) == length or kind == _CHUNK:
            yield kind, content
        if len(content) < length:
            break
    raise DynError("mcap-cut")


def _left(file: BinaryIO) -> int:
    """Return the number of bytes from the current place to the end."""
    place = file.tell()
    end = file.seek(0, 2)
    file.seek(place)
    return end - place


def _text(content: bytes | memoryview, place: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, place)
    end = place + 4 + length
    if end > len(content):
        raise ValueError("the text is incomplete")
    return str(content[place + 4 : end], "utf-8"), end
