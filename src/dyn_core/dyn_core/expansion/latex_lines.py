# SPDX-License-Identifier: Apache-2.0
"""Long sums in LaTeX broken into lines that fit on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIDTH = 60
"""Characters of a line as they are printed: about what the lines of an article on A4 paper hold."""

_OPERATOR = re.compile(r" [+-] ")
_FUNCTION = re.compile(r"\\[a-z]+(\^\{[0-9]+\})?$")
_NOT_PRINTED = re.compile(r"\\(mathit|frac)|[\\{}_^ ]")


def latex_lines(text: str) -> list[str]:
    """Break an expression before terms; within the sums in parentheses only of a term that fits on no line.

    Arguments of functions and fractions stay whole.
    """
    lines, line = [], ""
    for term in _parts(text, within=False):
        for part in [term] if _printed(term) <= WIDTH else _parts(term, within=True):
            if line and _printed(line + part) > WIDTH:
                lines.append(line)
                line = part.lstrip()
            else:
                line += part
    return [*lines, line]


def _parts(text: str, within: bool) -> Iterator[str]:
    """Answer the terms, each with the operator before it."""
    start, closed = 0, [False]
    for at, character in enumerate(text):
        if character in "({":
            is_sum = character == "(" and not _FUNCTION.search(text, max(0, at - 12), at)
            closed.append(closed[-1] or not (within and is_sum))
        elif character in ")}":
            closed.pop()
        elif not closed[-1] and at > start and _OPERATOR.match(text, at):
            yield text[start:at]
            start = at
    yield text[start:]


def _printed(text: str) -> int:
    return len(_NOT_PRINTED.sub("", text.replace(r"\theta", "t")))
