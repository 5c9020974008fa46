# SPDX-License-Identifier: Apache-2.0
"""Arithmetic expressions of .par files, which may be linear in variables: ``2*t1 - Pi/2``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dyn_core.core.errors import DynError
from dyn_core.core.text import finite_number

MAX_CHARACTERS = 500
MAX_DEPTH = 30

_TOKEN = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\*\*|[-+*/^()])", re.ASCII)
_FUNCTIONS: dict[str, Callable[[float], float]] = {"cos": math.cos, "sin": math.sin, "sqrt": math.sqrt}
_PI = "pi"


@dataclass(frozen=True)
class Linear:
    """``constant + sum of coefficient * symbol``; symbols are in lower case."""

    constant: float
    coefficients: Mapping[str, float] = field(default_factory=dict)


def linear_expression(text: str) -> Linear:
    """Return the value of an expression; DynError if it is wrong or not linear in its symbols."""
    if len(text) > MAX_CHARACTERS:
        raise DynError("expression-too-long", count=len(text), limit=MAX_CHARACTERS)
    reader = _Reader(text)
    value = reader.sum()
    reader.end()
    values = (value.constant, *value.coefficients.values())
    if not all(map(math.isfinite, values)):
        raise DynError("expression-not-finite", expression=reader.text)
    return value


class _Reader:
    """Recursive descent: sum of products of signed factors."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        self._depth = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise DynError("expression-malformed", expression=self.text)
            self._tokens.append(match.group(1))
            position = match.end()
        self._tokens.reverse()

    @property
    def text(self) -> str:
        """The expression without the spaces around it."""
        return self._text.strip()

    def end(self) -> None:
        if self._tokens:
            raise DynError("expression-malformed", expression=self.text)

    def sum(self) -> Linear:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DynError("expression-nested-too-deep", expression=self.text, limit=MAX_DEPTH)
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1.0 if self._tokens.pop() == "+" else -1.0
            value = _sum(value, _scaled(sign, self._product()))
        self._depth -= 1
        return value

    def _product(self) -> Linear:
        value = self._factor()
        while self._next() in ("*", "/"):
            if self._tokens.pop() == "*":
                value = self._times(value, self._factor())
            else:
                divisor = self._factor()
                if divisor.coefficients or divisor.constant == 0.0:
                    raise DynError("expression-divisor-invalid", expression=self.text)
                value = _scaled(1.0 / divisor.constant, value)
        return value

    def _factor(self) -> Linear:
        sign = 1.0
        while self._next() in ("+", "-"):
            sign = -sign if self._tokens.pop() == "-" else sign
        return _scaled(sign, self._atom())

    def _atom(self) -> Linear:
        token = self._tokens.pop() if self._tokens else ""
        number = finite_number(token)
        if number is not None:
            return Linear(number)
        if token == "(":
            return self._closed()
        if not re.match(r"[A-Za-z_]", token):
            raise DynError("expression-malformed", expression=self.text)
        name = token.lower()
        if name == _PI:
            return Linear(math.pi)
        if name in _FUNCTIONS and self._next() == "(":
            self._tokens.pop()
            return self._function(name, self._closed())
        return Linear(0.0, {name: 1.0})

    def _closed(self) -> Linear:
        value = self.sum()
        if not self._tokens or self._tokens.pop() != ")":
            raise DynError("expression-unclosed", expression=self.text)
        return value

    def _function(self, name: str, argument: Linear) -> Linear:
        if argument.coefficients:
            raise DynError("expression-function-of-symbol", expression=self.text, function=name)
        try:
            return Linear(_FUNCTIONS[name](argument.constant))
        except ValueError as error:
            raise DynError("expression-not-finite", expression=self.text) from error

    def _times(self, a: Linear, b: Linear) -> Linear:
        if a.coefficients and b.coefficients:
            raise DynError("expression-product-of-symbols", expression=self.text)
        return _scaled(b.constant, a) if a.coefficients else _scaled(a.constant, b)

    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""


def _sum(a: Linear, b: Linear) -> Linear:
    names = {**a.coefficients, **b.coefficients}
    total = {name: a.coefficients.get(name, 0.0) + b.coefficients.get(name, 0.0) for name in names}
    return Linear(a.constant + b.constant, total)


def _scaled(k: float, a: Linear) -> Linear:
    return Linear(k * a.constant, {name: k * x for name, x in a.coefficients.items()})
