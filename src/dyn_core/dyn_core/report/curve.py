# SPDX-License-Identifier: Apache-2.0
"""A curve to be drawn, and no more points of it than can be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve.

    Attributes:
        label: what it is.
        x: abscissae, in order, (N,).
        y: ordinates, (N,); where one is not finite there is a gap.
        colour: number of its colour in the palette of the page, from 0.
        dashed: whether it is dashed.
    """

    label: str
    x: Array
    y: Array
    colour: int = 0
    dashed: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no curve."""
        if self.x.shape != self.y.shape or self.x.ndim != 1:
            raise ValueError(f"curve '{self.label}': x has the shape {self.x.shape}, y {self.y.shape}")


def thinned(curve: Curve, columns: int) -> tuple[Array, Array]:
    """Answer the points of a curve that are first, last, least or greatest in one of `columns` columns.

    Peaks stay where and as high as they are.
    """
    n = len(curve.x)
    if n <= 4 * columns:
        return curve.x, curve.y
    kept: set[int] = set()
    for part in np.array_split(np.arange(n), columns):
        y = curve.y[part]
        kept.update((int(part[0]), int(part[-1])))
        if np.isfinite(y).any():
            kept.update((int(part[np.nanargmin(y)]), int(part[np.nanargmax(y)])))
        kept.update(part[~np.isfinite(y)][:1].tolist())
    index = sorted(kept)
    return curve.x[index], curve.y[index]
