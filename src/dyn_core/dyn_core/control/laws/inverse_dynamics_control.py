# SPDX-License-Identifier: Apache-2.0
"""Torques of the motors of series-elastic joints for a motion of the links (SYMORO+ 2003, sec. 3.3.2.5)."""

from __future__ import annotations

import numpy as np

from dyn_core.algorithms.dynamics.elastic_dynamics import motors
from dyn_core.control.motion import Motion
from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.control.smooth_friction import SmoothFriction
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.terms import Switches, Terms
from dyn_core.control.vectors import is_finite, refuse
from dyn_core.core.arrays import Array
from dyn_core.facade.elastic_programs import no_motors
from dyn_core.model.fixed_base.compiled_model import Model


class ElasticTerms:
    """Torques of a model with motors behind springs, in terms, as `TorqueTerms` has them for rigid joints.

    Vectors are those of the joints of the links, in the order of `Model.link_joint_names`. The torque of a
    series-elastic joint is that of its motor, as seen at the joint: what accelerates links and rotor, the
    Coriolis and gravity torques of the links, and the friction of the motor.

    Attributes:
        model: the model.
        switches: which terms are computed.
        driven: places of the joints that motors move, in the order of `Model.motor_joint_names`.
    """

    def __init__(
        self, model: Model, switches: Switches | None = None, coulomb_velocity: PerJoint = 0.0
    ) -> None:
        """Take a model.

        Args:
            model: the model.
            switches: which terms are computed; None for all.
            coulomb_velocity: the v0 of `SmoothFriction` (rad/s or m/s), by joint of the links.

        Raises:
            DynError: the robot has no elastic joints, or one without a motor.
        """
        if len(model.motor_joint_names) != len(model.elastic_joint_names) or not model.elastic_joint_names:
            raise no_motors(model.robot)
        self.model = model
        self.switches = Switches() if switches is None else switches
        names = model.link_joint_names
        driven = {joint.elastic.motor: joint.name for joint in model.robot.joints if joint.elastic}
        self.driven = [names.index(driven[number]) for number in motors(model.robot)]
        v0 = joint_values("the velocity of the Coulomb transition", names, coulomb_velocity, least=0.0)
        friction = SmoothFriction(model, np.concatenate((v0, v0[self.driven])))
        self._friction_torques = friction.torques if friction.v0.any() else model.friction_torques
        self._links = len(names)

    def of(self, motion: Motion | SmoothMotion, friction_velocity: Array | None = None) -> Terms:
        """Answer the torques of a motion, or of N of them.

        Args:
            motion: the motion of the links, with derivatives up to the fourth unless they stand still.
            friction_velocity: velocities of the links at which friction is computed (rad/s or m/s); None for
                those of the motion. What the motors have beyond them is added.

        Raises:
            ValueError: third and fourth derivatives are missing; or a torque is not finite, because a number
                of the motion is not.
        """
        whole = self._smooth(motion)
        moved = self.model.motor_motion(*whole)
        motor_q, motor_qd, motor_qdd = (moved[..., k, :] for k in range(3))
        q, qd, qdd = (
            np.concatenate((links, of_motors), axis=-1)
            for links, of_motors in zip(whole[:3], (motor_q, motor_qd, motor_qdd), strict=True)
        )
        rates = qd
        if friction_velocity is not None:
            beyond = motor_qd - whole.qd[..., self.driven]
            of_motors = friction_velocity[..., self.driven] + beyond
            rates = np.concatenate((friction_velocity, of_motors), axis=-1)
        model, wanted = self.model, self.switches
        zero = np.zeros(whole.q.shape)
        inertial = self._at_motors(model.inertial_torques(q, qdd)) if wanted.inertial else zero
        coriolis = self._at_motors(model.coriolis_torques(q, qd)) if wanted.coriolis else zero
        gravity = self._at_motors(model.gravity_torques(q)) if wanted.gravity else zero
        friction = self._at_motors(self._friction_torques(rates)) if wanted.friction else zero
        total = inertial + coriolis + gravity + friction
        if not is_finite(total):
            self._refuse(whole, friction_velocity, total)
        return Terms(inertial, coriolis, gravity, friction, total)

    def motors(self, motion: Motion | SmoothMotion) -> Motion:
        """Answer how the motors have to move, as seen at the joints, in the order of their names."""
        moved = self.model.motor_motion(*self._smooth(motion))
        return Motion(moved[..., 0, :], moved[..., 1, :], moved[..., 2, :])

    def _smooth(self, motion: Motion | SmoothMotion) -> SmoothMotion:
        if isinstance(motion, SmoothMotion):
            return motion
        if motion.qd.any() or motion.qdd.any():
            raise ValueError(
                "series-elastic joints need third and fourth derivatives of a motion, which this one "
                "does not have: send a trajectory"
            )
        return SmoothMotion.at_rest(motion.q)

    def _at_motors(self, torques: Array) -> Array:
        """Torques of links, with those of motors added to those of the joints that they move."""
        answer: Array = torques[..., : self._links].copy()
        answer[..., self.driven] += torques[..., self._links :]
        return answer

    def _refuse(self, motion: SmoothMotion, friction_velocity: Array | None, total: Array) -> None:
        """Raise the ValueError for torques that are not finite."""
        names = self.model.link_joint_names
        what = ("position", "velocity", "acceleration", "third derivative", "fourth derivative", "velocity")
        for word, vector in zip(what, (*motion, friction_velocity), strict=True):
            if vector is not None and not is_finite(vector):
                refuse(word, names, vector)
        refuse("torque", names, total)
