# SPDX-License-Identifier: Apache-2.0
"""How a CSV file is written: separator, decimal sign, names of columns, where the numbers begin."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from dyn_core.core.errors import DynError, shortened
from dyn_core.logs.joint_state_csv import joint_state_columns
from dyn_core.logs.units import UNITS, unit

_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+([eE][+-]?\d+)?", re.ASCII)
_EMPTY = {"", "null", "none", "na", "n/a", "-", "--"}
WHITESPACE = " "
SEPARATORS = (",", ";", "\t", "|", WHITESPACE)
HEADER_LINES = 200
"""Lines before the first number, at most."""


@dataclass(frozen=True)
class CsvLayout:
    """How a file is written.

    Attributes:
        separator: character between two values; a space stands for any number of spaces and tabs.
        decimal_comma: whether ``0,5`` is a half.
        names: of the columns; numbers from 1 where the file has none.
        has_names: whether the names are in the file.
        units: what a second line of the header says of each column; empty where there is none.
        first: number of lines before the first numbers.
    """

    separator: str
    decimal_comma: bool
    names: tuple[str, ...]
    has_names: bool
    units: tuple[str, ...]
    first: int


def split(line: str, separator: str) -> list[str]:
    """Answer the values of a line."""
    if separator == WHITESPACE:
        return [word.strip("\"'") for word in line.split()]
    if '"' in line:
        return [word.strip() for word in next(csv.reader([line], delimiter=separator), [])]
    return [word.strip() for word in line.split(separator)]


def csv_layout(lines: list[str]) -> CsvLayout:
    """Answer how a file is written, from its first lines.

    Raises:
        DynError: there is no line of numbers among them.
    """
    for number, line in enumerate(lines[:HEADER_LINES]):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        ways = [(separator, comma) for separator in SEPARATORS for comma in (False, True)]
        scores = [_score(line, separator, comma) for separator, comma in ways]
        best = max(scores)
        if best > 0:
            return _with_names(lines, number, *ways[scores.index(best)])
    shown = next((line for line in lines if line.strip()), "")
    raise DynError(
        f"no line of numbers among the first {min(len(lines), HEADER_LINES)}; the first line is "
        f"'{shortened(shown.strip(), 60)}': give a file with a line of names of columns and lines of numbers"
    )


def _score(line: str, separator: str, decimal_comma: bool) -> int:
    """Answer how many more values of a line are numbers than are not; 0 where it is no line of numbers."""
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
            raise _unlike(len(words), count, first, line)
    if not rows and (named := joint_state_columns(split(lines[first].rstrip(), separator))):
        return CsvLayout(separator, decimal_comma, named, True, (), first)
    if not rows:
        names = tuple(str(k + 1) for k in range(count))
        return CsvLayout(separator, decimal_comma, names, False, (), first)
    # Of two lines like that the first has the names and the second the units.
    has_units = len(rows) > 1 and _are_units(rows[0])
    names = tuple(rows[1] if has_units else rows[0])
    return CsvLayout(separator, decimal_comma, names, True, tuple(rows[0]) if has_units else (), first)


def _are_units(words: list[str]) -> bool:
    """Tell whether a line has units: all words are, or most, and the others are told to be none later."""
    bare = [word.strip("[]() ") for word in words]
    named = [word for word in bare if word not in ("", "-", "1")]
    known = sum(any(unit(quantity, word) is not None for quantity in UNITS) for word in named)
    return 2 * known > len(named) or not named


def _words(line: str, separator: str, count: int) -> list[str]:
    bare = line.strip().lstrip("#% ")
    words = split(bare, separator)
    # Numbers may be aligned by spaces while names are separated by commas, and the other way round.
    if len(words) != count:
        words = next((w for s in SEPARATORS if len(w := split(bare, s)) == count), words)
    return words


def _unlike(names: int, values: int, first: int, line: str) -> DynError:
    return DynError(
        f"line {first + 1} has {values} values, but there are {names} names in "
        f"'{shortened(line.strip(), 60)}': give one name for each column",
        line=first + 1,
    )
