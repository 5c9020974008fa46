# SPDX-License-Identifier: Apache-2.0
"""A traced function: named inputs, and results as expressions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dyn_core.codegen.closure import Closure
from dyn_core.codegen.stepping import Stepping
from dyn_core.expr.analysis import needed, operation_counts
from dyn_core.symbolic.expression_graph import Expr, Graph, Symbolic


@dataclass(frozen=True)
class Program:
    """A function of vectors that is straight-line code.

    Attributes:
        name: a C identifier.
        inputs: the vectors it takes, by name, as nodes of one graph.
        results: its results, in C order.
        shape: the shape of the results for one sample.
        documentation: signature and text that `help` shows.
        prepared: nodes that are computed ahead and given to the program as one more vector, `p`,
            which is the same for all samples; None for a program that takes no such vector.
        columns: what the columns of the results, or the entries of a vector, are named after; none where
            these are those of the joints, or say themselves what they are.
        closure: unknowns that are solved for first; None where there are none.
        rows: by name, how many rows those inputs have that can be given as matrices, too.
        stepping: what is compiled with it to make whole steps of a motion; None for other programs.
        guarded: how many of the first results are looked at: where one is not finite, inputs may be such as
            cannot be used, which the caller then says.
    """

    name: str
    inputs: Mapping[str, tuple[Expr, ...]]
    results: tuple[Symbolic, ...]
    shape: tuple[int, ...]
    documentation: str
    prepared: tuple[Expr, ...] | None = None
    columns: tuple[str, ...] = ()
    closure: Closure | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    stepping: Stepping | None = None
    guarded: int = 0

    @property
    def nodes(self) -> list[Expr]:
        """What the results need, arguments before what is made of them."""
        return needed(self.results, self.prepared or ())

    @property
    def operation_counts(self) -> dict[str, int]:
        """Operations of one evaluation: mul, add, div, trig, sqrt; without those that solve for unknowns."""
        return operation_counts(self.results, self.prepared or ())


def trace(
    name: str,
    algorithm: Callable[..., Sequence[Symbolic]],
    sizes: Mapping[str, int],
    shape: tuple[int, ...],
    documentation: str = "",
    graph: Graph | None = None,
    rows: Mapping[str, int] | None = None,
) -> Program:
    """Run an algorithm with symbols, and keep what it answers.

    Args:
        name: name of the program.
        algorithm: takes one sequence of scalars for each input, answers a flat sequence of scalars.
        sizes: length of each input, by name, in the order in which the algorithm takes them.
        shape: the shape of the result for one sample.
        documentation: signature and text that `help` shows.
        graph: the graph of other symbols that the algorithm uses; None where there are none.
        rows: by name, how many rows those inputs have that can be given as matrices, too.
    """
    graph = graph or Graph()
    inputs = {key: tuple(graph.input(f"{key}[{k}]") for k in range(size)) for key, size in sizes.items()}
    results = tuple(algorithm(*inputs.values()))
    return Program(name, inputs, results, shape, documentation, rows=rows or {})
