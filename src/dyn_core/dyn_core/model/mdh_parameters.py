# SPDX-License-Identifier: Apache-2.0
"""The six geometric parameters of a frame."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MdhParameters:
    """Modified Denavit-Hartenberg parameters of frame j in frame i (Khalil 2010, sec. 2.1).

    ``iTj = Rot(z,gamma) Trans(z,b) Rot(x,alpha) Trans(x,d) Rot(z,theta) Trans(z,r)``, where the
    joint position q is added to theta (revolute) or to r (prismatic): the values here are those
    at q = 0.

    Attributes:
        gamma: angle from x_i to the common normal u_j of z_i and z_j, about z_i (rad).
        b: distance from x_i to u_j along z_i (m).
        alpha: angle from z_i to z_j about u_j (rad).
        d: distance from z_i to z_j along u_j (m).
        theta: angle from u_j to x_j about z_j (rad).
        r: distance from u_j to x_j along z_j (m).
    """

    gamma: float
    b: float
    alpha: float
    d: float
    theta: float
    r: float
