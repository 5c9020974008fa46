# SPDX-License-Identifier: Apache-2.0
"""CSV and other tables in text, read in blocks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.csv_layout import HEADER_LINES, WHITESPACE, CsvLayout, csv_layout, split
from dyn_core.logs.date_time import seconds_of
from dyn_core.logs.gather import Gather, cut_finding
from dyn_core.logs.stream import Recording, Selection, Stream

BLOCK = 4_000_000
PACKED_BLOCK = 64_000
"""Bytes that are unpacked at once: at most a thousand times as many come of it."""
GZIP = b"\x1f\x8b"
MAX_LINE = 1_000_000
MOST_BAD = 0.1
"""Part of the lines that may be unusable before the file is refused."""


def read_csv(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of a table in text.

    Raises:
        DynError: there is no table in it.
    """
    with path.open("rb") as file:
        blocks = _blocks(_data(file))
        lines = next(blocks, None)
        if lines is None:
            raise DynError("the file is empty: give a log with names of columns and lines of numbers")
        layout = csv_layout(lines.lines[:HEADER_LINES])
        columns = list(select(layout.names))
        table = _Table(layout, columns, Gather(len(columns), max_values))
        table.take(lines.lines[layout.first :], lines.whole)
        while not table.gather.is_full and (lines := next(blocks, None)) is not None:
            table.take(lines.lines, lines.whole)
    names = _with_units(layout)
    stream = Stream(
        source="",
        names=tuple(names[k] for k in columns),
        values=table.gather.rows(),
        ignored=tuple(name for k, name in enumerate(names) if k not in columns),
    )
    return Recording("CSV", (stream,), tuple(table.findings()))


def _data(file: BinaryIO) -> Iterator[bytes]:
    """Answer the bytes of a file piece by piece; of one that gzip has made smaller, those before."""
    start = file.read(2)
    file.seek(0)
    if start != GZIP:
        while data := file.read(BLOCK):
            yield data
        return
    gzip = zlib.decompressobj(wbits=31)
    try:
        while not gzip.eof and (data := file.read(PACKED_BLOCK)):
            yield gzip.decompress(data)
    except zlib.error as error:
        raise DynError(f"the file cannot be unpacked: {error}") from error


class _Lines:
    """Some lines; the last may lack its end."""

    def __init__(self, lines: list[str], whole: bool) -> None:
        self.lines, self.whole = lines, whole


def _blocks(pieces: Iterator[bytes]) -> Iterator[_Lines]:
    """Answer the lines of a file in blocks."""
    rest = b""
    encoding = ""
    for piece in pieces:
        encoding = encoding or _encoding(piece)
        data = rest + piece
        cut = data.rfind(b"\n") + 1 or data.rfind(b"\r") + 1
        if not cut and len(data) > MAX_LINE:
            raise DynError(f"no end of a line in {len(data)} bytes: this is no table in text")
        rest = data[cut:]
        if cut:
            yield _Lines(data[:cut].decode(encoding, "replace").splitlines(), True)
    if rest.strip():
        yield _Lines(rest.decode(encoding, "replace").splitlines(), False)


def _encoding(start: bytes) -> str:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DynError("the file is UTF-16: save it as UTF-8")
    if b"\0" in start[:4096]:
        raise DynError(
            "the file is neither text nor a kind of log that is known: give CSV, Parquet, .npz, .mat or a bag"
        )
    return "utf-8-sig" if start[:3] == b"\xef\xbb\xbf" else "utf-8"


class _Table:
    """The numbers of the selected columns."""

    def __init__(self, layout: CsvLayout, columns: list[int], gather: Gather) -> None:
        self._layout, self._columns, self.gather = layout, columns, gather
        self._rows, self._bad, self._line = 0, 0, layout.first
        self._first_bad = ""
        self._unreadable = 0
        self._is_cut = False

    def take(self, lines: list[str], whole: bool) -> None:
        """Read lines; the last of them is not used where the file ends in it."""
        if not whole and lines:
            self._is_cut = True
            lines = lines[:-1]
        if not lines:
            return
        block = self._fast(lines)
        self.gather.add(self._careful(lines) if block is None else block)
        self._line += len(lines)

    def _fast(self, lines: list[str]) -> Array | None:
        """Answer the numbers where all lines are as they should be."""
        layout = self._layout
        separators = len(layout.names) - 1
        if layout.separator != WHITESPACE and any(
            line.count(layout.separator) != separators for line in lines
        ):
            return None
        if layout.decimal_comma:
            lines = [line.replace(",", ".") for line in lines]
        try:
            block = np.loadtxt(
                lines,
                delimiter=None if layout.separator == WHITESPACE else layout.separator,
                usecols=self._columns,
                comments=None,
                ndmin=2,
            )
        except ValueError:
            return None
        self._rows += len(block)
        return block

    def _careful(self, lines: list[str]) -> Array:
        """Answer the numbers of the lines that can be used, and count the others."""
        layout, rows = self._layout, []
        for number, line in enumerate(lines, start=self._line + 1):
            if not line.strip() or line.lstrip().startswith(("#", "%")):
                continue
            words = split(line.rstrip("\r\n"), layout.separator)
            if len(words) != len(layout.names):
                self._bad += 1
                self._first_bad = self._first_bad or (
                    f"line {number} has {len(words)} values instead of {len(layout.names)}"
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
        """Answer what is wrong with the file; DynError where too much is."""
        if self._bad > MOST_BAD * (self._rows + self._bad):
            raise DynError(
                f"{self._bad} of {self._rows + self._bad} lines cannot be used; the first: {self._first_bad}"
            )
        if not self._layout.has_names:
            yield Finding(
                Severity.NOTE,
                "log",
                (),
                "the columns have no names: they are called by their numbers from 1",
            )
        if self._bad:
            yield Finding(
                Severity.WARNING,
                "log",
                (),
                f"{self._bad} of {self._rows + self._bad} lines are left out; the first: {self._first_bad}",
            )
        if self._unreadable:
            yield Finding(
                Severity.WARNING,
                "log",
                (),
                f"{self._unreadable} values are no numbers: they count as missing",
            )
        if self._is_cut:
            yield Finding(
                Severity.NOTE,
                "log",
                (),
                "the last line has no end, as in a file that was cut: it is not used",
            )
        if self.gather.is_full:
            yield cut_finding(len(self.gather.rows()))


def _with_units(layout: CsvLayout) -> list[str]:
    """Answer the names of the columns, with the units of a second line after them in brackets."""
    if not layout.units:
        return list(layout.names)
    return [
        f"{name} [{unit.strip('[]() ')}]" if unit.strip("[]() ") else name
        for name, unit in zip(layout.names, layout.units, strict=True)
    ]
