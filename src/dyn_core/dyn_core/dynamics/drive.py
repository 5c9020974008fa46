# SPDX-License-Identifier: Apache-2.0
"""What the drive of a joint adds to its torque (Khalil 2010, eq. (31), last three terms)."""

from __future__ import annotations

from dyn_core.linalg.scalar import Scalar, sign
from dyn_core.model.joint import Friction, Joint


def friction_torque(friction: Friction, qd: Scalar) -> Scalar:
    """Answer ``Fs sign(qd) + Fv qd + Fo`` (N m or N) at the velocity qd (rad/s or m/s)."""
    return friction.Fs * sign(qd) + friction.Fv * qd + friction.Fo


def rotor_torque(joint: Joint, qdd: Scalar) -> Scalar:
    """Answer ``Ia qdd`` (N m or N) at the acceleration qdd (rad/s^2 or m/s^2)."""
    return joint.Ia * qdd
