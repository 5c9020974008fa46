# SPDX-License-Identifier: Apache-2.0
"""Damage to bags that knows their structure: rows and pages of a database, records and chunks of MCAP.

What surrounds the damage stays right, as lengths and checksums, so that a reader gets to it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from random import Random

from mutations import SHARED, VALUES, damaged_bytes
from structures import COUNTS, PLAIN_ODDS, number_bytes

from dyn_core.logs.reading_budget import unpacked

# SQLite

_DB_FIELDS = (
    (16, 2),
    (18, 1),
    (19, 1),
    (20, 1),
    (21, 1),
    (28, 4),
    (32, 4),
    (36, 4),
    (44, 4),
    (52, 4),
    (56, 4),
)
"""Offset and size of fields of the file: size of pages, versions, counts, encoding of text."""
_PAGE_FIELDS = ((0, 1), (1, 2), (3, 2), (5, 2), (7, 1), (8, 4))
"""Of a page: type, free block, number of cells, begin of cells, free bytes, right-most page."""
_LEAF_PAGE = 13
_ENDLESS = """CREATE VIEW messages AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
SELECT x AS id, 1 AS topic_id, x AS timestamp, zeroblob(100000) AS data FROM c"""
_ODD_VALUES = (None, "", "x", -1, 0, 1.5, 2**63 - 1, -(2**63), b"", b"\0\1\0\0", "1e400", 9e300)
_STATEMENTS = (
    "DELETE FROM topics",
    "DELETE FROM messages",
    "DROP TABLE messages",
    "DROP TABLE topics",
    "ALTER TABLE messages RENAME COLUMN data TO content",
    "ALTER TABLE topics RENAME COLUMN type TO kind",
    "ALTER TABLE messages RENAME TO topics2",
    "INSERT INTO topics SELECT id + 1, name, type, serialization_format, '' FROM topics",
    "UPDATE messages SET data = zeroblob(3000000) WHERE id = 2",
    "UPDATE messages SET timestamp = 0",
    "UPDATE topics SET name = hex(zeroblob(100000))",
    "CREATE TRIGGER t AFTER INSERT ON messages BEGIN SELECT 1; END",
)


def damaged_db3(data: bytes, random: Random) -> bytes:
    """Return a bag with other rows or tables, or with damage in the header of the file or of a page."""
    kind = random.random()
    if kind < PLAIN_ODDS or len(data) < 200:
        return damaged_bytes(data, random)
    if kind < 0.6:
        with contextlib.suppress(sqlite3.Error, MemoryError):
            return _with_other_rows(data, random)
    for _ in range(random.choice((1, 1, 2))):
        data = _with_other_page(data, random)
    return data


def _replaced(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def _with_other_page(data: bytes, random: Random) -> bytes:
    if random.random() < 0.2:
        at, size = random.choice(_DB_FIELDS)
        return _replaced(data, at, number_bytes(size, random, ">"))
    size = struct.unpack_from(">H", data, 16)[0]
    size = 65536 if size == 1 else max(size, 512)
    page = random.randrange(max(1, len(data) // size))
    begin = page * size + (100 if page == 0 else 0)
    head = data[begin : begin + 12].ljust(12, b"\0")
    cells = struct.unpack_from(">H", head, 3)[0]
    pointers = begin + (8 if head[0] == _LEAF_PAGE else 12)
    kind = random.random()
    if kind < 0.4 or not cells:
        at, count = random.choice(_PAGE_FIELDS)
        new = bytes((random.choice((2, 5, 10, 13, 0, 255)),)) if at == 0 else number_bytes(count, random, ">")
        return _replaced(data, begin + at, new)
    pointer = pointers + 2 * random.randrange(min(cells, size // 2))
    if kind < 0.6:
        return _replaced(data, pointer, number_bytes(2, random, ">"))
    # The head of a cell: lengths, number of the row, and types of the values
    cell = page * size + int.from_bytes(data[pointer : pointer + 2], "big")
    return _replaced(
        data, cell + random.randrange(14), bytes((random.choice((0, 1, 6, 7, 12, 127, 128, 129, 255)),))
    )


def _with_other_rows(data: bytes, random: Random) -> bytes:
    path = SHARED / f"dyn_fuzz_{os.getpid()}_rows.db3"
    path.write_bytes(data)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = OFF")
            for _ in range(random.choice((1, 1, 2))):
                if random.random() < 0.02:
                    base.execute("DROP TABLE messages")
                    base.execute(_ENDLESS)
                    break  # reading rows for another change would never end
                _change_rows(base, random)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def _change_rows(base: sqlite3.Connection, random: Random) -> None:
    kind = random.random()
    if kind < 0.2:
        base.execute(random.choice(_STATEMENTS))
    elif kind < 0.5:
        table, columns = random.choice(
            (
                ("messages", ("timestamp", "topic_id", "data")),
                ("topics", ("name", "type", "serialization_format")),
            )
        )
        where = "" if random.random() < 0.3 else " WHERE id = 1"
        value = random.choice(
            (*_ODD_VALUES, *VALUES, "sensor_msgs/msg/Imu", "std_msgs/msg/Float64MultiArray")
        )
        if isinstance(value, str):
            value = value.encode(errors="replace").decode()
        base.execute(f"UPDATE {table} SET {random.choice(columns)} = ?{where}", (value,))
    else:
        rows = base.execute("SELECT id, data FROM messages ORDER BY id LIMIT 50").fetchall()
        number, content = random.choice(rows or [(1, b"")])
        if isinstance(content, bytes):
            base.execute(
                "UPDATE messages SET data = ? WHERE id = ?", (damaged_bytes(content, random), number)
            )


# MCAP

MAGIC = b"\x89MCAP0\r\n"
_CHUNK = 6
_HEAD = struct.Struct("<BQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_PACKINGS = (b"", b"zstd", b"lz4", b"bz2", b"\xff", b"zstd\0")


def damaged_mcap(data: bytes, random: Random) -> bytes:
    """Return a bag with a damaged record, perhaps in a chunk, which is packed again with its checksum."""
    if random.random() < PLAIN_ODDS or not data.startswith(MAGIC):
        return damaged_bytes(data, random)
    records = list(_records(data[len(MAGIC) :]))
    if not records:
        return damaged_bytes(data, random)
    chunks = [k for k, (kind, _) in enumerate(records) if kind == _CHUNK]
    k = random.choice(chunks) if chunks and random.random() < 0.5 else random.randrange(len(records))
    if k in chunks:
        with contextlib.suppress(Exception):  # a chunk of the corpus may be damaged
            records[k] = (_CHUNK, _damaged_chunk(records[k][1], random))
            return MAGIC + _joined(records) + MAGIC
    return MAGIC + _damaged_records(records, random) + MAGIC


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of the records that are whole."""
    at = 0
    while at + _HEAD.size <= len(data):
        kind, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if size > len(data) - at:
            return
        yield kind, data[at : at + size]
        at += size


def _joined(records: Sequence[tuple[int, bytes]]) -> bytes:
    return b"".join(_HEAD.pack(kind, len(content)) + content for kind, content in records)


def _damaged_records(records: list[tuple[int, bytes]], random: Random) -> bytes:
    """Return records, one of them damaged, missing, repeated, of another kind, or of another length."""
    k, way = random.randrange(len(records)), random.random()
    kind, content = records[k]
    if way < 0.5:
        records[k] = (kind, damaged_bytes(content, random))
    elif way < 0.6:
        del records[k]
    elif way < 0.7:
        records.insert(random.randrange(len(records) + 1), records[k])
    elif way < 0.8:
        records[k] = (random.randrange(256) if random.random() < 0.3 else random.randrange(16), content)
    else:
        before, after = _joined(records[:k]), _joined(records[k + 1 :])
        return before + bytes((kind,)) + number_bytes(8, random) + content + after
    return _joined(records)


def _damaged_chunk(content: bytes, random: Random) -> bytes:
    """Return a chunk with damage in its head or in one of its records."""
    start, end, size, _ = _CHUNK_HEAD.unpack_from(content)
    at = _CHUNK_HEAD.size
    (length,) = struct.unpack_from("<I", content, at)
    form = content[at + 4 : at + 4 + length]
    packed = content[at + 4 + length + 8 :]
    plain = bytes(unpacked(packed, form.decode(), 10**8) or b"") if form else packed
    if random.random() < 0.8:
        records = list(_records(plain))
        plain = _damaged_records(records, random) if records else damaged_bytes(plain, random)
        size = len(plain)
    packed, checksum = _packed(plain, form), zlib.crc32(plain) if random.random() < 0.7 else 0
    way = random.random()
    if way < 0.1:
        size = random.choice(COUNTS)
    elif way < 0.2:
        form = random.choice(_PACKINGS)
    elif way < 0.3:
        checksum = random.getrandbits(32)
    elif way < 0.4:
        packed = damaged_bytes(packed, random)
    claimed = random.choice(COUNTS) if random.random() < 0.05 else len(packed)
    head = _CHUNK_HEAD.pack(start, end, size, checksum)
    return head + struct.pack("<I", len(form)) + form + struct.pack("<Q", claimed) + packed


def _packed(plain: bytes, form: bytes) -> bytes:
    if form == b"zstd":
        return _zstd()(plain)
    if form == b"lz4":
        from lz4 import frame

        return bytes(frame.compress(plain))
    return plain


def _zstd() -> Callable[[bytes], bytes]:
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    compress: Callable[[bytes], bytes] = zstd.compress
    return compress
