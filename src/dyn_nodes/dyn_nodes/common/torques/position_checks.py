# SPDX-License-Identifier: Apache-2.0
"""Which measured positions are believed."""

from __future__ import annotations

import math

from dyn_core.control.jump import JumpLimit
from dyn_core.core.arrays import Array
from dyn_core.robot.robot import Robot
from dyn_nodes.rejection import Rejection

_FACTOR = 3.0
"""A position that moves faster than so many times the velocity limit is not believed at once."""
_SLACK = 0.1
"""How far it may move in any case (rad or m)."""


class BelievedPositions:
    """Looks at one measurement after the other. It has a state: the last one that was believed.

    A single position that jumps may be an error of a sensor. Where the next one agrees with it, the robot
    has been moved.

    Attributes:
        last: time of the stamp (s) and positions (rad or m), (n,), of the last one; None before any.
    """

    def __init__(self, robot: Robot) -> None:
        """Begin without any."""
        speeds = (joint.limits.velocity for joint in robot.independent_joints)
        # Descriptions say 0 where the limit is not known.
        fastest = [_FACTOR * speed if speed else math.inf for speed in speeds]
        self._limit = JumpLimit(robot.coordinate_names, fastest, _SLACK)
        self.forget()

    def forget(self) -> None:
        """Believe the next one, whatever it is."""
        self.last: tuple[float, Array] | None = None
        self._doubted: tuple[float, Array] | None = None

    def follows(self, t: float, q: Array) -> bool:
        """Take a measurement, and answer whether it goes on from the last one, or is a new beginning.

        Args:
            t: stamp (s).
            q: positions (rad or m), (n,).

        Raises:
            Rejection: it is older than the last one, or may be an error of a sensor.
        """
        if self.last is None:
            self.last = t, q
            return False
        last_t, last_q = self.last
        if t < last_t:
            raise Rejection(
                f"joint state is stamped {last_t - t:.3f} s before the last one",
                "joint state is not in order",
            )
        doubted, self._doubted = self._doubted, None
        # A position that is doubted gives the next one no more room to be somewhere else.
        jump = self._limit.jump(last_q, q, t - (last_t if doubted is None else doubted[0]))
        if jump is None:
            self.last = t, q
            return True
        if doubted is not None and self._limit.jump(doubted[1], q, t - doubted[0]) is None:
            self.last = t, q
            return False
        self._doubted = t, q
        raise Rejection(
            f"joint '{jump.joint}' is said to have moved by {jump.step:.4g} in {jump.dt:.4g} s, "
            "which it cannot do",
            f"the position of joint '{jump.joint}' jumps",
        )
