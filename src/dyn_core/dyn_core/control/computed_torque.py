# SPDX-License-Identifier: Apache-2.0
"""Control laws that use the inverse dynamics (SYMORO+ 2003, sec. 3.6.4.2).

Each answers the motion for which the inverse dynamics are to be computed (sec. 3.6.4.2.3); what the inverse
dynamics are of this motion, whole or in terms, is the torque.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.control.motion import Motion
from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.core.arrays import Array


@dataclass(frozen=True, eq=False)
class TrackingGains:
    """Gains of the error of a motion; with an exact model it obeys e'' + Kd e' + Kp e = 0, eq. (3.124).

    Attributes:
        Kp: of the position (1/s^2), (n,).
        Kd: of the velocity (1/s), (n,).
    """

    Kp: Array
    Kd: Array

    @staticmethod
    def checked(joint_names: Sequence[str], Kp: PerJoint, Kd: PerJoint) -> TrackingGains:
        """Answer gains for these joints (1/s^2, 1/s); DynError where one is negative or not finite."""
        return TrackingGains(
            joint_values("the gain Kp", joint_names, Kp, least=0.0),
            joint_values("the gain Kd", joint_names, Kd, least=0.0),
        )

    @staticmethod
    def of_frequency(
        joint_names: Sequence[str], frequency: PerJoint, damping: PerJoint = 1.0
    ) -> TrackingGains:
        """Answer the gains for which the error swings at a frequency: Kp = w^2, Kd = 2 damping w.

        Args:
            joint_names: the joints.
            frequency: w / (2 pi), of the undamped error (Hz).
            damping: damping ratio; 1 is critical.
        """
        w = 2.0 * math.pi * joint_values("the frequency", joint_names, frequency, least=0.0)
        ratio = joint_values("the damping ratio", joint_names, damping, least=0.0)
        return TrackingGains.checked(joint_names, w * w, 2.0 * ratio * w)


def wanted_acceleration(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Array:
    """W(t) = qdd_d + Kd (qd_d - qd) + Kp (q_d - q), eq. (3.123) (rad/s^2 or m/s^2).

    Args:
        desired: the motion that is wanted.
        q: measured positions (rad or m).
        qd: measured velocities (rad/s or m/s).
        gains: of the errors.
    """
    return desired.qdd + gains.Kd * (desired.qd - qd) + gains.Kp * (desired.q - q)


def computed_torque(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Motion:
    """Computed torque, A(q) W + H(q, qd), eq. (3.121): the inverse dynamics of the measured state and W.

    The arguments are those of `wanted_acceleration`. What is not finite goes into the answer.
    """
    return Motion(q, qd, wanted_acceleration(desired, q, qd, gains))


def predictive(desired: Motion, q: Array, qd: Array, gains: TrackingGains) -> Motion:
    """Predictive law, A(q_d) W + H(q_d, qd_d), eq. (3.125): the inverse dynamics of the desired state and W.

    Without gains, as a feedforward for a controller that has gains of its own, W is the desired acceleration
    and the answer would be `desired` itself. The arguments are those of `wanted_acceleration`.
    What is not finite goes into the answer.
    """
    return Motion(desired.q, desired.qd, wanted_acceleration(desired, q, qd, gains))


def held(q: Array) -> Motion:
    """The motion whose inverse dynamics are the torques of gravity at q (rad or m), and constant friction."""
    return Motion.at_rest(np.asarray(q, dtype=np.float64))
