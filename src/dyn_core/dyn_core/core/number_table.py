# SPDX-License-Identifier: Apache-2.0
"""CSV files of numbers over time, with a first line of names."""

from __future__ import annotations

import csv
import io
import math
import os
import stat
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.text import path_text

MAX_BYTES = 500_000_000
TIME = "time"

Reader: TypeAlias = Iterator[list[str]]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Numbers by name and time.

    Attributes:
        names: names of the columns, each there once; `TIME` is one of them.
        values: the numbers, (m, columns), m at least 1; the times increase.
        lines: the line of the file that each row stands in, counted from 1, (m,).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    lines: npt.NDArray[np.int64]

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """The times (s), (m,)."""
        return self.values[:, self.names.index(TIME)]


def read_number_table(
    path: str | os.PathLike[str],
    what: str,
    check: Callable[[Sequence[str], int], None],
    needed: str,
) -> NumberTable:
    """Answer the numbers in a file.

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
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise DynError(f"this is no regular file: give a CSV file with {what}")
        _check_size("the file", status.st_size)
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return _table(csv.reader(file, strict=True), what, check, needed)
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        raise DynError(f"the file cannot be read: {error.strerror}", file=shown) from error
    except UnicodeDecodeError as error:
        raise DynError("the file is not UTF-8: save it as UTF-8", file=shown) from error
    except ValueError as error:  # a null character in the path
        raise DynError(f"no such file: '{shown}'") from error


def read_number_stream(
    stream: BinaryIO, shown: str, what: str, check: Callable[[Sequence[str], int], None], needed: str
) -> NumberTable:
    """Answer the numbers in a stream, which messages call `shown`; the rest is as for `read_number_table`."""
    try:
        data = stream.read(MAX_BYTES + 1)
        _check_size("it", len(data))
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        return _table(csv.reader(text, strict=True), what, check, needed)
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        raise DynError(f"it cannot be read: {error.strerror}", file=shown) from error
    except UnicodeDecodeError as error:
        raise DynError("it is not UTF-8: write it as UTF-8", file=shown) from error


def _check_size(what: str, size: int) -> None:
    if size > MAX_BYTES:
        raise DynError(f"{what} has {size} bytes, more than the {MAX_BYTES} that are read: cut it up")


def at_line(line: int, sentence: str, column: str | None = None) -> DynError:
    """Answer the error for a line of the file, and a column of it."""
    where = f"line {line}" if column is None else f"line {line}, column '{shortened(column, 40)}'"
    element = None if column is None else f"column '{column}'"
    return DynError(f"{where}: {sentence}", element=element, line=line)


def _table(
    reader: Reader, what: str, check: Callable[[Sequence[str], int], None], needed: str
) -> NumberTable:
    rows = _rows(reader)
    line, header = next(rows, (0, []))
    if not header:
        raise DynError(f"the file is empty: give a first line with {TIME} and {needed}")
    names = [name.strip() for name in header]
    for name in names:
        if names.count(name) > 1:
            raise at_line(line, "it is there more than once", name)
    if TIME not in names:
        raise at_line(line, f"no column is named '{TIME}': give a first line with {TIME} and {needed}")
    check(names, line)
    numbers, lines = array("d"), array("q")
    place, last = names.index(TIME), -math.inf
    for line, row in rows:
        if len(row) != len(names):
            raise at_line(line, f"it has {len(row)} values, but the first line names {len(names)}")
        values = [_number(text, name, line) for text, name in zip(row, names, strict=True)]
        if not values[place] > last:
            raise at_line(line, f"the time {values[place]:g} does not come after {last:g}", TIME)
        last = values[place]
        numbers.extend(values)
        lines.append(line)
    if not lines:
        raise DynError(f"there is no line with {what} after the first line", line=line)
    return NumberTable(tuple(names), np.array(numbers).reshape(len(lines), len(names)), np.array(lines))


def _rows(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Lines by number, without those that are empty."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise at_line(_line(reader), f"it is no CSV: {error}") from error
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
        raise at_line(line, f"'{shortened(text.strip(), 40)}' is no finite number", name)
    return value
