# SPDX-License-Identifier: Apache-2.0
"""The programs that a simulation runs, compiled once for a robot, whatever its dynamic parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.facade.closed import closed
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.compile_options import Backend
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.model.fixed_base.dynamics_programs import tunable
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.hybrid_dynamics import SIZES, TIMES, held_dynamics, runge_kutta_sum
from dyn_core.simulation.integrators.passive_motion import PassiveJoints, passive_programs
from dyn_core.simulation.midpoint_dynamics import MIDPOINT_SIZES, midpoint_dynamics
from dyn_core.simulation.passive_friction import rubbing
from dyn_core.simulation.usual_step import with_steps
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar


@dataclass(frozen=True)
class Programs:
    """Programs of one robot.

    Attributes:
        prepare: from the parameters and gravity to what the others are given.
        dynamics: `held_dynamics`.
        sum: `runge_kutta_sum`.
        external: the torques that bodies need for the wrenches that they exert, from positions and wrenches.
        passive: the passive joints of loops.
        midpoint: `midpoint_dynamics`; None where it was not asked for.
    """

    prepare: Runnable
    dynamics: Runnable
    sum: Runnable
    external: Runnable
    passive: PassiveJoints
    midpoint: Runnable | None = None

    def prepared(self, robot: Robot) -> Array:
        """Answer what the programs are given for the parameters of a robot."""
        return self.prepare.run((), np.array([*robot.parameters, *robot.gravity]))


def compiled_programs(robot: Robot, backend: Backend, midpoint: bool = False) -> Programs:
    """Answer the programs for all robots that differ from this one in their dynamic parameters only.

    Those without Coulomb friction in a passive joint that has it here may have none there, and others none
    but there.

    Args:
        robot: the robot.
        backend: what computes.
        midpoint: whether `midpoint_dynamics` is among them.
    """
    symbolic = symbolic_robot(robot)
    graph, n = symbolic.graph, robot.dof
    whole = trace(
        "runge_kutta_sum",
        runge_kutta_sum,
        {"q": n, "qd": n, **{f"a{stage}": 2 * n for stage in range(1, 5)}, "h": 1},
        (2 * n,),
        graph=graph,
    )
    passive = passive_programs(robot)
    dynamics = with_steps(robot, _dynamics(symbolic.robot, rubbing(robot), graph), whole, passive)
    tuned = [dynamics, whole, tunable(symbolic, "external_torques")]
    if midpoint:
        tuned.append(_midpoint(symbolic.robot, graph))
    prepare, programs = staged(tuned, symbolic.parameters)
    programs += passive
    compiled = None if backend == "python" else compiled_or_none(robot, programs, backend)
    made = compiled or runnables(programs, "python")
    held, runge_kutta, external, *others = made
    middle = others.pop(0) if midpoint else None
    joints = PassiveJoints(robot, others)
    return Programs(runnables([prepare], "python")[0], held, runge_kutta, external, joints, middle)


def _dynamics(robot: Robot, smooth: Sequence[bool], graph: Graph) -> Program:
    sliding = _without_coulomb_friction(robot)
    Fs = [joint.friction.Fs if rubs else 0.0 for joint, rubs in zip(robot.joints, smooth, strict=True)]
    sizes = {name: count * robot.dof for name, count in SIZES.items()}

    def algorithm(*vectors: list[Scalar]) -> list[Scalar]:
        return held_dynamics(sliding, Fs, *vectors)

    program = trace("held_dynamics", algorithm, {**sizes, "times": TIMES}, (2 * robot.dof,), graph=graph)
    return closed(robot, program)


def _midpoint(robot: Robot, graph: Graph) -> Program:
    sliding = _without_coulomb_friction(robot)
    sizes = {name: count * robot.dof for name, count in MIDPOINT_SIZES.items()}

    def algorithm(*vectors: list[Scalar]) -> list[Scalar]:
        return midpoint_dynamics(sliding, *vectors)

    return trace("midpoint_dynamics", algorithm, {**sizes, "step": 1}, (2 * robot.dof,), graph=graph)


def _without_coulomb_friction(robot: Robot) -> Robot:
    joints = (
        replace(joint, friction=Friction(Fv=joint.friction.Fv, Fo=joint.friction.Fo))
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))
