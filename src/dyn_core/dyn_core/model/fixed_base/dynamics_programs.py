# SPDX-License-Identifier: Apache-2.0
"""The functions of a model as programs: what each takes, and which algorithm it is traced from.

The algorithms know the n joints of the tree; users know the coordinates. Joints that mimic others, and
passive joints of loops, are expanded and gathered here, so that this is traced along with the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.elastic_dynamics import motor_motion, motors
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.articulated_dynamics import articulated_direct_dynamics
from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.factorised_dynamics import factorised_direct_dynamics
from dyn_core.dynamics.gravity_torques import gravity_torques
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.mrnea import inertia_and_bias
from dyn_core.dynamics.regressor import regressor
from dyn_core.dynamics.springs import spring_torques, with_spring_torques
from dyn_core.facade.closed import closed
from dyn_core.facade.elastic_programs import LOADED, elastic_algorithms, rigid_and_elastic
from dyn_core.facade.external import exerted_by_bodies
from dyn_core.facade.symbolic_robot import SymbolicRobot
from dyn_core.grouping.regroup import with_base_parameters
from dyn_core.linalg.vector import dot
from dyn_core.loops.coordinates import configuration
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.model.standard_parameters import PER_JOINT
from dyn_core.robot.joints import Friction, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar, is_zero

Vector = Sequence[Scalar]
Algorithm = Callable[..., Vector]
Method = Literal["auto", "mrnea"]
"""Which algorithm: the one with the fewest operations, or inertia matrix and bias torques in one pass."""

DIVISION = 4
"""What a division costs, in multiplications, where two algorithms are compared."""

FEW = 4
"""Revolute joints in one path up to which the inertia matrix in one pass can have the fewest operations.

It was found to have them in random trees with one or two, and in none of 479 with more; a long chain would
take longer to trace. Prismatic joints do not matter: behind one revolute joint it wins with any number.
"""


def with_terms(robot: Robot, friction: bool, rotor_inertia: bool) -> Robot:
    """Answer the robot that the model is made of: without friction, or rotors, if they are not wanted."""
    joints = robot.joints
    if not friction:
        joints = tuple(replace(joint, friction=Friction()) for joint in joints)
    if not rotor_inertia:
        joints = tuple(replace(joint, Ia=0.0) for joint in joints)
    return replace(robot, joints=joints)


def with_passive_friction(robot: Robot) -> Robot:
    """Answer the robot with no friction but that of the passive joints of its loops."""
    return replace(
        robot,
        joints=tuple(
            joint
            if robot.loops and joint.mu == 0 and joint.mimic is None
            else replace(joint, friction=Friction())
            for joint in robot.joints
        ),
    )


def grouped(robot: Robot, base_parameters: bool, gravity_changes: bool) -> Robot:
    """Answer the robot that programs are traced from: with base parameters, if they are wanted."""
    if not base_parameters:
        return robot
    return with_base_parameters(robot, "tilted" if gravity_changes else "fixed")


@dataclass(frozen=True)
class Kind:
    """A function of a model.

    Attributes:
        algorithms: what computes it; of several the one with the fewest operations is taken.
        sizes: length of each input, by name.
        shape: shape of the result for one sample.
        in_one_pass: what computes it by the modified Newton-Euler recursion, which is among the
            algorithms where joints are few; None where the recursion is of no use.
    """

    algorithms: Sequence[Algorithm]
    sizes: Mapping[str, int]
    shape: tuple[int, ...]
    in_one_pass: Algorithm | None = None


def kinds(robot: Robot) -> dict[str, Kind]:
    """Answer the functions of the model of a robot, by name."""
    n = robot.dof
    q, qd, qdd, tau = {"q": n}, {"qd": n}, {"qdd": n}, {"tau": n}
    bodies = len(robot.joints)

    def or_in_one_pass(algorithms: Sequence[Algorithm], one: Algorithm) -> Sequence[Algorithm]:
        return [*algorithms, one] if _most_revolute(robot) <= FEW else algorithms

    direct = or_in_one_pass(_direct_algorithms(robot), _direct_dynamics_in_one_pass)
    matrix = or_in_one_pass([_inertia_matrix], _inertia_matrix_in_one_pass)
    both = or_in_one_pass([_inertia_and_bias], _inertia_and_bias_in_one_pass)
    return {
        "inverse_dynamics": Kind([_inverse_dynamics], q | qd | qdd, (n,)),
        "forward_dynamics": Kind(direct, q | qd | tau, (n,), _direct_dynamics_in_one_pass),
        "inertia_matrix": Kind(matrix, q, (n, n), _inertia_matrix_in_one_pass),
        "inertia_and_bias": Kind(both, q | qd, (n + 1, n), _inertia_and_bias_in_one_pass),
        "regressor": Kind([_regressor], q | qd | qdd, (n, PER_JOINT * bodies)),
        "bias_torques": Kind([_bias_torques], q | qd, (n,)),
        "gravity_torques": Kind([_gravity_torques], q, (n,)),
        "coriolis_torques": Kind([_coriolis_torques], q | qd, (n,)),
        "inertial_torques": Kind([_inertial_torques], q | qdd, (n,)),
        "friction_torques": Kind([_friction_torques], qd | q if robot.loops else qd, (n,)),
        "external_torques": Kind([_external_torques], q | {"w": 6 * bodies}, (n,)),
        **(_elastic_kinds(robot) if robot.elastic_joint_names else {}),
    }


def _elastic_kinds(robot: Robot) -> dict[str, Kind]:
    n = robot.dof
    algorithms = elastic_algorithms(robot, _inverse_dynamics)
    given = {"q": n, "qd": n, "qdd": len(rigid_and_elastic(robot)[0])}
    return {
        "elastic_inverse_dynamics": Kind(algorithms, given, (n,)),
        LOADED: Kind(algorithms, given | {"extra": n}, (n,)),
        "spring_torques": Kind([_spring_torques], {"q": n, "qd": n}, (n,)),
        **(_motor_kind(robot) if len(motors(robot)) == len(robot.elastic_joint_names) else {}),
    }


def _motor_kind(robot: Robot) -> dict[str, Kind]:
    count = len(motors(robot))
    links = dict.fromkeys(("q", "qd", "qdd", "jerk", "snap"), robot.dof - count)
    return {"motor_motion": Kind([_motor_motion], links, (3, count))}


def _motor_motion(robot: Robot, q: Vector, qd: Vector, qdd: Vector, jerk: Vector, snap: Vector) -> Vector:
    return _flat(motor_motion(robot, q, qd, qdd, jerk, snap))


def traced(robot: Robot, name: str, documentation: str = "", method: Method = "auto") -> Program:
    """Answer a function of the model of a robot as a program."""
    return min(_candidates(robot, name, documentation, None, method), key=_cost)


def tunable(symbolic: SymbolicRobot, name: str, documentation: str = "", method: Method = "auto") -> Program:
    """Answer a function of the model of a robot whose parameters are symbols, yet to be staged.

    What depends on parameters alone costs nothing when a call does not compute it.
    """

    def cost(program: Program) -> int:
        return _cost(staged([program], symbolic.parameters)[1][0])

    return min(_candidates(symbolic.robot, name, documentation, symbolic.graph, method), key=cost)


def _candidates(
    robot: Robot, name: str, documentation: str, graph: Graph | None, method: Method
) -> Iterator[Program]:
    refuse_moving_base(robot, f"the function {name}", "compile_moving_base")
    kind = kinds(robot)[name]
    only = kind.in_one_pass if method == "mrnea" else None
    for algorithm in kind.algorithms if only is None else [only]:
        program = trace(name, partial(algorithm, robot), kind.sizes, kind.shape, documentation, graph)
        yield closed(robot, program)


def _cost(program: Program) -> int:
    counts = program.operation_counts
    return counts["mul"] + counts["add"] + DIVISION * counts["div"]


def _inverse_dynamics(robot: Robot, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Rigid bodies, friction, rotors and springs (Khalil 2010, eq. (31); with loops eq. (55))."""
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    rigid = newton_euler.inverse_dynamics(robot, at.q, rates, accelerations, robot.gravity_0, {})
    drives = drive_torques(robot.joints, rates, accelerations)
    torques = [a + b for a, b in zip(rigid, drives, strict=True)]
    return at.torques(with_spring_torques(robot.joints, torques, at.q, rates))


def _bias_torques(robot: Robot, q: Vector, qd: Vector) -> Vector:
    if robot.loops:  # accelerations of the passive joints are not 0 where those of the coordinates are
        return _inverse_dynamics(robot, q, qd, [0.0] * robot.dof)
    at = configuration(robot, q)
    rates = at.rates(qd)
    torques = bias_torques(robot, at.q, rates, robot.gravity_0, {})
    return at.torques(with_spring_torques(robot.joints, torques, at.q, rates))


def _spring_torques(robot: Robot, q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    return at.torques(spring_torques(robot.joints, at.q, at.rates(qd)))


def _gravity_torques(robot: Robot, q: Vector) -> Vector:
    at = configuration(robot, q)
    return at.torques(gravity_torques(robot, at.q, robot.gravity_0))


def _coriolis_torques(robot: Robot, q: Vector, qd: Vector) -> Vector:
    return _bias_torques(_bodies_and_rotors(robot), q, qd)


def _inertial_torques(robot: Robot, q: Vector, qdd: Vector) -> Vector:
    return _inverse_dynamics(_bodies_and_rotors(robot), q, [0.0] * robot.dof, qdd)


def _bodies_and_rotors(robot: Robot) -> Robot:
    """The robot without gravity, friction and springs."""
    joints = (replace(joint, friction=Friction(), elastic=None) for joint in robot.joints)
    return replace(robot, joints=tuple(joints), gravity=vec3.ZERO)


def _friction_torques(robot: Robot, qd: Vector, q: Vector = ()) -> Vector:
    """Friction of all joints; what passive joints of loops add depends on the positions, too."""
    at = configuration(robot, q or [0.0] * robot.dof)
    rates = at.rates(qd)
    return at.torques(drive_torques(robot.joints, rates, [0.0] * len(robot.joints)))


def _external_torques(robot: Robot, q: Vector, w: Vector) -> Vector:
    """What wrenches that the bodies 1 to n exert add to the torques.

    Of each `w` has the force and the moment in the frame of its child link, and about its origin.
    """
    massless = replace(robot, bodies=(InertialParameters(),) * len(robot.bodies))
    rest = [0.0] * len(robot.joints)
    at = configuration(robot, q)
    exerted = exerted_by_bodies(robot, w)
    return at.torques(newton_euler.inverse_dynamics(massless, at.q, rest, rest, vec3.ZERO, exerted))


def _inertia_matrix(robot: Robot, q: Vector) -> Vector:
    at = configuration(robot, q)
    return _flat(at.inertia(inertia_matrix(robot, at.q)))


def _regressor(robot: Robot, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    at = configuration(robot, q)
    rows = regressor(robot, at.q, at.rates(qd), at.accelerations(qd, qdd), robot.gravity_0)
    gathered = at.many_torques(list(zip(*rows, strict=True)))
    return _flat(list(zip(*gathered, strict=True)))


def _direct_algorithms(robot: Robot) -> list[Algorithm]:
    """The algorithms for direct dynamics that suit the robot, of which the cheapest is taken."""
    if robot.loops or any(joint.mimic for joint in robot.joints):
        return [_coupled_direct_dynamics]
    return [_with_springs(articulated_direct_dynamics), _with_springs(factorised_direct_dynamics)]


def _with_springs(algorithm: Algorithm) -> Algorithm:
    """An algorithm that is given the torques of the springs with the others (Khalil 2010, sec. 6.2)."""

    def direct_dynamics(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> Vector:
        springs = spring_torques(robot.joints, q, qd)
        torques = [a if is_zero(b) else a - b for a, b in zip(tau, springs, strict=True)]
        return algorithm(robot, q, qd, torques, robot.gravity_0, {})

    return direct_dynamics


def _coupled_direct_dynamics(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> Vector:
    """By the inertia matrix of the coordinates: the articulated recursion knows no coupling, nor loops."""
    H = _bias_torques(robot, q, qd)
    at = configuration(robot, q)
    A = at.inertia(inertia_matrix(robot, at.q))
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(len(A))]
    return solved(factorised(A, nonzero), [torque - bias for torque, bias in zip(tau, H, strict=True)])


def _inertia_and_bias(robot: Robot, q: Vector, qd: Vector) -> Vector:
    """The rows of A, then H."""
    return [*_inertia_matrix(robot, q), *_bias_torques(robot, q, qd)]


def _in_one_pass(robot: Robot, q: Vector, qd: Vector) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Inertia matrix and bias torques of the coordinates (Kvrgic-Vidakovic, eq. (34))."""
    at = configuration(robot, q)
    rates = at.rates(qd)
    A, H = inertia_and_bias(robot, at.q, rates, robot.gravity_0, {})
    H = with_spring_torques(robot.joints, H, at.q, rates)
    if robot.loops:  # accelerations of the passive joints are not 0 where those of the coordinates are
        own = at.accelerations(qd, [0.0] * robot.dof)
        H = [h + dot(row, own) for h, row in zip(H, A, strict=True)]
    return at.inertia(A), at.torques(H)


def _inertia_and_bias_in_one_pass(robot: Robot, q: Vector, qd: Vector) -> Vector:
    A, H = _in_one_pass(robot, q, qd)
    return [*_flat(A), *H]


def _inertia_matrix_in_one_pass(robot: Robot, q: Vector) -> Vector:
    return _flat(_in_one_pass(robot, q, [0.0] * robot.dof)[0])


def _direct_dynamics_in_one_pass(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> Vector:
    A, H = _in_one_pass(robot, q, qd)
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(len(A))]
    return solved(factorised(A, nonzero), [torque - bias for torque, bias in zip(tau, H, strict=True)])


def _most_revolute(robot: Robot) -> int:
    """Number of revolute joints between the base and the link that most of them carry."""
    counts = [0]
    for joint in robot.joints:
        counts.append(counts[joint.antecedent] + (joint.sigma is Sigma.REVOLUTE))
    return max(counts)


def _flat(rows: Sequence[Vector]) -> Vector:
    return [value for row in rows for value in row]
