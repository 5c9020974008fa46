# SPDX-License-Identifier: Apache-2.0
"""Curves over one another in a frame with two axes, as SVG.

Colours are left to the style sheet: a curve has the class `c0`, `c1`, ....
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from dyn_core.report.curve import Array, Curve
from dyn_core.report.simplified import pieces, simplified
from dyn_core.report.ticks import labels, ticks

MARGIN = 0.06
"""Part of the range that is left free above and below the curves."""
TOLERANCE = 0.15
"""How far a curve may be from its points (pixels)."""


@dataclass(frozen=True)
class Frame:
    """Size of a plot (pixels), and of what is around its axes."""

    width: int = 560
    height: int = 240
    left: int = 66
    right: int = 10
    top: int = 26
    bottom: int = 40


@dataclass(frozen=True)
class _Axis:
    """Numbers from `low` to `high` on pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, values: Array) -> Array:
        """Answer where numbers are (pixels)."""
        return self.begin + (values - self.low) / (self.high - self.low) * (self.end - self.begin)


def line_plot(
    title: str, x_label: str, y_label: str, curves: Sequence[Curve], frame: Frame | None = None
) -> str:
    """Answer an <svg> element, which has a title for those who cannot see it.

    Args:
        title: what is shown.
        x_label: of the horizontal axis, with its unit.
        y_label: of the vertical axis, with its unit.
        curves: the curves, the last on top.
        frame: its size.
    """
    frame = frame or Frame()
    x = _axis([c.x for c in curves], 0.0, frame.left, frame.width - frame.right)
    y = _axis([c.y for c in curves], MARGIN, frame.height - frame.bottom, frame.top)
    return "\n".join(
        (
            f'<svg viewBox="0 0 {frame.width} {frame.height}" role="img" class="plot">',
            f"<title>{escape(title)}</title>",
            f'<text class="title" x="{frame.left}" y="{frame.top - 10}">{escape(title)}</text>',
            *_grid(x, y),
            *_labels(x, y, x_label, y_label, frame),
            *(_path(curve, x, y) for curve in curves),
            "</svg>",
        )
    )


def _axis(values: Sequence[Array], margin: float, begin: float, end: float) -> _Axis:
    numbers = np.concatenate([np.zeros(0), *values])
    numbers = numbers[np.isfinite(numbers)]
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        low, high = low - (abs(low) or 1.0), high + (abs(high) or 1.0)
    room = margin * (high - low)
    return _Axis(low - room, high + room, begin, end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for place in x.at(np.array(ticks(x.low, x.high, 6))):
        yield f'<path class="grid" d="M{place:.1f} {y.begin:.1f}V{y.end:.1f}"/>'
    for value, place in zip(ticks(y.low, y.high), y.at(np.array(ticks(y.low, y.high))), strict=True):
        kind = "zero" if value == 0.0 else "grid"
        yield f'<path class="{kind}" d="M{x.begin:.1f} {place:.1f}H{x.end:.1f}"/>'


def _labels(x: _Axis, y: _Axis, x_label: str, y_label: str, frame: Frame) -> Iterator[str]:
    marks = ticks(x.low, x.high, 6)
    for text, place in zip(labels(marks), x.at(np.array(marks)), strict=True):
        yield f'<text class="tick" text-anchor="middle" x="{place:.1f}" y="{y.begin + 14:.1f}">{text}</text>'
    marks = ticks(y.low, y.high)
    for text, place in zip(labels(marks), y.at(np.array(marks)), strict=True):
        where = f'x="{x.begin - 5:.1f}" y="{place + 3.5:.1f}"'
        yield f'<text class="tick" text-anchor="end" {where}>{text}</text>'
    middle = 0.5 * (y.begin + y.end)
    yield (
        f'<text class="label" text-anchor="middle" x="{0.5 * (x.begin + x.end):.1f}" '
        f'y="{frame.height - 8}">{escape(x_label)}</text>'
    )
    yield (
        f'<text class="label" text-anchor="middle" transform="rotate(-90)" x="{-middle:.1f}" '
        f'y="12">{escape(y_label)}</text>'
    )


def _path(curve: Curve, x: _Axis, y: _Axis) -> str:
    lines = []
    for abscissae, ordinates in pieces(x.at(curve.x), y.at(curve.y)):
        points = zip(*simplified(abscissae, ordinates, TOLERANCE), strict=True)
        lines.append("M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points))
    kind = f"curve c{curve.colour}{' dashed' if curve.dashed else ''}"
    return f'<path class="{kind}" d="{"".join(lines)}"><title>{escape(curve.label)}</title></path>'
