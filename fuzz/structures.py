# SPDX-License-Identifier: Apache-2.0
"""Damage to arrays and tables that knows their structure: headers, lengths, counts and types.

What surrounds the damage stays right, as lengths and offsets, so that a reader gets to it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from mutations import damaged_bytes, damaged_text

PLAIN_ODDS = 0.25
"""How often the bytes are damaged without regard to the structure."""
COUNTS = (
    0,
    1,
    2,
    15,
    16,
    127,
    128,
    255,
    2**15,
    2**16 - 1,
    10**6,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
)


def number_bytes(size: int, random: Random, order: str = "<") -> bytes:
    """Return a count, length or type of so many bytes."""
    number = random.choice(COUNTS) & (256**size - 1)
    return number.to_bytes(size, "little" if order == "<" else "big")


# NumPy arrays

_NPY_MAGIC = b"\x93NUMPY"
_SHAPES = (
    "()",
    "(0,)",
    "(1,)",
    "(-1,)",
    "(2147483648,)",
    "(9223372036854775807,)",
    "(0, 4611686018427387904)",
)
_SHAPES += (
    "(1, 1, 1)",
    "(True,)",
    "(1.5,)",
    "(30, 7)",
    "(1000000000000000,)",
    "()" * 3,
    "(" + "1," * 40 + ")",
)
_TYPES = (
    "'<f4'",
    "'>f8'",
    "'|O'",
    "'<U1000000'",
    "'|S0'",
    "'|S2147483647'",
    "'<M8[ns]'",
    "'|V8'",
    "'<c16'",
    "'?'",
)
_TYPES += (
    "'<i8'",
    "'f8,(1000000000,)f8'",
    "[('time', '<f8'), ('time', '<f8')]",
    "[('', '<f8')]",
    "[]",
    "'<f16'",
)
_TYPES += (
    "[('q', '<f8', (2147483647, 8))]",
    "[('t', [('a', '<f8')])]",
    "'<m8'",
    "{'names': ['t']}",
    "'<e'",
    "None",
)


def damaged_npy(data: bytes, random: Random) -> bytes:
    """Return an array with another type, shape, order or version, or with damaged numbers."""
    if random.random() < PLAIN_ODDS or data[:6] != _NPY_MAGIC or len(data) < 12:
        return damaged_bytes(data, random)
    code = "<H" if data[6] == 1 else "<I"
    begin = 8 + struct.calcsize(code)
    (size,) = struct.unpack_from(code, data, 8)
    header, body, version = data[begin : begin + size], data[begin + size :], data[6]
    for _ in range(random.choice((1, 1, 2))):
        header = _npy_header(header, random)
    if random.random() < 0.2:
        body = damaged_bytes(body, random)
    if random.random() < 0.1:
        version = random.choice((0, 1, 2, 3, 4, 255))
        code = "<H" if version == 1 else "<I"
    length = struct.pack(code, len(header) % 2**16)
    if random.random() < 0.1:
        length = number_bytes(struct.calcsize(code), random)
    return _NPY_MAGIC + bytes((version, data[7])) + length + header + body


def _npy_header(header: bytes, random: Random) -> bytes:
    """Return the header of an array, a Python dictionary as text, with another value of one key."""
    key, values = random.choice(
        (
            (b"'shape': ", _SHAPES),
            (b"'descr': ", _TYPES),
            (b"'fortran_order': ", ("True", "False", "1", "None", "[]")),
        )
    )
    begin = header.find(key)
    if begin == -1 or random.random() < 0.25:
        return damaged_text(header, random)
    begin += len(key)
    ends = [
        end
        for later in (b", 'fortran", b", 'shape", b", }", b"}")
        if (end := header.find(later, begin)) != -1
    ]
    end = min(ends, default=len(header))
    return header[:begin] + random.choice(values).encode() + header[end:]


# Parquet: pages with headers, and a footer, in the compact form of Thrift

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_PACKED_SIZE = (3,)
"""Field of the header of a page."""
_MOST_PAGES = 200


class Leaf(NamedTuple):
    """A part of a Thrift structure that can be replaced: kind, place, and fields that lead to it."""

    kind: str
    begin: int
    end: int
    path: tuple[int, ...]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits in each byte, and where it ends; IndexError beyond the data."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _as_varint(value: int, size: int = 0) -> bytes:
    """Return a number as `_varint` reads it, in so many bytes where `size` is not 0."""
    made = bytearray()
    while value > 0x7F and (not size or len(made) < size - 1):
        made.append(value & 0x7F | 0x80)
        value >>= 7
    while size and len(made) < size - 1:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value & 0x7F)
    return bytes(made)


def thrift_leaves(data: bytes, at: int, path: tuple[int, ...] = ()) -> tuple[list[Leaf], int]:
    """Return the leaves of a structure, and where it ends; IndexError where it is cut."""
    leaves: list[Leaf] = []
    field = 0
    while data[at] != _STOP:
        head = at
        field, kind = field + (data[at] >> 4), data[at] & 15
        leaves.append(Leaf("type", head, head + 1, (*path, field)))
        at += 1
        if data[head] >> 4 == 0:
            number, at = _varint(data, at)
            field = number >> 1
        at = _value(data, at, kind, (*path, field), leaves)
    return leaves, at + 1


def _value(data: bytes, at: int, kind: int, path: tuple[int, ...], leaves: list[Leaf]) -> int:
    """Add the leaves of a value; return where it ends."""
    begin = at
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _STRUCT:
        inner, end = thrift_leaves(data, at, path)
        leaves += inner
        return end
    if kind in (_LIST, _SET):
        count, of = data[at] >> 4, data[at] & 15
        leaves.append(Leaf("list", at, at + 1, path))
        at += 1
        if count == 15:
            count, at = _varint(data, at)
            leaves.append(Leaf("number", begin + 1, at, path))
        if count > len(data) - at:  # each item takes a byte at least; a damaged count would take for ever
            raise IndexError
        for k in range(count):
            at = at + 1 if of in (_TRUE, _FALSE) else _value(data, at, of, (*path, -k), leaves)
        return at
    if kind == _BINARY:
        count, at = _varint(data, at)
        leaves.append(Leaf("length", begin, at, path))
        leaves.append(Leaf("bytes", at, at + count, path))
        return at + count
    end = at + 1 if kind == _BYTE else at + 8 if kind == _DOUBLE else _varint(data, at)[1]
    leaves.append(Leaf("number", begin, end, path))
    return end


def _leaf_replaced(data: bytes, leaf: Leaf, random: Random, *, keep_size: bool) -> bytes:
    """Return a structure with another leaf, of the same size where other offsets depend on it."""
    old = data[leaf.begin : leaf.end]
    size = len(old) if keep_size else 0
    if leaf.kind == "number":
        value = random.choice((*(2 * count for count in COUNTS), 1, 3, 2**32 - 1, 4, 6, 8, 10, 12))
        new = _as_varint(value & (1 << 7 * size) - 1 if size else value, size)
    elif leaf.kind == "length":
        new = _as_varint(random.choice(COUNTS) & ((1 << 7 * size) - 1 if size else 2**63 - 1), size)
    elif leaf.kind == "bytes":
        new = damaged_bytes(old, random)
        new = new[: len(old)].ljust(len(old), b"\0")
    else:  # a type, or the head of a list
        new = bytes(
            (old[0] & 0xF0 | random.randrange(16) if random.random() < 0.5 else random.randrange(256),)
        )
    return data[: leaf.begin] + new + data[leaf.end :]


def damaged_parquet(data: bytes, random: Random) -> bytes:
    """Return a file with other values in its footer or in the header of a page."""
    if random.random() < PLAIN_ODDS or len(data) < 12:
        return damaged_bytes(data, random)
    (size,) = struct.unpack_from("<I", data, len(data) - 8)
    begin = len(data) - 8 - size
    try:
        if random.random() < 0.6:
            footer = data[begin:-8]
            for _ in range(random.choice((1, 1, 2))):
                leaf = random.choice(thrift_leaves(footer, 0)[0])
                footer = _leaf_replaced(footer, leaf, random, keep_size=random.random() < 0.5)
            return data[:begin] + footer + struct.pack("<I", len(footer)) + data[-4:]
        leaves = random.choice(list(_page_headers(data, begin)))
        return _leaf_replaced(data, random.choice(leaves), random, keep_size=True)
    except (IndexError, RecursionError):  # damaged already
        return damaged_bytes(data, random)


def _page_headers(data: bytes, end: int) -> Iterator[list[Leaf]]:
    """Yield the leaves of the header of each page."""
    at = 4
    for _ in range(_MOST_PAGES):
        leaves, body = thrift_leaves(data, at)
        yield leaves
        sizes = [leaf for leaf in leaves if leaf.path == _PACKED_SIZE and leaf.kind == "number"]
        if not sizes:
            return
        at = body + (_varint(data, sizes[0].begin)[0] >> 1)
        if at >= end:
            return
