# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers and text in MATLAB files of versions 5 to 7 (MAT-file level 5).

After a header of 128 bytes come elements, each of a tag (type, length) and data that are filled up to 8
bytes; short data are in the tag itself. A variable is an element of others: class, dimensions, name, numbers,
or for structures and cells more such elements. All lengths are checked before they are believed: such files
come from anywhere, and a damaged one must end in a sentence, which SciPy's reader does not warrant.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

HEADER = 128
LARGEST = 2_000_000_000
"""Bytes of a variable, after it was unpacked."""
DEEPEST = 8
"""Structures and cells in one another."""

_NUMBERS = dict(
    zip(
        (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18),
        ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8", "u1", "u2", "u4"),
        strict=True,
    )
)
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCTURE, _TEXT, _FIRST_NUMBERS, _LAST_NUMBERS = 1, 2, 4, 6, 15
_COMPLEX = 0x08

Value: TypeAlias = Any
"""An array of numbers, text, a dictionary of fields, a list of cells, or None for anything else."""


class Damaged(ValueError):
    """The bytes are none of a MATLAB file."""


def variables(data: bytes) -> Iterator[tuple[str, Value]]:
    """Answer the variables of a file and their names; Damaged where it is none, or was cut.

    Args:
        data: the whole file.
    """
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if len(data) < HEADER or order is None:
        raise Damaged("it has no header of one")
    place = HEADER
    while place + 8 <= len(data):
        kind, content, place = _element(data, place, order)
        if kind == _COMPRESSED:
            kind, content, _ = _element(_unpacked(content), 0, order)
        if kind == _MATRIX and content:
            yield _matrix(content, order, 0)


def _unpacked(content: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(content, LARGEST)
    except zlib.error as error:
        raise Damaged(f"a variable cannot be unpacked: {error}") from error
    if unpacking.unconsumed_tail:
        raise Damaged(f"a variable has more than {LARGEST} bytes")
    return data


def _element(data: bytes, place: int, order: str) -> tuple[int, bytes, int]:
    """Answer type and data of an element, and where the next one begins."""
    if place + 8 > len(data):
        raise Damaged("it ends within a variable")
    kind, length = struct.unpack_from(f"{order}II", data, place)
    if kind >> 16:
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise Damaged(f"a short element has {length} bytes")
        return kind, data[place + 4 : place + 4 + length], place + 8
    end = place + 8 + length
    if end > len(data):
        raise Damaged("it ends within a variable")
    return kind, data[place + 8 : end], end if kind == _COMPRESSED else end + -length % 8


def _matrix(content: bytes, order: str, depth: int) -> tuple[str, Value]:
    """Answer name and value of a variable, a field or a cell."""
    if depth > DEEPEST:
        raise Damaged(f"its structures are more than {DEEPEST} deep")
    flags, place = _numbers(content, 0, order)
    if not len(flags):
        raise Damaged("a variable has no class")
    shape, place = _numbers(content, place, order)
    name, place = _numbers(content, place, order)
    kind, is_complex = int(flags[0]) & 0xFF, int(flags[0]) >> 8 & _COMPLEX
    count = _count(shape)
    title = bytes(name.astype(np.uint8)).decode("latin-1")
    if kind == _STRUCTURE:
        return title, _structure(content, place, order, count, depth)
    if kind == _CELL:
        return title, [value for _, value in _matrices(content, place, order, count, depth)]
    if kind == _TEXT:
        codes, _ = _numbers(content, place, order)
        return title, _rows_of_text(codes, shape)
    if _FIRST_NUMBERS <= kind <= _LAST_NUMBERS and not is_complex:
        values, _ = _numbers(content, place, order)
        if len(values) != count:
            raise Damaged(f"'{title[:40]}' has {len(values)} numbers instead of {count}")
        return title, values.reshape([int(n) for n in shape], order="F")
    return title, None


def _count(shape: np.ndarray) -> int:
    """Answer how many values a shape has."""
    count = 1
    for n in shape.tolist():
        if n < 0 or n != int(n):
            raise Damaged(f"a dimension is {n}")
        count *= int(n)
    if len(shape) < 2 or len(shape) > 8 or count > LARGEST:
        raise Damaged(f"a variable has {len(shape)} dimensions and {count} values")
    return count


def _numbers(content: bytes, place: int, order: str) -> tuple[np.ndarray, int]:
    """Answer the numbers of an element, and where the next one begins."""
    kind, data, end = _element(content, place, order)
    if kind not in _NUMBERS:
        raise Damaged(f"an element has the type {kind} instead of numbers")
    form = np.dtype(order + _NUMBERS[kind])
    if len(data) % form.itemsize:
        raise Damaged("an element ends within a number")
    return np.frombuffer(data, dtype=form).astype(form.newbyteorder("=")), end


def _matrices(content: bytes, place: int, order: str, count: int, depth: int) -> Iterator[tuple[str, Value]]:
    for _ in range(count):
        kind, data, place = _element(content, place, order)
        if kind != _MATRIX:
            raise Damaged(f"a cell or field has the type {kind}")
        yield ("", None) if not data else _matrix(data, order, depth + 1)


def _structure(content: bytes, place: int, order: str, count: int, depth: int) -> Value:
    """Answer the fields of one structure; None for an array of several."""
    length, place = _numbers(content, place, order)
    names, place = _numbers(content, place, order)
    if len(length) != 1 or not 0 < int(length[0]) <= 10_000:
        raise Damaged("a structure has no length of names")
    if count != 1:
        return None
    text = bytes(names.astype(np.uint8))
    size = int(length[0])
    fields = [text[k : k + size].split(b"\0")[0].decode("latin-1") for k in range(0, len(text), size)]
    values = _matrices(content, place, order, len(fields), depth)
    return {field: value for field, (_, value) in zip(fields, values, strict=True)}


def _rows_of_text(codes: np.ndarray, shape: np.ndarray) -> list[str]:
    rows, columns = int(shape[0]), int(shape[1])
    if rows * columns != len(codes) or (len(codes) and not 0 <= codes.min() <= codes.max() < 0x110000):
        return []
    return ["".join(map(chr, row)).rstrip() for row in codes.reshape(rows, columns, order="F").tolist()]
