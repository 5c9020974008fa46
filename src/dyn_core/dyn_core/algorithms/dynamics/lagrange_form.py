# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form ``A qdd + B [qd qd] + C [qd^2] + Q`` (SYMORO+ 2003, appendix 4.2, after Renaud 1985).

Nothing is derived: with k the last of three joints on one branch, the coefficient of ``qd_j qd_k`` in the
torque of joint i is the power, in the unit velocity of joint i, of one wrench on the composite body k, the
generalised link of the paper. Of joint j it depends on the axis alone, and on nothing where j is prismatic.

The scan has slips in this appendix. Derived anew: ``N = (XX - YY + ZZ) / 2``; where i is the last joint,
``B(i,j,k) = -2 b(k,j,i)`` and ``C(i,j) = -b(j,j,i)``; and the cases of a prismatic joint k are one wrench as
well, `coriolis_wrench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.dynamics.composite_inertia import composite_inertias
from dyn_core.dynamics.gravity_torques import gravity_torques
from dyn_core.dynamics.inertia_matrix import wrench_of_unit_acceleration
from dyn_core.dynamics.wrench import Wrench
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.link_velocity import moved_along
from dyn_core.linalg.dot import dot
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3

Christoffel = list[list[list[Scalar]]]
"""Christoffel symbols b(i,j,k), counted from 0: the torque of joint i has the terms b(i,j,k) qd_j qd_k."""


class LagrangeForm(NamedTuple):
    """The coefficients of the Lagrange form of n joints, friction apart.

    Attributes:
        A: inertia matrix with the inertia of the rotors, n rows of n.
        christoffel: n x n x n symbols of the Coriolis and centrifugal torques, symmetric in the last two.
        Q: gravity torques (N m) or forces (N).
    """

    A: list[list[Scalar]]
    christoffel: Christoffel
    Q: list[Scalar]


def lagrange_form(robot: Robot, q: Sequence[Scalar], gravity_0: Vec3) -> LagrangeForm:
    """Coefficients of the Lagrange form by Renaud's algorithm on composite bodies.

    Where three joints are not on one branch, the symbol is 0 and nothing is computed.

    Args:
        robot: the robot, a tree.
        q: n joint positions (rad or m).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(robot.joints)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    composite = composite_inertias(robot, placements)
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    b: Christoffel = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    axes: list[dict[int, Screw]] = [{}]  # by body, the unit velocities that the joints before it give it
    for k, (joint, placement) in enumerate(zip(robot.joints, placements, strict=True)):
        carriers = {i: screw.over(placement.steps, a) for i, a in axes[joint.antecedent].items()}
        own = moved_along(joint.sigma, screw.ZERO, 1.0)
        axes.append({**carriers, k: own})
        body = composite[k + 1]
        inertia = wrench_of_unit_acceleration(body, joint.sigma)
        A[k][k] = inertia.along(joint.sigma) + joint.Ia
        for i, a_i in carriers.items():
            A[i][k] = A[k][i] = inertia.power(a_i)
        for j, a_j in axes[-1].items():
            wrench = coriolis_wrench(body, joint.sigma, a_j.angular)
            for i, a_i in carriers.items():
                b[i][j][k] = b[i][k][j] = symbol = wrench.power(a_i)
                if j <= i:
                    b[k][i][j] = b[k][j][i] = -symbol
    return LagrangeForm(A, b, gravity_torques(robot, q, gravity_0))


def coriolis_wrench(body: InertialParameters, sigma: Sigma, axis: Vec3) -> Wrench:
    """Half the wrench per ``qd_j qd_k`` on a body at whose origin joint k is, in frame k.

    Its power in the unit velocity of a joint i < k is b(i,j,k); that in the axis of k is 0. The parameters
    are those of Phi, Psi, Theta, lambda and upsilon in SYMORO+ 2003, appendix 4.2.

    Args:
        body: composite parameters of body k.
        sigma: type of joint k.
        axis: unit vector of the axis of joint j <= k in frame k; 0 where j is prismatic.
    """
    x, y, z = axis
    across = body.MX * x + body.MY * y
    if sigma is Sigma.PRISMATIC:
        return Wrench((body.M * y, -(body.M * x), 0.0), (body.MZ * x, body.MZ * y, -across))
    N = 0.5 * (body.XX - body.YY + body.ZZ)
    R = 0.5 * (body.YY - body.XX + body.ZZ)
    return Wrench(
        (-(body.MX * z), -(body.MY * z), across),
        (N * y - body.XY * x - body.YZ * z, body.XY * y - R * x + body.XZ * z, 0.0),
    )


def coriolis_matrix(christoffel: Christoffel, qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """Coriolis matrix C of which ``C qd`` are the Coriolis and centrifugal torques.

    Of all such matrices it is the one of the Christoffel symbols, for which dA/dt - 2 C is skew-symmetric
    (SYMORO+ 2003, sec. 3.3.3; Koditschek 1984).

    Args:
        christoffel: n x n x n symbols.
        qd: n velocities (rad/s or m/s).
    """
    return [[dot(symbols, qd) for symbols in row] for row in christoffel]
