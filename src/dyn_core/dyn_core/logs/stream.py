# SPDX-License-Identifier: Apache-2.0
"""What a reader answers: columns as the file has them, before anything is known of joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding
from dyn_core.logs.recording import ColumnName

Selection: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
"""Which of the columns of these names are read."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Columns that share their time stamps.

    Attributes:
        source: topic of a bag; empty for what a file has only one of.
        names: names of the columns.
        values: one row a sample, NaN where the file has no value, (N, columns).
        time: time stamps (s) where the format says which they are, (N,); None: one of the columns is it.
        epoch: what is to be added to `time` (s).
        ignored: names of the columns that were not read.
        meanings: what each column is; empty where the names say it.
    """

    source: str
    names: tuple[str, ...]
    values: Array
    time: Array | None = None
    epoch: float = 0.0
    ignored: tuple[str, ...] = ()
    meanings: tuple[ColumnName | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Recording:
    """The contents of a log file.

    Attributes:
        form: what kind of file it is, in words.
        streams: one for a table; for a bag one for each topic and set of joints.
        findings: what is wrong with the file.
        others: topics, with their types, that hold no signals of joints.
    """

    form: str
    streams: tuple[Stream, ...]
    findings: tuple[Finding, ...] = ()
    others: tuple[str, ...] = ()


def all_columns(names: Sequence[str]) -> Sequence[int]:
    """Select every column."""
    return range(len(names))
