# SPDX-License-Identifier: Apache-2.0
"""Robots with a free base: inverse and direct dynamics, inertia, momentum (Khalil 2010, sec. 7).

The acceleration of a link is the linear acceleration of its origin and its angular acceleration, [vd; wd]
(Khalil 2010, eq. (5)), on its axes. An accelerometer at the origin would measure it; it is not the rate of
the components of the velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.direct_dynamics import ArticulatedInertia, articulated, joint_accelerations
from dyn_core.algorithms.dynamics.wrenches import Wrench, with_carried
from dyn_core.algorithms.link_motion import LinkMotion, body_velocities, link_motion, link_motions
from dyn_core.robot.mdh.direct_geometry import JointPlacement, joint_placements
from dyn_core.robot.moving_base import MovingBase
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.scalar import Scalar, Scalars, is_zero, larger, reciprocal
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

# Motion of the base: users give it for the base link, algorithms use frame 0

UNITS: tuple[Vec3, Vec3, Vec3] = mat3.IDENTITY


def base_motion(T_link_0: Transform, w: Vec3, acceleration: Screw) -> LinkMotion:
    """Motion of frame 0, on its axes.

    `w` and `acceleration` are those of the link of the base, on its axes (rad/s, m/s^2, rad/s^2).
    """
    R_back = mat3.transpose(T_link_0.R)
    vd = mat3.mul_vec(R_back, acceleration.linear)
    motion = link_motion(mat3.mul_vec(R_back, w), mat3.mul_vec(R_back, acceleration.angular), vd)
    to_origin = mat3.mul_vec(motion.U, mat3.mul_vec(R_back, T_link_0.p))
    return motion._replace(vd=vec3.add(vd, to_origin))


def screw_at_0(T_link_0: Transform, screw: Screw) -> Screw:
    """Transform a velocity, or a part of an acceleration, from the base link to frame 0."""
    R_back = mat3.transpose(T_link_0.R)
    linear = vec3.add(screw.linear, vec3.cross(screw.angular, T_link_0.p))
    return Screw(mat3.mul_vec(R_back, linear), mat3.mul_vec(R_back, screw.angular))


def screw_at_link(T_link_0: Transform, screw: Screw) -> Screw:
    """Transform a velocity, or a part of an acceleration, from frame 0 to the base link."""
    angular = mat3.mul_vec(T_link_0.R, screw.angular)
    linear = vec3.sub(mat3.mul_vec(T_link_0.R, screw.linear), vec3.cross(angular, T_link_0.p))
    return Screw(linear, angular)


def freedoms_at_0(base: MovingBase) -> tuple[Screw, ...]:
    """Screws in frame 0 that span the motions of the base.

    For a base with six degrees of freedom they are the units of frame 0, with the angular ones first: the
    rows of the mass are then eliminated first from the equations of a rigid body, and keep their zeros. For
    a planar base they are x, y and the angle of its link.
    """
    if base.kind != "planar":
        angular = tuple(Screw(vec3.ZERO, unit) for unit in UNITS)
        return (*angular, *(Screw(unit, vec3.ZERO) for unit in UNITS))
    x, y, normal = mat3.transpose(base.R_link_plane)
    of_link = (Screw(x, vec3.ZERO), Screw(y, vec3.ZERO), Screw(vec3.ZERO, normal))
    return tuple(screw_at_0(base.robot.T_root_0, screw) for screw in of_link)


def combined(freedoms: Sequence[Screw], values: Scalars) -> Screw:
    """Sum of screws, each times its value."""
    linear, angular = vec3.ZERO, vec3.ZERO
    for freedom, value in zip(freedoms, values, strict=True):
        linear = vec3.add(linear, vec3.scale(value, freedom.linear))
        angular = vec3.add(angular, vec3.scale(value, freedom.angular))
    return Screw(linear, angular)


def twist_of(base: MovingBase, V: Scalars) -> Screw:
    """Velocity or acceleration of the base link from its 6 components (3 for a planar base)."""
    if base.kind != "planar":
        return Screw((V[0], V[1], V[2]), (V[3], V[4], V[5]))
    R: Mat3 = base.R_link_plane
    return Screw(mat3.mul_vec(R, (V[0], V[1], 0.0)), mat3.mul_vec(R, (0.0, 0.0, V[2])))


def numbers_of(base: MovingBase, values: Screw | Wrench) -> list[Scalar]:
    """Return the 6 components (3 for a planar base) of a motion or a wrench at the base link."""
    first, second = (
        (values.linear, values.angular) if isinstance(values, Screw) else (values.force, values.moment)
    )
    if base.kind != "planar":
        return [*first, *second]
    back = mat3.transpose(base.R_link_plane)
    along, about = mat3.mul_vec(back, first), mat3.mul_vec(back, second)
    return [along[0], along[1], about[2]]


# Inverse dynamics (Khalil 2010, sec. 7.2)
#
# One pass computes the motion of the links without acceleration of the base, and the wrenches for it. The
# acceleration of the base adds a motion of the robot with fixed joints. So eq. (99) needs only the row of the
# joint's axis, and zeta does not occur in (98).


class FreeMotion(NamedTuple):
    """Result of the dynamics of a robot on a free base."""

    added: Screw  # acceleration of the base in addition to its assumed motion, in frame 0
    amounts: list[Scalar]  # components of `added` along the freedoms of the base
    torques: list[Scalar]  # n torques or accelerations of the joints of the tree


def free_inverse_dynamics(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Scalars,
    qd: Scalars,
    qdd: Scalars,
    forces: Scalars,
) -> FreeMotion:
    """Base acceleration and joint torques, without friction and rotors: Khalil 2010, eqs. (94) to (100).

    `base` is its motion without acceleration along its freedoms; `forces` act along these (N, N m).
    """
    placements = joint_placements(robot, q)
    needed = composite_wrenches(robot, placements, link_motions(robot, placements, qd, qdd, base))
    composite = newton_euler.composite_inertias(robot, placements)
    inertia = [newton_euler.wrench_of_acceleration(composite[0], freedom) for freedom in freedoms]
    amounts = _along_freedoms(freedoms, inertia, needed[0], forces)  # (97)
    added = [combined(freedoms, amounts)]
    torques: list[Scalar] = []
    for joint, placement, wrench, body in zip(
        robot.joints, placements, needed[1:], composite[1:], strict=True
    ):
        added.append(screw.over(placement.steps, added[joint.antecedent]))  # (98)
        along_axis = newton_euler.wrench_of_unit_acceleration(body, joint.sigma)
        torques.append(wrench.along(joint.sigma) + along_axis.power(added[-1]))  # (99), (100)
    return FreeMotion(added[0], amounts, torques)


def composite_wrenches(
    robot: Robot, placements: Sequence[JointPlacement], motions: Sequence[LinkMotion]
) -> list[Wrench]:
    """Wrench on each body and all bodies that it carries, -beta^c of Khalil 2010, eq. (96)."""
    return with_carried(robot, placements, newton_euler.link_wrenches(robot, motions, {}))


def _along_freedoms(
    freedoms: Sequence[Screw], inertia: Sequence[Wrench], needed: Wrench, forces: Scalars
) -> list[Scalar]:
    """Accelerations of a base from the wrenches of unit accelerations: Khalil 2010, eqs. (97) and (109)."""
    lower = [wrench.powers(freedoms[: k + 1]) for k, wrench in enumerate(inertia)]
    A = [[lower[max(i, k)][min(i, k)] for k in range(len(lower))] for i in range(len(lower))]
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(len(A))]
    return newton_euler.solved(newton_euler.factorised(A, nonzero), _surplus(forces, needed.powers(freedoms)))


def _surplus(forces: Scalars, needed: Scalars) -> list[Scalar]:
    return [f - x for f, x in zip(forces, needed, strict=True)]


# Direct dynamics (Khalil 2010, sec. 7.3)


def articulated_free_base(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Scalars,
    qd: Scalars,
    torques: Scalars,
    forces: Scalars,
) -> FreeMotion:
    """Accelerations of base and joints by the articulated recursion: Khalil 2010, eqs. (101) to (112)."""
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), base)
    needed = newton_euler.link_wrenches(robot, motions, {})  # (102)
    tree = articulated(robot, placements, qd, torques, needed, with_base=True)  # (103) to (108)
    inertia = [_articulated_wrench(tree.inertia, freedom) for freedom in freedoms]
    amounts = _along_freedoms(freedoms, inertia, tree.wrench, forces)  # (109)
    added = combined(freedoms, amounts)
    accelerations = joint_accelerations(robot, placements, tree.joint_terms, added)  # (110), (112)
    return FreeMotion(added, amounts, accelerations)


def factorised_free_base(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Scalars,
    qd: Scalars,
    torques: Scalars,
    forces: Scalars,
) -> FreeMotion:
    """Accelerations as by `articulated_free_base`, by the inertia matrix of base and joints: eq. (88)."""
    placements = joint_placements(robot, q)
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), base)
    needed = composite_wrenches(robot, placements, motions)
    friction = [
        newton_euler.friction_torque(joint.friction, rate)
        for joint, rate in zip(robot.joints, qd, strict=True)
    ]
    H = [h + f for h, f in zip(newton_euler.torques_of(robot, needed), friction, strict=True)]
    surplus = [*_surplus(forces, needed[0].powers(freedoms)), *_surplus(torques, H)]
    A = newton_euler.free_base_inertia(robot, freedoms, placements)
    k = len(freedoms)
    nonzero = [[i for i in range(row) if not is_zero(A[row][i])] for row in range(k)]
    nonzero += [[*range(k), *(k + i for i in before)] for before in newton_euler.carriers(robot)]
    x = newton_euler.solved(newton_euler.factorised(A, nonzero), surplus)
    return FreeMotion(combined(freedoms, x[:k]), x[:k], x[k:])


def _articulated_wrench(inertia: ArticulatedInertia, acceleration: Screw) -> Wrench:
    """Product of an articulated inertia and an acceleration: Khalil 2010, eq. (36)."""
    A, B, C = inertia
    linear, angular = acceleration
    force = vec3.add(mat3.mul_vec(A, linear), mat3.mul_vec(B, angular))
    moment = vec3.add(mat3.mul_vec(mat3.transpose(B), linear), mat3.mul_vec(C, angular))
    return Wrench(force, moment)


# Momentum, centre of mass and energy


class Momentum(NamedTuple):
    """Momentum, centre of mass and energy of a moving robot without rotors, on the axes of frame 0."""

    at_0: Wrench  # linear momentum (kg m/s), and angular momentum about the origin of frame 0 (kg m^2/s)
    moments: Vec3  # first moments of mass in frame 0 (kg m)
    mass: Scalar  # mass of the robot (kg)
    kinetic: Scalar  # kinetic energy (J)

    @property
    def centre(self) -> Vec3:
        """Centre of mass in frame 0 (m); not a number if the mass is 0."""
        return vec3.scale(reciprocal(self.mass), self.moments)

    @property
    def angular(self) -> Vec3:
        """Angular momentum about the centre of mass, of a robot without mass about any point (kg m^2/s)."""
        of_mass = vec3.cross(self.centre, self.at_0.force)
        x, y, z = (larger(self.mass, 0.0, part, 0.0) for part in of_mass)
        return vec3.sub(self.at_0.moment, (x, y, z))


def momentum(robot: Robot, placements: Sequence[JointPlacement], base: Screw, qd: Scalars) -> Momentum:
    """Momentum of all links, centre of mass and energy, in frame 0, whose velocity is `base` (m/s, rad/s)."""
    velocities = body_velocities(robot, placements, qd, base)
    # A momentum depends on the velocity as the wrench on a body at rest depends on its acceleration.
    own = [
        newton_euler.wrench_of_acceleration(body, v) for body, v in zip(robot.bodies, velocities, strict=True)
    ]
    twice: Scalar = 0.0
    for part, velocity in zip(own, velocities, strict=True):
        twice = twice + part.power(velocity)
    whole = newton_euler.composite_inertias(robot, placements)[0]
    return Momentum(with_carried(robot, placements, own)[0], whole.MS, whole.M, 0.5 * twice)
