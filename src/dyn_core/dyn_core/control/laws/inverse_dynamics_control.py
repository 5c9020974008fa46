# SPDX-License-Identifier: Apache-2.0
"""Computed-torque and predictive control, and torques by terms, also for series-elastic joints.

`computed_torque` and `predictive` return the motion for which `TorqueTerms` computes the inverse dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.dynamics.elastic_dynamics import motors
from dyn_core.control.command_limits import PerJoint, is_finite, joint_values, refuse
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.control.trajectories.trajectory import MARGIN, Trajectory
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.driven_base import DrivenBase
from dyn_core.model.fixed_base.elastic_joints import no_motors
from dyn_core.robot.robot import refuse_springs

# Friction with a continuous Coulomb part

_CREEP = 1e-30  # A positive velocity (rad/s or m/s) with negligible viscous friction


class SmoothFriction:
    """Friction Fo + Fv qd + Fs tanh(qd / v0) of a model, instead of Fo + Fv qd + Fs sign(qd).

    At ``|qd| = 2.65 v0`` the Coulomb part is 99 % of Fs. It uses the current parameters of the model. Passive
    joints of loops keep sign(qd).

    `v0` is the velocity of the transition (rad/s or m/s), (n,); 0 for a joint that keeps sign(qd).
    """

    def __init__(self, model: Model, v0: PerJoint) -> None:
        """Make the friction of a model; raise DynError if a transition velocity is negative or not finite."""
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
        """Return the friction torques (N m or N) at the velocities qd (rad/s or m/s), (n,) or (N, n).

        Args:
            qd: velocities.
            q: positions (rad or m); required for a robot with loops, whose friction depends on them.
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


# Torques by terms


class Terms(NamedTuple):
    """Torques (N m or N), each (n,), or (N, n) for N motions; an excluded term is zero.

    They are A(q) qdd of links and rotors, Coriolis and centrifugal torques, gravity, friction, and their sum;
    and gravity torques that the drive adds to this sum, which count in effort limits; None if it adds none.
    """

    inertial: Array
    coriolis: Array
    gravity: Array
    friction: Array
    total: Array
    by_drive: Array | None = None


@dataclass(frozen=True)
class Switches:
    """Terms that a torque includes; exclude gravity or friction if the drives compensate them."""

    inertial: bool = True
    coriolis: bool = True
    gravity: bool = True
    friction: bool = True


class TorqueTerms:
    """Torques of a model by terms. They have no state except the parameters of the model."""

    def __init__(
        self,
        model: Model,
        switches: Switches | None = None,
        coulomb_velocity: PerJoint = 0.0,
        driven: DrivenBase | None = None,
    ) -> None:
        """Take a model; DynError for elastic joints.

        Args:
            switches: which terms are computed; None for all.
            coulomb_velocity: the v0 of `SmoothFriction` (rad/s or m/s); 0 for sign(qd), with sign(0) = 0.
            driven: the model on a moving base; None for a base at rest.
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
        """Return the torques of a motion, in 3 us (5 us with smooth friction), or of N of them.

        Raise ValueError if a torque is not finite, because a number of the motion is not.

        Args:
            motion: the motion, of vectors (n,) or, for a whole trajectory at once, (N, n).
            friction_velocity: velocities at which friction is computed (rad/s or m/s); None for those of the
                motion. If the motion is measured, give the desired velocities: with measured ones, noise
                changes the sign of the Coulomb friction of a joint at rest.
        """
        rigid, switches = self._rigid, self.switches
        q, qd, qdd = motion
        zero = self._zero if q.ndim == 1 else np.zeros(q.shape)
        inertial = rigid.inertial_torques(q, qdd) if switches.inertial else zero
        coriolis = rigid.coriolis_torques(q, qd) if switches.coriolis else zero
        gravity = rigid.gravity_torques(q) if switches.gravity else zero
        friction = zero
        if switches.friction:
            rates = qd if friction_velocity is None else friction_velocity
            friction = self._friction_torques(rates, q) if self._with_loops else self._friction_torques(rates)
        total = gravity + friction
        if switches.inertial:
            total += inertial
        if switches.coriolis:
            total += coriolis
        if not is_finite(total):
            refuse_motion(self.model.joint_names, (*motion, friction_velocity), total)
        return Terms(inertial, coriolis, gravity, friction, total)


def refuse_motion(names: Sequence[str], motion: Sequence[Array | None], torques: Array) -> None:
    """Raise ValueError for torques that are not finite, or rather for the motion that caused them."""
    what = ("position", "velocity", "acceleration", "third derivative", "fourth derivative")
    for word, vector in zip((*what[: len(motion) - 1], "velocity"), motion, strict=True):
        if vector is not None and not is_finite(vector):
            refuse(word, names, vector)
    refuse("torque", names, torques)


# Control laws (SYMORO+ 2003, sec. 3.6.4.2): each returns the motion whose inverse dynamics (sec. 3.6.4.2.3)
# are the torque


@dataclass(frozen=True, eq=False)
class TrackingGains:
    """Gains of the tracking error, which obeys e'' + Kd e' + Kp e = 0 for an exact model, eq. (3.124).

    Kp (1/s^2) and Kd (1/s) are the gains of position and velocity errors, (n,).
    """

    Kp: Array
    Kd: Array

    @staticmethod
    def checked(joint_names: Sequence[str], Kp: PerJoint, Kd: PerJoint) -> TrackingGains:
        """Return gains for these joints (1/s^2, 1/s); raise DynError if one is negative or not finite."""
        return TrackingGains(
            joint_values("the gain Kp", joint_names, Kp, least=0.0),
            joint_values("the gain Kd", joint_names, Kd, least=0.0),
        )

    @staticmethod
    def of_frequency(
        joint_names: Sequence[str], frequency: PerJoint, damping: PerJoint = 1.0
    ) -> TrackingGains:
        """Return the gains for a natural frequency of the undamped error (Hz): Kp = w^2, Kd = 2 damping w.

        The damping ratio 1 is critical.
        """
        w = 2.0 * math.pi * joint_values("the frequency", joint_names, frequency, least=0.0)
        ratio = joint_values("the damping ratio", joint_names, damping, least=0.0)
        return TrackingGains.checked(joint_names, w * w, 2.0 * ratio * w)


def wanted_acceleration(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Array:
    """W(t) = qdd_d + Kd (qd_d - qd) + Kp (q_d - q), eq. (3.123) (rad/s^2 or m/s^2).

    q and qd are measured positions and velocities (rad or m; rad/s or m/s).
    """
    return desired.qdd + gains.Kd * (desired.qd - qd) + gains.Kp * (desired.q - q)


def computed_torque(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Motion:
    """Computed torque, A(q) W + H(q, qd), eq. (3.121): the inverse dynamics of the measured state and W.

    The arguments are those of `wanted_acceleration`. Values that are not finite are passed on.
    """
    return Motion(q, qd, wanted_acceleration(desired, q, qd, gains))


def predictive(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Motion:
    """Predictive law, A(q_d) W + H(q_d, qd_d), eq. (3.125): the inverse dynamics of the desired state and W.

    With gains of zero, as for a feedforward of a controller with its own gains, W is the desired acceleration
    and the result is `desired`. The arguments are those of `wanted_acceleration`. Values that are not finite
    are passed on.
    """
    return Motion(desired.q, desired.qd, wanted_acceleration(desired, q, qd, gains))


def held(q: Array) -> Motion:
    """Motion at rest at q (rad or m); its inverse dynamics are gravity torques and constant friction."""
    return Motion.at_rest(np.asarray(q, dtype=np.float64))


class ElasticTerms:
    """Torques of a model with motors behind springs by terms, like `TorqueTerms` for rigid joints.

    Vectors are those of the joints of the links, in the order of `Model.link_joint_names`. The torque of a
    series-elastic joint is that of its motor, referred to the joint: the inertial torques of links and rotor,
    the Coriolis and gravity torques of the links, and the friction of the motor (SYMORO+ 2003, sec. 3.3.2.5).
    `driven` are indices of the joints that motors move, in the order of `Model.motor_joint_names`.
    """

    def __init__(
        self, model: Model, switches: Switches | None = None, coulomb_velocity: PerJoint = 0.0
    ) -> None:
        """Take a model, with switches and velocities as `TorqueTerms`, for the joints of the links.

        Raise DynError if the robot has no elastic joints, or one without a motor.
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
        """Return the torques of a motion, or of N of them.

        Raise ValueError if third and fourth derivatives are missing; or a torque is not finite, because a
        number of the motion is not.

        Args:
            motion: the motion of the links, with derivatives up to the fourth unless they are at rest.
            friction_velocity: velocities of the links at which friction is computed (rad/s or m/s); None for
                those of the motion. The velocities of the motors relative to the links are added.
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
        model, switches = self.model, self.switches
        zero = np.zeros(whole.q.shape)
        inertial = self._at_motors(model.inertial_torques(q, qdd)) if switches.inertial else zero
        coriolis = self._at_motors(model.coriolis_torques(q, qd)) if switches.coriolis else zero
        gravity = self._at_motors(model.gravity_torques(q)) if switches.gravity else zero
        friction = self._at_motors(self._friction_torques(rates)) if switches.friction else zero
        total = inertial + coriolis + gravity + friction
        if not is_finite(total):
            refuse_motion(self.model.link_joint_names, (*whole, friction_velocity), total)
        return Terms(inertial, coriolis, gravity, friction, total)

    def motors(self, motion: Motion | SmoothMotion) -> Motion:
        """Return the required motion of the motors, referred to the joints, in the order of their names."""
        moved = self.model.motor_motion(*self._smooth(motion))
        return Motion(moved[..., 0, :], moved[..., 1, :], moved[..., 2, :])

    def _smooth(self, motion: Motion | SmoothMotion) -> SmoothMotion:
        if isinstance(motion, SmoothMotion):
            return motion
        if motion.qd.any() or motion.qdd.any():
            raise ArgumentError("motion-without-jerk")
        return SmoothMotion.at_rest(motion.q)

    def _at_motors(self, torques: Array) -> Array:
        """Torques of the joints of the links, with those of motors added to the joints that they move."""
        total: Array = torques[..., : self._links].copy()
        total[..., self.driven] += torques[..., self._links :]
        return total


# Motor speeds

SAMPLES = 12
"""Samples of each piece: polynomials of degree 9, and their torques, have a few extremes in a piece."""

AT_ONCE = 256  # Number of pieces that are sampled at once, to limit memory


def check_motor_speeds(terms: ElasticTerms, trajectory: Trajectory, speed: Array) -> None:
    """Raise DynError if, at samples of a trajectory, a motor is faster than its joint may be.

    A motor is ahead of its joint by the deflection of the spring. The softer the spring and the greater the
    acceleration of the links, the more its speed differs from that of the joint.

    Args:
        trajectory: the trajectory of the links, with four continuous derivatives.
        speed: greatest speeds of the joints of the links (rad/s or m/s), (n,); infinite for no limit. They
            are multiplied by `MARGIN`, as for the joints.
    """
    fastest = MARGIN * speed[terms.driven]
    if not trajectory.durations or not np.isfinite(fastest).any():
        return
    knots = np.array(trajectory.knots)
    times = knots[:-1, None] + np.diff(knots)[:, None] * np.linspace(0.0, 1.0, SAMPLES)
    for begin in range(0, len(times), AT_ONCE):
        some = times[begin : begin + AT_ONCE].ravel()
        rates = np.abs(terms.motors(trajectory.smooth_motions(some)).qd)
        over = np.argwhere(rates > fastest)
        if len(over):
            k, m = over[0]
            joint = terms.model.robot.joint(terms.model.motor_joint_names[m])
            raise DynError(
                "motor-speed-exceeded",
                motor=joint.name,
                given=rates[k, m],
                unit=f"{joint.position_unit}/s",
                time=some[k] - trajectory.start,
                limit=speed[terms.driven][m],
                element=f"joint '{joint.name}'",
            )
