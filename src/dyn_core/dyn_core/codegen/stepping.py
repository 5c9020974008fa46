# SPDX-License-Identifier: Apache-2.0
"""What a program that answers accelerations needs beside it to make whole steps of a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyn_core.codegen.traced_program import Program


@dataclass(frozen=True)
class Stepping:
    """The other programs of a step, which are compiled with `held_dynamics`, for one sample.

    Attributes:
        sum: `runge_kutta_sum`.
        passive: `passive_state`: positions and velocities of the passive joints of loops, and more; without
            results for a robot without loops. It has unknowns, for the same equations, where the program
            that it stands beside has them, and otherwise none.
        joints: number of passive joints.
        signs: place of the first of its results that must keep their signs.
    """

    sum: Program
    passive: Program
    joints: int
    signs: int
