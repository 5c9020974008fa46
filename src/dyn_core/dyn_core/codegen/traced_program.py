# SPDX-License-Identifier: Apache-2.0
"""A traced function: named inputs, and results as expressions of them.

`trace` runs an algorithm with symbols and returns a `Program`. `staged` moves what depends on parameters
alone into a program that runs when they change. The prepared values are one vector, the same for all programs
of a model: the parameters, then every expression of parameters alone that a program uses. One assignment
replaces it for all programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dyn_core.algorithms.loops.continuation import Scales
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Graph, Symbolic, made_of, needed, operation_counts


@dataclass(frozen=True)
class Program:
    """A function of vectors that is straight-line code.

    Attributes:
        name: a C identifier.
        inputs: the vectors by name, as nodes of one graph.
        results: the results, in C order.
        shape: shape of the result for one sample.
        documentation: signature and text that `help` shows.
        prepared: nodes that are computed ahead and given as one more vector, `p`, for all samples; None for a
            program without such a vector.
        columns: names of the columns of the results, or of the entries of a vector; empty where these are the
            joints, or need no names.
        closure: unknowns that are solved for first, if any.
        rows: by name, number of rows of inputs that can also be given as matrices.
        stepping: what is compiled with it to make whole integration steps.
        guarded: number of first results that are checked: one that is not finite may come from invalid
            inputs, which the caller then reports.
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
        """Nodes that the results need, arguments before the nodes that use them."""
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
    """Run an algorithm with symbols and return its results as a program.

    Args:
        name: name of the program.
        algorithm: takes a sequence of scalars for each input and returns a flat sequence of scalars.
        sizes: length of each input, in the order of the arguments.
        shape: shape of the result for one sample.
        documentation: signature and text that `help` shows.
        graph: graph of other symbols that the algorithm uses, if any.
        rows: by name, number of rows of inputs that can also be given as matrices.
    """
    graph = graph or Graph()
    inputs = {key: tuple(graph.input(f"{key}[{k}]") for k in range(size)) for key, size in sizes.items()}
    results = tuple(algorithm(*inputs.values()))
    return Program(name, inputs, results, shape, documentation, rows=rows or {})


# Unknowns of a program, which are solved for before the straight-line code runs

UNKNOWNS = "x"
"""Name of the unknowns as an input."""


@dataclass(frozen=True)
class Equations:
    """Equations for unknowns, as `dyn_core.algorithms.loops.continuation` solves them.

    Attributes:
        robot: the robot whose passive joints the unknowns are.
        step: program of two vectors, given values and unknowns; its results are the changes of the unknowns
            by Newton's method, then other values that have to be 0.
        start: given values and unknowns of a known solution.
        scales: sizes that correspond to 1 rad.
    """

    robot: Robot
    step: Program
    start: tuple[tuple[float, ...], tuple[float, ...]]
    scales: Scales


@dataclass(frozen=True)
class Closure:
    """The unknowns of a program, and given values that determine them in terms of its inputs."""

    unknowns: tuple[Expr, ...]
    given: tuple[Symbolic, ...]
    equations: Equations


def with_unknowns(program: Program) -> Program:
    """Return a program that takes the unknowns as one more vector, and keeps their equations."""
    if program.closure is None or UNKNOWNS in program.inputs:
        return program
    return replace(program, inputs={**program.inputs, UNKNOWNS: program.closure.unknowns})


def open_program(program: Program) -> Program:
    """Return a program that takes the unknowns as one more vector, after its inputs."""
    return replace(with_unknowns(program), closure=None)


def given_program(program: Program) -> Program:
    """Return the given values of the unknowns as a program of the inputs."""
    assert program.closure is not None
    given = program.closure.given
    return replace(program, name="given", results=given, shape=(len(given),), prepared=None, closure=None)


@dataclass(frozen=True)
class Stepping:
    """Programs that are compiled with `held_dynamics` to make whole integration steps, for one sample.

    Attributes:
        sum: `runge_kutta_sum`.
        passive: `passive_state`: positions and velocities of the passive joints of loops, and more; without
            results for a robot without loops. It has unknowns where `held_dynamics` has them, for the same
            equations.
        joints: number of passive joints.
        signs: place of the first of its results that must keep their signs.
    """

    sum: Program
    passive: Program
    joints: int
    signs: int


# Two stages: values that depend on parameters alone are computed when parameters change, not at every call


def staged(
    programs: Sequence[Program], parameters: tuple[Expr, ...], before: tuple[Expr, ...] = ()
) -> tuple[Program, list[Program]]:
    """Return the program that prepares the vector from the parameters, and the programs that take it.

    Args:
        programs: programs of one graph; their inputs do not contain the parameters.
        parameters: inputs of that graph.
        before: what other programs of the graph take already; the vector begins with it.
    """
    ahead = before or parameters
    hoisted = {node.number: node for program in programs for node in _frontier(program, parameters)}
    for node in ahead:
        hoisted.pop(node.number, None)
    prepared = (*ahead, *(hoisted[number] for number in sorted(hoisted)))
    prepare = Program("prepare", {"parameters": parameters}, prepared, (len(prepared),), "")
    return prepare, [replace(program, prepared=prepared) for program in programs]


def _frontier(program: Program, parameters: tuple[Expr, ...]) -> list[Expr]:
    """Return nodes of parameters alone that are results or arguments of other nodes."""
    nodes = needed(program.results)
    ahead = {node.number: node for node in made_of(nodes, parameters)}
    used = {result.number for result in program.results if isinstance(result, Expr)}
    used.update(a.number for node in nodes if node.number not in ahead for a in node.args)
    return [node for number, node in ahead.items() if number in used]
