# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML pages: templates of Jinja2, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dyn_core.report.line_plot import Curve, line_plot

if TYPE_CHECKING:
    from jinja2 import Environment


COLOURS = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#009e73", "#2ec99b"),
    ("#b3568f", "#e29bc3"),
    ("#8a6d00", "#f0e442"),
    ("#555555", "#bbbbbb"),
    ("#7b3fb5", "#b78cf0"),
)
"""Colours of curves on light and on dark ground, distinguishable with any colour vision."""


class Table(NamedTuple):
    """A table of texts.

    Attributes:
        head: headings of the columns; empty for none.
        rows: texts of each row.
        kind: class of the style sheet.
        groups: headings above those of the columns, each with the number of its columns.
    """

    head: Sequence[str]
    rows: Iterable[Sequence[str]]
    kind: str = ""
    groups: Sequence[tuple[str, int]] = ()


class Figure(NamedTuple):
    """A plot as SVG, with a legend: label, number of the colour, and dashed or not."""

    svg: str
    legend: Sequence[tuple[str, int, bool]]


def figure(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> Figure:
    """Return a plot of curves; those with the same label, colour and line share an entry of the legend."""
    from markupsafe import Markup

    entries = dict.fromkeys((curve.label, curve.colour, curve.dashed) for curve in curves)
    return Figure(Markup(line_plot(title, x_label, y_label, curves)), tuple(entries))


def rendered(template: Path, **values: object) -> str:
    """Return a self-contained HTML page, without scripts, fonts or pictures from elsewhere.

    Args:
        template: a file that extends `page.html`, and can use the macros of `parts.html`.
        values: values of its variables, which are escaped; `title` is the title of the page.
    """
    return _environment(template.parent).get_template(template.name).render(values)


@cache
def _environment(folder: Path) -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["colours"] = COLOURS
    return environment
