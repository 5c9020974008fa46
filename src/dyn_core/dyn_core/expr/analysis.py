# SPDX-License-Identifier: Apache-2.0
"""What some results need: the nodes, in an order in which they can be computed, and their number."""

from __future__ import annotations

from collections.abc import Iterable

from dyn_core.expr.graph import Expr, Op, Symbolic

COUNTED = {
    Op.MUL: "mul",
    Op.ADD: "add",
    Op.SUB: "add",
    Op.DIV: "div",
    Op.SIN: "trig",
    Op.COS: "trig",
    Op.SQRT: "sqrt",
}
"""Operations as SYMORO+ counts them; changes of sign are part of additions and cost nothing."""


def needed(results: Iterable[Symbolic]) -> list[Expr]:
    """Answer the nodes that the results depend on, arguments before what is made of them."""
    found: dict[int, Expr] = {}
    waiting = [result for result in results if isinstance(result, Expr)]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting.extend(node.args)
    return [found[number] for number in sorted(found)]


def operation_counts(results: Iterable[Symbolic]) -> dict[str, int]:
    """Count the operations that computing the results takes: mul, add, div, trig, sqrt."""
    counts = dict.fromkeys(("mul", "add", "div", "trig", "sqrt"), 0)
    for node in needed(results):
        if node.op in COUNTED:
            counts[COUNTED[node.op]] += 1
    return counts
