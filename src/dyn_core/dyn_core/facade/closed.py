# SPDX-License-Identifier: Apache-2.0
"""Programs of robots with loops: which unknowns they have, and what solves for these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dyn_core.codegen.closure import Closure, Equations
from dyn_core.codegen.program import Program, trace
from dyn_core.expr.graph import Expr
from dyn_core.linalg.scalar import Scalar
from dyn_core.loops.passive import Passive
from dyn_core.loops.solution import scales, start
from dyn_core.loops.structure import geometry_of, structure
from dyn_core.model.robot import Robot


def closed(robot: Robot, program: Program) -> Program:
    """Answer a program of a robot with what solves for the unknowns that it has, if it has any."""
    graph = next((node.graph for node in program.results if isinstance(node, Expr)), None)
    if graph is None or not graph.determined:
        return program
    used = {node.number for node in program.nodes}
    for given, unknowns in graph.determined.items():
        if any(node.number in used for node in unknowns):
            return replace(program, closure=Closure(unknowns, given, equations(geometry_of(robot))))
    return program


@lru_cache(maxsize=32)
def equations(robot: Robot) -> Equations:
    """Answer the equations for the unknown passive joints of a robot without masses."""
    found = structure(robot)

    def step(q_a: Sequence[Scalar], x: Sequence[Scalar]) -> list[Scalar]:
        passive = Passive(robot, found, q_a, x)
        return [*passive.newton_step(), *passive.openings()[1]]

    sizes = {"given": robot.dof, "x": len(found.unknown)}
    results = len(step(*(start(robot, found))))
    q_a, x = start(robot, found)
    program = trace("newton_step", step, sizes, (results,))
    return Equations(robot, program, (tuple(q_a), tuple(x)), scales(robot, found))
