# SPDX-License-Identifier: Apache-2.0
"""The expression graph: symbolic scalars that simplify themselves as they are built.

Running an algorithm with the inputs of a graph in place of numbers *traces* it: what comes out are
the expressions of its results. Building an expression

* folds constants, and drops ``x * 0``, ``x * 1``, ``x + 0``;
* answers the expression that exists already where one is asked for again, so that common parts are
  shared (hash-consing);
* moves signs outwards, to where an addition becomes a subtraction, which costs nothing:
  ``(-a) b = -(a b)``, ``(-a) + b = b - a``; no factor is negative, and of ``a - b`` and ``b - a`` only
  one exists.

A result that does not depend on an input is a Python float, never an expression. An expression
belongs to the graph of its inputs, and a graph is for one thread.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias


class Op(IntEnum):
    """What a node computes from its arguments."""

    CONSTANT = 0
    INPUT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    SIN = 7
    COS = 8
    SQRT = 9
    SIGN = 10
    ABS = 11
    LARGER = 12


class Expr:
    """A node: an operation on other nodes, a constant, or an input.

    Attributes:
        graph: the graph that it belongs to.
        op: what it computes.
        args: the nodes it computes it from; each was made before it.
        value: the number of a constant.
        name: the name of an input.
        number: position in the order in which the nodes of the graph were made.
    """

    __slots__ = ("args", "graph", "name", "number", "op", "value")

    def __init__(
        self, graph: Graph, op: Op, args: tuple[Expr, ...] = (), value: float = 0.0, name: str = ""
    ) -> None:
        """Make a node; only its graph does this."""
        self.graph = graph
        self.op = op
        self.args = args
        self.value = value
        self.name = name
        self.number = graph.count
        graph.count += 1

    def __add__(self, other: Symbolic) -> Symbolic:
        """Answer self + other."""
        return self.graph.add(self, other)

    def __radd__(self, other: Symbolic) -> Symbolic:
        """Answer other + self."""
        return self.graph.add(other, self)

    def __sub__(self, other: Symbolic) -> Symbolic:
        """Answer self - other."""
        return self.graph.sub(self, other)

    def __rsub__(self, other: Symbolic) -> Symbolic:
        """Answer other - self."""
        return self.graph.sub(other, self)

    def __mul__(self, other: Symbolic) -> Symbolic:
        """Answer self * other."""
        return self.graph.mul(self, other)

    def __rmul__(self, other: Symbolic) -> Symbolic:
        """Answer other * self."""
        return self.graph.mul(other, self)

    def __truediv__(self, other: Symbolic) -> Symbolic:
        """Answer self / other."""
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Symbolic) -> Symbolic:
        """Answer other / self."""
        return self.graph.div(other, self)

    def __neg__(self) -> Symbolic:
        """Answer -self."""
        return self.graph.neg(self)

    def sin(self) -> Symbolic:
        """Answer the sine of an angle in rad."""
        argument, negative = self.without_sign()
        sine = self.graph.node(Op.SIN, argument)
        return -sine if negative else sine

    def cos(self) -> Symbolic:
        """Answer the cosine of an angle in rad."""
        return self.graph.node(Op.COS, self.without_sign()[0])

    def sqrt(self) -> Symbolic:
        """Answer the square root."""
        return self.graph.node(Op.SQRT, self)

    def sign(self) -> Symbolic:
        """Answer -1, 0 or 1."""
        argument, negative = self.without_sign()
        sign = self.graph.node(Op.SIGN, argument)
        return -sign if negative else sign

    def __abs__(self) -> Symbolic:
        """Answer the absolute value."""
        return self.graph.node(Op.ABS, self.without_sign()[0])

    def larger(self, a: Symbolic, b: Symbolic, then: Symbolic, otherwise: Symbolic) -> Symbolic:
        """Answer `then` where a > b, `otherwise` elsewhere; this expression is one of them."""
        if then is otherwise or (not isinstance(then, Expr) and then == otherwise):
            return then
        return self.graph.node(Op.LARGER, *map(self.graph.as_node, (a, b, then, otherwise)))

    def without_sign(self) -> tuple[Expr, bool]:
        """Answer x and True for -x, and itself and False for another expression."""
        return (self.args[0], True) if self.op is Op.NEG else (self, False)


Symbolic: TypeAlias = Expr | float
"""What an algorithm computes with while it is traced."""


class Graph:
    """The nodes of some expressions, each there once.

    Attributes:
        inputs: the inputs, in the order in which they were made.
        determined: the unknowns, by what determines them.
        count: how many nodes have been made.
    """

    def __init__(self) -> None:
        """Make an empty graph."""
        self.inputs: list[Expr] = []
        self.determined: dict[tuple[Symbolic, ...], tuple[Expr, ...]] = {}
        self._known: dict[tuple[object, ...], Expr] = {}
        self.count = 0

    def input(self, name: str) -> Expr:
        """Answer a new input."""
        self.inputs.append(Expr(self, Op.INPUT, name=name))
        return self.inputs[-1]

    def unknowns(self, given: tuple[Symbolic, ...], count: int) -> tuple[Expr, ...]:
        """Answer unknowns that equations outside of the graph determine from what is given.

        For the same expressions they are the same. They are no inputs of users: whoever computes the graph
        solves for them first.
        """
        if given not in self.determined:
            named = (Expr(self, Op.INPUT, name=f"x[{k}]") for k in range(count))
            self.determined[given] = tuple(named)
        return self.determined[given]

    def constant(self, value: float) -> Expr:
        """Answer the node of a constant."""
        key = (Op.CONSTANT, float(value).hex())
        if key not in self._known:
            self._known[key] = Expr(self, Op.CONSTANT, value=float(value))
        return self._known[key]

    def as_node(self, value: Symbolic) -> Expr:
        """Answer an expression as it is, and a number as the node of a constant."""
        return value if isinstance(value, Expr) else self.constant(value)

    def node(self, op: Op, *args: Expr) -> Expr:
        """Answer the node of an operation, which is made if there is none."""
        key = (op, *args)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Expr(self, op, args)
        return known

    def add(self, a: Symbolic, b: Symbolic) -> Symbolic:
        """Answer a + b."""
        if not isinstance(a, Expr):
            a, b = b, a
        assert isinstance(a, Expr)
        if not isinstance(b, Expr):
            if b == 0.0:
                return a
            return self.sub(b, a.args[0]) if a.op is Op.NEG else self.node(Op.ADD, a, self.constant(b))
        if b.op is Op.NEG:
            return self.sub(a, b.args[0])
        if a.op is Op.NEG:
            return self.sub(b, a.args[0])
        return self.node(Op.ADD, *_ordered(a, b))

    def sub(self, a: Symbolic, b: Symbolic) -> Symbolic:
        """Answer a - b."""
        if a is b:
            return 0.0
        if isinstance(b, Expr) and b.op is Op.NEG:
            return self.add(a, b.args[0])
        if isinstance(a, Expr) and a.op is Op.NEG:
            return self.neg(self.add(a.args[0], b))
        if not isinstance(b, Expr):
            return self.add(a, -b)
        if not isinstance(a, Expr):
            if a == 0.0:
                return self.neg(b)
            a = self.constant(a)
        opposite = self._known.get((Op.SUB, b, a))
        return self.node(Op.SUB, a, b) if opposite is None else self.neg(opposite)

    def mul(self, a: Symbolic, b: Symbolic) -> Symbolic:
        """Answer a * b."""
        if not isinstance(a, Expr):
            return self._scaled(a, b) if isinstance(b, Expr) else a * b
        if not isinstance(b, Expr):
            return self._scaled(b, a)
        if a.op is not Op.NEG and b.op is not Op.NEG:
            return self._product(a, b)
        (a, a_negative), (b, b_negative) = a.without_sign(), b.without_sign()
        product = self._product(a, b)
        return self.neg(product) if a_negative != b_negative else product

    def div(self, a: Symbolic, b: Symbolic) -> Symbolic:
        """Answer a / b."""
        if not isinstance(b, Expr):
            return self.mul(a, 1.0 / b)
        if a is b:
            return 1.0
        negative = False
        if not isinstance(a, Expr):
            if a == 0.0:
                return 0.0
            negative, a = a < 0.0, self.constant(abs(a))
        (a, a_negative), (b, b_negative) = a.without_sign(), b.without_sign()
        quotient = self.node(Op.DIV, a, b)
        return self.neg(quotient) if (a_negative != b_negative) != negative else quotient

    def neg(self, a: Symbolic) -> Symbolic:
        """Answer -a."""
        if not isinstance(a, Expr):
            return -a
        return a.args[0] if a.op is Op.NEG else self.node(Op.NEG, a)

    def _scaled(self, k: float, x: Expr) -> Symbolic:
        """Answer k x for a number k."""
        if k == 0.0:
            return 0.0
        x, negative = x.without_sign()
        if k < 0.0:
            k, negative = -k, not negative
        if k == 1.0:
            return self.neg(x) if negative else x
        product = self._product(self.constant(k), x)
        return self.neg(product) if negative else product

    def _product(self, a: Expr, b: Expr) -> Symbolic:
        """Answer a b for factors without sign; constants go first and are gathered."""
        if b.op is Op.CONSTANT:
            a, b = b, a
        if a.op is Op.CONSTANT and b.op is Op.MUL and b.args[0].op is Op.CONSTANT:
            return self._scaled(a.value * b.args[0].value, b.args[1])
        return self.node(Op.MUL, *((a, b) if a.op is Op.CONSTANT else _ordered(a, b)))


def _ordered(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    return (a, b) if a.number <= b.number else (b, a)
