# SPDX-License-Identifier: Apache-2.0
"""Rows of words as lines of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Answer rows of words as lines: columns two spaces apart, right-aligned but for those of `left`."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            word.ljust(widths[k]) if k in left else word.rjust(widths[k]) for k, word in enumerate(row)
        ).rstrip()
        for row in rows
    ]
