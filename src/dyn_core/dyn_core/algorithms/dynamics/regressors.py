# SPDX-License-Identifier: Apache-2.0
"""Models linear in the dynamic parameters: torques, energy, filtered torques (SYMORO+ 2003, sec. 3.4).

The filtered model needs no accelerations: ``torques = (d/dt D1 + D2) K`` (SYMORO+ 2003, eq. (3.116)). With
E the kinetic and U the potential energy, ``D1 K = dE/dqd`` and ``D2 K = -dE/dq + dU/dq``, which are
Lagrange's equations. A filter F on both sides gives ``F torques = (s F D1 + F D2) K`` (3.117). The filter
s F needs no derivative of a signal.

The part of E due to one parameter is ``p(V) . V / 2``, with p its unit momentum at the velocity V of the
body. Its entry in row i of D1 is ``p . a_i``, with a_i the axis screw of joint i in the frame of the body.
A displacement of joint i alone turns the velocity due to the joints before it about the axis. In the frame
of the body, V changes by the bracket of screws ``b_i = [V_i, a_i]``, which is fixed to link i like a_i. The
entry in D2 is ``-p . b_i - w . a_i``, with w the unit wrench of gravity. The derivatives of the velocities
that appendix 4.5 sums up for each joint are these brackets, transformed from frame to frame.
"""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.algorithms.dynamics.wrenches import Wrench
from dyn_core.algorithms.link_motion import (
    LinkMotion,
    against_gravity,
    body_velocities,
    link_motions,
    unit_velocities,
)
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.direct_geometry import joint_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars, sign
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Translation, inverse, rotated
from dyn_core.symbolic.vec3 import Vec3

# Torques (SYMORO+ 2003, sec. 3.4)


def regressor(robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, gravity_0: Vec3) -> list[list[Scalar]]:
    """Matrix Y of ``torques = Y parameters``, friction and rotors included: n rows of 14 n entries.

    The columns are those of `parameter_names`. Entry (i, column of body k) is the power of the
    parameter's wrench on body k at unit speed of joint i alone. It is 0 without computation if joint i does
    not carry body k.
    """
    return regressor_on_base(robot, q, qd, qdd, against_gravity(gravity_0))


def regressor_on_base(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, base: LinkMotion
) -> list[list[Scalar]]:
    """Matrix Y as of `regressor`, on a moving base."""
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, qdd, base)
    Y: list[list[Scalar]] = [[0.0] * (PER_JOINT * len(robot.joints)) for _ in robot.joints]
    for j, velocities in enumerate(unit_velocities(robot, placements)[1:]):
        start = PER_JOINT * j
        for column, wrench in enumerate(unit_wrenches(motions[j + 1]), start=start):
            for i, a in velocities.items():
                Y[i][column] = wrench.power(a)
        Y[j][start + len(INERTIAL) : start + PER_JOINT] = [qdd[j], qd[j], sign(qd[j]), 1.0]  # (31)
    return Y


def unit_wrenches(motion: LinkMotion) -> list[Wrench]:
    """Wrenches on a body per unit of each inertial parameter: coefficients in Khalil 2010, (22) and (23)."""
    (x, y, z), wd, U, vd = motion
    xy, xz, yz = x * y, x * z, y * z
    xx, yy, zz = x * x, y * y, z * z
    moments = (
        (wd[0], xz, -xy),
        (-U[2][0], U[2][1], xx - yy),
        (U[1][0], zz - xx, -U[1][2]),
        (-yz, wd[1], xy),
        (yy - zz, -U[0][1], U[0][2]),
        (yz, -xz, wd[2]),
    )
    MX = Wrench(mat3.column(U, 0), (0.0, -vd[2], vd[1]))
    MY = Wrench(mat3.column(U, 1), (vd[2], 0.0, -vd[0]))
    MZ = Wrench(mat3.column(U, 2), (-vd[1], vd[0], 0.0))
    return [*(Wrench(vec3.ZERO, moment) for moment in moments), MX, MY, MZ, Wrench(vd, vec3.ZERO)]


# Energy (SYMORO+ 2003, eqs. (3.111), (A5-8) to (A5-11))


def energy_row(robot: Robot, q: Scalars, qd: Scalars, gravity_0: Vec3) -> list[Scalar]:
    """Row h of ``H = h K``, the kinetic and potential energy (J), with 11 entries for each joint.

    The entries belong to the ten inertial parameters of the body and to the inertia of the rotor. The
    potential energy of a mass at the origin of frame 0 is 0.
    """
    velocities = body_velocities(robot, joint_placements(robot, q), qd)[1:]
    potentials = _potentials(robot, q, gravity_0)
    row: list[Scalar] = []
    for velocity, (gravity, height), qd_j in zip(velocities, potentials, qd, strict=True):
        kinetic = kinetic_coefficients(velocity)
        row += [
            *kinetic[:6],
            *(e - g for e, g in zip(kinetic[6:9], gravity, strict=True)),
            kinetic[9] + height,
            0.5 * (qd_j * qd_j),
        ]
    return row


def kinetic_coefficients(velocity: Screw) -> list[Scalar]:
    """Kinetic energy of a body per unit of each inertial parameter (SYMORO+ 2003, eq. (A5-11))."""
    v, (x, y, z) = velocity
    MS = vec3.cross(v, velocity.angular)
    squares = 0.5 * (x * x), x * y, x * z, 0.5 * (y * y), y * z, 0.5 * (z * z)
    return [*squares, *MS, 0.5 * vec3.dot(v, v)]


def _potentials(robot: Robot, q: Scalars, gravity_0: Vec3) -> list[tuple[Vec3, Scalar]]:
    """Gravity in the frame of each body 1 to n, and ``-g . P`` of the origin of the frame."""
    found: list[tuple[Vec3, Scalar]] = [(gravity_0, 0.0)]
    for joint, placement in zip(robot.joints, joint_placements(robot, q), strict=True):
        gravity, height = found[joint.antecedent]
        for step in placement.steps:
            if isinstance(step, Translation):
                height = height - gravity[step.axis] * step.length
            else:
                gravity = rotated(inverse([step]), gravity)
        found.append((gravity, height))
    return found[1:]


# Filtered torques, ``torques = (d/dt D1 + D2) K`` (SYMORO+ 2003, eq. (3.116))


class FilteredModel(NamedTuple):
    """Matrices of ``torques = (d/dt D1 + D2) K``: n rows of 14 n entries, columns as `parameter_names`."""

    D1: list[list[Scalar]]  # coefficients of the momenta
    D2: list[list[Scalar]]  # coefficients of the other terms


def filtered_model(robot: Robot, q: Scalars, qd: Scalars, gravity_0: Vec3) -> FilteredModel:
    """Matrices D1 and D2, friction and rotors included."""
    n = len(robot.joints)
    D1: list[list[Scalar]] = [[0.0] * (PER_JOINT * n) for _ in robot.joints]
    D2: list[list[Scalar]] = [[0.0] * (PER_JOINT * n) for _ in robot.joints]
    placements = joint_placements(robot, q)
    velocities = body_velocities(robot, placements, qd)
    gravities = [gravity_0]
    brackets: list[dict[int, Screw]] = [{}]  # for each body, b_i of its carrying joints
    axes = unit_velocities(robot, placements)  # a_i
    for j, (joint, placement) in enumerate(zip(robot.joints, placements, strict=True)):
        gravities.append(rotated(inverse(placement.steps), gravities[joint.antecedent]))
        carried = {i: screw.over(placement.steps, b) for i, b in brackets[joint.antecedent].items()}
        brackets.append({**carried, j: _turned_by(joint.sigma, velocities[j + 1])})
        start = PER_JOINT * j
        momenta = unit_momenta(velocities[j + 1])
        weights = unit_weights(gravities[j + 1])
        for column, (momentum, weight) in enumerate(zip(momenta, weights, strict=True), start=start):
            for i, a in axes[j + 1].items():
                D1[i][column] = momentum.power(a)
                D2[i][column] = -(momentum.power(brackets[-1][i]) + weight.power(a))
        drive = slice(start + len(INERTIAL), start + PER_JOINT)
        D1[j][drive] = [qd[j], 0.0, 0.0, 0.0]
        D2[j][drive] = [0.0, qd[j], sign(qd[j]), 1.0]
    return FilteredModel(D1, D2)


def unit_momenta(velocity: Screw) -> list[Wrench]:
    """Momenta of a body, linear and angular about O_j, per unit of each inertial parameter."""
    v, (x, y, z) = velocity
    angular = ((x, 0.0, 0.0), (y, x, 0.0), (z, 0.0, x), (0.0, y, 0.0), (0.0, z, y), (0.0, 0.0, z))
    MX = Wrench((0.0, z, -y), (0.0, -v[2], v[1]))
    MY = Wrench((-z, 0.0, x), (v[2], 0.0, -v[0]))
    MZ = Wrench((y, -x, 0.0), (-v[1], v[0], 0.0))
    return [*(Wrench(vec3.ZERO, moment) for moment in angular), MX, MY, MZ, Wrench(v, vec3.ZERO)]


def unit_weights(gravity: Vec3) -> list[Wrench]:
    """Wrenches of gravity on a body about O_j, per unit of each inertial parameter."""
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
