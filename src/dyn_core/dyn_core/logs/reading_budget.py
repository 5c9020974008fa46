# SPDX-License-Identifier: Apache-2.0
"""Budget of a reader of logs: the memory that it may take, and packed data that is unpacked within it.

A small file can claim, or unpack to, any size. Readers reserve memory here before they take it. The other
limits, of values, of bytes of text and of steps of a database, are proportional to the same setting.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dyn_core.core.errors import ArgumentError, DynError

LOG_MEMORY = 1_000_000_000
"""Memory that reading a log may take by default (bytes)."""
LEAST_MEMORY = 10_000_000
VALUE_COST = 62.5
"""Memory for a value that is kept, with all that is made of it until the log is clean (bytes)."""
COLUMN_COST = 8_000
"""Memory for a column of a table: its name, the meaning of it, findings (bytes)."""
ITEM_COST = 1_000
"""Memory for a variable, a field, a cell or a member of a file (bytes)."""
TOO_LARGE = "log-memory-exceeded"
PIECE = 1_000_000
"""Bytes that are unpacked at once."""
_SLICE = 65_536
"""Packed bytes that a decompressor gets at once."""
MOST_FRAMES = 10_000
"""Most frames or members of packed data."""


class Budget:
    """Memory and numbers of items that a reader may still use.

    Attributes:
        memory: the limit of memory (bytes).
        max_values: greatest number of values that are kept.
        largest_block: greatest size of a part of a file that is in memory at once, as a chunk (bytes).
        most_messages: greatest number of messages or rows of a bag that are read.
        most_unpacked: greatest sum of the unpacked parts of a file that are not in memory together (bytes).
    """

    def __init__(self, memory: int = LOG_MEMORY, max_values: int | None = None) -> None:
        """Begin with nothing taken; ArgumentError for a memory below `LEAST_MEMORY`.

        `max_values` is by default what fits into the memory.
        """
        if not LEAST_MEMORY <= memory < math.inf:
            raise ArgumentError("log-memory-range", given=memory, least=LEAST_MEMORY)
        self.memory = int(memory)
        self.max_values = int(self.memory / VALUE_COST) if max_values is None else max_values
        self.most_messages = self.memory // 1000
        self.largest_block = self.memory // 8
        self.most_unpacked = 8 * self.memory
        # The other half is for the table of the values, and for what is made of it.
        self._left = self._all = self.memory // 2

    @property
    def left(self) -> int:
        """Memory that is not reserved (bytes)."""
        return self._left

    def take(self, size: float) -> None:
        """Reserve memory (bytes); DynError, with the memory that would be needed, if it is not there."""
        if not size <= self._left:
            raise self.exceeded((self._all - self._left + size) * self.memory / self._all)
        self._left -= int(size)

    def take_columns(self, count: int) -> None:
        """Reserve memory for the columns of a table; DynError if it is not there."""
        self.take(COLUMN_COST * count)

    def whole(self, path: Path) -> bytes:
        """Return the bytes of a file, for which memory is reserved; DynError if it is not there."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.take(size)
            return file.read(size)

    def check_block(self, size: float) -> None:
        """Raise DynError for a part of a file that is too large to be in memory as a whole."""
        if not size <= self.largest_block:
            raise self.exceeded(size * self.memory / self.largest_block)

    def exceeded(self, needed: float) -> DynError:
        """Return the error for a log that needs this memory or more (bytes)."""
        megabytes = math.ceil(needed / 1e6) if math.isfinite(needed) else needed
        return DynError(TOO_LARGE, needed=megabytes, limit=self.memory / 1e6)


def zlib_unpacked(packed: bytes | memoryview, budget: Budget) -> bytearray:
    """Return unpacked data, for which memory is reserved; zlib.error if it is damaged."""
    unpacking, data = zlib.decompressobj(), bytearray()
    for part in _slices([packed]):
        rest: bytes | memoryview = part
        while rest and not unpacking.eof:
            new = unpacking.decompress(rest, PIECE)
            budget.take(len(new))
            data += new
            rest = unpacking.unconsumed_tail
    return data + unpacking.flush()


def _slices(packed: Iterable[bytes | memoryview]) -> Iterator[memoryview]:
    """Yield data in slices: what a decompressor leaves is copied for each frame, so it has to be short."""
    for data in packed:
        view = memoryview(data)
        for begin in range(0, len(view), _SLICE):
            yield view[begin : begin + _SLICE]


def _count(frames: int) -> int:
    """Return the number of frames with one more; ValueError for too many, which all take time."""
    if frames >= MOST_FRAMES:
        raise ValueError(f"more than {MOST_FRAMES} packed parts")
    return frames + 1


def gzip_pieces(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of a gzip file, of any number of members, in pieces of at most `PIECE` bytes.

    Raises:
        DynError: the data is damaged.
    """
    unpacking, members = zlib.decompressobj(wbits=31), 1
    for part in _slices(packed):
        data: bytes | memoryview = part
        while data:
            try:
                if unpacking.eof:
                    unpacking, members = zlib.decompressobj(wbits=31), _count(members)
                yield unpacking.decompress(data, PIECE)
            except (zlib.error, ValueError) as error:
                raise DynError("gzip-damaged", reason=error) from error
            data = unpacking.unused_data.lstrip(b"\0") if unpacking.eof else unpacking.unconsumed_tail
    yield unpacking.flush()


def unpacked_pieces(packed: Iterable[bytes | memoryview], form: str) -> Iterator[bytes]:
    """Yield what frames of ``lz4`` or ``zstd`` have, in pieces of at most `PIECE` bytes.

    Frames that were cut are unpacked up to there.

    Raises:
        DynError: the form is not known.
        Exception: the library of the form found damage.
    """
    unpacking, frames = _decompressor(form), 1
    for part in _slices(packed):
        data: bytes | memoryview = part
        while data:
            if unpacking.eof:
                unpacking, frames = _decompressor(form), _count(frames)
            while not unpacking.eof:
                yield unpacking.decompress(data, max_length=PIECE)
                data = b""
                if unpacking.needs_input:
                    break
            data = (unpacking.unused_data or b"") if unpacking.eof else b""


def unpacked(packed: bytes | memoryview, form: str, most: int) -> bytearray | None:
    """Return what frames of ``lz4`` or ``zstd`` have; None if that is more than `most` bytes.

    Raises what `unpacked_pieces` raises.
    """
    data = bytearray()
    for piece in unpacked_pieces((packed,), form):
        data += piece
        if len(data) > most:
            return None
    return data


def _decompressor(form: str) -> Any:
    if form == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        return LZ4FrameDecompressor()
    if form != "zstd":
        raise DynError("bag-packing-unknown", form=form)
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd.ZstdDecompressor()
