# SPDX-License-Identifier: Apache-2.0
"""Small files of logs that claim or unpack to a lot of memory, or take a lot of time."""

from __future__ import annotations

import gzip
import io
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from dyn_core.logs.readers.parquet_footer import page_sizes, row_groups

INT32, UINT32, UINT16, DOUBLE, INT8, MATRIX, COMPRESSED = 5, 6, 4, 9, 1, 14, 15
CELL, STRUCTURE, TEXT, NUMBERS = 1, 2, 4, 6
MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"


def element(kind: int, data: bytes) -> bytes:
    """Return an element of a MATLAB file: type, length, data padded to 8 bytes."""
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind: int, shape: bytes, content: bytes, name: bytes = b"t", of_shape: int = INT32) -> bytes:
    flags = element(UINT32, struct.pack("<II", kind, 0))
    return element(MATRIX, flags + element(of_shape, shape) + element(INT8, name) + content)


def mat(kind: int, shape: bytes, content: bytes, of_shape: int = INT32) -> bytes:
    """Return a MATLAB file with one variable `t`."""
    return MAT_HEADER + matrix(kind, shape, content, of_shape=of_shape)


def packed_mat(variable: bytes) -> bytes:
    packed = zlib.compress(variable)
    return MAT_HEADER + struct.pack("<II", COMPRESSED, len(packed)) + packed


def int32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def npz(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def npy(shape: str, data: bytes, form: str = "<f8") -> bytes:
    head = f"{{'descr': {form!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


def record(kind: int, content: bytes) -> bytes:
    """Return a record of an MCAP file."""
    return struct.pack("<BQ", kind, len(content)) + content


def chunk(packed: bytes, size: int, form: str = "zstd") -> bytes:
    return record(
        6, struct.pack("<QQQI", 0, 1, size, 0) + text(form) + struct.pack("<Q", len(packed)) + packed
    )


def joint_state_channel(definition: str = "", kind: str = "sensor_msgs/msg/JointState") -> bytes:
    schema = record(3, struct.pack("<H", 1) + text(kind) + text("ros2msg") + text(definition))
    return schema + record(4, struct.pack("<HH", 1, 1) + text("/joint_states") + text("cdr") + text(""))


def message(data: bytes, at: int = 0) -> bytes:
    return record(5, struct.pack("<HIQQ", 1, 0, at, at) + data)


def mcap(*records: bytes) -> bytes:
    magic = b"\x89MCAP0\r\n"
    end = record(15, bytes(4)) + record(2, bytes(20))
    return magic + record(1, text("ros2") + text("")) + b"".join(records) + end + magic


def zstd_frame(data: bytes) -> bytes:
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd.compress(data)


def zeros_zstd(megabytes: int) -> bytes:
    """Return frames of zeros."""
    return zstd_frame(bytes(1_000_000)) * megabytes


def branching_types(count: int) -> str:
    """Return a definition in which each type has the next one five times, once as a sequence."""
    fields = [f"A{k + 1}[] a\n" + "".join(f"A{k + 1} {name}\n" for name in "bcde") for k in range(count)]
    types = [f"MSG: control_msgs/A{k}\n{text}" for k, text in enumerate([*fields, "uint8 a\n"])]
    return ("\n" + "=" * 80 + "\n").join(["A0 a\n", *types])


def zeros_lz4(megabytes: int) -> bytes:
    import lz4.frame

    return lz4.frame.compress(bytes(1_000_000)) * megabytes


def sqlite(path: Path, *statements: str) -> bytes:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path.read_bytes()


TOPIC = "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', '')"
TOPICS = (
    "CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, q TEXT)"
)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def parquet_of_lists(path: Path, count: int, is_plain: bool = False) -> bytes:
    """Return a Parquet file with two rows whose lists have `count` zeros."""
    import pyarrow
    import pyarrow.parquet

    values = pyarrow.array(np.zeros(2 * count))
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, count, 2 * count], pyarrow.int32()), values)
    settings = {"compression": "zstd", "use_dictionary": not is_plain, "data_page_size": 2**30}
    pyarrow.parquet.write_table(pyarrow.table({"t": [0.0, 1.0], "position": lists}), path, **settings)
    return path.read_bytes()


def without_sizes(path: Path, pages: bool) -> bytes:
    """Return a Parquet file whose description claims sizes of 0, and 1 value; or also its pages.

    The numbers of the description are of Thrift's compact protocol, zigzag, and padded to the same length.
    """
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    body, foot = data[:start], data[start:]
    for chunk in row_groups(path)[0]:
        foot = _claiming(1, chunk.values, _claiming(0, chunk.unpacked, foot))
        for page in page_sizes(io.BytesIO(data), chunk) if pages else ():
            body = _claiming(1, page.values, _claiming(0, page.unpacked, body))
    return body + foot


def _varint(value: int) -> bytes:
    data = b""
    while value >= 128:
        data, value = data + bytes([(value & 127) | 128]), value >> 7
    return data + bytes([value])


def _claiming(value: int, given: int, data: bytes) -> bytes:
    """Return the data with a value below 64 for each number that was given, if that is large."""
    old = _varint(2 * given)
    new = bytes([(2 * value) | 128]) + b"\x80" * (len(old) - 2) + b"\0"
    return data.replace(old, new) if given > 1_000_000 else data


def parquet_of_texts(path: Path) -> bytes:
    """Return a Parquet file with 1000 rows, each with two names of 500 000 letters."""
    import pyarrow
    import pyarrow.parquet

    place = pyarrow.array(np.arange(1001, dtype=np.int32) * 2)
    names = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.arange(2000, dtype=np.int32) % 2), ["a" * 500_000, "b" * 500_000]
    )
    values = pyarrow.array(np.zeros(2000))
    columns = {
        "t": np.arange(1000) * 1e-4,
        "name": pyarrow.ListArray.from_arrays(place, names),
        "position": pyarrow.ListArray.from_arrays(place, values),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd", store_schema=False)
    return path.read_bytes()


def parquet_of_zeros(path: Path, count: int) -> bytes:
    """Return a Parquet file with a column of `count` zeros on one page."""
    import pyarrow
    import pyarrow.parquet

    columns = {name: np.zeros(count) for name in ("t", "position.a", "effort.a")}
    settings = {"compression": "zstd", "use_dictionary": False, "data_page_size": 2**30}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=count, **settings)
    return path.read_bytes()


def hostile_files(folder: Path) -> dict[str, tuple[bytes, str]]:
    """Return contents of files by their names, and the codes with which they are refused with 100 MB."""
    large = "log-memory-exceeded"
    parquet_of_lists(folder / "plain", 10_000_000, is_plain=True)
    nested = "Header[1000] a\n" + "=" * 80 + "\nMSG: x/Header\nPart[1000] b\n" + "=" * 80 + "\nMSG: x/Part\n"
    cells = element(MATRIX, b"") * 10_000_000
    number = matrix(NUMBERS, int32(1, 1), element(DOUBLE, doubles(0.0)))
    many = matrix(CELL, int32(1, 200_000), number * 200_000)
    words = matrix(TEXT, int32(1, 50_000), element(UINT16, b"a\0" * 50_000))
    words += matrix(TEXT, int32(1, 1), element(UINT16, b"a\0")) * 9_999
    view = f"CREATE VIEW messages AS {ENDLESS} SELECT 1 AS topic_id, i AS timestamp, x'00' AS data FROM n"
    made = "CREATE TABLE messages (id, topic_id INTEGER, timestamp INTEGER, b, data AS (zeroblob(1e9)))"
    zeros = npy("(62500000,)", bytes(500_000_000))
    wide = ",".join(f"q{k}" for k in range(200_000)).encode()
    control = "control_msgs/msg/DynamicJointState"
    messages = message(bytes(100)) * 200
    billions = joint_state_channel("std_msgs/Header[1000000000] header\n", control)
    parts = joint_state_channel(nested, control)
    branching = joint_state_channel(branching_types(30), control)
    numbers = matrix(NUMBERS, int32(1, 50_000_000), element(DOUBLE, bytes(400_000_000)))
    letters = matrix(TEXT, int32(1, 2_000_000), element(UINT16, b"a\0" * 2_000_000))
    row = "INSERT INTO messages VALUES (1, 1, 1, '')"
    states = joint_state_channel()
    frames = zeros_zstd(400)
    return {
        "numbers.mat": (packed_mat(numbers), large),
        "cells.mat": (packed_mat(matrix(CELL, int32(1, 10_000_000), cells)), large),
        "matrices.mat": (packed_mat(many), large),
        "letters.mat": (packed_mat(letters), large),
        "words.mat": (packed_mat(matrix(CELL, int32(1, 10_000), words)), large),
        "zstd.mcap": (mcap(states, chunk(frames, 400_000_000)), large),
        "zstd-false.mcap": (mcap(states, chunk(frames, 1000)), "bag-damaged"),
        "lz4-false.mcap": (mcap(states, chunk(zeros_lz4(40), 1000, "lz4")), "bag-damaged"),
        "empty-zstd.mcap": (mcap(states, chunk(zstd_frame(b"") * 50_000, 1000)), "bag-damaged"),
        "types.mcap": (mcap(branching, messages), "log-without-topics"),
        "empty.csv": (gzip.compress(b"") * 50_000, "gzip-damaged"),
        "records.mcap": (mcap(states, chunk(zeros_zstd(12), 12_000_000)), large),
        "array.mcap": (mcap(billions, messages), "log-without-topics"),
        "nested.mcap": (mcap(parts, messages), "log-without-topics"),
        "view.db3": (sqlite(folder / "view", TOPICS, TOPIC, view), "bag-damaged"),
        "generated.db3": (sqlite(folder / "made", TOPICS, TOPIC, made, row), "bag-damaged"),
        "zeros.npz": (npz({"t": zeros}), large),
        "shape.npz": (npz({"t": npy("(2000000000,)", bytes(80))}), "log-file-damaged"),
        "bzip2.npz": (npz({"t": npy("(9,)", bytes(72))}, zipfile.ZIP_BZIP2), "log-file-damaged"),
        "shape.npy": (npy("(2000000000, 3)", bytes(80)), "log-file-damaged"),
        "nothing.npy": (npy("(2000000000, 3)", b"", "|V0"), "log-file-damaged"),
        "line.csv": (gzip.compress(b"1," * 50_000_000), "table-without-lines"),
        "columns.csv": (b"t," + wide + b"\n" + b"0," * 200_000 + b"0\n", large),
        "lists.parquet": (parquet_of_lists(folder / "lists", 10_000_000), large),
        "footer.parquet": (without_sizes(folder / "lists", pages=False), large),
        "pages.parquet": (without_sizes(folder / "plain", pages=True), "log-file-damaged"),
        "texts.parquet": (parquet_of_texts(folder / "texts"), "log-too-short"),
        "zeros.parquet": (parquet_of_zeros(folder / "zeros", 20_000_000), large),
    }
