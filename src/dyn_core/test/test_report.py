# SPDX-License-Identifier: Apache-2.0
"""Reports: ticks, curves, plots and pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from properties import examples, given, st

from dyn_core.report.curve import Curve
from dyn_core.report.line_plot import Frame, line_plot
from dyn_core.report.page import legend, page, table
from dyn_core.report.simplified import pieces, simplified
from dyn_core.report.style import COLOURS, style_sheet
from dyn_core.report.ticks import labels, ticks

ON_LIGHT, ON_DARK = "#f6f7f9", "#1d2329"


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0.0, 1.0, 5, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3.2, 4.1, 5, [-2.0, 0.0, 2.0, 4.0]),
        (0.0, 4.0, 6, [0.0, 1.0, 2.0, 3.0, 4.0]),
        (0.001, 0.0099, 4, [0.005]),
        (-1e6, 1e6, 4, [-1e6, -5e5, 0.0, 5e5, 1e6]),
    ],
)
def test_ticks_by_hand(low: float, high: float, count: int, expected: list[float]) -> None:
    assert ticks(low, high, count) == pytest.approx(expected, abs=1e-12 * (high - low))


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


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf)])
def test_an_axis_of_nothing_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="an axis from"):
        ticks(low, high)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.0, 0.2, 0.4), ("0.0", "0.2", "0.4")),
        ((-10.0, -0.0, 10.0), ("\N{MINUS SIGN}10", "0", "10")),
        ((-0.05, -1e-17, 0.05), ("\N{MINUS SIGN}0.05", "0.00", "0.05")),
        ((0.0, 2e-7), ("0", "2e\N{MINUS SIGN}07")),
        ((0.0, 5e6), ("0", "5e+06")),
        ((), ()),
    ],
)
def test_labels_by_hand(values: tuple[float, ...], expected: tuple[str, ...]) -> None:
    assert labels(values) == expected


def test_a_straight_line_needs_two_points_and_a_corner_three() -> None:
    x = np.linspace(0.0, 10.0, 1001)
    assert simplified(x, 3.0 * x, 1e-9)[0].tolist() == [0.0, 10.0]
    kept, y = simplified(x, np.abs(x - 4.0), 1e-9)
    assert kept.tolist() == [0.0, 4.0, 10.0]
    assert y.tolist() == [4.0, 0.0, 6.0]


@pytest.mark.parametrize("tolerance", [0.01, 0.3])
def test_what_is_left_out_is_near_to_what_is_drawn(tolerance: float) -> None:
    random = np.random.default_rng(2)
    x = np.sort(random.uniform(0.0, 500.0, 3000))
    y = 80.0 * np.sin(x / 30.0) + random.normal(0.0, 0.05, 3000)
    kept, drawn = simplified(x, y, tolerance)
    assert np.abs(np.interp(x, kept, drawn) - y).max() <= tolerance
    assert len(kept) < 3000


def test_a_peak_of_one_sample_stays() -> None:
    y = np.zeros(5000)
    y[1234] = 7.0
    assert simplified(np.arange(5000.0), y, 0.1)[1].max() == 7.0


def test_steps_at_one_abscissa_stay() -> None:
    x, y = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 5.0, 2.0])
    assert simplified(x, y, 0.1)[1].tolist() == [0.0, 0.0, 5.0, 2.0]


def test_pieces_between_gaps() -> None:
    y = np.array([np.nan, 1.0, 2.0, np.inf, np.nan, 3.0])
    found = [(x.tolist(), y.tolist()) for x, y in pieces(np.arange(6.0), y)]
    assert found == [([1.0, 2.0], [1.0, 2.0]), ([5.0], [3.0])]
    assert list(pieces(np.arange(2.0), np.full(2, np.nan))) == []


def test_a_curve_has_one_ordinate_for_each_abscissa() -> None:
    with pytest.raises(ValueError, match=r"curve 'a'.*\(3,\).*\(2,\)"):
        Curve("a", np.zeros(3), np.zeros(2))


def points(path: ET.Element) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", ""))]


def test_a_plot_puts_numbers_where_they_belong() -> None:
    """x from 0 to 10 on 66 to 550 px; y from -1 to 1, with 6 % of 2 at each side, on 200 to 26 px."""
    curve = Curve("a & b", np.array([0.0, 5.0, 10.0]), np.array([-1.0, 1.0, 0.0]), 3, dashed=True)
    svg = ET.fromstring(line_plot("<title>", "time (s)", "q (rad)", [curve], Frame()))
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
    "y",
    [
        np.zeros(0),
        np.zeros(5),
        np.full(5, 3.0),
        np.full(5, np.nan),
        np.array([1.0]),
        np.array([0.0, np.nan, np.inf, 1e-300, -1e300]),
    ],
    ids=["nothing", "zero", "constant", "gaps", "point", "wide"],
)
def test_any_curve_makes_a_plot_within_its_frame(y: np.ndarray) -> None:
    frame = Frame()
    svg = ET.fromstring(line_plot("p", "x", "y", [Curve("c", np.arange(len(y)) * 1.0, y)], frame))
    for path in svg.iter("path"):
        for x, y_ in points(path):
            assert frame.left - 0.1 <= x <= frame.width - frame.right + 0.1
            assert frame.top - 0.1 <= y_ <= frame.height - frame.bottom + 0.1


class Elements(HTMLParser):
    """Checks that elements are closed in order, and collects what they are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_whole_and_needs_nothing_else() -> None:
    body = [
        table(["a<b", "c"], [["1", "<script>"]], groups=[("", 1), ("above", 1)]),
        legend([("d & e", 2, True)]),
        line_plot("t", "x", "y", [Curve("c", np.arange(3.0), np.arange(3.0))]),
    ]
    text = page("a & b", body)
    parsed = Elements()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    for word in ("a & b", "a<b", "<script>", "above", "d & e"):
        assert word in parsed.text
    tags = {tag for tag, _ in parsed.seen}
    assert not tags & {"script", "link", "img", "iframe", "object"}
    assert "http" not in text
    assert "url(" not in text
    assert "@import" not in text


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, as WCAG 2 defines it."""
    parts = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("number", range(len(COLOURS)))
def test_curves_stand_out_from_the_ground(number: int) -> None:
    """WCAG 2 asks for a contrast of 3 for what is drawn."""
    for colour, ground in zip(COLOURS[number], (ON_LIGHT, ON_DARK), strict=True):
        assert ground in style_sheet()
        bright, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 3.0, colour
