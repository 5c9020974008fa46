# SPDX-License-Identifier: Apache-2.0
"""A scalar with its derivative by time: algorithms that run with it are derived exactly, but for rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Dual:
    """A value and its rate: numbers, or arrays with a number per sample."""

    value: float | np.ndarray
    rate: float | np.ndarray

    def __add__(self, other: object) -> Dual:
        b = dual(other)
        return Dual(self.value + b.value, self.rate + b.rate)

    def __mul__(self, other: object) -> Dual:
        b = dual(other)
        return Dual(self.value * b.value, self.value * b.rate + self.rate * b.value)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __sub__(self, other: object) -> Dual:
        return self + -dual(other)

    def __rsub__(self, other: object) -> Dual:
        return dual(other) + -self

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self) -> Dual:
        return Dual(np.sin(self.value), np.cos(self.value) * self.rate)

    def cos(self) -> Dual:
        return Dual(np.cos(self.value), -np.sin(self.value) * self.rate)


def dual(x: object) -> Dual:
    """Answer a number as one that does not change."""
    return x if isinstance(x, Dual) else Dual(x, 0.0)
