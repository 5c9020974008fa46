# SPDX-License-Identifier: Apache-2.0
"""A curve to be drawn."""

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
        colour: number of its colour in the style sheet, from 0.
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
