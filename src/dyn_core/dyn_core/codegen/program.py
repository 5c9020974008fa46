# SPDX-License-Identifier: Apache-2.0
"""A traced function: named inputs, and results as expressions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dyn_core.expr.graph import Expr, Graph, Symbolic


@dataclass(frozen=True)
class Program:
    """A function of vectors that is straight-line code.

    Attributes:
        name: a C identifier.
        inputs: the vectors it takes, by name, as nodes of one graph.
        results: its results, in C order.
        shape: the shape of the results for one sample.
        documentation: signature and text that `help` shows.
    """

    name: str
    inputs: Mapping[str, tuple[Expr, ...]]
    results: tuple[Symbolic, ...]
    shape: tuple[int, ...]
    documentation: str


def trace(
    name: str,
    algorithm: Callable[..., Sequence[Symbolic]],
    sizes: Mapping[str, int],
    shape: tuple[int, ...],
    documentation: str = "",
) -> Program:
    """Run an algorithm with symbols, and keep what it answers.

    Args:
        name: name of the program.
        algorithm: takes one sequence of scalars for each input, answers a flat sequence of scalars.
        sizes: length of each input, by name, in the order in which the algorithm takes them.
        shape: the shape of the result for one sample.
        documentation: signature and text that `help` shows.
    """
    graph = Graph()
    inputs = {key: tuple(graph.input(f"{key}[{k}]") for k in range(size)) for key, size in sizes.items()}
    return Program(name, inputs, tuple(algorithm(*inputs.values())), shape, documentation)
