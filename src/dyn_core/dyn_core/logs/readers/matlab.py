# SPDX-License-Identifier: Apache-2.0
"""Read MATLAB files of versions 5 to 7 (MAT-file level 5).

After a header of 128 bytes come elements: a tag (type, length) and data that are padded to 8 bytes; the tag
itself contains short data. A variable is an element of others: class, dimensions, name, and numbers, or
further elements for structures and cells. All lengths are checked, because a damaged file must end in an
error message, which SciPy's reader does not guarantee.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.logs.readers.array_files import recording_of
from dyn_core.logs.reading_budget import ITEM_COST, Budget, zlib_unpacked
from dyn_core.logs.recording import Recording, Selection

HEADER = 128
LARGEST = 2_000_000_000
"""Greatest number of values that a shape may claim."""
LONGEST_NAME = 1000
CHARACTER_COST = 100
"""Memory for a character or an empty cell, as an object (bytes)."""
DEEPEST = 8
"""Greatest nesting of structures and cells."""

_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
    17: "u2",
    18: "u4",
}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCTURE, _TEXT, _FIRST_NUMBERS, _LAST_NUMBERS = 1, 2, 4, 6, 15
_COMPLEX = 0x08
_VERSION_7_3 = b"MATLAB 7.3"

Value: TypeAlias = Any
"""An array of numbers, text, a dictionary of fields, a list of cells, or None for anything else."""


class Damaged(DynError):
    """The bytes are not a valid MATLAB file."""


def variables(data: bytes, budget: Budget) -> Iterator[tuple[str, Value]]:
    """Yield names and values of the variables of a whole file.

    Raises:
        Damaged: it is invalid or was cut.
        DynError: it needs more memory than the budget has.
    """
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if len(data) < HEADER or order is None:
        raise Damaged("matlab-header-missing")
    variable, place, view = _Variable(order, budget), HEADER, memoryview(data)
    while place + 8 <= len(data):
        kind, content, place = variable.element(view, place)
        if kind == _COMPRESSED:
            try:
                content = memoryview(zlib_unpacked(content, budget))
            except zlib.error as error:
                raise Damaged("matlab-variable-packed", reason=str(error)) from error
            kind, content, _ = variable.element(content, 0)
        if kind == _MATRIX and content:
            yield variable.matrix(content, 0)


@dataclass(frozen=True)
class _Variable:
    """Reader of the elements of a variable, in its order of bytes and within a budget."""

    order: str
    budget: Budget

    def element(self, data: memoryview, place: int) -> tuple[int, memoryview, int]:
        """Return type and data of an element, and the begin of the next one."""
        if place + 8 > len(data):
            raise Damaged("matlab-variable-cut")
        kind, length = struct.unpack_from(f"{self.order}II", data, place)
        if kind >> 16:
            kind, length = kind & 0xFFFF, kind >> 16
            if length > 4:
                raise Damaged("matlab-short-element-size", size=length)
            return kind, data[place + 4 : place + 4 + length], place + 8
        end = place + 8 + length
        if end > len(data):
            raise Damaged("matlab-variable-cut")
        return kind, data[place + 8 : end], end if kind == _COMPRESSED else end + -length % 8

    def matrix(self, content: memoryview, depth: int) -> tuple[str, Value]:
        """Return name and value of a variable, a field or a cell."""
        if depth > DEEPEST:
            raise Damaged("matlab-too-deep", limit=DEEPEST)
        self.budget.take(ITEM_COST)
        flags, place = self.integers(content, 0)
        if not len(flags):
            raise Damaged("matlab-class-missing")
        shape, place = self.integers(content, place)
        name, place = self.integers(content, place)
        kind, is_complex = int(flags[0]) & 0xFF, int(flags[0]) >> 8 & _COMPLEX
        count = _count(shape)
        if len(name) > LONGEST_NAME:
            raise Damaged("matlab-names-length")
        title = bytes(name.astype(np.uint8)).decode("latin-1")
        if kind == _STRUCTURE:
            return title, self.structure(content, place, count, depth)
        if kind == _CELL:
            return title, [value for _, value in self.matrices(content, place, count, depth)]
        if kind == _TEXT:
            codes, _ = self.integers(content, place)
            self.budget.take(CHARACTER_COST * len(codes))
            return title, _rows_of_text(codes, shape)
        if _FIRST_NUMBERS <= kind <= _LAST_NUMBERS and not is_complex:
            values, _ = self.numbers(content, place)
            if len(values) != count:
                raise Damaged("matlab-numbers-count", variable=title[:40], given=len(values), expected=count)
            return title, values.reshape([int(n) for n in shape], order="F")
        return title, None

    def numbers(self, content: memoryview, place: int) -> tuple[np.ndarray, int]:
        """Return the numbers of an element, and the begin of the next one."""
        kind, data, end = self.element(content, place)
        if kind not in _NUMBERS:
            raise Damaged("matlab-element-type", given=kind)
        form = np.dtype(self.order + _NUMBERS[kind])
        if len(data) % form.itemsize:
            raise Damaged("matlab-number-cut")
        values = np.frombuffer(data, dtype=form)
        if not form.isnative:
            self.budget.take(values.nbytes)
        return values.astype(form.newbyteorder("="), copy=False), end

    def integers(self, content: memoryview, place: int) -> tuple[np.ndarray, int]:
        """Return the integers of an element, and the begin of the next one."""
        numbers, place = self.numbers(content, place)
        if numbers.dtype.kind not in "iu":
            raise Damaged("matlab-element-type", given=numbers.dtype.name)
        return numbers, place

    def matrices(
        self, content: memoryview, place: int, count: int, depth: int
    ) -> Iterator[tuple[str, Value]]:
        for _ in range(count):
            kind, data, place = self.element(content, place)
            if kind != _MATRIX:
                raise Damaged("matlab-cell-type", given=kind)
            if not data:
                self.budget.take(CHARACTER_COST)
            yield ("", None) if not data else self.matrix(data, depth + 1)

    def structure(self, content: memoryview, place: int, count: int, depth: int) -> Value:
        """Return the fields of one structure; None for an array of several."""
        length, place = self.integers(content, place)
        names, place = self.integers(content, place)
        if len(length) != 1 or not 0 < int(length[0]) <= 10_000:
            raise Damaged("matlab-names-length")
        if count != 1:
            return None
        size = int(length[0])
        self.budget.take(ITEM_COST * len(names) / size)
        text = bytes(names.astype(np.uint8))
        fields = [text[k : k + size].split(b"\0")[0].decode("latin-1") for k in range(0, len(text), size)]
        values = self.matrices(content, place, len(fields), depth)
        return {field: value for field, (_, value) in zip(fields, values, strict=True)}


def _count(shape: np.ndarray) -> int:
    """Return the number of values of a shape."""
    count = 1
    for n in shape[:9].tolist():
        if n < 0:
            raise Damaged("matlab-dimension-invalid", given=n)
        count *= n
    if len(shape) < 2 or len(shape) > 8 or count > LARGEST:
        raise Damaged("matlab-shape-invalid", dimensions=len(shape), count=count)
    return count


def _rows_of_text(codes: np.ndarray, shape: np.ndarray) -> list[str]:
    rows, columns = int(shape[0]), int(shape[1])
    # A shape of no characters can have billions of rows.
    if not len(codes) or rows * columns != len(codes) or not 0 <= codes.min() <= codes.max() < 0x110000:
        return []
    return ["".join(map(chr, row)).rstrip() for row in codes.reshape(rows, columns, order="F").tolist()]


def read_matlab(path: Path, select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of a MATLAB file; fields of structures are called `structure.field`.

    Raises:
        DynError: the file cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_VERSION_7_3)).startswith((_VERSION_7_3, b"\x89HDF")):
            raise DynError("matlab-version-unsupported")
    data = budget.whole(path)
    arrays: dict[str, Any] = {}
    try:
        for name, value in variables(data, budget):
            _collect(name, value, arrays, budget)
    except Damaged as error:
        raise DynError("matlab-file-damaged", cause=error.detail) from error
    return recording_of("MATLAB", arrays, select, budget)


def _collect(name: str, value: Value, arrays: dict[str, Any], budget: Budget) -> None:
    """Add the arrays of a variable and of its fields, and the text of cells and rows, to `arrays`."""
    if isinstance(value, dict):
        for field, inner in value.items():
            _collect(f"{name}.{field}", inner, arrays, budget)
    elif isinstance(value, list):
        words = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
        if len(words) == 1 and isinstance(words[0], (dict, np.ndarray)):
            _collect(name, words[0], arrays, budget)
        elif words and all(isinstance(word, str) for word in words):
            budget.take(np.dtype("U1").itemsize * len(words) * max(map(len, words)))
            arrays[name] = np.array(words)
    elif value is not None:
        arrays[name] = value
