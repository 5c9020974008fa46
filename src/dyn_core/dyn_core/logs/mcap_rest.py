# SPDX-License-Identifier: Apache-2.0
"""What can be had from an MCAP file that was cut, as when its recorder was killed.

Such a file lacks the index at its end, which other readers begin with. Its records (type, length, content)
are read one after the other up to the first that is not whole: schemas, channels, messages, and chunks of
them, which may be compressed (MCAP specification, "Records").
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dyn_core.logs.raw_message import RawMessage

_MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
_LARGEST_RECORD = 1_000_000_000


class _Index:
    """Schemas and channels, as they are met."""

    def __init__(self) -> None:
        self.schemas: dict[int, tuple[str, str]] = {}
        self.channels: dict[int, tuple[int, str]] = {}

    def messages(self, kind: int, content: bytes) -> Iterator[RawMessage]:
        """Answer the messages of a record, and learn from the others."""
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
    """Answer the messages of an MCAP file up to where it ends or is damaged."""
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
    """Answer the whole records of a file; of a chunk that was cut, what there is of it."""
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
    """Answer the records of a chunk, of one that was cut as many as can be had."""
    compression, place = _text(content, 28)
    packed = content[place + 8 :]
    if compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        return bytes(LZ4FrameDecompressor().decompress(packed))
    if compression == "zstd":
        return _zstd(packed)
    return packed


def _zstd(packed: bytes) -> bytes:
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return bytes(zstd.ZstdDecompressor().decompress(packed))
