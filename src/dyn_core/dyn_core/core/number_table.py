# SPDX-License-Identifier: Apache-2.0
"""CSV files of numbers over time, with a first line of names."""

from __future__ import annotations

import csv
import io
import math
import os
import stat
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import path_text

MAX_BYTES = 100_000_000
"""Greatest size of a file: two bytes of text can be a number of eight bytes, in an array that grows."""
LARGEST = 1e30
"""Greatest magnitude of a number: squares of what follows from it still are numbers."""
SHORTEST_STEP = 1e-12
"""Least time from one row to the next (s): rates of change then are numbers, too."""
LONGEST_LINE = 1_000_000
"""Greatest length of a line (characters)."""
TIME = "time"

Reader: TypeAlias = Iterator[list[str]]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Numbers by name and time."""

    names: tuple[str, ...]  # names of the columns, each there once; `TIME` is one of them
    values: npt.NDArray[np.float64]  # the numbers, (m, columns), m at least 1; the times increase
    lines: npt.NDArray[np.int64]  # the line of the file that each row stands in, counted from 1, (m,)

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """The times (s), (m,)."""
        return self.values[:, self.names.index(TIME)]


def read_number_table(
    path: str | os.PathLike[str], what: str, check: Callable[[Sequence[str], int], None], needed: str
) -> NumberTable:
    """Return the numbers in a file.

    The first line that is not empty has names; each of the others has as many numbers.

    Args:
        path: path of the file.
        what: what the rows are, for messages: "efforts".
        check: refuses names, given with the number of their line.
        needed: what the first line has beside `TIME`, for messages: "names of joints".

    Raises:
        DynError: the file cannot be read or used; the message names file, line and column.
    """
    shown = path_text(path)
    try:
        with _errors_in(shown, is_file=True):
            status = Path(path).stat()
            if not stat.S_ISREG(status.st_mode):
                raise DynError("file-irregular", expected=f"a CSV file with {what}")
            if status.st_size > MAX_BYTES:
                raise DynError("table-file-too-large", size=status.st_size, limit=MAX_BYTES)
            with Path(path).open(encoding="utf-8-sig", newline="") as file:
                return _table(csv.reader(_lines(file), strict=True), what, check, needed)
    except ValueError as error:  # a null character in the path
        raise DynError("file-missing", path=shown) from error


def read_number_stream(
    stream: BinaryIO, shown: str, what: str, check: Callable[[Sequence[str], int], None], needed: str
) -> NumberTable:
    """Return the numbers in a stream, as `read_number_table` does; messages call it `shown`."""
    with _errors_in(shown, is_file=False):
        data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DynError("table-input-too-large", size=len(data), limit=MAX_BYTES)
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
        return _table(csv.reader(_lines(text), strict=True), what, check, needed)


@contextmanager
def _errors_in(shown: str, *, is_file: bool) -> Iterator[None]:
    """Raise errors of reading as DynErrors that name the file."""
    try:
        yield
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        code = "file-unreadable" if is_file else "input-unreadable"
        raise DynError(code, reason=error.strerror, file=shown) from error
    except UnicodeDecodeError as error:
        raise DynError("file-not-utf8" if is_file else "input-not-utf8", file=shown) from error


@dataclass(frozen=True)
class _Cell(Place):
    """A column in a line of a table."""

    def __str__(self) -> str:
        return f"line {self.line}, {self.element}"


def at_line(line: int, code: str, column: str | None = None, **values: Any) -> DynError:
    """Return the error for a line of the file, and a column of it."""
    if column is None:
        return DynError(code, place=Place(line=line), **values)
    cell = _Cell("column", shortened(column, 40), line=line)
    return DynError(code, place=cell, element=f"column '{column}'", **values)


def _table(
    reader: Reader, what: str, check: Callable[[Sequence[str], int], None], needed: str
) -> NumberTable:
    rows = _rows(reader)
    line, header = next(rows, (0, []))
    if not header:
        raise DynError("number-table-empty", time=TIME, expected=needed)
    names = [name.strip() for name in header]
    counts = Counter(names)
    for name in names:
        if counts[name] > 1:
            raise at_line(line, "column-repeated", name)
    if TIME not in names:
        raise at_line(line, "table-time-missing", time=TIME, expected=needed)
    check(names, line)
    numbers, lines = array("d"), array("q")
    place, last = names.index(TIME), -math.inf
    for line, row in rows:
        if len(row) != len(names):
            raise at_line(line, "line-values-count", given=len(row), expected=len(names))
        values = [_number(text, name, line) for text, name in zip(row, names, strict=True)]
        if not values[place] > last:
            raise at_line(line, "line-time-not-increasing", TIME, time=values[place], previous=last)
        if values[place] - last < SHORTEST_STEP:
            given = {"time": values[place], "previous": last, "limit": SHORTEST_STEP}
            raise at_line(line, "line-time-step-too-short", TIME, **given)
        last = values[place]
        numbers.extend(values)
        lines.append(line)
    if not lines:
        raise DynError("table-without-rows", expected=what, line=line)
    # Copies would take as much memory again.
    table = np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), len(names))
    return NumberTable(tuple(names), table, np.frombuffer(lines, dtype=np.int64))


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines; DynError for one that is so long that its values would take much memory."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            reason = f"the line is longer than {LONGEST_LINE} characters"
            raise at_line(number, "csv-malformed", reason=reason)
        yield line


def _rows(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Lines by number, without those that are empty."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise at_line(_line(reader), "csv-malformed", reason=str(error)) from error
        if any(text.strip() for text in row):
            yield _line(reader), row


def _line(reader: Reader) -> int:
    return int(getattr(reader, "line_num", 0))


def _number(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise at_line(line, "line-value-not-finite", name, given=text.strip())
    if abs(value) > LARGEST:
        raise at_line(line, "line-value-too-large", name, given=text.strip(), limit=LARGEST)
    return value
