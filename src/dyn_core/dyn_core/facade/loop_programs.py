# SPDX-License-Identifier: Apache-2.0
"""What belongs to the loops of a robot as programs: passive joints, their constraints, cut joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.wrenches import CutWrench, cut_wrenches
from dyn_core.algorithms.loops.loop_structure import whole_structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.facade.closed import closed
from dyn_core.facade.external import exerted_by_bodies
from dyn_core.linalg.transform import Transform, compose
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar

Vector = Sequence[Scalar]


def passive_positions(robot: Robot) -> Program:
    """Answer the positions of the passive joints as a program of q."""

    def algorithm(q: Vector) -> Vector:
        return _passive(robot, configuration(robot, q).q)

    return _program(robot, "passive_positions", algorithm, ("q",))


def passive_velocities(robot: Robot) -> Program:
    """Answer the velocities of the passive joints as a program of q and qd."""

    def algorithm(q: Vector, qd: Vector) -> Vector:
        return _passive(robot, configuration(robot, q).rates(qd))

    return _program(robot, "passive_velocities", algorithm, ("q", "qd"))


def passive_accelerations(robot: Robot) -> Program:
    """Answer the accelerations of the passive joints as a program of q, qd and qdd."""

    def algorithm(q: Vector, qd: Vector, qdd: Vector) -> Vector:
        return _passive(robot, configuration(robot, q).accelerations(qd, qdd))

    return _program(robot, "passive_accelerations", algorithm, ("q", "qd", "qdd"))


def passive_matrix(robot: Robot) -> Program:
    """Answer the matrix W_p of the constraints of all passive joints as a program of q."""
    found = whole_structure(robot)

    def algorithm(q: Vector) -> Vector:
        position = dict(enumerate(configuration(robot, q).q, start=1))
        x = [position[j] for j in found.unknown]
        rows = Passive(robot, found, [position[j] for j in robot.coordinates], x).matrix()
        return [value for row in rows for value in row]

    shape = (len(found.rows), len(found.unknown))
    return closed(robot, trace("passive_matrix", algorithm, {"q": robot.dof}, shape))


def cut_reaction(robot: Robot, loop: str, graph: Graph | None) -> Program:
    """Answer the wrench through a cut joint as a program of q, qd, qdd and `packed` wrenches.

    It is the wrench of the parent's side on the child's, in the child's cut frame and about its origin:
    [force; moment].
    """
    number = [each.name for each in robot.loops].index(loop)
    end = robot.loops[number].child
    T_body_cut = compose(robot.link_frame(end.link).T_body_link, end.T_link_cut)

    def algorithm(q: Vector, qd: Vector, qdd: Vector, w: Vector) -> Vector:
        wrench = reactions_of_cuts(robot, q, qd, qdd, exerted_by_bodies(robot, w))[number]
        R_cut_C = mat3.mul(mat3.transpose(T_body_cut.R), wrench.cut.C.T_body_link.R)
        return wrench_on_antecedent(Transform(R_cut_C, vec3.ZERO), wrench.in_C).values

    n = robot.dof
    sizes = {"q": n, "qd": n, "qdd": n, "w": 6 * len(robot.joints)}
    return closed(robot, trace("reaction_wrench", algorithm, sizes, (6,), graph=graph))


def reactions_of_cuts(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, external: dict[int, Wrench]
) -> list[CutWrench]:
    """Wrenches through the cut joints of a robot; none where it has no loops."""
    if not robot.loops:
        return []
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    rigid = newton_euler.inverse_dynamics(robot, at.q, rates, accelerations, robot.gravity_0, external)
    drives = drive_torques(robot.joints, rates, accelerations)
    return cut_wrenches(robot, at.q, [a + b for a, b in zip(rigid, drives, strict=True)])


def _passive(robot: Robot, values: Vector) -> list[Scalar]:
    pairs = enumerate(robot.joints, start=1)
    return [values[j - 1] for j, joint in pairs if joint.mimic is None and joint.mu == 0]


def _program(robot: Robot, name: str, algorithm: Callable[..., Vector], inputs: Sequence[str]) -> Program:
    sizes = dict.fromkeys(inputs, robot.dof)
    count = len(robot.passive_joint_names)
    return closed(robot, trace(name, algorithm, sizes, (count,)))
