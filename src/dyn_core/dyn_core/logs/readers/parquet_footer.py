# SPDX-License-Identifier: Apache-2.0
"""Sizes of the columns of a Parquet file, from its footer, and of its pages, from their headers.

PyArrow ends the process when it describes a column whose statistics contradict its type: nothing catches that
exception of C++. So the sizes, which have to be known before values are read, are taken from the bytes. The
footer is a structure in the compact protocol of Thrift, and so is the header of a page.

The sizes in the footer may be too small. PyArrow unpacks a page into as many bytes as its header says, and
refuses a page that has more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dyn_core.core.errors import DynError

_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE = 1, 2, 3, (4, 5, 6), 7
_BINARY, _LISTS, _STRUCTURE = 8, (9, 10), 12
_DEEPEST = 20
_END = 8
"""Bytes after the footer: its length, and the name of the format."""
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
_PATH, _VALUES, _UNPACKED, _PACKED, _PAGES, _DICTIONARY = 3, 5, 6, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _PAGE_KINDS, _PAGE_VALUES = 2, 3, (5, 8), 1
"""Numbers of fields in the description of the format."""
_LONGEST_HEADER = 65_536
"""Bytes of the header of a page that are read; statistics of text can make it long."""


@dataclass(frozen=True)
class ColumnChunk:
    """A column of a row group: its path, and the sizes that it claims."""

    path: tuple[str, ...]
    values: int
    unpacked: int  # bytes
    packed: int  # bytes
    begin: int  # bytes before its first page


@dataclass(frozen=True)
class PageSize:
    """The sizes that a page claims."""

    values: int  # 0 for a dictionary
    unpacked: int  # bytes
    packed: int  # bytes


def row_groups(path: Path) -> list[list[ColumnChunk]]:
    """Return the columns of each row group; DynError if the footer is damaged."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _END, 0))
        length = min(int.from_bytes(file.read(4), "little"), max(size - _END, 0))
        file.seek(size - _END - length if size > _END else 0)
        data = file.read(length)
    try:
        footer = _Compact(data).structure(0)
        return [[_chunk(column) for column in group[_COLUMNS]] for group in footer[_ROW_GROUPS]]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise DynError("log-file-damaged", format="Parquet file", reason="its footer is damaged") from error


def _chunk(column: dict[int, Any]) -> ColumnChunk:
    found = column[_METADATA]
    names = tuple(name.decode(errors="replace") for name in found[_PATH])
    sizes = [found[key] for key in (_VALUES, _UNPACKED, _PACKED, _PAGES)]
    if 0 < found.get(_DICTIONARY, 0) < sizes[-1]:
        sizes[-1] = found[_DICTIONARY]
    if min(sizes) < 0 or not names:
        raise ValueError("negative size, or no name")
    return ColumnChunk(names, *sizes)


def page_sizes(file: BinaryIO, chunk: ColumnChunk) -> Iterator[PageSize]:
    """Yield the sizes of the pages that PyArrow would read of a column; DynError if a header is damaged."""
    place, end, values = chunk.begin, chunk.begin + chunk.packed, 0
    while values < chunk.values and place < end:
        try:
            file.seek(place)
            data = file.read(min(_LONGEST_HEADER, end - place))
            if not data:
                return
            header = _Compact(data)
            fields = header.structure(0)
            count = sum(fields[kind][_PAGE_VALUES] for kind in _PAGE_KINDS if kind in fields)
            page = PageSize(count, fields[_PAGE_UNPACKED], fields[_PAGE_PACKED])
            if min(page.values, page.unpacked, page.packed) < 0:
                raise ValueError("negative size")
        except (LookupError, TypeError, ValueError, OverflowError, OSError) as error:
            reason = "the header of a page is damaged"
            raise DynError("log-file-damaged", format="Parquet file", reason=reason) from error
        yield page
        values += count
        place += header.length + page.packed


class _Compact:
    """Reads values of the compact protocol from bytes, at most as many as there are bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def length(self) -> int:
        """Number of bytes that have been read."""
        return self._at

    def structure(self, depth: int) -> dict[int, Any]:
        """Return the fields of a structure by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            return self._integer()
        if kind in (_DOUBLE, _BINARY):
            return self._bytes(8 if kind == _DOUBLE else self._natural())
        if kind in _LISTS:
            head = self._byte()
            count = self._natural() if head >> 4 == 15 else head >> 4
            return [self._item(head & 15, depth) for _ in range(count)]
        if kind == _STRUCTURE:
            return self.structure(depth + 1)
        raise ValueError(f"type {kind}")

    def _item(self, kind: int, depth: int) -> Any:
        """Return an item of a list, in which a truth value takes one byte."""
        return self._byte() == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        begin, self._at = self._at, self._at + count
        if self._at > len(self._data):
            raise IndexError(count)
        return self._data[begin : self._at]

    def _natural(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("number too long")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._natural()
        return value >> 1 ^ -(value & 1)
