# SPDX-License-Identifier: Apache-2.0
"""What the drive of a joint adds to its torque (Khalil 2010, eq. (31), last three terms)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.robot.joints import Friction, Joint
from dyn_core.symbolic.scalar import Scalar, sign


def friction_torque(friction: Friction, qd: Scalar) -> Scalar:
    """Answer ``Fs sign(qd) + Fv qd + Fo`` (N m or N) at the velocity qd (rad/s or m/s)."""
    return friction.Fs * sign(qd) + friction.Fv * qd + friction.Fo


def rotor_torque(joint: Joint, qdd: Scalar) -> Scalar:
    """Answer ``Ia qdd`` (N m or N) at the acceleration qdd (rad/s^2 or m/s^2)."""
    return joint.Ia * qdd


def drive_torques(joints: Sequence[Joint], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """What friction and rotors add to the torques of the rigid bodies (N m or N).

    Args:
        joints: n joints.
        qd: n joint velocities (rad/s or m/s).
        qdd: n joint accelerations (rad/s^2 or m/s^2).
    """
    return [
        friction_torque(joint.friction, qd_j) + rotor_torque(joint, qdd_j)
        for joint, qd_j, qdd_j in zip(joints, qd, qdd, strict=True)
    ]
