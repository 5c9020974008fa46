# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics of a tree: articulated bodies, or factorised inertia matrix (Khalil 2010, sec. 3.3).

The articulated recursion of the paper (sec. 3.3.2) transforms the velocities (in gamma and beta) and gravity
from link to link. Here a first pass of the inverse dynamics computes the motion of the links for qdd = 0
and the wrenches for it. The part due to qdd obeys the same equations with gamma = 0 and a base at rest. This
saves the products of the articulated inertias with gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.wrenches import Wrench, wrench_before
from dyn_core.algorithms.link_motion import against_gravity, link_motions
from dyn_core.algorithms.loops import passive_joint_positions
from dyn_core.algorithms.loops.continuation import Step as ContinuationStep
from dyn_core.algorithms.loops.loop_structure import geometry_of
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.mdh.direct_geometry import JointPlacement, joint_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, Scalars, reciprocal
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.step import Rotation, Step, others, turned_matrix
from dyn_core.symbolic.vec3 import Vec3

# Articulated inertia: inertia of a link whose carried joints are free to move (Khalil 2010, sec. 3.3.2)

Vec6: TypeAlias = tuple[Scalar, ...]


class ArticulatedInertia(NamedTuple):
    """Blocks of the matrix J* of ``force = A vd + B wd`` and ``moment = B^T vd + C wd``."""

    A: Mat3  # symmetric; the mass times 1 of a rigid body (kg)
    B: Mat3  # minus the skew matrix of the first moments of a rigid body (kg m)
    C: Mat3  # symmetric; the inertia matrix of a rigid body (kg m^2)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        A, B, C = (mat3.add(a, b) for a, b in zip(self, other, strict=True))
        return ArticulatedInertia(A, B, C)


def rigid_inertia(body: InertialParameters) -> ArticulatedInertia:
    """Inertia of a rigid body: Khalil 2010, eq. (11)."""
    return ArticulatedInertia(mat3.scale(body.M, mat3.IDENTITY), mat3.skew(vec3.neg(body.MS)), body.J)


def axis_column(inertia: ArticulatedInertia, sigma: Sigma) -> Vec6:
    """Product J* a with the axis screw of a joint, eq. (16): the column of its acceleration."""
    A, B, C = inertia
    if sigma is Sigma.REVOLUTE:
        return (*mat3.column(B, 2), *mat3.column(C, 2))
    return (*mat3.column(A, 2), *B[2])


def axis_index(sigma: Sigma) -> int:
    """Index of the joint's axis among the six components, linear first."""
    return 5 if sigma is Sigma.REVOLUTE else 2


def articulated_before(steps: Sequence[Step], inertia: ArticulatedInertia) -> ArticulatedInertia:
    """Transform an inertia from the last frame to the first: ``jTi^T K jTi``, eq. (40).

    About the origin before a translation p, ``B' = B - A p^`` and ``C' = C + p^ B + (p^ B')^T``.
    """
    for step in reversed(steps):
        A, B, C = inertia
        if isinstance(step, Rotation):
            inertia = ArticulatedInertia(*(turned_matrix(step, block) for block in inertia))
            continue
        k, p = step
        i, j = others(k)
        columns = list(mat3.transpose(B))
        columns[i] = vec3.sub(columns[i], vec3.scale(p, A[j]))
        columns[j] = vec3.add(columns[j], vec3.scale(p, A[i]))
        after = mat3.from_columns(*columns)
        D: list[list[Scalar]] = [list(row) for row in C]
        D[i][i] = C[i][i] - p * (B[j][i] + after[j][i])
        D[j][j] = C[j][j] + p * (B[i][j] + after[i][j])
        D[i][j] = D[j][i] = C[i][j] + p * (after[i][i] - B[j][j])
        D[i][k] = D[k][i] = C[k][i] - p * B[j][k]
        D[j][k] = D[k][j] = C[k][j] + p * B[i][k]
        inertia = ArticulatedInertia(A, after, mat3.from_columns(*((x, y, z) for x, y, z in D)))
    return inertia


# Articulated recursion (Khalil 2010, sec. 3.3.2)


class JointTerms(NamedTuple):
    """Terms of the acceleration of joint j as a function of that of its antecedent, eq. (41)."""

    surplus: Scalar  # torque beyond that needed for qdd = 0, ``tau + a^T beta*``
    unloaded: Scalar  # ``surplus / H``, acceleration of the joint on an antecedent at rest
    u: Vec6  # column of the axis in the articulated inertia J*
    u_over_H: Vec6
    Ia_over_H: Scalar  # rotor inertia divided by H


def joint_terms(joint: Joint, inertia: ArticulatedInertia, needed: Wrench, tau: Scalar) -> JointTerms:
    """Terms of a joint on which the torque tau acts: Khalil 2010, eq. (36)."""
    u = axis_column(inertia, joint.sigma)
    H_inverse = reciprocal(u[axis_index(joint.sigma)] + joint.Ia)
    surplus = tau - needed.along(joint.sigma)
    return JointTerms(surplus, surplus * H_inverse, u, tuple(x * H_inverse for x in u), joint.Ia * H_inverse)


def inertia_through_joint(inertia: ArticulatedInertia, sigma: Sigma, terms: JointTerms) -> ArticulatedInertia:
    """Inertia of a link seen through its joint: ``K = J* - u u^T / H``, Khalil 2010, eq. (37).

    The row and the column of the axis are ``u (1 - u_axis / H) = u Ia / H``, which is 0 without
    computation if the joint has no rotor inertia.
    """
    free, u = axis_index(sigma), terms.u

    def entry(value: Scalar, a: int, b: int) -> Scalar:
        if free in (a, b):
            return terms.Ia_over_H * u[a if b == free else b]
        return value - u[min(a, b)] * terms.u_over_H[max(a, b)]

    def block(values: Mat3, row: int, column: int) -> Mat3:
        rows = [tuple(entry(values[a][b], row + a, column + b) for b in range(3)) for a in range(3)]
        return ((*rows[0],), (*rows[1],), (*rows[2],))

    A, B, C = inertia
    return ArticulatedInertia(block(A, 0, 0), block(B, 0, 3), block(C, 3, 3))


def wrench_through_joint(joint: Joint, needed: Wrench, tau: Scalar, terms: JointTerms) -> Wrench:
    """Wrench on a link seen through its joint, on which the torque tau acts: Khalil 2010, eq. (38)."""
    values = [a + b * terms.surplus for a, b in zip(needed.values, terms.u_over_H, strict=True)]
    values[axis_index(joint.sigma)] = tau - joint.Ia * terms.unloaded
    return Wrench((*values[:3],), (*values[3:],))


def accelerated(sigma: Sigma, terms: JointTerms, carried: Screw) -> tuple[Scalar, Screw]:
    """Acceleration of a joint and of its link, carried by the antecedent: eqs. (41) and (43)."""
    values, along = list(carried.values), axis_index(sigma)
    values[along] = terms.unloaded + terms.Ia_over_H * values[along]
    for k in range(6):
        if k != along:
            values[along] = values[along] - terms.u_over_H[k] * values[k]
    return values[along] - carried.values[along], Screw((*values[:3],), (*values[3:],))


class Articulated(NamedTuple):
    """A tree whose joints are free to move."""

    joint_terms: list[JointTerms]  # terms of the acceleration of each joint
    inertia: ArticulatedInertia  # inertia J* of the base if the base is articulated, else that of its body
    wrench: Wrench  # -beta* of the base, likewise


def articulated_direct_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, torques: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> list[Scalar]:
    """Accelerations due to the torques, with friction and rotors: Khalil 2010, eqs. (32) to (44).

    Returns n joint accelerations (rad/s^2 or m/s^2); not finite if a joint moves no inertia.
    """
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), against_gravity(gravity_0))
    needed = newton_euler.link_wrenches(robot, motions, external)  # -beta, (35)
    tree = articulated(robot, placements, qd, torques, needed, with_base=False)
    return joint_accelerations(robot, placements, tree.joint_terms, screw.ZERO)


def articulated(
    robot: Robot,
    placements: Sequence[JointPlacement],
    qd: Scalars,
    torques: Scalars,
    wrenches: Sequence[Wrench],
    with_base: bool,
) -> Articulated:
    """Backward recursion, from the leaves to the base, from the wrenches for qdd = 0: eqs. (36) to (40)."""
    needed = list(wrenches)
    inertias = [rigid_inertia(body) for body in robot.bodies]
    found: list[JointTerms] = []
    for j in range(len(robot.joints), 0, -1):
        joint, steps = robot.joints[j - 1], placements[j - 1].steps
        tau = torques[j - 1] - newton_euler.friction_torque(joint.friction, qd[j - 1])  # (44)
        terms = joint_terms(joint, inertias[j], needed[j], tau)
        found.insert(0, terms)
        if joint.antecedent != 0 or with_base:
            K = inertia_through_joint(inertias[j], joint.sigma, terms)
            inertias[joint.antecedent] += articulated_before(steps, K)  # (40)
            alpha = wrench_through_joint(joint, needed[j], tau, terms)
            needed[joint.antecedent] += wrench_before(steps, alpha)  # (39)
    return Articulated(found, inertias[0], needed[0])


def joint_accelerations(
    robot: Robot, placements: Sequence[JointPlacement], joint_terms: Sequence[JointTerms], base: Screw
) -> list[Scalar]:
    """Forward recursion from an acceleration added to the base, in frame 0: Khalil 2010, eqs. (41), (43)."""
    accelerations: list[Scalar] = []
    added = [base]  # accelerations of the links due to qdd
    for joint, placement, terms in zip(robot.joints, placements, joint_terms, strict=True):
        carried = screw.over(placement.steps, added[joint.antecedent])
        acceleration, link = accelerated(joint.sigma, terms, carried)
        accelerations.append(acceleration)
        added.append(link)
    return accelerations


# Inertia matrix and bias torques (Khalil 2010, sec. 3.3.1)


def factorised_direct_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, torques: Scalars, gravity_0: Vec3, external: Mapping[int, Wrench]
) -> list[Scalar]:
    """Accelerations as by `articulated_direct_dynamics`, by the inertia matrix: Khalil 2010, eq. (8)."""
    H = newton_euler.bias_torques(robot, q, qd, gravity_0, external)
    factors = newton_euler.factorised(newton_euler.inertia_matrix(robot, q), newton_euler.carriers(robot))
    return newton_euler.solved(factors, [torque - bias for torque, bias in zip(torques, H, strict=True)])


# Joints that no inertia resists, which have no direct dynamics

Inertia: TypeAlias = Callable[[list[float]], Sequence[Sequence[float]]]

NEGLIGIBLE = 1e-10
"""Fraction of the inertia of a joint below which its inertia with free later joints is a rounding error."""

ADDED = (0.01 * NEGLIGIBLE, 0.1 * NEGLIGIBLE)  # fractions by which diagonal entries are increased (1 for 0)


def no_forward_dynamics(robot: Robot, names: Sequence[str]) -> DynError:
    """Return the error for a robot with joints that no inertia resists."""
    return DynError(
        "joints-without-inertia" if len(names) > 1 else "joint-without-inertia",
        robot=robot.name,
        joints=names,
        element=f"joint '{names[0]}'",
    )


def unresisted_joints(
    robot: Robot, inertia: Inertia | None = None, step: Callable[[], ContinuationStep] | None = None
) -> tuple[str, ...]:
    """Names of the joints that no inertia resists in any position.

    If they exist, `inertia` is its inertia matrix A(q), and `step` returns a compiled Newton step.
    """
    found = _unresisted_at(*_position(robot, 1.0, inertia, step))
    if found:  # the position may be a singular one by chance
        found &= _unresisted_at(*_position(robot, -1.0, inertia, step))
    return tuple(name for k, name in enumerate(robot.coordinate_names) if k in found)


def _position(
    robot: Robot, sign: float, inertia: Inertia | None, step: Callable[[], ContinuationStep] | None
) -> tuple[Inertia, list[float]]:
    """The inertia matrix and a position (rad or m) without symmetry, in which the loops are closed."""
    if robot.loops:
        q, x = passive_joint_positions.position_nearby(
            passive_joint_positions.Closing(geometry_of(robot), step), sign
        )
        return inertia or partial(_coordinate_inertia, robot, x=x), list(q)
    least = 1.0 if sign > 0.0 else -2.0
    positions = [least + (passive_joint_positions.GOLDEN_RATIO * k) % 1.0 for k in range(1, robot.dof + 1)]
    return inertia or partial(_coordinate_inertia, robot), positions


def _coordinate_inertia(
    robot: Robot, q: Sequence[float], x: Sequence[float] | None = None
) -> Sequence[Sequence[float]]:
    at = passive_joint_positions.configuration(robot, q, x)
    return at.inertia(newton_euler.inertia_matrix(robot, at.q))


def _unresisted_at(inertia: Inertia, q: list[float]) -> set[int]:
    A = inertia(q)
    return set(unresisted(A, [[i for i in range(k) if A[k][i] != 0.0] for k in range(len(A))]))


def unresisted(A: Sequence[Sequence[float]], nonzero: Sequence[Iterable[int]]) -> tuple[int, ...]:
    """Joints, counted from 0, that no inertia resists.

    The inertia that resists a joint is H of Khalil 2010, eq. (36), of the articulated links beyond it. It
    is also the joint's entry in D of the factorised inertia matrix. It is 0 for a joint that carries no
    mass, or whose motion a carried joint can undo without moving any mass. A small fraction is added to all
    diagonal entries so that the factorisation goes on to the other joints. The entry of a joint without
    resistance then consists of this fraction and grows with it; the entry of a joint that mass resists does
    not grow.

    `A`: inertia matrix, at a position without symmetry if the result is to hold for almost all positions;
    `nonzero`: for each row, the columns before the diagonal whose entries may differ from 0.
    """
    own = [A[k][k] for k in range(len(A))]
    increased = (
        [[(x * (1.0 + part) or 1.0) if i == k else x for i, x in enumerate(row)] for k, row in enumerate(A)]
        for part in ADDED
    )
    little, more = (newton_euler.factorised(matrix, nonzero).D_inverse for matrix in increased)
    return tuple(
        k
        for k, x in enumerate(own)
        if x == 0.0 or not 0.0 < little[k] * x * NEGLIGIBLE < 1.0 or little[k] > 2.0 * more[k]
    )
