# SPDX-License-Identifier: Apache-2.0
"""Friction torques whose Coulomb part does not jump where the velocity changes its sign."""

from __future__ import annotations

import numpy as np

from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.compiled_model import Model

_CREEP = 1e-30
"""A velocity with a sign (rad/s or m/s), of which the viscous friction is nothing."""


class SmoothFriction:
    """Friction Fo + Fv qd + Fs tanh(qd / v0) of a model, in the place of Fo + Fv qd + Fs sign(qd).

    At ``|qd| = 2.65 v0`` there is 1 % of Fs missing. It follows the parameters of the model. Passive joints
    of loops keep the sign.

    Attributes:
        v0: velocity of the transition (rad/s or m/s), (n,); 0 for a joint that keeps the sign.
    """

    def __init__(self, model: Model, v0: PerJoint) -> None:
        """Make the friction of a model; DynError where a velocity of transition is negative or not finite."""
        names = model.joint_names
        self.v0 = joint_values("the velocity of the Coulomb transition", names, v0, least=0.0)
        self._model = model
        smooth = self.v0 > 0.0
        self._any = bool(smooth.any())
        self._smooth = smooth.astype(np.float64)
        self._inverse = np.where(smooth, 1.0 / np.where(smooth, self.v0, 1.0), 0.0)
        robot = model.robot
        self._own = [robot.parameter_names.index(f"Fs{j}") for j in robot.coordinates] if robot.loops else []
        self._rest = np.zeros(len(names))
        self._creep = np.full(len(names), _CREEP)

    def torques(self, qd: Array, q: Array | None = None) -> Array:
        """Answer the friction torques (N m or N) at the velocities qd (rad/s or m/s), (n,) or (N, n).

        Args:
            qd: velocities.
            q: positions (rad or m), which the friction of a robot with loops depends on.
        """
        friction = self._model.friction_torques
        torques = friction(qd) if q is None else friction(qd, q)
        if self._any:
            Fs = (
                self._model.parameters[self._own]
                if self._own
                else friction(self._creep) - friction(self._rest)
            )
            torques += Fs * self._smooth * (np.tanh(qd * self._inverse) - np.sign(qd))
        return torques
