# SPDX-License-Identifier: Apache-2.0
"""Programs of robots with loops: which unknowns they have, and what solves for these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.algorithms.loops.passive_joint_positions import scales, start
from dyn_core.codegen.closure import Closure, Equations
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Op
from dyn_core.symbolic.scalar import Scalar


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


NEWTON_STEP = "newton_step"


def newton_program(robot: Robot) -> Program:
    """Answer Newton's step for the passive joints of a robot as a program of q and x.

    Its results are the changes of the passive positions x, and then what else is 0 where the loops are
    closed, unless that is 0 by the structure of the robot.

    Raises:
        DynError: no passive joint of the robot is solved for by iteration.
    """
    found = structure(robot) if robot.loops else None
    if found is None or not found.unknown:
        reason = "it has no loops" if found is None else "all its passive joints follow by linear relations"
        raise DynError(
            f"robot '{robot.name}' has no {NEWTON_STEP}: {reason}, its other functions need no x",
            element=f"robot '{robot.name}'",
        )
    solved = equations(geometry_of(robot))
    given, x = (solved.step.inputs[name] for name in ("given", "x"))
    names = [robot.joints[j - 1].name for j in found.unknown]
    steps, gaps = solved.step.results[: len(names)], solved.step.results[len(names) :]
    gaps = tuple(gap for gap in gaps if isinstance(gap, Expr) and gap.op is not Op.CONSTANT)
    return replace(
        solved.step,
        name=NEWTON_STEP,
        inputs={"q": given, "x": x},
        results=(*steps, *gaps),
        shape=(len(steps) + len(gaps),),
        columns=(*names, *(f"gap_{k}" for k in range(1, len(gaps) + 1))),
        documentation="the change of x"
        + (", then what else has to be 0 where the loops are closed" if gaps else ""),
        closure=Closure(x, given, solved),
    )


@lru_cache(maxsize=32)
def equations(robot: Robot) -> Equations:
    """Answer the equations for the unknown passive joints of a robot without masses."""
    found = structure(robot)

    def step(q_a: Sequence[Scalar], x: Sequence[Scalar]) -> list[Scalar]:
        passive = Passive(robot, found, q_a, x)
        return [*passive.newton_step(), *passive.openings()[1]]

    sizes = {"given": robot.dof, "x": len(found.unknown)}
    q_a, x = start(robot, found)
    program = trace("newton_step", step, sizes, (len(step(q_a, x)),))
    return Equations(robot, program, (tuple(q_a), tuple(x)), scales(robot, found))
