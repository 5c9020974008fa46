# SPDX-License-Identifier: Apache-2.0
"""Unknowns of a program: what has to be solved for before the straight-line code can run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dyn_core.algorithms.loops.continuation import Scales
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Symbolic

if TYPE_CHECKING:
    from dyn_core.codegen.traced_program import Program

UNKNOWNS = "x"
"""What the unknowns are called where they are one more input."""


@dataclass(frozen=True)
class Equations:
    """Equations for unknowns, as `dyn_core.algorithms.loops.continuation` solves them.

    Attributes:
        robot: the robot whose passive joints the unknowns are.
        step: program of two vectors, what is given and the unknowns; its results are the changes of the
            unknowns that Newton's method makes, and then what else has to be 0.
        start: what is given, and the unknowns, of a known solution.
        scales: what is about as much as 1 rad.
    """

    robot: Robot
    step: Program
    start: tuple[tuple[float, ...], tuple[float, ...]]
    scales: Scales


@dataclass(frozen=True)
class Closure:
    """The unknowns of a program.

    Attributes:
        unknowns: nodes of its graph.
        given: what determines them, in terms of its inputs.
        equations: how they follow.
    """

    unknowns: tuple[Expr, ...]
    given: tuple[Symbolic, ...]
    equations: Equations


def with_unknowns(program: Program) -> Program:
    """Answer a program that is given the unknowns as one more vector, and still says what they are."""
    if program.closure is None or UNKNOWNS in program.inputs:
        return program
    inputs: Mapping[str, tuple[Expr, ...]] = {**program.inputs, UNKNOWNS: program.closure.unknowns}
    return replace(program, inputs=inputs)


def open_program(program: Program) -> Program:
    """Answer a program that is given the unknowns as one more vector, after its inputs."""
    return replace(with_unknowns(program), closure=None)


def given_program(program: Program) -> Program:
    """Answer what determines the unknowns as a program of the inputs."""
    assert program.closure is not None
    given = program.closure.given
    return replace(program, name="given", results=given, shape=(len(given),), prepared=None, closure=None)
