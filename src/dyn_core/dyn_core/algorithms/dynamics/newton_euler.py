# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a tree by Newton-Euler, and what the same recursions give (Khalil 2010, sec. 3.2).

That is friction, gravity torques, the inertia matrix and its factors, and the modified recursion (MRNEA).

The forward recursion, from the base to the leaves, computes the velocities and accelerations of the links
and the wrench on each link. The backward recursion computes the wrenches in the joints. The parameters enter
as J, MS and M about the origins of the link frames; the result is linear in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.wrenches import Wrench, with_carried, wrench_before
from dyn_core.algorithms.link_motion import LinkMotion, against_gravity, link_motions, unit_velocities
from dyn_core.robot.joints import Friction, Joint, Sigma
from dyn_core.robot.links import InertialParameters, about_origin, merge
from dyn_core.robot.mdh.direct_geometry import JointPlacement, joint_placements, lineage
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars, reciprocal, sign
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Rotation, Step, inverse, others, rotated, turned, turned_matrix
from dyn_core.symbolic.vec3 import Vec3


def inverse_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> list[Scalar]:
    """Joint torques (N m or N) of the rigid bodies, without friction and rotors: Khalil 2010, eq. (12)."""
    reactions = joint_reactions(robot, q, qd, qdd, gravity_0, external)
    return torques_of(robot, reactions)  # (31)


def torques_of(robot: Robot, reactions: Sequence[Wrench]) -> list[Scalar]:
    """Components of the wrenches on the bodies 1 to n that their joints must provide (N m or N)."""
    return [reaction.along(joint.sigma) for joint, reaction in zip(robot.joints, reactions[1:], strict=True)]


def joint_reactions(
    robot: Robot, q: Scalars, qd: Scalars, qdd: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> list[Wrench]:
    """Return the wrench on each body from the one that carries it: Khalil 2010, eqs. (26) to (30).

    The first of the n + 1 wrenches is that of the ground on the base. Each is in the frame of its body and
    about its origin.
    """
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, qdd, against_gravity(gravity_0))
    return with_carried(robot, placements, link_wrenches(robot, motions, external))


def link_wrenches(
    robot: Robot, motions: Sequence[LinkMotion], external: Mapping[int, Wrench]
) -> list[Wrench]:
    """Return, for each body, the wrench of its motion plus that on its environment: eqs. (26), (27)."""
    wrenches = [link_wrench(body, moved) for body, moved in zip(robot.bodies, motions, strict=True)]
    for body, exerted in external.items():
        wrenches[body] = wrenches[body] + exerted
    return wrenches


def link_wrench(body: InertialParameters, motion: LinkMotion) -> Wrench:
    """Total wrench on a link about O_j, in frame j: Khalil 2010, eqs. (22) and (23).

    ``J wd + w x J w`` is written in products that jUj has as well: 15 multiplications instead of 24.
    """
    (x, y, z), wd, U, vd = motion
    force = vec3.add(vec3.scale(body.M, vd), mat3.mul_vec(U, body.MS))  # (22)
    own = (
        body.XX * wd[0]
        + (body.ZZ - body.YY) * (y * z)
        - body.XY * U[2][0]
        + body.XZ * U[1][0]
        + body.YZ * (y * y - z * z),
        body.YY * wd[1]
        + (body.XX - body.ZZ) * (x * z)
        + body.XY * U[2][1]
        - body.YZ * U[0][1]
        + body.XZ * (z * z - x * x),
        body.ZZ * wd[2]
        + (body.YY - body.XX) * (x * y)
        - body.XZ * U[1][2]
        + body.YZ * U[0][2]
        + body.XY * (x * x - y * y),
    )
    return Wrench(force, vec3.add(own, vec3.cross(body.MS, vd)))  # (23)


# Drive torques: friction and rotor (Khalil 2010, eq. (31), last three terms)


def friction_torque(friction: Friction, qd: Scalar) -> Scalar:
    """Return ``Fs sign(qd) + Fv qd + Fo`` (N m or N) at the velocity qd (rad/s or m/s)."""
    return friction.Fs * sign(qd) + friction.Fv * qd + friction.Fo


def drive_torques(joints: Sequence[Joint], qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Torques of friction and rotors, in addition to those of the rigid bodies (N m or N)."""
    return [
        friction_torque(joint.friction, qd_j) + joint.Ia * qdd_j
        for joint, qd_j, qdd_j in zip(joints, qd, qdd, strict=True)
    ]


def bias_torques(
    robot: Robot, q: Scalars, qd: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> list[Scalar]:
    """Torques H (N m or N) for qdd = 0, with friction: SYMORO+ 2003, eq. (3.104)."""
    torques = inverse_dynamics(robot, q, qd, [0.0] * len(robot.joints), gravity_0, external)
    joints = zip(robot.joints, torques, qd, strict=True)
    return [torque + friction_torque(joint.friction, qd_j) for joint, torque, qd_j in joints]


def gravity_torques(robot: Robot, q: Scalars, gravity_0: Vec3) -> list[Scalar]:
    """Torques Q (N m or N) that hold the robot at rest: ``-z . (MS x g)``, or ``-M z . g`` if prismatic.

    They are computed from the first moments of composite links (SYMORO+ 2003, appendix 4.2).
    """
    placements = joint_placements(robot, q)
    composite = composite_inertias(robot, placements)
    gravity = [gravity_0]
    torques = []
    for joint, placement, carried in zip(robot.joints, placements, composite[1:], strict=True):
        x, y, z = rotated(inverse(placement.steps), gravity[joint.antecedent])
        gravity.append((x, y, z))
        turning = carried.MY * x - carried.MX * y
        torques.append(turning if joint.sigma is Sigma.REVOLUTE else -carried.M * z)
    return torques


# Composite bodies and inertia matrix (SYMORO+ 2003, sec. 3.6.1)


def composite_inertias(robot: Robot, placements: Sequence[JointPlacement]) -> list[InertialParameters]:
    """Parameters of the bodies 0 to n with all bodies that they carry: eqs. (3.97) to (3.100)."""
    composite = list(robot.bodies)
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        composite[i] = merge(composite[i], inertia_before(placements[j - 1].steps, composite[j]))
    return composite


def inertia_before(steps: Sequence[Step], body: InertialParameters) -> InertialParameters:
    """Transform the parameters of a body from the last frame to the first."""
    for step in reversed(steps):
        if isinstance(step, Rotation):
            body = about_origin(turned_matrix(step, body.J), turned(step, body.MS), body.M)
            continue
        k, length = step
        i, j = others(k)
        J: list[list[Scalar]] = [list(row) for row in body.J]
        MS = list(body.MS)
        MS[k] = MS[k] + length * body.M
        across = length * (body.MS[k] + MS[k])
        J[i][i], J[j][j] = J[i][i] + across, J[j][j] + across
        J[i][k] = J[k][i] = J[k][i] - length * MS[i]
        J[j][k] = J[k][j] = J[k][j] - length * MS[j]
        x, y, z = ((row[0], row[1], row[2]) for row in J)
        body = about_origin((x, y, z), (MS[0], MS[1], MS[2]), body.M)
    return body


def inertia_matrix(robot: Robot, q: Scalars) -> list[list[Scalar]]:
    """Matrix A, n x n, with the inertia of the rotors: Khalil 2010, eq. (7)."""
    return free_base_inertia(robot, (), joint_placements(robot, q))


def free_base_inertia(
    robot: Robot, freedoms: Sequence[Screw], placements: Sequence[JointPlacement]
) -> list[list[Scalar]]:
    """Matrix A of k freedoms of the base and n joints, with the rotors: Khalil 2010, eqs. (7) and (84).

    Entries of joints that do not carry each other cost nothing. Symmetric entries are the same object.
    """
    k = len(freedoms)
    composite = composite_inertias(robot, placements)
    A: list[list[Scalar]] = [[0.0] * (k + len(robot.joints)) for _ in range(k + len(robot.joints))]
    for row, freedom in enumerate(freedoms):
        entries = wrench_of_acceleration(composite[0], freedom).powers(freedoms[: row + 1])
        for column, entry in enumerate(entries):
            A[row][column] = A[column][row] = entry  # A11
    for j, joint in enumerate(robot.joints, start=1):
        row = k + j - 1
        wrench = wrench_of_unit_acceleration(composite[j], joint.sigma)
        A[row][row] = wrench.along(joint.sigma) + joint.Ia
        body = j
        while (i := robot.joints[body - 1].antecedent) != 0:
            wrench = wrench_before(placements[body - 1].steps, wrench)  # SYMORO+ 2003, eq. (3.103)
            A[k + i - 1][row] = A[row][k + i - 1] = wrench.along(robot.joints[i - 1].sigma)  # A22
            body = i
        if freedoms:
            wrench = wrench_before(placements[body - 1].steps, wrench)
            for column, entry in enumerate(wrench.powers(freedoms)):
                A[row][column] = A[column][row] = entry  # A12
    return A


def wrench_of_unit_acceleration(body: InertialParameters, sigma: Sigma) -> Wrench:
    """Wrench that accelerates a body at rest by 1 along or about z: SYMORO+ 2003, eq. (3.101)."""
    if sigma is Sigma.REVOLUTE:
        return Wrench((-body.MY, body.MX, 0.0), (body.XZ, body.YZ, body.ZZ))
    return Wrench((0.0, 0.0, body.M), (body.MY, -body.MX, 0.0))


# Factorisation of the inertia matrix, A = L^T D L
#
# Elimination runs from the leaves to the root, so joint k changes only the entries of joints that carry it.
# These lie on one path to the base, and an entry between two branches stays 0. The factors L D L^T would
# fill it.


class Factors(NamedTuple):
    """Factors of ``A = L^T D L``."""

    L: tuple[dict[int, Scalar], ...]  # by row k, the entries that may differ from 0 below the ones, by column
    D_inverse: tuple[Scalar, ...]  # reciprocals of the diagonal of D


def carriers(robot: Robot) -> list[list[int]]:
    """For each joint k, counted from 0, the joints that carry it: columns of row k of A that are not 0."""
    return [[i - 1 for i in lineage(robot, k)[1:]] for k in range(1, len(robot.joints) + 1)]


def factorised(A: Sequence[Scalars], nonzero: Sequence[Iterable[int]]) -> Factors:
    """Factors of a symmetric matrix; `nonzero` are the columns before the diagonal that may differ from 0."""
    H = [list(row) for row in A]
    filled = [set(columns) for columns in nonzero]
    L: list[dict[int, Scalar]] = [{} for _ in A]
    D_inverse: list[Scalar] = [0.0] * len(A)
    for k in reversed(range(len(A))):
        D_inverse[k] = reciprocal(H[k][k])
        columns = sorted(filled[k], reverse=True)
        for number, i in enumerate(columns):
            L[k][i] = H[k][i] * D_inverse[k]
            filled[i].update(columns[number + 1 :])
            for j in columns[number:]:
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
    return Factors(tuple(L), tuple(D_inverse))


def solved(factors: Factors, b: Scalars) -> list[Scalar]:
    """Solution x of ``L^T D L x = b``."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i, entry in factors.L[k].items():
            x[i] = x[i] - entry * x[k]
        x[k] = x[k] * factors.D_inverse[k]
    for k, row in enumerate(factors.L):
        for i, entry in row.items():
            x[k] = x[k] - entry * x[i]
    return x


# Inertia matrix and bias torques in one pass, MRNEA (Kvrgic-Vidakovic, eqs. (4) to (36))
#
# The Newton-Euler recursion runs once with unknown accelerations. The acceleration of each link and the
# wrench in each joint are linear in them: they have one column per joint, and a constant part. Along the
# axes, the wrench columns are the inertia matrix and the constant part the bias torques.
#
# The paper writes the algorithm for chains of revolute joints in base coordinates. Here joints may be
# prismatic and links may branch: link j has a column for each joint that carries it, in its own frame. The
# columns of joints that link j carries, n_ia3 of eq. (26), are omitted because the matrix is symmetric.


def inertia_and_bias(
    robot: Robot, q: Scalars, qd: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Matrix A with the rotors, and torques H with friction: Kvrgic-Vidakovic, eq. (34)."""
    n = len(robot.joints)
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, [0.0] * n, against_gravity(gravity_0))
    constant = link_wrenches(robot, motions, external)  # e_i, d_i of (13), (14), (17)
    linear: list[dict[int, Wrench]] = []  # by body and joint, counted from 0: e_ik, d_ik of (15), (16)
    for j, moved in enumerate(unit_velocities(robot, placements), start=-1):  # b_ik of (5), angular parts
        body = robot.bodies[j + 1]
        linear.append({k: wrench_of_acceleration(body, b) for k, b in moved.items() if k != j})
        if j >= 0:
            linear[-1][j] = wrench_of_unit_acceleration(body, robot.joints[j].sigma)

    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    H: list[Scalar] = [0.0] * n
    for j in range(n, 0, -1):
        joint, steps = robot.joints[j - 1], placements[j - 1].steps
        H[j - 1] = constant[j].along(joint.sigma) + friction_torque(joint.friction, qd[j - 1])  # (36)
        for k, wrench in linear[j].items():
            A[j - 1][k] = A[k][j - 1] = wrench.along(joint.sigma)  # (35)
        A[j - 1][j - 1] = A[j - 1][j - 1] + joint.Ia
        i = joint.antecedent
        constant[i] += wrench_before(steps, constant[j])  # (23), (28)
        for k in linear[i]:
            linear[i][k] += wrench_before(steps, linear[j][k])  # (24), (25), (29), (30)
    return A, H


def wrench_of_acceleration(body: InertialParameters, acceleration: Screw) -> Wrench:
    """Wrench about the origin that accelerates a body at rest: Khalil 2010, eqs. (10), (11)."""
    vd, wd = acceleration
    force = vec3.add(vec3.scale(body.M, vd), vec3.cross(wd, body.MS))
    return Wrench(force, vec3.add(mat3.mul_vec(body.J, wd), vec3.cross(body.MS, vd)))
