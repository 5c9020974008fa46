# SPDX-License-Identifier: Apache-2.0
"""Whether desired positions of passive joints agree with where the loops put them.

The actuated joints say where a robot with loops is to be. A message that names passive joints as well, as a
replayed recording or a plan of all joints does, says it twice. What it says of passive joints is compared
with what follows from the actuated ones, and not used. Positions that contradict these mean another assembly
mode, other lengths or another zero: then nothing of the message can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.facade.compile import compiled_or_none
from dyn_core.facade.loop_programs import passive_positions
from dyn_core.facade.runnable import runnables
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

TOLERANCE = 0.01
"""What a passive joint may be off (rad or m): encoders and tolerances of links make some mrad or mm; another
assembly mode makes far more."""


class PassiveAgreement:
    """Compares positions of passive joints with those that follow from the actuated ones.

    Attributes:
        names: the passive joints of the loops of the robot; none for a robot without loops.
    """

    def __init__(self, robot: Robot) -> None:
        """Compile what closes the loops, where there are any."""
        self.names = robot.passive_joint_names if robot.loops else ()
        self._joints = {name: robot.joint(name) for name in self.names}
        if self.names:
            programs = [passive_positions(robot)]
            (self._follow,) = compiled_or_none(robot, programs, "auto") or runnables(programs, "python")

    def followed(self, q: Array) -> Array | None:
        """Answer where the loops put the passive joints (rad or m), (N, m); None where they do not close.

        Args:
            q: positions of the actuated joints (rad or m), (N, n).
        """
        followed = np.empty((len(q), len(self.names)))
        closed = self._follow.function.into(np.ascontiguousarray(q), followed) is None
        return followed if closed else None

    def apart(self, q: Array, names: Sequence[str], passive: Array) -> Array | None:
        """Answer how far positions of passive joints are from where the loops put them (rad or m), (N, k).

        Angles are counted to the nearest turn: some count turns, some do not. None where the loops do not
        close at all positions.

        Args:
            q: positions of the actuated joints (rad or m), (N, n).
            names: passive joints, some or all.
            passive: their positions (rad or m), (N, k).
        """
        followed = self.followed(q)
        if followed is None:
            return None
        apart: Array = passive - followed[:, [self.names.index(name) for name in names]]
        for k, name in enumerate(names):
            if self._joints[name].sigma is Sigma.REVOLUTE:
                apart[:, k] = np.remainder(apart[:, k] + math.pi, 2.0 * math.pi) - math.pi
        return apart

    def check(self, q: Array, names: Sequence[str], passive: Array) -> None:
        """Refuse positions of passive joints that contradict the loops.

        Where the loops do not close at all, nothing is said: that is for others to refuse.

        Args:
            q: positions of the actuated joints (rad or m), (N, n).
            names: passive joints, some or all.
            passive: their positions (rad or m), (N, k).

        Raises:
            DynError: a position is more than `TOLERANCE` from where the loops put the joint; the message
                names the worst joint and both positions.
        """
        if not names:
            return
        apart = self.apart(q, names, passive)
        if apart is None:
            return
        sample, k = divmod(int(np.abs(apart).argmax()), len(names))
        if not abs(apart[sample, k]) <= TOLERANCE:
            unit = self._joints[names[k]].position_unit
            given, off = float(passive[sample, k]), float(apart[sample, k])
            where = f", point {sample}" if len(q) > 1 else ""
            raise DynError(
                f"passive joint '{names[k]}' is given {given:.4g} {unit}{where}, and the loops "
                f"put it at {given - off:.4g} {unit}, {abs(off):.3g} {unit} away, where "
                f"{TOLERANCE:g} {unit} are let pass: leave passive joints out, or give what follows from the "
                "actuated ones",
                element=f"joint '{names[k]}'",
            )
