# SPDX-License-Identifier: Apache-2.0
"""The least symbolic scalar: it records operations, which can be evaluated afterwards."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np


class Symbol:
    """An expression with the operators and functions that the algorithms may use, and no others."""

    def __init__(self, function: Callable[..., float] | None, *arguments: object) -> None:
        self.function = function
        self.arguments = arguments

    def __add__(self, other: object) -> Symbol:
        return Symbol(operator.add, self, other)

    def __radd__(self, other: object) -> Symbol:
        return Symbol(operator.add, other, self)

    def __sub__(self, other: object) -> Symbol:
        return Symbol(operator.sub, self, other)

    def __rsub__(self, other: object) -> Symbol:
        return Symbol(operator.sub, other, self)

    def __mul__(self, other: object) -> Symbol:
        return Symbol(operator.mul, self, other)

    def __rmul__(self, other: object) -> Symbol:
        return Symbol(operator.mul, other, self)

    def __rtruediv__(self, other: object) -> Symbol:
        return Symbol(operator.truediv, other, self)

    def __neg__(self) -> Symbol:
        return Symbol(operator.neg, self)

    def sin(self) -> Symbol:
        return Symbol(np.sin, self)

    def cos(self) -> Symbol:
        return Symbol(np.cos, self)

    def sign(self) -> Symbol:
        return Symbol(np.sign, self)


def evaluate(outputs: Sequence[object], inputs: dict[Symbol, float]) -> list[float]:
    """Answer the values of the outputs, each node computed once."""
    known: dict[object, float] = dict(inputs)

    def value(node: object) -> float:
        if not isinstance(node, Symbol):
            return float(node)
        if node not in known:
            known[node] = node.function(*map(value, node.arguments))
        return known[node]

    return [value(node) for node in outputs]
