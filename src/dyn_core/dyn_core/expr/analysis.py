# SPDX-License-Identifier: Apache-2.0
"""What some results need: the nodes, in an order in which they can be computed, and their number."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dyn_core.symbolic.expression_graph import Expr, Op, Symbolic

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


def needed(results: Iterable[Symbolic], given: Iterable[Expr] = ()) -> list[Expr]:
    """Answer the nodes that the results depend on, arguments before what is made of them.

    Args:
        results: the results.
        given: nodes that are known already: what only they depend on is not needed.
    """
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
    """Answer those of the nodes that depend on these inputs and on no others.

    Args:
        nodes: nodes, arguments before what is made of them.
        inputs: some of the inputs of their graph.
    """
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
    """Count the operations that computing the results takes: mul, add, div, trig, sqrt.

    Args:
        results: the results.
        given: nodes that are known already, and cost nothing.
    """
    counts = dict.fromkeys(("mul", "add", "div", "trig", "sqrt"), 0)
    known = {node.number for node in given}
    for node in needed(results, given):
        if node.op in COUNTED and node.number not in known:
            counts[COUNTED[node.op]] += 1
    return counts
