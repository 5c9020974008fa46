# SPDX-License-Identifier: Apache-2.0
"""Line plots as SVG: curves, simplified to the resolution, in a frame with axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError

WIDTH, HEIGHT = 560, 240
"""Size of a plot (pixels)."""
LEFT, RIGHT, TOP, BOTTOM = 66, 10, 26, 40
"""Space around the axes (pixels)."""
MARGIN = 0.06
"""Part of the range that is left free above and below the curves."""
TOLERANCE = 0.15
"""Greatest distance of a simplified curve from its points (pixels)."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve to be drawn.

    Attributes:
        label: its name.
        x: abscissae, in order, (N,).
        y: ordinates, (N,); a value that is not finite makes a gap.
        colour: number of its colour in the style sheet (class `c0`, `c1`, ...).
        dashed: whether it is dashed.
    """

    label: str
    x: Array
    y: Array
    colour: int = 0
    dashed: bool = False

    def __post_init__(self) -> None:
        """Refuse x and y that are not vectors of the same length."""
        if self.x.shape != self.y.shape or self.x.ndim != 1:
            raise ArgumentError(
                "curve-shapes-differ", curve=self.label, x_shape=self.x.shape, y_shape=self.y.shape
            )


def pieces(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the parts of a curve between its gaps, where y is not finite."""
    edges = np.flatnonzero(np.diff(np.isfinite(y).astype(np.int8), prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield x[begin:end], y[begin:end]


def simplified(x: Array, y: Array, tolerance: float) -> tuple[Array, Array]:
    """Return the points of a curve that represent it within a tolerance of its finite ordinates y, (N,).

    Algorithm of Ramer, Douglas and Peucker: between two points that stay, the one that is furthest from their
    connection stays too, until no point is further from it than the tolerance.
    """
    kept = np.zeros(len(x), dtype=np.bool_)
    kept[[0, -1]] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        between = slice(a + 1, b)
        width = x[b] - x[a]
        part = (x[between] - x[a]) / width if width > 0.0 else 0.0
        distance = np.abs(y[between] - y[a] - part * (y[b] - y[a]))
        k = a + 1 + int(np.argmax(distance))
        if distance[k - a - 1] > tolerance:
            kept[k] = True
            waiting += [(a, k), (k, b)]
    return x[kept], y[kept]


def ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return about `count` ticks from `low` to `high`, at steps of 1, 2 or 5 times a power of ten."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError("axis-range-invalid", lower=low, upper=high)
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(k * step for k in range(first, last + 1))


def labels(values: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the ticks of one axis, all with the same number of decimals."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    if not 1e-4 <= step < 1e6:
        return tuple(_signed(f"{value:.6g}") for value in values)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return tuple(_signed(f"{value:.{decimals}f}") for value in values)


def _signed(text: str) -> str:
    """Return a number with a minus sign instead of the hyphen; zero has no sign."""
    is_zero = not text.strip("-0.")
    return text.lstrip("-") if is_zero else text.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class _Axis:
    """Linear map of the numbers from `low` to `high` to the pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, values: Array) -> Array:
        """Return the positions of numbers (pixels)."""
        return self.begin + (values - self.low) / (self.high - self.low) * (self.end - self.begin)


def line_plot(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> str:
    """Return an <svg> element with curves, the last on top; its <title> is read by screen readers."""
    x = _axis([c.x for c in curves], 0.0, LEFT, WIDTH - RIGHT)
    y = _axis([c.y for c in curves], MARGIN, HEIGHT - BOTTOM, TOP)
    return "\n".join(
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="plot">',
            f"<title>{escape(title)}</title>",
            f'<text class="title" x="{LEFT}" y="{TOP - 10}">{escape(title)}</text>',
            *_axes(x, y, x_label, y_label),
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


def _axes(x: _Axis, y: _Axis, x_label: str, y_label: str) -> Iterator[str]:
    """Yield grid lines, their numbers and the labels of both axes."""
    x_ticks, y_ticks = ticks(x.low, x.high, 6), ticks(y.low, y.high)
    x_places, y_places = x.at(np.array(x_ticks)), y.at(np.array(y_ticks))
    for place in x_places:
        yield f'<path class="grid" d="M{place:.1f} {y.begin:.1f}V{y.end:.1f}"/>'
    for value, place in zip(y_ticks, y_places, strict=True):
        kind = "zero" if value == 0.0 else "grid"
        yield f'<path class="{kind}" d="M{x.begin:.1f} {place:.1f}H{x.end:.1f}"/>'
    for text, place in zip(labels(x_ticks), x_places, strict=True):
        yield f'<text class="tick" text-anchor="middle" x="{place:.1f}" y="{y.begin + 14:.1f}">{text}</text>'
    for text, place in zip(labels(y_ticks), y_places, strict=True):
        at = f'x="{x.begin - 5:.1f}" y="{place + 3.5:.1f}"'
        yield f'<text class="tick" text-anchor="end" {at}>{text}</text>'
    at = f'x="{0.5 * (x.begin + x.end):.1f}" y="{HEIGHT - 8}"'
    yield f'<text class="label" text-anchor="middle" {at}>{escape(x_label)}</text>'
    at = f'transform="rotate(-90)" x="{-0.5 * (y.begin + y.end):.1f}" y="12"'
    yield f'<text class="label" text-anchor="middle" {at}>{escape(y_label)}</text>'


def _path(curve: Curve, x: _Axis, y: _Axis) -> str:
    lines = []
    for abscissae, ordinates in pieces(x.at(curve.x), y.at(curve.y)):
        points = zip(*simplified(abscissae, ordinates, TOLERANCE), strict=True)
        lines.append("M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points))
    kind = f"curve c{curve.colour}{' dashed' if curve.dashed else ''}"
    return f'<path class="{kind}" d="{"".join(lines)}"><title>{escape(curve.label)}</title></path>'
