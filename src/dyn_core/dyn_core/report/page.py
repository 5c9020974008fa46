# SPDX-License-Identifier: Apache-2.0
"""A page of HTML that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dyn_core.report.style import style_sheet


def page(title: str, body: Iterable[str]) -> str:
    """Answer a whole page; `body` is HTML."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{style_sheet()}</style></head>",
            "<body>",
            *body,
            "</body></html>\n",
        )
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    kind: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Answer a table of texts, which are escaped.

    Args:
        head: of the columns; empty for none.
        rows: of the table.
        kind: a class of the style sheet.
        groups: what stands above the heads, and above how many of them.
    """
    above = "".join(f'<th colspan="{count}" class="group">{escape(text)}</th>' for text, count in groups)
    return "\n".join(
        (
            f'<div class="scroll"><table class="{escape(kind)}">',
            *([f"<thead>{f'<tr>{above}</tr>' if above else ''}{_row(head, 'th')}</thead>"] if head else []),
            "<tbody>",
            *(_row(row, "td") for row in rows),
            "</tbody></table></div>",
        )
    )


def legend(entries: Iterable[tuple[str, int, bool]]) -> str:
    """Answer the meaning of curves: label, number of the colour, and whether it is dashed."""
    items = (
        f'<li><svg viewBox="0 0 26 8" aria-hidden="true"><path class="curve c{colour}'
        f'{" dashed" if dashed else ""}" d="M0 4H26"/></svg>{escape(label)}</li>'
        for label, colour, dashed in entries
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _row(texts: Sequence[str], element: str) -> str:
    return f"<tr>{''.join(f'<{element}>{escape(text)}</{element}>' for text in texts)}</tr>"
