# SPDX-License-Identifier: Apache-2.0
"""Direct dynamics of a robot with a free base (Khalil 2010, sec. 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.dynamics.direct_dynamics import ArticulatedInertia
from dyn_core.algorithms.dynamics.free_base import combined, generalised
from dyn_core.algorithms.dynamics.newton_euler import link_wrenches
from dyn_core.algorithms.link_motion import LinkMotion, link_motions
from dyn_core.dynamics.articulated_dynamics import articulated, joint_accelerations
from dyn_core.dynamics.drive import friction_torque
from dyn_core.dynamics.factorisation import carriers, factorised, solved
from dyn_core.dynamics.free_base import FreeMotion, Vector, composite_wrenches, symmetric
from dyn_core.dynamics.free_base_inertia import free_base_inertia
from dyn_core.dynamics.wrench import Wrench
from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import is_zero
from dyn_core.symbolic.screw import Screw


def articulated_free_base(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Vector,
    qd: Vector,
    torques: Vector,
    forces: Vector,
) -> FreeMotion:
    """Accelerations of base and joints by the articulated recursion: Khalil 2010, eqs. (101) to (112).

    Args:
        robot: the robot, a tree on its base.
        freedoms: screws in frame 0 along which the base is free.
        base: motion of the base while it accelerates along none of them.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        torques: n torques of the actuators (N m or N).
        forces: forces on the base along its freedoms (N, N m).
    """
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), base)
    needed = link_wrenches(robot, motions, {})  # (102)
    tree = articulated(robot, placements, qd, torques, needed, with_base=True)  # (103) to (108)
    wrenches = [_wrench_of_acceleration(tree.inertia, freedom) for freedom in freedoms]
    A = symmetric([generalised(freedoms[: k + 1], wrench) for k, wrench in enumerate(wrenches)])
    surplus = [f - x for f, x in zip(forces, generalised(freedoms, tree.wrench), strict=True)]
    amounts = solved(factorised(A, [range(k) for k in range(len(A))]), surplus)  # (109)
    added = combined(freedoms, amounts)
    accelerations = joint_accelerations(robot, placements, tree.handles, added)  # (110), (112)
    return FreeMotion(added, amounts, accelerations)


def factorised_free_base(
    robot: Robot,
    freedoms: Sequence[Screw],
    base: LinkMotion,
    q: Vector,
    qd: Vector,
    torques: Vector,
    forces: Vector,
) -> FreeMotion:
    """The same by the inertia matrix of base and joints: Khalil 2010, eq. (88)."""
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), base)
    needed = composite_wrenches(robot, placements, motions)
    friction = [friction_torque(joint.friction, rate) for joint, rate in zip(robot.joints, qd, strict=True)]
    H = [wrench.along(joint.sigma) for joint, wrench in zip(robot.joints, needed[1:], strict=True)]
    surplus = [
        *(f - x for f, x in zip(forces, generalised(freedoms, needed[0]), strict=True)),
        *(tau - (h + f) for tau, h, f in zip(torques, H, friction, strict=True)),
    ]
    A = free_base_inertia(robot, freedoms, placements)
    k = len(freedoms)
    nonzero = [[i for i in range(row) if not is_zero(A[row][i])] for row in range(k)]
    nonzero += [[*range(k), *(k + i for i in before)] for before in carriers(robot)]
    x = solved(factorised(A, nonzero), surplus)
    return FreeMotion(combined(freedoms, x[:k]), x[:k], x[k:])


def _wrench_of_acceleration(inertia: ArticulatedInertia, acceleration: Screw) -> Wrench:
    """Product of an articulated inertia and an acceleration: Khalil 2010, eq. (36)."""
    A, B, C = inertia
    linear, angular = acceleration
    force = vec3.add(mat3.mul_vec(A, linear), mat3.mul_vec(B, angular))
    moment = vec3.add(mat3.mul_vec(mat3.transpose(B), linear), mat3.mul_vec(C, angular))
    return Wrench(force, moment)
