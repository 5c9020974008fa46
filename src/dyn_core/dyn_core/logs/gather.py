# SPDX-License-Identifier: Apache-2.0
"""Rows that are collected block by block, up to a number of values that fits in memory."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity

MAX_VALUES = 16_000_000
"""Values of one log that are kept: 128 MB, for 7 joints with three quantities 12 minutes at 1 kHz."""


class Gather:
    """Rows of a table, of which the first that fit are kept."""

    def __init__(self, columns: int, max_values: int = MAX_VALUES) -> None:
        """Take the number of columns."""
        self._columns = columns
        self._blocks: list[Array] = []
        self._room = max(max_values // max(columns, 1), 1)
        self.is_full = False

    def add(self, block: Array) -> bool:
        """Keep the rows that there is room for; answer whether there is room for more."""
        if len(block) > self._room:
            block, self.is_full = block[: self._room], True
        self._blocks.append(block)
        self._room -= len(block)
        return not self.is_full

    def rows(self) -> Array:
        """Answer all rows, (N, columns)."""
        if not self._blocks:
            return np.empty((0, self._columns))
        rows = np.concatenate(self._blocks) if len(self._blocks) > 1 else self._blocks[0]
        self._blocks = [rows]
        return rows


def cut_finding(rows: int) -> Finding:
    """Answer what is said where a log did not fit."""
    return Finding(
        Severity.WARNING,
        "log",
        (),
        f"it is larger than what is read at once: only its first {rows} samples are used; cut the file "
        "where the "
        "robot moves as it should",
    )
