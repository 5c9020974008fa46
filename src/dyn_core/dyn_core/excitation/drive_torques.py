# SPDX-License-Identifier: Apache-2.0
"""Greatest torques that a motion can need, whichever way Coulomb friction acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.facade.run_by import run_by
from dyn_core.model.fixed_base.dynamics_programs import traced, with_passive_friction
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class DriveTorques:
    """Torques of a robot, with Coulomb friction apart: its sign is not known where a joint is about to turn.

    Attributes:
        rigid: torques (N, n) of bodies, rotors and passive joints of loops (N m or N) at positions,
            velocities, accelerations (N, n).
        viscous: viscous friction of the coordinates (N m s/rad or N s/m), (n,).
        coulomb: Coulomb friction (N m or N), (n,).
        offset: constant torques (N m or N), (n,).
    """

    rigid: Callable[[Array, Array, Array], Array]
    viscous: Array
    coulomb: Array
    offset: Array

    def smooth(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Answer all torques but Coulomb friction (N, n)."""
        torques: Array = self.rigid(q, qd, qdd) + self.viscous * qd + self.offset
        return torques

    def needed(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Answer the greatest size of the torques (N, n), with Coulomb friction in whichever direction."""
        needed: Array = np.abs(self.smooth(q, qd, qdd)) + self.coulomb
        return needed


def drive_torques(robot: Robot) -> DriveTorques:
    """Answer the torques of a robot with the parameters that it has."""
    n = robot.dof
    place = {j: k for k, j in enumerate(robot.coordinates)}
    viscous, coulomb, offset = np.zeros((3, n))
    for j, joint in enumerate(robot.joints, start=1):
        leader, multiplier = (joint.mimic.leader, joint.mimic.multiplier) if joint.mimic else (j, 1.0)
        if leader not in place:  # it stands, or is a passive joint of a loop
            continue
        k = place[leader]
        viscous[k] += multiplier**2 * joint.friction.Fv
        coulomb[k] += abs(multiplier * joint.friction.Fs)
        offset[k] += multiplier * joint.friction.Fo
    rigid = run_by(robot, traced(with_passive_friction(robot), "inverse_dynamics"))
    return DriveTorques(rigid, viscous, coulomb, offset)
