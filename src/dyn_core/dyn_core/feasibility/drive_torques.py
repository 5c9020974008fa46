# SPDX-License-Identifier: Apache-2.0
"""The torques of a motion, and how they change with its rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.facade.run_by import run_by
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms
from dyn_core.robot.robot import Robot

CREEP = 1e-150
"""Rate at which speeds have a direction, for Coulomb friction, and no other effect that numbers show."""
USUAL = 1.0
"""Speeds, and roots of accelerations, that faster samples are slowed down to (rad/s or m/s; with `sqrt` of
these per s): inertial and other torques are of one order of size there, so that none is lost in another."""


@dataclass(frozen=True, eq=False)
class RatedTorques:
    """Torques at the samples of a motion that is run through at the rate r: ``a r^2 + b r + c``.

    Velocities are r times, accelerations r^2 times those of the motion. Inertial, Coriolis and centrifugal
    torques go with r^2, viscous friction with r; the rest stays: gravity, Coulomb friction, offsets, and what
    links exert.

    Attributes:
        a: (m, n), N m or N.
        b: (m, n), N m or N.
        c: (m, n), N m or N.
    """

    a: Array
    b: Array
    c: Array

    def at(self, rate: float) -> Array:
        """Answer the torques (N m or N), (m, n)."""
        return (self.a * rate + self.b) * rate + self.c


class DriveTorques:
    """Torques of the actuators of a robot along motions.

    Attributes:
        robot: the robot.
    """

    def __init__(self, robot: Robot, *, friction: bool = True, rotor_inertia: bool = True) -> None:
        """Compile what it takes."""
        self.robot = robot
        made_of = with_terms(robot, friction, rotor_inertia)
        self._needed = run_by(made_of, traced(made_of, "inverse_dynamics"))
        self._row = WrenchRow(robot)
        self._external = run_by(made_of, traced(made_of, "external_torques"))

    def rated(
        self, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, npt.ArrayLike] | None = None
    ) -> RatedTorques:
        """Answer the torques of a motion, (m, n) each, at any rate above 0.

        Args:
            q: positions (rad or m).
            qd: velocities (rad/s or m/s).
            qdd: accelerations (rad/s^2 or m/s^2).
            wrenches: by link name, what it exerts on its environment, as for `Model.inverse_dynamics`.
        """
        slow = _usual_rates(qd, qdd)
        qd, qdd = slow * qd, slow * slow * qdd
        # What does not depend on the rate is computed by itself: at low rates it is all that there is.
        c = self._needed(q, CREEP * qd, np.zeros_like(qdd))
        full, half = self._needed(q, qd, qdd) - c, self._needed(q, 0.5 * qd, 0.25 * qdd) - c
        a, b = (2.0 * full - 4.0 * half) / slow**2, (4.0 * half - full) / slow
        w = self._row(wrenches, q.shape[:-1])
        if w is not None:
            c = c + self._external(q, w)
        return RatedTorques(a, b, c)


def _usual_rates(qd: Array, qdd: Array) -> Array:
    """Answer by sample the greatest rate up to 1 at which it is no faster than `USUAL`, (m, 1)."""
    fastest = np.maximum(np.abs(qd), np.sqrt(np.abs(qdd))).max(axis=1, keepdims=True)
    rates: Array = USUAL / np.maximum(fastest, USUAL)
    return rates
