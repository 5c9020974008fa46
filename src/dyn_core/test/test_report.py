# SPDX-License-Identifier: Apache-2.0
"""Reports: ticks, curves, plots and pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from html_elements import Elements
from jinja2 import UndefinedError
from properties import examples, given, st
from refusals import refused

from dyn_core.report import line_plot as plot
from dyn_core.report import page
from dyn_core.report.line_plot import Curve, labels, line_plot, pieces, simplified, ticks
from dyn_core.report.page import COLOURS, Table, figure, rendered


def test_ticks_and_labels_by_hand() -> None:
    for low, high, count, expected in (
        *((0.0, 1.0, 5, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (-3.2, 4.1, 5, [-2.0, 0.0, 2.0, 4.0])),
        *((0.0, 4.0, 6, [0.0, 1.0, 2.0, 3.0, 4.0]), (0.001, 0.0099, 4, [0.005])),
        (-1e6, 1e6, 4, [-1e6, -5e5, 0.0, 5e5, 1e6]),
    ):
        assert ticks(low, high, count) == pytest.approx(expected, abs=1e-12 * (high - low))
    for values, texts in (
        *(((0.0, 0.2, 0.4), "0.0 0.2 0.4"), ((-10.0, -0.0, 10.0), "\N{MINUS SIGN}10 0 10")),
        *(((-0.05, -1e-17, 0.05), "\N{MINUS SIGN}0.05 0.00 0.05"), ((0.0, 2e-7), "0 2e\N{MINUS SIGN}07")),
        *(((0.0, 5e6), "0 5e+06"), ((), "")),
    ):
        assert labels(values) == tuple(texts.split())
    for low, high in ((1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf)):
        with refused("axis-range-invalid"):
            ticks(low, high)


@examples(200)
@given(st.floats(-100.0, 100.0), st.floats(-8.0, 8.0), st.integers(2, 10))
def test_ticks_are_round_and_within(begin: float, power: float, count: int) -> None:
    width = 10.0**power
    low = begin * width
    values = ticks(low, low + width, count)
    assert len(values) <= count + 1
    assert all(-1e-6 * width <= value - low <= (1.0 + 1e-6) * width for value in values)
    for a, b in pairwise(values):
        assert float(f"{b - a:.3e}"[0]) in (1.0, 2.0, 5.0)


def test_curves_are_simplified_without_losing_corners_peaks_and_steps() -> None:
    x = np.linspace(0.0, 10.0, 1001)
    assert simplified(x, 3.0 * x, 1e-9)[0].tolist() == [0.0, 10.0]
    kept, y = simplified(x, np.abs(x - 4.0), 1e-9)
    assert (kept.tolist(), y.tolist()) == ([0.0, 4.0, 10.0], [4.0, 0.0, 6.0])
    y = np.zeros(5000)
    y[1234] = 7.0
    assert simplified(np.arange(5000.0), y, 0.1)[1].max() == 7.0
    x, y = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 5.0, 2.0])
    assert simplified(x, y, 0.1)[1].tolist() == [0.0, 0.0, 5.0, 2.0]


@pytest.mark.parametrize("tolerance", [0.01, 0.3])
def test_omitted_points_are_close_to_the_drawn_curve(tolerance: float) -> None:
    random = np.random.default_rng(2)
    x = np.sort(random.uniform(0.0, 500.0, 3000))
    y = 80.0 * np.sin(x / 30.0) + random.normal(0.0, 0.05, 3000)
    kept, drawn = simplified(x, y, tolerance)
    assert np.abs(np.interp(x, kept, drawn) - y).max() <= tolerance
    assert len(kept) < 3000


def test_curves_are_split_at_gaps() -> None:
    y = np.array([np.nan, 1.0, 2.0, np.inf, np.nan, 3.0])
    found = [(x.tolist(), y.tolist()) for x, y in pieces(np.arange(6.0), y)]
    assert found == [([1.0, 2.0], [1.0, 2.0]), ([5.0], [3.0])]
    assert list(pieces(np.arange(2.0), np.full(2, np.nan))) == []
    with refused("curve-shapes-differ", curve="a"):
        Curve("a", np.zeros(3), np.zeros(2))


def points(path: ET.Element) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", ""))]


def test_a_plot_places_points_in_pixels() -> None:
    """x from 0 to 10 on 66 to 550 px.

    Y from -1 to 1, with a margin of 6 % of 2 on each side, on 200 to 26 px.
    """
    curve = Curve("a & b", np.array([0.0, 5.0, 10.0]), np.array([-1.0, 1.0, 0.0]), 3, dashed=True)
    svg = ET.fromstring(line_plot("<title>", "time (s)", "q (rad)", [curve]))
    assert svg.find("title").text == "<title>"
    (path,) = (p for p in svg.iter("path") if "curve" in p.get("class", ""))
    assert path.get("class") == "curve c3 dashed"
    assert path.find("title").text == "a & b"
    scale = (200.0 - 26.0) / 2.24
    expected = [(66.0, 200.0 - 0.12 * scale), (308.0, 200.0 - 2.12 * scale), (550.0, 200.0 - 1.12 * scale)]
    np.testing.assert_allclose(points(path), expected, atol=0.051)
    texts = ["".join(text.itertext()) for text in svg.iter("text")]
    assert {"time (s)", "q (rad)", "0", "10", "\N{MINUS SIGN}1.0", "0.5"} <= set(texts)
    assert sum(p.get("class") == "zero" for p in svg.iter("path")) == 1


@pytest.mark.parametrize(
    "values", [[], [0.0] * 5, [3.0] * 5, [np.nan] * 5, [1.0], [0.0, np.nan, np.inf, 1e-300, -1e300]], ids=str
)
def test_any_curve_gives_a_plot_within_its_frame(values: list[float]) -> None:
    curve = Curve("c", np.arange(len(values)) * 1.0, np.array(values))
    svg = ET.fromstring(line_plot("p", "x", "y", [curve]))
    for x, y in (point for path in svg.iter("path") for point in points(path)):
        assert plot.LEFT - 0.1 <= x <= plot.WIDTH - plot.RIGHT + 0.1
        assert plot.TOP - 0.1 <= y <= plot.HEIGHT - plot.BOTTOM + 0.1


TEMPLATE = """{% extends "page.html" %}
{% from "parts.html" import plots, table %}
{% block body %}{{ table(*rows) }}{{ plots([plot]) }}{{ "7 < 8" }}{% endblock %}
"""


def test_a_page_is_complete_and_self_contained(tmp_path: Path) -> None:
    template = tmp_path / "some.html"
    template.write_text(TEMPLATE)
    curves = [Curve("d & e", np.arange(3.0), np.arange(3.0), 2, dashed=True)]
    table = Table(["a<b", "c"], [["1", "<script>"]], groups=[("", 1), ("above", 1)])
    text = rendered(template, title="a & b", rows=table, plot=figure("t", "x", "y", curves))
    page = Elements(text)
    for word in ("a & b", "a<b", "<script>", "above", "d & e", "7 < 8"):
        assert word in " ".join(page.words)
    assert not {tag for tag, _ in page.seen} & {"script", "link", "img", "iframe", "object"}
    assert not any(outside in text for outside in ("http", "url(", "@import"))
    template.write_text("{{ missing }}")
    with pytest.raises(UndefinedError, match="'missing' is undefined"):
        rendered(template)


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, as WCAG 2 defines it."""
    parts = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("number", range(len(COLOURS)))
def test_curves_have_enough_contrast(number: int) -> None:
    """WCAG 2 requires a contrast of 3 for graphics."""
    for colour, ground in zip(COLOURS[number], ("#f6f7f9", "#1d2329"), strict=True):  # light and dark
        assert ground in rendered(Path(page.__file__).with_name("style.css"))
        bright, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 3.0, colour
