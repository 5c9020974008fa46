# SPDX-License-Identifier: Apache-2.0
"""Lagrange form A qdd + B [qd qd] + C [qd^2] + Q (SYMORO+ 2003, appendix 4.2, after Renaud 1985).

Nothing is differentiated. Let k be the last of three joints on one branch. The coefficient of ``qd_j qd_k``
in the torque of joint i is the power, in the unit velocity of joint i, of one wrench on the composite body
k (the generalised link of the paper). The wrench depends on the axis of joint j only, and is 0 if j is
prismatic.

The scan of the appendix has errors. Derived anew: ``N = (XX - YY + ZZ) / 2``; if i is the last joint,
``B(i,j,k) = -2 b(k,j,i)`` and ``C(i,j) = -b(j,j,i)``; the cases of a prismatic joint k are also one wrench,
`coriolis_wrench`.

Mimic joints follow by ``qd_tree = G qd`` with constant G. The Christoffel symbols of the coordinates are
those of the joints, multiplied by G on each of the three sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.newton_euler import (
    composite_inertias,
    gravity_torques,
    wrench_of_unit_acceleration,
)
from dyn_core.algorithms.dynamics.wrenches import Wrench
from dyn_core.algorithms.link_motion import unit_velocities
from dyn_core.core.errors import DynError
from dyn_core.robot.joint_coupling import coordinate_inertia, coordinate_torques
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.mdh.direct_geometry import joint_placements
from dyn_core.robot.robot import Robot, refuse_moving_base
from dyn_core.symbolic.scalar import Scalar, Scalars, dot
from dyn_core.symbolic.vec3 import Vec3

Christoffel = list[list[list[Scalar]]]
"""Christoffel symbols b(i,j,k), counted from 0: the torque of joint i has the terms b(i,j,k) qd_j qd_k."""


class LagrangeForm(NamedTuple):
    """The coefficients of the Lagrange form of n joints, without friction."""

    A: list[list[Scalar]]  # inertia matrix with the inertia of the rotors, n rows of n entries
    christoffel: Christoffel  # n x n x n symbols of the Coriolis and centrifugal torques
    Q: list[Scalar]  # gravity torques (N m) or forces (N)


def lagrange_form(robot: Robot, q: Scalars, gravity_0: Vec3) -> LagrangeForm:
    """Coefficients of the Lagrange form of the joints by Renaud's algorithm on composite bodies.

    The symbol of three joints that are not on one branch is 0 without computation.
    """
    n = len(robot.joints)
    placements = joint_placements(robot, q)
    composite = composite_inertias(robot, placements)
    velocities = unit_velocities(robot, placements)
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    b: Christoffel = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for k, joint in enumerate(robot.joints):
        carriers = {i: a for i, a in velocities[k + 1].items() if i != k}
        body = composite[k + 1]
        inertia = wrench_of_unit_acceleration(body, joint.sigma)
        A[k][k] = inertia.along(joint.sigma) + joint.Ia
        for i, a_i in carriers.items():
            A[i][k] = A[k][i] = inertia.power(a_i)
        for j, a_j in velocities[k + 1].items():
            wrench = coriolis_wrench(body, joint.sigma, a_j.angular)
            for i, a_i in carriers.items():
                b[i][j][k] = b[i][k][j] = symbol = wrench.power(a_i)
                if j <= i:
                    b[k][i][j] = b[k][j][i] = -symbol
    return LagrangeForm(A, b, gravity_torques(robot, q, gravity_0))


def coriolis_wrench(body: InertialParameters, sigma: Sigma, axis: Vec3) -> Wrench:
    """Half the wrench per ``qd_j qd_k`` on body k, whose origin is at joint k, in frame k.

    Its power in the unit velocity of a joint i < k is b(i,j,k); its power along the axis of k is 0. The
    parameters are those of Phi, Psi, Theta, lambda and upsilon in SYMORO+ 2003, appendix 4.2.
    `body` has composite parameters; `axis` is the unit vector of joint j <= k in frame k, 0 if prismatic.
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


def coriolis_matrix(christoffel: Christoffel, qd: Scalars) -> list[list[Scalar]]:
    """Coriolis matrix C: ``C qd`` are the Coriolis and centrifugal torques.

    It is built from the Christoffel symbols, so dA/dt - 2 C is skew-symmetric (SYMORO+ 2003, sec. 3.3.3;
    Koditschek 1984).
    """
    return [[dot(symbols, qd) for symbols in row] for row in christoffel]


# Lagrange form of the coordinates of a robot with mimic joints


def coordinate_lagrange(robot: Robot, q: Scalars) -> LagrangeForm:
    """Coefficients of the Lagrange form of the dof coordinates.

    Raises:
        DynError: the robot has loops, or its side file says that its base moves.
    """
    refuse_loops(robot)
    refuse_moving_base(robot, "the Lagrange form")
    A, b, Q = lagrange_form(robot, q, robot.gravity_0)
    if all(joint.mimic is None for joint in robot.joints):
        return LagrangeForm(A, b, Q)
    return LagrangeForm(coordinate_inertia(robot, A), _gathered(robot, b), coordinate_torques(robot, Q))


def refuse_loops(robot: Robot) -> None:
    """Raise DynError if a robot has loops: the Lagrange form is for trees."""
    if robot.loops:
        raise DynError(
            "lagrange-form-with-loops",
            robot=robot.name,
            loops=[loop.name for loop in robot.loops],
            element=f"loop '{robot.loops[0].name}'",
        )


def _gathered(robot: Robot, b: Christoffel) -> Christoffel:
    """Multiply the symbols by G on each of the three sides."""
    by_last = [[coordinate_torques(robot, row) for row in rows] for rows in b]
    by_both = [_columns_gathered(robot, rows) for rows in by_last]
    gathered: Christoffel = [[] for _ in range(robot.dof)]
    for rows in zip(*by_both, strict=True):
        for i, row in enumerate(_columns_gathered(robot, rows)):
            gathered[i].append(row)
    return gathered


def _columns_gathered(robot: Robot, rows: Sequence[Scalars]) -> list[list[Scalar]]:
    """Return ``G^T rows``."""
    columns = [coordinate_torques(robot, column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]
