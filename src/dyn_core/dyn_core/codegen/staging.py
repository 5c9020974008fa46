# SPDX-License-Identifier: Apache-2.0
"""Two stages: what depends on parameters alone is computed when they change, not at every call.

Programs that were traced in one graph, with symbols for the parameters, get what they need of these
as one vector: the parameters themselves, then every expression of parameters alone that a program
uses. All programs are given the same vector, so that one assignment replaces it for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyn_core.codegen.traced_program import Program
from dyn_core.expr.analysis import made_of, needed
from dyn_core.symbolic.expression_graph import Expr


def staged(programs: Sequence[Program], parameters: tuple[Expr, ...]) -> tuple[Program, list[Program]]:
    """Answer the program that prepares the vector from the parameters, and the programs that take it.

    Args:
        programs: programs of one graph; their inputs do not contain the parameters.
        parameters: inputs of that graph.
    """
    hoisted: dict[int, Expr] = {}
    for program in programs:
        for node in _frontier(program, parameters):
            hoisted[node.number] = node
    for node in parameters:
        hoisted.pop(node.number, None)
    prepared = (*parameters, *(hoisted[number] for number in sorted(hoisted)))
    prepare = Program("prepare", {"parameters": parameters}, prepared, (len(prepared),), "")
    return prepare, [replace(program, prepared=prepared) for program in programs]


def _frontier(program: Program, parameters: tuple[Expr, ...]) -> list[Expr]:
    """Answer the nodes of parameters alone that are results, or that others are made of."""
    nodes = needed(program.results)
    ahead = {node.number: node for node in made_of(nodes, parameters)}
    used = {result.number for result in program.results if isinstance(result, Expr)}
    used.update(a.number for node in nodes if node.number not in ahead for a in node.args)
    return [node for number, node in ahead.items() if number in used]
