# SPDX-License-Identifier: Apache-2.0
"""What belongs to one link or joint as programs: placements, Jacobians, motions, reactions."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.dynamics.newton_euler import joint_reactions
from dyn_core.algorithms.dynamics.wrenches import all_exerted
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.wrench import wrench_on_antecedent
from dyn_core.facade.closed import closed
from dyn_core.facade.external import exerted_by_bodies
from dyn_core.facade.loop_programs import reactions_of_cuts
from dyn_core.kinematics.jacobian import jacobian
from dyn_core.kinematics.link_acceleration import jacobian_rate_times_velocity, link_acceleration
from dyn_core.kinematics.link_velocity import link_velocity
from dyn_core.linalg.transform import inverse
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.mdh.direct_geometry import transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar

Vector = Sequence[Scalar]


def placement(robot: Robot, link: str, reference: str) -> Program:
    """Answer the placement of a link in the frame of another as a program of q: a 4 x 4 matrix."""
    frame, other = robot.link_frame(link), robot.link_frame(reference)

    def algorithm(q: Vector) -> Vector:
        R, p = transform_between(robot, configuration(robot, q).q, other, frame)
        return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]

    return closed(robot, trace("forward_kinematics", algorithm, {"q": robot.dof}, (4, 4)))


def link_jacobian(robot: Robot, link: str, expressed_in: str) -> Program:
    """Answer the Jacobian of the frame of a link as a program of q: 6 x n, [linear; angular]."""
    frame, axes = robot.link_frame(link), robot.link_frame(expressed_in)

    def algorithm(q: Vector) -> Vector:
        at = configuration(robot, q)
        rows = at.many_torques(jacobian(robot, at.q, frame, axes))
        return [value for row in rows for value in row]

    return closed(robot, trace("jacobian", algorithm, {"q": robot.dof}, (6, robot.dof)))


def velocity(robot: Robot, link: str, expressed_in: str) -> Program:
    """Answer the velocity of a link as a program of q and qd: [linear; angular]."""
    frame, axes = robot.link_frame(link), robot.link_frame(expressed_in)

    def algorithm(q: Vector, qd: Vector) -> Vector:
        at = configuration(robot, q)
        return link_velocity(robot, at.q, at.rates(qd), frame, axes).values

    return closed(robot, trace("link_velocity", algorithm, {"q": robot.dof, "qd": robot.dof}, (6,)))


def acceleration(robot: Robot, link: str, expressed_in: str) -> Program:
    """Answer the acceleration of a link as a program of q, qd and qdd: [linear; angular]."""
    frame, axes = robot.link_frame(link), robot.link_frame(expressed_in)

    def algorithm(q: Vector, qd: Vector, qdd: Vector) -> Vector:
        at = configuration(robot, q)
        rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
        return link_acceleration(robot, at.q, rates, accelerations, frame, axes).values

    n = robot.dof
    return closed(robot, trace("link_acceleration", algorithm, {"q": n, "qd": n, "qdd": n}, (6,)))


def acceleration_bias(robot: Robot, link: str, expressed_in: str) -> Program:
    """Answer J-dot qd of a link as a program of q and qd: [linear; angular]."""
    frame, axes = robot.link_frame(link), robot.link_frame(expressed_in)

    def algorithm(q: Vector, qd: Vector) -> Vector:
        if robot.loops:  # accelerations of the passive joints are not 0 where those of the coordinates are
            at = configuration(robot, q)
            rates, rest = at.rates(qd), at.accelerations(qd, [0.0] * robot.dof)
            return link_acceleration(robot, at.q, rates, rest, frame, axes).values
        at = configuration(robot, q)
        return jacobian_rate_times_velocity(robot, at.q, at.rates(qd), frame, axes).values

    return closed(robot, trace("jacobian_dot_qd", algorithm, {"q": robot.dof, "qd": robot.dof}, (6,)))


def reaction(robot: Robot, joint: str, graph: Graph | None) -> Program:
    """Answer the wrench through a joint as a program of q, qd, qdd and `packed` wrenches.

    It is the wrench of the antecedent on the child link, in the frame of that link and about its
    origin: [force; moment].
    """
    j = [of_tree.name for of_tree in robot.joints].index(robot.joint(joint).name) + 1
    T_link_body = inverse(robot.child_links[j - 1].T_body_link)

    def algorithm(q: Vector, qd: Vector, qdd: Vector, w: Vector) -> Vector:
        at = configuration(robot, q)
        rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
        external = exerted_by_bodies(robot, w)
        exerted = all_exerted(reactions_of_cuts(robot, q, qd, qdd, external), external)
        wrenches = joint_reactions(robot, at.q, rates, accelerations, robot.gravity_0, exerted)
        return wrench_on_antecedent(T_link_body, wrenches[j]).values

    n = robot.dof
    sizes = {"q": n, "qd": n, "qdd": n, "w": 6 * len(robot.joints)}
    return closed(robot, trace("reaction_wrench", algorithm, sizes, (6,), graph=graph))
