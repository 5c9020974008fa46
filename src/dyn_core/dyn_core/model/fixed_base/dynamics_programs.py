# SPDX-License-Identifier: Apache-2.0
"""Dynamics functions of a fixed-base robot as programs, and the algorithm of each.

`kinds` lists the functions, their inputs, and their algorithms. Algorithms take the n joints of the tree and
users the coordinates: mimic joints and passive joints of loops are expanded and gathered here, and traced
with the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from dyn_core.algorithms.base_parameters.determination import with_base_parameters
from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.direct_dynamics import (
    articulated_direct_dynamics,
    factorised_direct_dynamics,
)
from dyn_core.algorithms.dynamics.elastic_dynamics import (
    motor_motion,
    motors,
    spring_torques,
    with_spring_torques,
)
from dyn_core.algorithms.dynamics.newton_euler import (
    bias_torques,
    drive_torques,
    factorised,
    gravity_torques,
    inertia_and_bias,
    inertia_matrix,
    solved,
)
from dyn_core.algorithms.dynamics.regressors import regressor
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.model.builder import Algorithm, Kind, Source, Vector
from dyn_core.model.external_wrenches import exerted_by_bodies
from dyn_core.model.fixed_base.closed_loops import closed
from dyn_core.model.fixed_base.elastic_joints import LOADED, elastic_algorithms, rigid_and_elastic
from dyn_core.robot.dynamic_parameters import PER_JOINT, parametrised
from dyn_core.robot.joints import Friction, Sigma
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot, refuse_moving_base
from dyn_core.symbolic import vec3
from dyn_core.symbolic.elimination import dot
from dyn_core.symbolic.expression_graph import Expr, Graph
from dyn_core.symbolic.scalar import Scalar, is_zero

Method = Literal["auto", "mrnea"]
"""Which algorithm: the one with the fewest operations, or inertia matrix and bias torques in one pass."""

FEW = 4
"""Revolute joints in one path up to which the inertia matrix in one pass can have the fewest operations.

It had them in random trees with one or two, and in none of 479 with more; a long chain would take longer to
trace. Prismatic joints do not matter: behind one revolute joint it wins with any number.
"""


def with_terms(robot: Robot, friction: bool, rotor_inertia: bool) -> Robot:
    """Return the robot without friction, or without rotor inertia, if these are off."""
    joints = robot.joints
    if not friction:
        joints = tuple(replace(joint, friction=Friction()) for joint in joints)
    if not rotor_inertia:
        joints = tuple(replace(joint, Ia=0.0) for joint in joints)
    return replace(robot, joints=joints)


def with_passive_friction(robot: Robot) -> Robot:
    """Return the robot with the friction of the passive joints of its loops only."""
    joints = (
        joint
        if robot.loops and joint.mu == 0 and joint.mimic is None
        else replace(joint, friction=Friction())
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def grouped(robot: Robot, gravity_changes: bool) -> Robot:
    """Return the robot with base parameters, which give programs with fewer operations."""
    return with_base_parameters(robot, "tilted" if gravity_changes else "fixed")


def kinds(robot: Robot) -> dict[str, Kind]:
    """Return the functions of the model of a robot, by name."""
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
    n, count = robot.dof, len(motors(robot))
    algorithms = elastic_algorithms(robot, _inverse_dynamics)
    given = {"q": n, "qd": n, "qdd": len(rigid_and_elastic(robot)[0])}
    found = {
        "elastic_inverse_dynamics": Kind(algorithms, given, (n,)),
        LOADED: Kind(algorithms, given | {"extra": n}, (n,)),
        "spring_torques": Kind([_spring_torques], {"q": n, "qd": n}, (n,)),
    }
    if count == len(robot.elastic_joint_names):
        links = dict.fromkeys(("q", "qd", "qdd", "jerk", "snap"), n - count)
        found["motor_motion"] = Kind([_motor_motion], links, (3, count))
    return found


def _motor_motion(robot: Robot, q: Vector, qd: Vector, qdd: Vector, jerk: Vector, snap: Vector) -> Vector:
    return _flat(motor_motion(robot, q, qd, qdd, jerk, snap))


def traced(robot: Robot, name: str, method: Method = "auto") -> Program:
    """Return a function of the model of a robot as a program."""
    return traced_from(Source(robot), name, method)


def traced_from(source: Source[Robot], name: str, method: Method = "auto") -> Program:
    """Return the same from a source; with symbols for parameters it is yet to be staged."""
    robot = source.robot
    refuse_moving_base(robot, f"the function {name}", "compile_moving_base")
    kind = kinds(robot)[name]
    one_pass = kind.in_one_pass if method == "mrnea" else None
    programs = (
        trace(name, partial(algorithm, robot), kind.sizes, kind.shape, graph=source.graph)
        for algorithm in ([one_pass] if one_pass else kind.algorithms)
    )
    return source.cheapest(closed(robot, program) for program in programs)


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
    """Return the torques of wrenches that bodies 1 to n exert on the environment; w is a row of `packed`."""
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
    """Return the algorithms for direct dynamics that suit the robot."""
    if robot.loops or any(joint.mimic for joint in robot.joints):
        return [_coupled_direct_dynamics]
    return [_with_springs(articulated_direct_dynamics), _with_springs(factorised_direct_dynamics)]


def _with_springs(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm that takes the torques of the springs with the others (Khalil 2010, sec. 6.2)."""

    def direct_dynamics(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> Vector:
        springs = spring_torques(robot.joints, q, qd)
        torques = [a if is_zero(b) else a - b for a, b in zip(tau, springs, strict=True)]
        return algorithm(robot, q, qd, torques, robot.gravity_0, {})

    return direct_dynamics


def _coupled_direct_dynamics(robot: Robot, q: Vector, qd: Vector, tau: Vector) -> Vector:
    """Accelerations by the inertia matrix: the articulated recursion has no coupled joints or loops."""
    H = _bias_torques(robot, q, qd)
    at = configuration(robot, q)
    return accelerations(at.inertia(inertia_matrix(robot, at.q)), H, tau)


def accelerations(A: Sequence[Vector], H: Vector, tau: Vector) -> list[Scalar]:
    """Accelerations of ``A qdd + H = tau``."""
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
    return accelerations(*_in_one_pass(robot, q, qd), tau)


def _most_revolute(robot: Robot) -> int:
    """Return the largest number of revolute joints between the base and a link."""
    counts = [0]
    for joint in robot.joints:
        counts.append(counts[joint.antecedent] + (joint.sigma is Sigma.REVOLUTE))
    return max(counts)


def _flat(rows: Sequence[Vector]) -> Vector:
    return [value for row in rows for value in row]


def parameter_symbols(count: int) -> tuple[Graph, tuple[Expr, ...]]:
    """Return a graph with symbols for parameters, then gravity."""
    graph = Graph()
    return graph, tuple(graph.input(f"parameters[{k}]") for k in range(count + 3))


def symbolic_robot(robot: Robot) -> Source[Robot]:
    """Return a robot with symbols for its dynamic parameters and gravity; its geometry stays."""
    graph, symbols = parameter_symbols(len(robot.parameters))
    joints, bodies = parametrised(robot.joints, symbols[:-3])
    x, y, z = symbols[-3:]
    symbolic = replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies), gravity=(x, y, z))
    return Source(symbolic, graph, symbols)
