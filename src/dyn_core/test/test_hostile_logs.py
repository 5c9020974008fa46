# SPDX-License-Identifier: Apache-2.0
"""Small files whose declared sizes, types or contents would need excessive memory or time."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.core.errors import DynError

INT32, UINT32, DOUBLE, INT8, MATRIX = 5, 6, 9, 1, 14
CELL, TEXT, NUMBERS = 1, 4, 6


def element(kind: int, data: bytes) -> bytes:
    """Return an element of a MATLAB file: type, length, data padded to 8 bytes."""
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def mat(kind: int, shape: bytes, content: bytes, of_shape: int = INT32) -> bytes:
    """Return a MATLAB file with one variable `t`."""
    parts = (
        element(UINT32, struct.pack("<II", kind, 0)),
        element(of_shape, shape),
        element(INT8, b"t"),
        content,
    )
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    return header + element(MATRIX, b"".join(parts))


def int32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


MATLAB = {
    "two billion rows of no text": mat(TEXT, int32(2_000_000_000, 0), element(UINT32, b"")),
    "two billion rows of no numbers": mat(NUMBERS, int32(2_000_000_000, 0), element(DOUBLE, b"")),
    "two billion cells": mat(CELL, int32(2_000_000_000, 0), b""),
    "a billion cells that are not there": mat(CELL, int32(1, 1_000_000_000), b""),
    "text of doubles": mat(TEXT, int32(1, 2), element(DOUBLE, doubles(104.0, 105.0))),
    "an infinite size": mat(NUMBERS, doubles(np.inf, 1.0), element(DOUBLE, doubles(1.0)), DOUBLE),
    "a size that is no number": mat(NUMBERS, doubles(np.nan, 1.0), element(DOUBLE, doubles(1.0)), DOUBLE),
}


@pytest.mark.parametrize("name", MATLAB)
def test_matlab_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    path.write_bytes(MATLAB[name])
    tracemalloc.start()
    with pytest.raises(DynError) as refused:
        dyn_core.read_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused.value.code in ("matlab-file-damaged", "file-without-arrays")
    assert peak < 10_000_000


def test_text_outside_of_unicode_in_npz(tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    names = np.frombuffer(struct.pack("<I", 0x110000), dtype="<U1")
    np.savez(path, t=np.arange(3.0), q=np.zeros((3, 1)), tau=np.zeros((3, 1)), joint_names=names)
    with pytest.raises(DynError):
        dyn_core.read_log(path)
