# SPDX-License-Identifier: Apache-2.0
"""The dynamic model without accelerations, ``torques = (d/dt D1 + D2) K`` (SYMORO+ 2003, eq. (3.116)).

With E the kinetic and U the potential energy, ``D1 K = dE/dqd`` and ``D2 K = -dE/dq + dU/dq``: Lagrange's
equations. A filter F on both sides leaves ``F torques = (s F D1 + F D2) K`` (3.117), where s F is a filter
too that needs no derivative of a signal.

A parameter's part of E is ``p(V) . V / 2``, p its unit momentum at the velocity V of the body. So its entry
in row i of D1 is ``p . a_i``, the axis screw of joint i in the frame of the body. A displacement of joint i
alone turns the velocity that comes from the joints before it about the axis: in the frame of the body, V
changes by ``b_i = [V_i, a_i]``, the bracket of screws, which is fixed to link i like a_i. So the entry in
D2 is ``-p . b_i``, and ``-w . a_i`` for the unit wrench w of gravity. The derivatives of the velocities that
appendix 4.5 sums up for each joint are these brackets, carried from frame to frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.dynamics.wrench import Wrench
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.kinematics.link_velocity import body_velocities, moved_along
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import screw, vec3
from dyn_core.symbolic.scalar import Scalar, sign
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import inverse, rotated
from dyn_core.symbolic.vec3 import Vec3


class FilteredModel(NamedTuple):
    """Matrices of ``torques = (d/dt D1 + D2) K``, n rows of 14 n each, columns as `parameter_names`.

    Attributes:
        D1: coefficients of the momenta.
        D2: coefficients of what is not a derivative of a momentum.
    """

    D1: list[list[Scalar]]
    D2: list[list[Scalar]]


def filtered_model(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar], gravity_0: Vec3) -> FilteredModel:
    """Matrices D1 and D2, friction and rotors included.

    Args:
        robot: the robot; its dynamic parameters do not matter.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(robot.joints)
    D1: list[list[Scalar]] = [[0.0] * (PER_JOINT * n) for _ in robot.joints]
    D2: list[list[Scalar]] = [[0.0] * (PER_JOINT * n) for _ in robot.joints]
    velocities = body_velocities(robot, q, qd)
    gravities = [gravity_0]
    axes: list[dict[int, tuple[Screw, Screw]]] = [{}]  # by body, a_i and b_i of the joints that carry it
    for j, (joint, q_j) in enumerate(zip(robot.joints, q, strict=True)):
        steps = joint_placement(joint, q_j).steps
        gravities.append(rotated(inverse(steps), gravities[joint.antecedent]))
        carriers = {
            i: (screw.over(steps, a), screw.over(steps, b)) for i, (a, b) in axes[joint.antecedent].items()
        }
        own = moved_along(joint.sigma, screw.ZERO, 1.0)
        axes.append({**carriers, j: (own, _turned_by(joint.sigma, velocities[j + 1]))})
        start = PER_JOINT * j
        momenta = unit_momenta(velocities[j + 1])
        weights = unit_weights(gravities[j + 1])
        for column, (momentum, weight) in enumerate(zip(momenta, weights, strict=True), start=start):
            for i, (a, b) in axes[-1].items():
                D1[i][column] = momentum.power(a)
                D2[i][column] = -(momentum.power(b) + weight.power(a))
        drive = slice(start + len(INERTIAL), start + PER_JOINT)
        D1[j][drive] = [qd[j], 0.0, 0.0, 0.0]
        D2[j][drive] = [0.0, qd[j], sign(qd[j]), 1.0]
    return FilteredModel(D1, D2)


def unit_momenta(velocity: Screw) -> list[Wrench]:
    """Momenta of a body, linear and angular about O_j, for each inertial parameter alone being 1."""
    v, (x, y, z) = velocity
    angular = (
        (x, 0.0, 0.0),
        (y, x, 0.0),
        (z, 0.0, x),
        (0.0, y, 0.0),
        (0.0, z, y),
        (0.0, 0.0, z),
    )
    MX = Wrench((0.0, z, -y), (0.0, -v[2], v[1]))
    MY = Wrench((-z, 0.0, x), (v[2], 0.0, -v[0]))
    MZ = Wrench((y, -x, 0.0), (-v[1], v[0], 0.0))
    return [*(Wrench(vec3.ZERO, moment) for moment in angular), MX, MY, MZ, Wrench(v, vec3.ZERO)]


def unit_weights(gravity: Vec3) -> list[Wrench]:
    """Wrenches of gravity on a body about O_j, for each inertial parameter alone being 1."""
    x, y, z = gravity
    nothing = Wrench(vec3.ZERO, vec3.ZERO)
    MX = Wrench(vec3.ZERO, (0.0, -z, y))
    MY = Wrench(vec3.ZERO, (z, 0.0, -x))
    MZ = Wrench(vec3.ZERO, (-y, x, 0.0))
    return [*[nothing] * 6, MX, MY, MZ, Wrench(gravity, vec3.ZERO)]


def _turned_by(sigma: Sigma, velocity: Screw) -> Screw:
    """Bracket of the velocity of link i with the axis screw of joint i, in frame i."""
    v, w = velocity
    if sigma is Sigma.PRISMATIC:
        return Screw((w[1], -w[0], 0.0), vec3.ZERO)
    return Screw((v[1], -v[0], 0.0), (w[1], -w[0], 0.0))
