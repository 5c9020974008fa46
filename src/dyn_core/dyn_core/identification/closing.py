# SPDX-License-Identifier: Apache-2.0
"""Whether a motion of the actuated joints is one that the loops of a robot allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.core.arrays import Array
from dyn_core.facade.loop_programs import passive_positions
from dyn_core.facade.run_by import runnable_by
from dyn_core.facade.runnable import Runnable
from dyn_core.robot.robot import Robot


def always(q: Array) -> bool:
    """Answer that a robot without loops can be anywhere."""
    return True


def closing(robot: Robot) -> Callable[[Array], bool]:
    """Answer a function of positions (N, n): whether the loops of a robot close at all of them."""
    if not robot.loops or not structure(robot).unknown:
        return always

    @cache
    def passive() -> Runnable:
        return runnable_by(robot, passive_positions(robot))

    def closes(q: Array) -> bool:
        run = passive()
        return run.function.into(np.ascontiguousarray(q), np.empty((len(q), *run.shape))) is None

    return closes
