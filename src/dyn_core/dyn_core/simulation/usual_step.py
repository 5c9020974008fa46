# SPDX-License-Identifier: Apache-2.0
"""Steps in which nothing happens, as one compiled call.

In most steps no joint runs into a stop, breaks away, comes to rest or passes a limit, and the loops of the
robot close without passing a singularity. The compiled code makes such a step whole, with all that is
looked at in it (`codegen/c/stepping.h`); of any other it says that it is one, and the integrators in Python,
which are all there is without a compiler, make it from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from dyn_core.codegen.stepping import Stepping
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.runnable import Runnable
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.passive_motion import orientations

UsualStep: TypeAlias = Callable[
    [bool, Array, Array, Array, float, "Array | None"], "tuple[Array, Array, Array] | None"
]
"""From whether the method is the semi-implicit one, positions, velocities, efforts, the step (s) and what is
known of the passive joints, to positions, velocities and what is known then; None where something happens.
Where nothing is given for what is known, nothing is looked at of the passive joints."""


UsualMode: TypeAlias = Callable[[Array, Array, Array], "tuple[Array, Array, Array] | None"]
"""From positions, velocities and efforts to what a `Mode` is made of; None where something happens now."""


def with_steps(robot: Robot, dynamics: Program, whole: Program, passive: Sequence[Program]) -> Program:
    """Answer `held_dynamics` with what it takes to make steps of it.

    Where only passive joints that move no mass have to be solved for, there are no such steps.

    Args:
        robot: the robot.
        dynamics: `held_dynamics`.
        whole: `runge_kutta_sum`.
        passive: `passive_programs`.
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
    """Answer such steps, and how they begin, as functions; None where they are not compiled.

    Args:
        dynamics: `held_dynamics`, as it runs.
        prepared: what was prepared from the parameters.
        bounds: Coulomb friction of the joints (N m or N), their least and greatest positions (rad or m),
            least and greatest positions of the passive joints, beyond which their stops act, and the speed
            that is not passed, the step of the integrator (s), and `JUMP`.
    """
    step, present = (getattr(dynamics.function, name, None) for name in ("step", "present"))
    if step is None or present is None:
        return None, None
    constant = np.array(bounds)
    return partial(step, constant, prepared), partial(present, constant, prepared)
