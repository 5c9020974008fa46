# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix and bias torques in one pass (Kvrgic-Vidakovic, eqs. (4) to (36)).

The Newton-Euler recursion is run once with accelerations that are not known yet: what is linear in
them, the acceleration of each link and the wrench in each joint, is carried as one column for each
joint beside the part that does not depend on them. The columns of the wrenches along the axes are the
inertia matrix, and the rest along the axes are the bias torques.

The paper writes the algorithm for chains of revolute joints, in base coordinates. Here joints may be
prismatic and links may branch: link j has a column for each joint that carries it, in its own frame.
The columns of joints that it carries itself, n_ia3 of eq. (26), are left out: the matrix is symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.algorithms.dynamics.newton_euler import link_wrenches
from dyn_core.algorithms.link_motion import against_gravity, link_motions
from dyn_core.dynamics.drive import friction_torque
from dyn_core.dynamics.inertia_matrix import wrench_of_unit_acceleration
from dyn_core.dynamics.wrench import Wrench, wrench_before
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3

AXES = {
    Sigma.REVOLUTE: Screw(vec3.ZERO, (0.0, 0.0, 1.0)),
    Sigma.PRISMATIC: Screw((0.0, 0.0, 1.0), vec3.ZERO),
}


def inertia_and_bias(
    robot: Robot,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    gravity_0: Vec3,
    external: Mapping[int, Wrench],
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Matrix A with the inertia of the rotors and torques H with friction: Kvrgic-Vidakovic, eq. (34).

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
        external: by body, the wrench that the body exerts on the environment, in its frame.

    Returns:
        A, n rows of n, where an entry and the one across the diagonal are the same object, and
        H, n joint torques (N m) or forces (N).
    """
    n = len(robot.joints)
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, [0.0] * n, against_gravity(gravity_0))
    constant = link_wrenches(robot, motions, external)  # e_i, d_i of (13), (14), (17)
    moved: list[dict[int, Screw]] = [{}]  # by link and joint k: b_ik of (5), and what turns with it
    linear: list[dict[int, Wrench]] = [{}]  # by link and joint k: e_ik, d_ik of (15), (16)
    for j, (joint, placement) in enumerate(zip(robot.joints, placements, strict=True), start=1):
        body = robot.bodies[j]
        carried = {k: screw.over(placement.steps, b) for k, b in moved[joint.antecedent].items()}
        moved.append(carried | {j: AXES[joint.sigma]})
        own = {j: wrench_of_unit_acceleration(body, joint.sigma)}
        linear.append({k: wrench_of_acceleration(body, b) for k, b in carried.items()} | own)

    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    H: list[Scalar] = [0.0] * n
    for j in range(n, 0, -1):
        joint, steps = robot.joints[j - 1], placements[j - 1].steps
        H[j - 1] = constant[j].along(joint.sigma) + friction_torque(joint.friction, qd[j - 1])  # (36)
        for k, wrench in linear[j].items():
            A[j - 1][k - 1] = A[k - 1][j - 1] = wrench.along(joint.sigma)  # (35)
        A[j - 1][j - 1] = A[j - 1][j - 1] + joint.Ia
        i = joint.antecedent
        constant[i] += wrench_before(steps, constant[j])  # (23), (28)
        for k in linear[i]:
            linear[i][k] += wrench_before(steps, linear[j][k])  # (24), (25), (29), (30)
    return A, H


def wrench_of_acceleration(body: InertialParameters, acceleration: Screw) -> Wrench:
    """Wrench about the origin that gives a body at rest an acceleration: Khalil 2010, eqs. (10), (11)."""
    vd, wd = acceleration
    force = vec3.add(vec3.scale(body.M, vd), vec3.cross(wd, body.MS))
    return Wrench(force, vec3.add(mat3.mul_vec(body.J, wd), vec3.cross(body.MS, vd)))
