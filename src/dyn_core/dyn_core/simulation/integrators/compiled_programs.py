# SPDX-License-Identifier: Apache-2.0
"""Programs of a simulation, compiled once for each robot, and compiled steps without events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from dyn_core.codegen.traced_program import Program, Stepping, staged, trace
from dyn_core.core.arrays import Array
from dyn_core.core.handover import handed_over
from dyn_core.model.builder import runnable_programs
from dyn_core.model.fixed_base.closed_loops import closed
from dyn_core.model.fixed_base.dynamics_programs import symbolic_robot, traced_from
from dyn_core.model.tunable_parameters import Backend, Runnable
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.hybrid_dynamics import (
    SIZES,
    TIMES,
    held_dynamics,
    midpoint_dynamics,
    rubbing,
    runge_kutta_sum,
    without_coulomb_friction,
)
from dyn_core.simulation.integrators.passive_motion import PassiveJoints, orientations, passive_programs
from dyn_core.symbolic.expression_graph import Graph

UsualStep: TypeAlias = Callable[
    [bool, Array, Array, Array, float, "Array | None"], "tuple[Array, Array, Array] | None"
]
"""A compiled step without events, with all checks (`codegen/c/stepping.h`); None if there is an event.

In most steps no joint meets a stop, breaks away, comes to rest or passes a limit. The integrators in Python
make all other steps from their beginning, and all steps without a compiler. The arguments are whether the
method is the semi-implicit one, positions, velocities, efforts, the step (s), and the passive motion (None to
skip checks of passive joints). The results are positions, velocities and passive motion after the step."""

UsualMode: TypeAlias = Callable[[Array, Array, Array], "tuple[Array, Array, Array] | None"]
"""From positions, velocities and efforts to the parts of a `Mode`; None if there is an event now."""


def with_steps(robot: Robot, dynamics: Program, whole: Program, passive: Sequence[Program]) -> Program:
    """Return `held_dynamics` with the programs of compiled steps: `runge_kutta_sum`, and `passive_programs`.

    It is returned unchanged, without compiled steps, if passive joints that move no mass are to be solved
    for.
    """
    state = passive[0] if passive else replace(whole, name="passive_state", results=(), shape=(0,))
    solved = [None if each.closure is None else each.closure.equations for each in (dynamics, state)]
    if solved[0] is not solved[1]:
        return dynamics
    joints = len(robot.passive_joint_names) if robot.loops else 0
    signs = len(state.results) - (orientations(robot) if robot.loops else 0)
    return replace(dynamics, stepping=Stepping(whole, state, joints, signs))


def usual_steps(
    dynamics: Runnable, prepared: Array, bounds: Sequence[float]
) -> tuple[UsualStep, UsualMode] | tuple[None, None]:
    """Return compiled steps without events, and their first modes, as functions; None if not compiled.

    Args:
        dynamics: `held_dynamics` as a runnable.
        prepared: values prepared from the parameters.
        bounds: Coulomb friction of the joints (N m or N), their least and greatest positions (rad or m),
            least and greatest positions of the passive joints, beyond which their stops act, the greatest
            speed, the step of the integrator (s), and `JUMP`.
    """
    step, present = (getattr(dynamics.function, name, None) for name in ("step", "present"))
    if step is None or present is None:
        return None, None
    constant = np.array(bounds)
    return partial(step, constant, prepared), partial(present, constant, prepared)


@dataclass(frozen=True)
class Programs:
    """Programs of one robot, compiled once for any dynamic parameters."""

    prepare: Runnable  # from the parameters and gravity to the prepared values of the other programs
    dynamics: Runnable  # `held_dynamics`
    sum: Runnable  # `runge_kutta_sum`
    external: Runnable  # from positions and wrenches that bodies exert to the torques for these
    passive: PassiveJoints  # the passive joints of loops
    midpoint: Runnable | None = None  # `midpoint_dynamics`; None if it is not required

    def prepared(self, robot: Robot) -> Array:
        """Return the prepared values for the parameters of a robot."""
        return self.prepare.run((), np.array([*robot.parameters, *robot.gravity]))


def compiled_programs(robot: Robot, backend: Backend, midpoint: bool = False) -> Programs:
    """Return the programs for all robots that differ from this one only in their dynamic parameters.

    Passive joints without Coulomb friction in this robot must have none in the others.
    """
    prepare, held, runge_kutta, external, *others = handed_over(
        lambda: runnable_programs(robot, _programs(robot, midpoint), backend)
    )
    middle = others.pop(0) if midpoint else None
    return Programs(prepare, held, runge_kutta, external, PassiveJoints(robot, others), middle)


def _programs(robot: Robot, midpoint: bool) -> list[Program]:
    """Return the program that prepares values from the parameters, and those that take them."""
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
    tuned = [dynamics, whole, traced_from(symbolic, "external_torques")]
    if midpoint:
        tuned.append(_midpoint(symbolic.robot, graph))
    prepare, programs = staged(tuned, symbolic.parameters)
    return [prepare, *programs, *passive]


def _dynamics(robot: Robot, smooth: Sequence[bool], graph: Graph | None) -> Program:
    Fs = [joint.friction.Fs if rubs else 0.0 for joint, rubs in zip(robot.joints, smooth, strict=True)]
    sizes = {**{name: count * robot.dof for name, count in SIZES.items()}, "times": TIMES}
    algorithm = partial(held_dynamics, without_coulomb_friction(robot), Fs)
    return closed(robot, trace("held_dynamics", algorithm, sizes, (2 * robot.dof,), graph=graph))


def _midpoint(robot: Robot, graph: Graph | None) -> Program:
    sizes = {**dict.fromkeys(("q", "qd", "tau", "friction", "free", "last"), robot.dof), "step": 1}
    algorithm = partial(midpoint_dynamics, without_coulomb_friction(robot))
    return trace("midpoint_dynamics", algorithm, sizes, (2 * robot.dof,), graph=graph)
