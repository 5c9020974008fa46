# SPDX-License-Identifier: Apache-2.0
"""The velocity over which Coulomb friction had best change its sign, one for all joints, as nodes take it."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.facade.arrays import Array
from dyn_core.identification.identified import Errors
from dyn_core.model.robot import Robot
from dyn_core.results.prediction import standard_friction, torque_error
from dyn_core.signals.signals import Signals

CANDIDATES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15)
"""Velocities that are tried (rad/s or m/s)."""
GAIN = 0.02
"""Part of the error that another velocity than 0 has to take away."""


def best_coulomb_velocity(
    robot: Robot, parts: Sequence[Signals], loads: Sequence[Array]
) -> tuple[float, Errors]:
    """Answer the velocity with the least error on the fitted part, and the errors with it.

    Args:
        robot: with its identified parameters.
        parts: the fitted part and, where there is one, that which was held out.
        loads: torques of bodies and rotors along each (N m or N).
    """

    def error(part: int, velocity: float) -> float:
        return torque_error(parts[part], torques(part, velocity)).relative

    def torques(part: int, velocity: float) -> Array:
        found: Array = loads[part] + standard_friction(robot, parts[part].qd, velocity)
        return found

    at_once = error(0, 0.0)
    least, velocity = min((error(0, v), v) for v in CANDIDATES)
    if not least < (1.0 - GAIN) * at_once:
        velocity = 0.0
    found = [torque_error(part, torques(k, velocity)) for k, part in enumerate(parts)]
    return velocity, Errors(found[0], found[1] if len(found) == 2 else None)
