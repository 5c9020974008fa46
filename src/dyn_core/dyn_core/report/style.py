# SPDX-License-Identifier: Apache-2.0
"""How reports look: in light and in dark, on paper, and on a narrow screen."""

from __future__ import annotations

COLOURS = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#009e73", "#2ec99b"),
    ("#b3568f", "#e29bc3"),
    ("#8a6d00", "#f0e442"),
    ("#555555", "#bbbbbb"),
    ("#7b3fb5", "#b78cf0"),
)
"""Colours of curves on light and on dark ground, which people with any colour vision can tell apart."""

_LIGHT = "--ground: #ffffff; --panel: #f6f7f9; --text: #1c2128; --quiet: #59636e; --line: #d5dae0;"
_DARK = "--ground: #15191e; --panel: #1d2329; --text: #e6e9ec; --quiet: #9aa4ae; --line: #39424b;"

_RULES = """
@media print { section { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 1.5rem; background: var(--ground);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
p { max-width: 75ch; }
.quiet { color: var(--quiet); }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.2rem 0; }
.card { flex: 1 1 14rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: 8px; padding: .9rem 1.1rem; }
.card b { display: block; font-size: 1.9rem; line-height: 1.2; }
.card span { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; vertical-align: bottom; }
thead th { white-space: normal; }
th.group { text-align: center; border-bottom: none; border-left: 1px solid var(--line); }
th.group:first-child { border-left: none; }
th:first-child, td:first-child { text-align: left; }
table.prose td { text-align: left; white-space: normal; vertical-align: top;
  overflow-wrap: anywhere; }
table.prose td:first-child { color: var(--quiet); white-space: nowrap; }
table.prose th { text-align: left; }
table.wide td { min-width: 9rem; }
table.wide { margin-bottom: .8rem; }
table.reasons td { width: 50%; min-width: 14rem; }
table.prose.reasons td:first-child { white-space: normal; color: var(--text); }
table.small { font-size: .8rem; }
table.small th, table.small td { padding: .2rem .45rem; }
details { margin: .8rem 0; }
summary { cursor: pointer; color: var(--quiet); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  overflow-x: auto; font-size: .86rem; }
.notices { list-style: none; padding: 0; max-width: 95ch; }
.notices li { margin: .35rem 0; display: flex; gap: .7rem; align-items: baseline; }
.notices b { flex: none; width: 4.6rem; text-align: center; font-size: .76rem;
  border-radius: 4px; padding: .05rem .4rem; border: 1px solid currentColor; }
.notices .error { color: var(--c1); }
.notices .warning { color: var(--c4); }
.notices .note { color: var(--quiet); }
.plots { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; background: var(--panel); border: 1px solid var(--line);
  border-radius: 8px; padding: .5rem .6rem; }
svg.plot { width: 100%; height: auto; display: block; font: 11px system-ui, sans-serif;
  fill: var(--text); }
svg .title { font-size: 13px; font-weight: 600; }
svg .tick { fill: var(--quiet); }
svg .grid { stroke: var(--line); fill: none; }
svg .zero { stroke: var(--quiet); fill: none; }
svg .curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .dashed { stroke-dasharray: 6 4; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none;
  margin: .1rem 0 0; padding: 0 .4rem; font-size: .86rem; }
.legend svg { width: 26px; height: 8px; margin-right: .35rem; vertical-align: middle; }
"""


def style_sheet() -> str:
    """Answer the style sheet."""
    light, dark = (" ".join(f"--c{k}: {both[i]};" for k, both in enumerate(COLOURS)) for i in (0, 1))
    curves = "\n".join(f"svg .c{k} {{ stroke: var(--c{k}); }}" for k in range(len(COLOURS)))
    return (
        f":root {{ color-scheme: light dark; {_LIGHT} {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_DARK} {dark} }} }}"
        f"{_RULES}{curves}\n"
    )
