# SPDX-License-Identifier: Apache-2.0
"""Expression graph: symbolic scalars that simplify as they are built, and operation counts.

Running an algorithm with the inputs of a graph instead of numbers *traces* it: the results are
expressions. Building an expression

* folds constants, and drops ``x * 0``, ``x * 1``, ``x + 0``;
* returns the existing node of an equal expression, so that common parts are shared (hash-consing);
* moves signs outwards until an addition becomes a subtraction, which costs nothing:
  ``(-a) b = -(a b)``, ``(-a) + b = b - a``. No factor is negative, and only one of ``a - b`` and
  ``b - a`` exists.

A result that does not depend on an input is a Python float, never an expression. An expression
belongs to the graph of its inputs. A graph is used by one thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import TypeAlias


class Op(IntEnum):
    """Operation of a node on its arguments."""

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
        graph: the graph of the node.
        op: its operation.
        args: nodes of the arguments; each was made before this node.
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
        return self.graph.add(self, other)

    def __radd__(self, other: Symbolic) -> Symbolic:
        return self.graph.add(other, self)

    def __sub__(self, other: Symbolic) -> Symbolic:
        return self.graph.sub(self, other)

    def __rsub__(self, other: Symbolic) -> Symbolic:
        return self.graph.sub(other, self)

    def __mul__(self, other: Symbolic) -> Symbolic:
        return self.graph.mul(self, other)

    def __rmul__(self, other: Symbolic) -> Symbolic:
        return self.graph.mul(other, self)

    def __truediv__(self, other: Symbolic) -> Symbolic:
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Symbolic) -> Symbolic:
        return self.graph.div(other, self)

    def __neg__(self) -> Symbolic:
        return self.graph.neg(self)

    def sin(self) -> Symbolic:
        """Return the sine of an angle in rad."""
        argument, negative = self.without_sign()
        sine = self.graph.node(Op.SIN, argument)
        return -sine if negative else sine

    def cos(self) -> Symbolic:
        """Return the cosine of an angle in rad."""
        return self.graph.node(Op.COS, self.without_sign()[0])

    def sqrt(self) -> Symbolic:
        """Return the square root."""
        return self.graph.node(Op.SQRT, self)

    def sign(self) -> Symbolic:
        """Return -1, 0 or 1."""
        argument, negative = self.without_sign()
        sign = self.graph.node(Op.SIGN, argument)
        return -sign if negative else sign

    def __abs__(self) -> Symbolic:
        return self.graph.node(Op.ABS, self.without_sign()[0])

    def larger(self, a: Symbolic, b: Symbolic, then: Symbolic, otherwise: Symbolic) -> Symbolic:
        """Return `then` where a > b, else `otherwise`; at least one of the four is an expression."""
        if then is otherwise or (not isinstance(then, Expr) and then == otherwise):
            return then
        return self.graph.node(Op.LARGER, *map(self.graph.as_node, (a, b, then, otherwise)))

    def without_sign(self) -> tuple[Expr, bool]:
        """Return x and True for -x; return any other expression itself, and False."""
        return (self.args[0], True) if self.op is Op.NEG else (self, False)


Symbolic: TypeAlias = Expr | float  # The type of a scalar while an algorithm is traced


class Graph:
    """The nodes of some expressions; equal expressions share one node.

    Attributes:
        inputs: the inputs, in the order in which they were made.
        determined: the unknowns, by the expressions that determine them.
        count: number of nodes that have been made.
    """

    def __init__(self) -> None:
        """Make an empty graph."""
        self.inputs: list[Expr] = []
        self.determined: dict[tuple[Symbolic, ...], tuple[Expr, ...]] = {}
        self._known: dict[tuple[object, ...], Expr] = {}
        self.count = 0

    def input(self, name: str) -> Expr:
        """Return a new input."""
        self.inputs.append(Expr(self, Op.INPUT, name=name))
        return self.inputs[-1]

    def unknowns(self, given: tuple[Symbolic, ...], count: int) -> tuple[Expr, ...]:
        """Return unknowns that equations outside of the graph determine from the given expressions.

        The same expressions give the same unknowns. The unknowns are not inputs of users: a program of
        the graph solves for them first.
        """
        if given not in self.determined:
            named = (Expr(self, Op.INPUT, name=f"x[{k}]") for k in range(count))
            self.determined[given] = tuple(named)
        return self.determined[given]

    def constant(self, value: float) -> Expr:
        """Return the node of a constant."""
        key = (Op.CONSTANT, float(value).hex())
        if key not in self._known:
            self._known[key] = Expr(self, Op.CONSTANT, value=float(value))
        return self._known[key]

    def as_node(self, value: Symbolic) -> Expr:
        """Return an expression unchanged, and a number as the node of a constant."""
        return value if isinstance(value, Expr) else self.constant(value)

    def node(self, op: Op, *args: Expr) -> Expr:
        """Return the node of an operation; make it if it does not exist."""
        key = (op, *args)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Expr(self, op, args)
        return known

    def add(self, a: Symbolic, b: Symbolic) -> Symbolic:
        """Return a + b."""
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
        """Return a - b."""
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
        """Return a * b."""
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
        """Return a / b."""
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
        """Return -a."""
        if not isinstance(a, Expr):
            return -a
        return a.args[0] if a.op is Op.NEG else self.node(Op.NEG, a)

    def _scaled(self, k: float, x: Expr) -> Symbolic:
        """Return k x for a number k."""
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
        """Return a b for factors without sign; constants come first and are multiplied together."""
        if b.op is Op.CONSTANT:
            a, b = b, a
        if a.op is Op.CONSTANT and b.op is Op.MUL and b.args[0].op is Op.CONSTANT:
            return self._scaled(a.value * b.args[0].value, b.args[1])
        return self.node(Op.MUL, *((a, b) if a.op is Op.CONSTANT else _ordered(a, b)))


def _ordered(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    return (a, b) if a.number <= b.number else (b, a)


# Dependencies and operation counts

COUNTED = {
    Op.MUL: "mul",
    Op.ADD: "add",
    Op.SUB: "add",
    Op.DIV: "div",
    Op.SIN: "trig",
    Op.COS: "trig",
    Op.SQRT: "sqrt",
}
"""Operations as SYMORO+ counts them; a change of sign is part of an addition and costs nothing."""


def needed(results: Iterable[Symbolic], given: Iterable[Expr] = ()) -> list[Expr]:
    """Return the nodes that the results depend on, in the order of computation, without those of `given`."""
    found: dict[int, Expr] = {}
    known = {node.number for node in given}
    waiting = [result for result in results if isinstance(result, Expr)]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            if node.number not in known:
                waiting.extend(node.args)
    return [found[number] for number in sorted(found)]


def made_of(nodes: Iterable[Expr], inputs: Iterable[Expr]) -> list[Expr]:
    """Return the nodes, in the order of computation, that depend on these inputs and on no others."""
    closed = {node.number for node in inputs}
    constants: set[int] = set()
    found = []
    for node in nodes:
        if node.op is Op.CONSTANT:
            constants.add(node.number)
        elif node.number in closed:
            found.append(node)
        elif node.args and all(a.number in closed or a.number in constants for a in node.args):
            closed.add(node.number)
            found.append(node)
    return found


def operation_counts(results: Iterable[Symbolic], given: Collection[Expr] = ()) -> dict[str, int]:
    """Count the operations that compute the results: mul, add, div, trig, sqrt; given nodes cost nothing."""
    counts = dict.fromkeys(("mul", "add", "div", "trig", "sqrt"), 0)
    known = {node.number for node in given}
    for node in needed(results, given):
        if node.op in COUNTED and node.number not in known:
            counts[COUNTED[node.op]] += 1
    return counts
