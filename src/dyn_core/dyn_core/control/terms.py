# SPDX-License-Identifier: Apache-2.0
"""Torques of a motion, in terms of which each can be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.settings import PerJoint
from dyn_core.control.smooth_friction import SmoothFriction
from dyn_core.control.vectors import is_finite, refuse
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.driven_base import DrivenBase
from dyn_core.model.refuse_springs import refuse_springs


class Terms(NamedTuple):
    """Torques (N m or N), each (n,), or (N, n) for N motions; a term that is left out is zero.

    Attributes:
        inertial: A(q) qdd, of links and rotors.
        coriolis: Coriolis and centrifugal torques.
        gravity: torques that hold the robot still.
        friction: torques that overcome friction.
        total: their sum.
    """

    inertial: Array
    coriolis: Array
    gravity: Array
    friction: Array
    total: Array


@dataclass(frozen=True)
class Switches:
    """Which terms a torque has; drives that compensate gravity or friction themselves want it without."""

    inertial: bool = True
    coriolis: bool = True
    gravity: bool = True
    friction: bool = True


class TorqueTerms:
    """Torques of a model in terms. Nothing changes between calls but the parameters of the model.

    Attributes:
        model: the model.
        switches: which terms are computed.
    """

    def __init__(
        self,
        model: Model,
        switches: Switches | None = None,
        coulomb_velocity: PerJoint = 0.0,
        driven: DrivenBase | None = None,
    ) -> None:
        """Take a model.

        Args:
            model: the model.
            switches: which terms are computed; None for all.
            coulomb_velocity: the v0 of `SmoothFriction` (rad/s or m/s); 0 for sign(qd), with sign(0) = 0.
            driven: the model on a base that moves; None where it stands still.

        Raises:
            DynError: the robot has elastic joints.
        """
        refuse_springs(model.robot, "a torque in terms")
        self.model = model
        self._rigid = model if driven is None else driven
        self.switches = Switches() if switches is None else switches
        friction = SmoothFriction(model, coulomb_velocity)
        self._friction_torques = friction.torques if friction.v0.any() else model.friction_torques
        self._with_loops = bool(model.robot.loops)
        self._zero = np.zeros(len(model.joint_names))
        self._zero.flags.writeable = False

    def of(self, motion: Motion, friction_velocity: Array | None = None) -> Terms:
        """Answer the torques of a motion, in 3 us (5 us with smooth friction), or of N of them.

        Args:
            motion: the motion, of vectors (n,) or, for a whole trajectory at once, (N, n).
            friction_velocity: velocities at which friction is computed (rad/s or m/s); None for those
                of the motion. Where these are measured the Coulomb friction of a joint at rest changes its
                sign with the noise: the desired velocity does not.

        Raises:
            ValueError: a torque is not finite, because a number of the motion is not.
        """
        rigid, wanted = self._rigid, self.switches
        q, qd, qdd = motion
        zero = self._zero if q.ndim == 1 else np.zeros(q.shape)
        inertial = rigid.inertial_torques(q, qdd) if wanted.inertial else zero
        coriolis = rigid.coriolis_torques(q, qd) if wanted.coriolis else zero
        gravity = rigid.gravity_torques(q) if wanted.gravity else zero
        friction = zero
        if wanted.friction:
            rates = qd if friction_velocity is None else friction_velocity
            friction = self._friction_torques(rates, q) if self._with_loops else self._friction_torques(rates)
        total = gravity + friction
        if wanted.inertial:
            total += inertial
        if wanted.coriolis:
            total += coriolis
        if not is_finite(total):
            self._refuse(motion, friction_velocity, total)
        return Terms(inertial, coriolis, gravity, friction, total)

    def _refuse(self, motion: Motion, friction_velocity: Array | None, total: Array) -> None:
        """Raise the ValueError for torques that are not finite."""
        names = self.model.joint_names
        given = (*motion, friction_velocity)
        for what, vector in zip(("position", "velocity", "acceleration", "velocity"), given, strict=True):
            if vector is not None and not is_finite(vector):
                refuse(what, names, vector)
        refuse("torque", names, total)
