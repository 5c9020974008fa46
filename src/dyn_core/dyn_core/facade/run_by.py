# SPDX-License-Identifier: Apache-2.0
"""A program of a robot as a function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.runnable import Runnable, runnables
from dyn_core.robot.robot import Robot


def run_by(robot: Robot, program: Program) -> Callable[..., Array]:
    """Answer a program of a robot as a function of arrays of one shape, compiled where that can be."""
    return partial(runnable_by(robot, program).run, ())


def runnable_by(robot: Robot, program: Program) -> Runnable:
    """Answer a program of a robot, compiled where that can be."""
    compiled = compiled_or_none(robot, [program], "auto") or runnables([program], "python")
    return compiled[0]
