# SPDX-License-Identifier: Apache-2.0
"""Gains of PD controllers, joint by joint, from the inertia that each joint feels.

A joint by itself obeys ``a qdd + (Fv + kd) qd + kp q = 0``. With the greatest inertia a that the diagonal of
the inertia matrix has for it, and

    kp = a w^2,    kd = 2 damping w a - Fv

its error has the natural frequency w and the damping ratio that were asked for. For a real arm, w is at
most half the lowest frequency of its structure. Where friction by itself damps more than that, kd would be
negative: then a is taken for ``Fv / (2 damping w)``, so that kd is 0, and the error goes at about that rate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dyn_core.control.settings import number
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.compiled_model import Model


class JointGains(NamedTuple):
    """Gains of PD controllers, (n,) each.

    Attributes:
        kp: of the position error (N m/rad or N/m).
        kd: of the velocity error (N m s/rad or N s/m).
        inertia: what they were made for (kg m^2 or kg).
    """

    kp: Array
    kd: Array
    inertia: Array


def joint_gains(model: Model, q: Array, frequency: float, damping: float = 1.0) -> JointGains:
    """Answer gains for a robot that moves among some positions.

    Args:
        model: the robot.
        q: positions (rad or m), (N, n).
        frequency: natural frequency of the error (Hz).
        damping: its damping ratio.
    """
    w = 2.0 * math.pi * number("the natural frequency (Hz)", frequency, above=0.0)
    rate = 2.0 * w * number("the damping ratio", damping, above=0.0)
    A = model.inertia_matrix(q)
    Fv = _least_viscous_friction(model, q)
    inertia = np.maximum(np.einsum("njj->nj", A).max(0), Fv / rate)
    return JointGains(inertia * w * w, np.maximum(rate * inertia - Fv, 0.0), inertia)


def _least_viscous_friction(model: Model, q: Array) -> Array:
    """Viscous friction that each joint feels (N m s/rad or N s/m), (n,), the least at positions (N, n)."""
    one = np.ones(len(model.joint_names))
    if not model.robot.loops:
        return model.friction_torques(2.0 * one) - model.friction_torques(one)
    columns = []
    for j, unit in enumerate(np.eye(len(one))):
        rates = np.broadcast_to(unit, q.shape)
        columns.append(
            (model.friction_torques(2.0 * rates, q) - model.friction_torques(rates, q))[:, j].min()
        )
    return np.array(columns)


def fastest_rate(model: Model, q: Array, kd: Array) -> float:
    """Answer the fastest rate at which the gains kd damp a motion of the joints together (1/s).

    It is the greatest eigenvalue of A^-1 diag(kd) among the positions q (rad or m), (N, n). A loop of
    period T that damps at rate r can only be stable for r T < 2, and for less where torques come late.
    """
    root = np.sqrt(kd)
    A = model.inertia_matrix(q)
    # Of the symmetric matrix with the same eigenvalues.
    return float(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(A) * root).max())
