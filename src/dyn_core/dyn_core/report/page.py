# SPDX-License-Identifier: Apache-2.0
"""A page of HTML that needs nothing else: no script, no font, no picture from anywhere. It is readable in
light and in dark, on paper, and on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

COLOURS = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#009e73", "#2ec99b"),
    ("#cc79a7", "#e29bc3"),
    ("#8a6d00", "#f0e442"),
    ("#555555", "#bbbbbb"),
    ("#7b3fb5", "#b78cf0"),
)
"""Colours of curves on light and on dark ground, told apart by people with any colour vision."""

_STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f6f7f9; --text: #1c2128; --quiet: #59636e;
  --line: #d5dae0; %s }
@media (prefers-color-scheme: dark) { :root { --ground: #15191e; --panel: #1d2329; --text: #e6e9ec;
  --quiet: #9aa4ae; --line: #39424b; %s } }
@media print { :root { color-scheme: light; } section { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 1.5rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
p { max-width: 75ch; } .quiet { color: var(--quiet); }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.2rem 0; }
.card { flex: 1 1 14rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .9rem 1.1rem; }
.card b { display: block; font-size: 1.9rem; line-height: 1.2; } .card span { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
table.prose td { text-align: left; white-space: normal; } table.prose th { text-align: left; vertical-align: top; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%%, 30rem), 1fr)); gap: .8rem; }
figure { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .5rem .6rem; }
svg.plot { width: 100%%; height: auto; display: block; font: 11px system-ui, sans-serif; fill: var(--text); }
svg .title { font-size: 13px; font-weight: 600; } svg .tick { fill: var(--quiet); }
svg .grid { stroke: var(--line); stroke-width: 1; fill: none; } svg .zero { stroke: var(--quiet); fill: none; }
svg .curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; } svg .dashed { stroke-dasharray: 6 4; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: .1rem 0 0; padding: 0 .4rem;
  font-size: .86rem; }
.legend svg { width: 26px; height: 8px; margin-right: .35rem; vertical-align: middle; }
"""


def page(title: str, body: Iterable[str]) -> str:
    """Answer a whole page; `body` is HTML."""
    rules = "\n".join(f".c{k} {{ stroke: var(--c{k}); }}" for k in range(len(COLOURS)))
    light, dark = ("".join(f"--c{k}: {both[i]}; " for k, both in enumerate(COLOURS)) for i in (0, 1))
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE % (light, dark)}{rules}\n</style></head>",
            "<body>",
            *body,
            "</body></html>\n",
        )
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Answer a table of texts, which are escaped; `kind` is a class of the style sheet."""
    return "\n".join(
        (
            f'<div class="scroll"><table class="{escape(kind)}">',
            *([f"<thead>{_row(head, 'th')}</thead>"] if head else []),
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
