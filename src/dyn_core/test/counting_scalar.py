# SPDX-License-Identifier: Apache-2.0
"""The least scalar that counts the operations which are left when nothing is done in vain.

An expression that exists already is found again, what is multiplied by 0 or 1 or added to 0 is
left out, signs cost nothing, and what the outputs do not use is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class Counted:
    """An expression."""

    def __init__(self, known: dict[tuple[object, ...], Counted], *key: object) -> None:
        self.known = known
        self.key = key
        self.order = len(known)

    def _make(self, *key: object) -> Counted:
        return self.known.setdefault(key, Counted(self.known, *key))

    def _negated(self) -> Counted | None:
        return self.key[1] if self.key[0] == "neg" else None

    def __neg__(self) -> Counted:
        return self._negated() or self._make("neg", self)

    def __add__(self, other: object) -> object:
        if not isinstance(other, Counted):
            return self if other == 0.0 else self._make("add", self, float(other))
        if other._negated():
            return self._difference(other._negated())
        if self._negated():
            return other._difference(self._negated())
        return self._make("add", *sorted((self, other), key=lambda x: x.order))

    def _difference(self, other: Counted) -> object:
        if self is other:
            return 0.0
        if self._negated():
            return -(self._negated() + other)
        if self.order > other.order:
            return -self._make("sub", other, self)
        return self._make("sub", self, other)

    def __radd__(self, other: float) -> object:
        return self + other

    def __sub__(self, other: object) -> object:
        return self + -other

    def __rsub__(self, other: float) -> object:
        return -self + other

    def __mul__(self, other: object) -> object:
        if self._negated():
            return -(self._negated() * other)
        if isinstance(other, Counted):
            if other._negated():
                return -(self * other._negated())
            return self._make("mul", *sorted((self, other), key=lambda x: x.order))
        if other == 0.0:
            return 0.0
        if other < 0.0:
            return -(self * -other)
        return self if other == 1.0 else self._make("mul", self, float(other))

    def __rmul__(self, other: float) -> object:
        return self * other

    def __truediv__(self, other: object) -> object:
        return self._make("div", self, other)

    def __rtruediv__(self, other: float) -> object:
        return self._make("div", float(other), self)

    def sin(self) -> Counted:
        return self._make("trig", "sin", self)

    def cos(self) -> Counted:
        return self._make("trig", "cos", self)

    def sign(self) -> Counted:
        return self._make("sign", self)


def inputs(*names: str) -> list[Counted]:
    """Answer expressions that are given, not computed."""
    known: dict[tuple[object, ...], Counted] = {}
    return [known.setdefault(("input", name), Counted(known, "input", name)) for name in names]


def operations(outputs: Iterable[object]) -> Counter[str]:
    """Answer how many operations of each kind the outputs need; subtractions are additions."""
    seen: set[Counted] = set()
    todo = [x for x in outputs if isinstance(x, Counted)]
    count: Counter[str] = Counter()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        kind = str(node.key[0])
        count["add" if kind == "sub" else kind] += 1
        todo += [x for x in node.key[1:] if isinstance(x, Counted)]
    for free in ("neg", "input"):
        del count[free]
    return count
