# SPDX-License-Identifier: Apache-2.0
"""Read CSV and other text tables; separator, decimal sign, header, units and date format are detected."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.core.text import finite_number
from dyn_core.logs.log import EFFORT, POSITION, UNITS, VELOCITY, unit
from dyn_core.logs.reading_budget import Budget, gzip_pieces
from dyn_core.logs.recording import Gather, Recording, Selection, cut_finding, table

LEADING = ("header.stamp.sec", "header.stamp.nanosec", "frame_id")
"""First columns of joint states as `ros2 topic echo --csv` writes them."""
_DATE_TIME = re.compile(
    r"(\d{4})[-/](\d{2})[-/](\d{2})[T ](\d{1,2}):(\d{2}):(\d{2})([.,]\d+)?(Z|[+-]\d{2}:?\d{2})?"
)
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})([.,]\d+)?")
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+([eE][+-]?\d+)?", re.ASCII)
_EMPTY = {"", "null", "none", "na", "n/a", "-", "--"}
WHITESPACE = " "
SEPARATORS = (",", ";", "\t", "|", WHITESPACE)
HEADER_LINES = 200
"""Greatest number of lines before the first number."""
BLOCK = 4_000_000
GZIP = b"\x1f\x8b"
MAX_LINE = 4_000_000
CAREFUL_COST = 16
"""Bytes that a byte counts that is read number by number, because of the time that it takes."""
MOST_BAD = 0.1
"""Part of the lines that may be unusable before the file is refused."""


def joint_state_columns(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of joint states without a header; nothing for other lines.

    A line has seconds, nanoseconds, a frame, the names of n joints, and n positions, velocities and efforts.
    """
    if len(words) < 7 or not (words[0].isdecimal() and words[1].isdecimal()):
        return ()
    rest = words[len(LEADING) :]
    joints = len(rest) // 4
    names, values = rest[:joints], rest[joints:]
    if len(rest) != 4 * joints or any(finite_number(name) is not None or not name for name in names):
        return ()
    if any(finite_number(value) is None for value in values):
        return ()
    columns = (f"{quantity}.{name}" for quantity in (POSITION, VELOCITY, EFFORT) for name in names)
    return (*LEADING, *(f"name[{k}]" for k in range(joints)), *columns)


@dataclass(frozen=True)
class CsvLayout:
    """Layout of a text table.

    Attributes:
        separator: character between two values; a space stands for any number of spaces and tabs.
        decimal_comma: whether ``0,5`` is a half.
        names: names of the columns; numbers from 1 if the file has none.
        has_names: whether the names are in the file.
        units: unit of each column in a second line of the header; empty without such a line.
        first: number of lines before the first numbers.
    """

    separator: str
    decimal_comma: bool
    names: tuple[str, ...]
    has_names: bool
    units: tuple[str, ...]
    first: int


def split(line: str, separator: str) -> list[str]:
    """Return the values of a line."""
    if separator == WHITESPACE:
        return [word.strip("\"'") for word in line.split()]
    if '"' in line:
        return [word.strip() for word in next(csv.reader([line], delimiter=separator), [])]
    return [word.strip() for word in line.split(separator)]


def csv_layout(lines: list[str]) -> CsvLayout:
    """Return the layout of a table from its first lines; DynError if there is no line of numbers."""
    for number, line in enumerate(lines[:HEADER_LINES]):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        ways = [(separator, comma) for separator in SEPARATORS for comma in (False, True)]
        scores = [_score(line, separator, comma) for separator, comma in ways]
        best = max(scores)
        if best > 0:
            return _with_names(lines, number, *ways[scores.index(best)])
    first = next((line.strip() for line in lines if line.strip()), "")
    raise DynError("table-without-numbers", count=min(len(lines), HEADER_LINES), first_text=first)


def _score(line: str, separator: str, decimal_comma: bool) -> int:
    """Return the number of numbers in a line minus that of other values; 0 for fewer than two numbers."""
    if decimal_comma and separator == ",":
        return 0
    words = [word for word in split(line.rstrip(), separator) if word.lower() not in _EMPTY]
    pattern = _COMMA_NUMBER if decimal_comma else _NUMBER
    # Columns of text, such as the mode of a controller, or a date, are allowed beside numbers.
    numbers = sum(pattern.fullmatch(word) is not None for word in words)
    return 2 * numbers - len(words) if numbers >= 2 else 0


def _with_names(lines: list[str], first: int, separator: str, decimal_comma: bool) -> CsvLayout:
    count = len(split(lines[first].rstrip(), separator))
    before = [line for line in lines[:first] if line.strip()]
    rows: list[list[str]] = []
    for line in reversed(before):
        words = _words(line, separator, count)
        if len(words) == count:
            rows.append(words)
        elif not rows and not line.lstrip().startswith(("#", "%")):
            raise DynError(
                "table-names-count",
                first_line=first + 1,
                given=count,
                expected=len(words),
                header=line.strip(),
                line=first + 1,
            )
    if not rows:
        named = joint_state_columns(split(lines[first].rstrip(), separator))
        names = named or tuple(str(k + 1) for k in range(count))
        return CsvLayout(separator, decimal_comma, names, bool(named), (), first)
    # Of two header lines, the first has the names and the second may have the units.
    has_units = len(rows) > 1 and _are_units(rows[0])
    names = tuple(rows[1] if has_units else rows[0])
    return CsvLayout(separator, decimal_comma, names, True, tuple(rows[0]) if has_units else (), first)


def _are_units(words: list[str]) -> bool:
    """Return whether most words of a line are units; the others are refused later."""
    bare = [word.strip("[]() ") for word in words]
    named = [word for word in bare if word not in ("", "-", "1")]
    known = sum(any(unit(quantity, word) is not None for quantity in UNITS) for word in named)
    return 2 * known > len(named) or not named


def _words(line: str, separator: str, count: int) -> list[str]:
    bare = line.strip().lstrip("#% ")
    words = split(bare, separator)
    # Names may be separated by commas and numbers by spaces, and vice versa.
    if len(words) != count:
        words = next((w for s in SEPARATORS if len(w := split(bare, s)) == count), words)
    return words


def seconds_of(text: str) -> float | None:
    """Return seconds since 1970, or since midnight without a date; None if the text is not a time.

    The offset of the time zone is ignored, since it does not change during a log.
    """
    date = _DATE_TIME.fullmatch(text)
    match = date or _TIME.fullmatch(text)
    if match is None:
        return None
    *parts, fraction = match.groups()[: 7 if date else 4]
    seconds = float("0." + fraction[1:]) if fraction else 0.0
    numbers = [int(part) for part in parts]
    if not date:
        return 3600.0 * numbers[0] + 60.0 * numbers[1] + numbers[2] + seconds
    year, month, day, hour, minute, second = numbers
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        return moment.timestamp() + seconds
    except ValueError:
        return None


def read_csv(path: Path, select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of a text table; DynError if there is no table."""
    with path.open("rb") as file:
        blocks = _blocks(_data(file))
        block = next(blocks, None)
        if block is None:
            raise DynError("table-empty")
        lines, is_whole = block
        layout = csv_layout(lines[:HEADER_LINES])
        columns = list(select(layout.names))
        rows = _Rows(layout, columns, Gather(len(columns), budget.max_values), budget.memory)
        rows.add(lines[layout.first :], is_whole)
        while not rows.gather.is_full and (block := next(blocks, None)) is not None:
            rows.add(*block)
    stream = table(_with_units(layout), columns, rows.gather.rows())
    return Recording("CSV", (stream,), tuple(rows.findings()))


def _data(file: BinaryIO) -> Iterator[bytes]:
    """Return the bytes of a file piece by piece, unpacked if it is a gzip file."""
    start = file.read(2)
    file.seek(0)
    pieces = iter(partial(file.read, BLOCK), b"")
    return gzip_pieces(pieces) if start == GZIP else pieces


def _blocks(pieces: Iterator[bytes]) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of a file in blocks, and whether the last line of the block is complete."""
    rest = b""
    encoding = ""
    for piece in pieces:
        encoding = encoding or _encoding(piece)
        data = rest + piece
        cut = data.rfind(b"\n") + 1 or data.rfind(b"\r") + 1
        if len(data) - cut > MAX_LINE:
            raise DynError("table-without-lines", count=len(data))
        rest = data[cut:]
        if cut:
            yield data[:cut].decode(encoding, "replace").splitlines(), True
    if rest.strip():
        yield rest.decode(encoding, "replace").splitlines(), False


def _encoding(start: bytes) -> str:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DynError("file-utf-16")
    if b"\0" in start[:4096]:
        raise DynError("log-format-unknown")
    return "utf-8-sig" if start[:3] == b"\xef\xbb\xbf" else "utf-8"


class _Rows:
    """Numbers of the selected columns."""

    def __init__(self, layout: CsvLayout, columns: list[int], gather: Gather, most: int) -> None:
        """Collect rows; after `most` bytes the rest is left out."""
        self._layout, self._columns, self.gather, self._left = layout, columns, gather, most
        self._rows, self._bad, self._line = 0, 0, layout.first
        self._first_bad: Message | None = None
        self._unreadable = 0
        self._is_cut = False

    def add(self, lines: list[str], is_whole: bool) -> None:
        """Read lines, without the last one if it is incomplete."""
        if not is_whole and lines:
            self._is_cut = True
            lines = lines[:-1]
        if not lines:
            return
        block = self._fast(lines)
        self._left -= sum(map(len, lines)) * (1 if block is not None else CAREFUL_COST)
        self.gather.add(self._careful(lines) if block is None else block)
        self.gather.is_full |= self._left < 0
        self._line += len(lines)

    def _fast(self, lines: list[str]) -> Array | None:
        """Return the numbers of lines without errors; None if there is an error."""
        layout = self._layout
        separator = None if layout.separator == WHITESPACE else layout.separator
        count = len(layout.names) - 1
        if separator is not None and any(line.count(separator) != count for line in lines):
            return None
        if layout.decimal_comma:
            lines = [line.replace(",", ".") for line in lines]
        try:
            block = np.loadtxt(lines, delimiter=separator, usecols=self._columns, comments=None, ndmin=2)
        except ValueError:
            return None
        self._rows += len(block)
        return block

    def _careful(self, lines: list[str]) -> Array:
        """Return the numbers of the usable lines, and count the others."""
        layout, rows = self._layout, []
        for number, line in enumerate(lines, start=self._line + 1):
            if not line.strip() or line.lstrip().startswith(("#", "%")):
                continue
            words = split(line.rstrip("\r\n"), layout.separator)
            if len(words) != len(layout.names):
                self._bad += 1
                if self._first_bad is None:
                    given, count = len(words), len(layout.names)
                    self._first_bad = Message(
                        "table-line-values", first_line=number, given=given, expected=count
                    )
                continue
            rows.append([self._number(words[k]) for k in self._columns])
        self._rows += len(rows)
        return np.array(rows).reshape(len(rows), len(self._columns))

    def _number(self, word: str) -> float:
        try:
            return float(word.replace(",", ".") if self._layout.decimal_comma else word)
        except ValueError:
            moment = seconds_of(word) if ":" in word else None
            if moment is not None:
                return moment
            self._unreadable += bool(word)
            return float("nan")

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the file; DynError if too many lines are unusable."""
        total = self._rows + self._bad
        if self._bad > MOST_BAD * total:
            raise DynError("table-lines-unusable", count=self._bad, total=total, cause=self._first_bad)
        note, warning = (
            partial(Finding, severity, "log", ()) for severity in (Severity.NOTE, Severity.WARNING)
        )
        if not self._layout.has_names:
            yield note(Message("table-without-names"))
        if self._bad:
            yield warning(
                Message("table-lines-left-out", count=self._bad, total=total, cause=self._first_bad)
            )
        if self._unreadable:
            yield warning(Message("table-values-unreadable", count=self._unreadable))
        if self._is_cut:
            yield note(Message("table-last-line-cut"))
        if self.gather.is_full:
            yield cut_finding(len(self.gather.rows()))


def _with_units(layout: CsvLayout) -> tuple[str, ...]:
    """Return the names of the columns, with the units of a second line in brackets."""
    units = [unit.strip("[]() ") for unit in layout.units]
    named = zip(layout.names, units, strict=True) if units else ()
    return tuple(f"{name} [{unit}]" if unit else name for name, unit in named) or layout.names
