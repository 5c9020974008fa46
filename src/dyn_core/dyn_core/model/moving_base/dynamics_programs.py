# SPDX-License-Identifier: Apache-2.0
"""The functions of the model of a robot with a moving base as programs.

The inputs are the pose of the base, its velocity V and acceleration Vd, forces F on it, and joint vectors.
The results are one row: what belongs to the base, then what belongs to the joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dyn_core.algorithms.dynamics.free_base import (
    UNITS,
    base_motion,
    freedoms_at_0,
    numbers_of,
    screw_at_0,
    screw_at_link,
    twist_of,
)
from dyn_core.algorithms.dynamics.newton_euler import link_wrenches
from dyn_core.algorithms.link_motion import LinkMotion, link_motions
from dyn_core.codegen.staging import staged
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.articulated_dynamics import articulated, joint_accelerations
from dyn_core.dynamics.drive import drive_torques
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.dynamics.free_base import FreeMotion, composite_wrenches, free_inverse_dynamics
from dyn_core.dynamics.free_base_direct import articulated_free_base, factorised_free_base
from dyn_core.dynamics.free_base_inertia import free_base_inertia
from dyn_core.dynamics.momentum import momentum
from dyn_core.dynamics.wrench import Wrench, wrench_before, wrench_on_antecedent
from dyn_core.geometry.base_placement import base_placement
from dyn_core.geometry.joint_placement import JointPlacement, joint_placement
from dyn_core.linalg.quaternion import squared_length
from dyn_core.loops.coordinates import Configuration, configuration
from dyn_core.model.fixed_base.dynamics_programs import DIVISION, with_terms
from dyn_core.model.moving_base.moving_base import MovingBase, base_body
from dyn_core.model.standard_parameters import INERTIAL, parametrised
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.expression_graph import Expr, Graph
from dyn_core.symbolic.scalar import Scalar, is_zero, larger
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.vec3 import Vec3

Vector = Sequence[Scalar]
Algorithm = Callable[..., Vector]
Guard = Callable[..., Vector]
"""Takes an algorithm, the robot and its base, a pose and the other inputs, and answers the results."""

UNIT = 1e-3
"""How far from 1 the length of a quaternion may be: what single precision and printed digits leave."""


@dataclass(frozen=True)
class BaseFunction:
    """A function of the model of a robot with a moving base.

    Attributes:
        algorithms: what computes it; of several the one with the fewest operations is taken.
        inputs: names of its inputs.
        shape: shape of the result for one sample.
    """

    algorithms: Sequence[Algorithm]
    inputs: tuple[str, ...]
    shape: tuple[int, ...]


def input_sizes(base: MovingBase) -> dict[str, int]:
    """Length of each input, by name."""
    n, k = base.robot.dof, base.freedom
    bodies = len(base.robot.bodies)
    return {
        "pose": base.pose_size,
        "V": k,
        "Vd": k,
        "F": k,
        "momentum": 6,
        "q": n,
        "qd": n,
        "qdd": n,
        "tau": n,
        "w": 6 * bodies,
    }


def base_kinds(base: MovingBase) -> dict[str, BaseFunction]:
    """Answer the functions of the model of a robot with a moving base, by name."""
    k, n = base.freedom, base.robot.dof
    row, kind = (k + n,), BaseFunction
    direct = direct_algorithms(base)
    given = [_given_direct_coupled] if is_coupled(base) else [_given_direct]
    found = {
        "inverse_dynamics_given_base": kind([_given_inverse], ("pose", "V", "Vd", "q", "qd", "qdd"), row),
        "forward_dynamics_given_base": kind(given, ("pose", "V", "Vd", "q", "qd", "tau"), row),
        "inertia_matrix": kind([_inertia_matrix], ("q",), (k + n, k + n)),
        "bias_forces": kind([_bias_forces], ("pose", "V", "q", "qd"), row),
        "external_forces": kind([_external_forces], ("q", "w"), row),
        "momentum": kind([_momentum], ("pose", "V", "q", "qd"), (6,)),
        "centre_of_mass": kind([_centre_of_mass], ("pose", "q"), (3,)),
        "energy": kind([_energy], ("pose", "V", "q", "qd"), (2,)),
    }
    if base.kind == "given":
        return found
    return {
        "inverse_dynamics": kind([_inverse], ("pose", "V", "q", "qd", "qdd"), row),
        "forward_dynamics": kind(direct, ("pose", "V", "q", "qd", "tau"), row),
        "pushed_inverse_dynamics": kind([_inverse], ("pose", "V", "q", "qd", "qdd", "F"), row),
        "pushed_forward_dynamics": kind(direct, ("pose", "V", "q", "qd", "tau", "F"), row),
        **found,
    }


def is_coupled(base: MovingBase) -> bool:
    """Whether joints mimic others."""
    return any(joint.mimic for joint in base.robot.joints)


def direct_algorithms(base: MovingBase) -> list[Algorithm]:
    """The algorithms for direct dynamics that suit the robot, of pose, V, q, qd, tau and F."""
    return (
        [_coupled_direct]
        if is_coupled(base)
        else [partial(_direct, by) for by in (articulated_free_base, factorised_free_base)]
    )


def base_program(
    base: MovingBase,
    name: str,
    documentation: str = "",
    graph: Graph | None = None,
    parameters: tuple[Expr, ...] = (),
    guard: Guard | None = None,
) -> Program:
    """Answer a function of the model as a program.

    Args:
        base: the robot and its base.
        name: name of the function.
        documentation: signature and text that `help` shows.
        graph: the graph of other symbols of the robot; None where there are none.
        parameters: those symbols; what depends on them alone costs nothing.
        guard: what becomes of the results where a quaternion is not of length 1; by default the first is NaN.
    """
    kind = base_kinds(base)[name]
    sizes = input_sizes(base)

    guarded = base.kind != "planar" and "pose" in kind.inputs

    def candidates() -> Iterator[Program]:
        for algorithm in kind.algorithms:
            chosen = partial(guard or _guarded, algorithm, base) if guarded else partial(algorithm, base)
            taken = {key: sizes[key] for key in kind.inputs}
            program = trace(name, chosen, taken, kind.shape, documentation, graph)
            yield replace(program, guarded=int(guarded))

    def cost(program: Program) -> int:
        counted = staged([program], parameters)[1][0] if parameters else program
        counts = counted.operation_counts
        return counts["mul"] + counts["add"] + DIVISION * counts["div"]

    return min(candidates(), key=cost)


@dataclass(frozen=True)
class SymbolicBase:
    """A robot with a moving base, of symbols.

    Attributes:
        base: the robot and its base.
        graph: the graph of its symbols.
        parameters: the symbols: `MovingBase.parameters`, then the three components of gravity.
    """

    base: MovingBase
    graph: Graph
    parameters: tuple[Expr, ...]


def symbolic_base(base: MovingBase) -> SymbolicBase:
    """Answer a robot with symbols for its dynamic parameters and gravity; its geometry stays."""
    graph = Graph()
    symbols = tuple(graph.input(f"parameters[{k}]") for k in range(len(base.parameters) + 3))
    return SymbolicBase(with_base_parameters(base, symbols[:-3], symbols[-3:]), graph, symbols)


def with_base_parameters(base: MovingBase, values: Sequence[Scalar], gravity: Sequence[Scalar]) -> MovingBase:
    """Answer the same with other dynamic parameters and gravity."""
    joints, bodies = parametrised(base.robot.joints, values[len(INERTIAL) :])
    x, y, z = gravity
    robot = replace(base.robot, joints=joints, bodies=(base_body(tuple(values)), *bodies), gravity=(x, y, z))
    return replace(base, robot=robot)


def with_base_terms(base: MovingBase, friction: bool, rotor_inertia: bool) -> MovingBase:
    """Answer what the model is made of: without friction, or rotors, if they are not wanted."""
    return replace(base, robot=with_terms(base.robot, friction, rotor_inertia))


def _guarded(algorithm: Algorithm, base: MovingBase, pose: Vector, *others: Vector) -> Vector:
    """Results, of which the first is NaN where the quaternion of the pose is not of length 1."""
    first, *results = algorithm(base, pose, *others)
    return [larger(off_unit(pose), 2.0 * UNIT, math.nan, first), *results]


def off_unit(pose: Vector) -> Scalar:
    """How far the squared length of the quaternion of a pose is from 1; 2 `UNIT` is the most."""
    x, y, z, w = pose[3:]
    return abs(squared_length((x, y, z, w)) - 1.0)


def gravity_at_base(base: MovingBase, pose: Vector) -> Vec3:
    """Acceleration of gravity on the axes of the link of the base (m/s^2)."""
    return mat3.mul_vec(mat3.transpose(base_placement(base, pose).R), base.robot.gravity)


def _unaccelerated(base: MovingBase, pose: Vector, V: Vector) -> tuple[LinkMotion, Vec3]:
    """Motion of frame 0 that the freedoms of the base are added to, and what is added to its acceleration.

    A base that moves in all ways falls with gravity, which then no joint feels; a planar base is held
    against it.
    """
    g = gravity_at_base(base, pose)
    felt = vec3.neg(g) if base.kind == "planar" else vec3.ZERO
    falls = vec3.ZERO if base.kind == "planar" else g
    start = base_motion(base.robot.T_root_0, twist_of(base, V).angular, Screw(felt, vec3.ZERO))
    return start, falls


def _felt(base: MovingBase, pose: Vector, V: Vector, Vd: Vector) -> LinkMotion:
    """Motion of frame 0 whose acceleration is given, less gravity."""
    linear, angular = twist_of(base, Vd)
    felt = vec3.sub(linear, gravity_at_base(base, pose))
    return base_motion(base.robot.T_root_0, twist_of(base, V).angular, Screw(felt, angular))


def _of_base(base: MovingBase, moved: FreeMotion, falls: Vec3) -> Vector:
    """Acceleration of the base as its link has it."""
    if base.kind == "planar":
        return moved.amounts
    linear, angular = screw_at_link(base.robot.T_root_0, moved.added)
    return [*vec3.add(linear, falls), *angular]


def _forces_at_0(base: MovingBase, F: Vector) -> Vector:
    """Forces along the freedoms in frame 0 of what is given along those of the link."""
    if base.kind == "planar":
        return F or [0.0] * 3
    if not F:
        return [0.0] * 6
    R_back = mat3.transpose(base.robot.T_root_0.R)
    force, moment = (F[0], F[1], F[2]), (F[3], F[4], F[5])
    moment = vec3.sub(moment, vec3.cross(base.robot.T_root_0.p, force))
    return [*mat3.mul_vec(R_back, moment), *mat3.mul_vec(R_back, force)]


def _inverse(
    base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector, qdd: Vector, F: Vector = ()
) -> Vector:
    """Khalil 2010, sec. 7.2."""
    robot = base.robot
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    start, falls = _unaccelerated(base, pose, V)
    moved = free_inverse_dynamics(
        robot, freedoms_at_0(base), start, at.q, rates, accelerations, _forces_at_0(base, F)
    )
    drives = drive_torques(robot.joints, rates, accelerations)
    torques = at.torques([a + b for a, b in zip(moved.torques, drives, strict=True)])
    return [*_of_base(base, moved, falls), *torques]


def _direct(
    by: Callable[..., FreeMotion],
    base: MovingBase,
    pose: Vector,
    V: Vector,
    q: Vector,
    qd: Vector,
    tau: Vector,
    F: Vector = (),
) -> Vector:
    """Khalil 2010, sec. 7.3, by its recursions, or by eq. (88)."""
    start, falls = _unaccelerated(base, pose, V)
    moved = by(base.robot, freedoms_at_0(base), start, q, qd, tau, _forces_at_0(base, F))
    return [*_of_base(base, moved, falls), *moved.torques]


def _coupled_direct(
    base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector, tau: Vector, F: Vector = ()
) -> Vector:
    """The same where joints mimic others, which the recursions do not know."""
    H = _bias_forces(base, pose, V, q, qd)
    A = coordinate_inertia(base, q)
    known = [*(F or [0.0] * base.freedom), *tau]
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(len(A))]
    return solved(factorised(A, nonzero), [x - h for x, h in zip(known, H, strict=True)])


def _given_inverse(
    base: MovingBase, pose: Vector, V: Vector, Vd: Vector, q: Vector, qd: Vector, qdd: Vector
) -> Vector:
    """Wrench on a base whose motion is given, and torques."""
    robot = base.robot
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    placements = _placements(base, at)
    motions = link_motions(robot, placements, rates, accelerations, _felt(base, pose, V, Vd))
    wrenches = composite_wrenches(robot, placements, motions)
    pairs = zip(robot.joints, wrenches[1:], strict=True)
    rigid = [wrench.along(joint.sigma) for joint, wrench in pairs]
    drives = drive_torques(robot.joints, rates, accelerations)
    torques = at.torques([a + b for a, b in zip(rigid, drives, strict=True)])
    return [*_wrench_at_link(base, wrenches[0]), *torques]


def _wrench_at_link(base: MovingBase, wrench: Wrench) -> list[Scalar]:
    return numbers_of(base, wrench_on_antecedent(base.robot.T_root_0, wrench))


def _given_direct(
    base: MovingBase, pose: Vector, V: Vector, Vd: Vector, q: Vector, qd: Vector, tau: Vector
) -> Vector:
    """Wrench on a base whose motion is given, and accelerations of the joints."""
    robot = base.robot
    placements = [joint_placement(joint, q_j) for joint, q_j in zip(robot.joints, q, strict=True)]
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), _felt(base, pose, V, Vd))
    needed = link_wrenches(robot, motions, {})
    tree = articulated(robot, placements, qd, tau, needed, with_base=True)
    return [
        *_wrench_at_link(base, tree.wrench),
        *joint_accelerations(robot, placements, tree.handles, screw.ZERO),
    ]


def _given_direct_coupled(
    base: MovingBase, pose: Vector, V: Vector, Vd: Vector, q: Vector, qd: Vector, tau: Vector
) -> Vector:
    """The same where joints mimic others: of the equations those of the joints are solved first."""
    k = base.freedom
    H = _given_inverse(base, pose, V, Vd, q, qd, [0.0] * base.robot.dof)
    A = coordinate_inertia(base, q)
    of_joints = [row[k:] for row in A[k:]]
    nonzero = [[i for i in range(j) if not is_zero(of_joints[j][i])] for j in range(len(of_joints))]
    qdd = solved(factorised(of_joints, nonzero), [x - h for x, h in zip(tau, H[k:], strict=True)])
    coupling = [[a * x for a, x in zip(row[k:], qdd, strict=True)] for row in A[:k]]
    return [*(_sum([h, *terms]) for h, terms in zip(H[:k], coupling, strict=True)), *qdd]


def _placements(base: MovingBase, at: Configuration) -> list[JointPlacement]:
    return [joint_placement(joint, q_j) for joint, q_j in zip(base.robot.joints, at.q, strict=True)]


def _bias_forces(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """H of Khalil 2010, eq. (83)."""
    return _given_inverse(base, pose, V, [0.0] * base.freedom, q, qd, [0.0] * base.robot.dof)


def coordinate_inertia(base: MovingBase, q: Vector) -> list[list[Scalar]]:
    """A of Khalil 2010, eq. (84), in the velocities of the base's link and of the coordinates."""
    at = configuration(base.robot, q)
    k = base.freedom
    screws = _freedoms_of_link(base)
    A = free_base_inertia(base.robot, screws, _placements(base, at))
    of_joints = at.inertia([row[k:] for row in A[k:]])
    across = at.many_torques([row[k:] for row in A[:k]])
    top = [[*A[i][:k], *across[i]] for i in range(k)]
    return [*top, *([*(across[i][j] for i in range(k)), *row] for j, row in enumerate(of_joints))]


def _freedoms_of_link(base: MovingBase) -> list[Screw]:
    """Screws in frame 0 of the components of a velocity of the base, as its link has them."""
    if base.kind == "planar":
        return list(freedoms_at_0(base))
    units = [*(Screw(unit, vec3.ZERO) for unit in UNITS), *(Screw(vec3.ZERO, unit) for unit in UNITS)]
    return [screw_at_0(base.robot.T_root_0, unit) for unit in units]


def _inertia_matrix(base: MovingBase, q: Vector) -> Vector:
    """A of Khalil 2010, eq. (84)."""
    return [value for row in coordinate_inertia(base, q) for value in row]


def _external_forces(base: MovingBase, q: Vector, w: Vector) -> Vector:
    """What wrenches that bodies exert have to be given by forces on the base and torques.

    Of each body `w` has the force and the moment in the frame of its first link, and about its origin.
    """
    robot = base.robot
    at = configuration(robot, q)
    placements = _placements(base, at)
    wrenches = []
    for link, start in zip((base.link, *robot.child_links), range(0, len(w), 6), strict=True):
        fx, fy, fz, mx, my, mz = w[start : start + 6]
        wrenches.append(wrench_on_antecedent(link.T_body_link, Wrench((fx, fy, fz), (mx, my, mz))))
    for j in range(len(robot.joints), 0, -1):
        i = robot.joints[j - 1].antecedent
        wrenches[i] = wrenches[i] + wrench_before(placements[j - 1].steps, wrenches[j])
    pairs = zip(robot.joints, wrenches[1:], strict=True)
    torques = at.torques([wrench.along(joint.sigma) for joint, wrench in pairs])
    return [*_wrench_at_link(base, wrenches[0]), *torques]


def _momentum(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """Linear momentum, and angular momentum about the centre of mass, on the axes of the world."""
    at = configuration(base.robot, q)
    v_0 = screw_at_0(base.robot.T_root_0, twist_of(base, V))
    of_robot = momentum(base.robot, _placements(base, at), v_0, at.rates(qd))
    R = mat3.mul(base_placement(base, pose).R, base.robot.T_root_0.R)
    return [*mat3.mul_vec(R, of_robot.at_0.force), *mat3.mul_vec(R, of_robot.angular)]


def _centre_of_mass(base: MovingBase, pose: Vector, q: Vector) -> Vector:
    """Centre of mass in the world."""
    at = configuration(base.robot, q)
    rest = [0.0] * len(base.robot.joints)
    of_robot = momentum(base.robot, _placements(base, at), screw.ZERO, rest)
    return _centre_in_world(base, pose, of_robot.centre)


def _centre_in_world(base: MovingBase, pose: Vector, centre: Vec3) -> list[Scalar]:
    R, p = base_placement(base, pose)
    R_0, p_0 = base.robot.T_root_0
    in_link = vec3.add(mat3.mul_vec(R_0, centre), p_0)
    return list(vec3.add(mat3.mul_vec(R, in_link), p))


def _energy(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """Kinetic energy, with that of the rotors, and potential energy."""
    at = configuration(base.robot, q)
    rates = at.rates(qd)
    v_0 = screw_at_0(base.robot.T_root_0, twist_of(base, V))
    of_robot = momentum(base.robot, _placements(base, at), v_0, rates)
    rotors = _sum(
        [0.5 * joint.Ia * rate * rate for joint, rate in zip(base.robot.joints, rates, strict=True)]
    )
    centre = _centre_in_world(base, pose, of_robot.centre)
    height = vec3.dot((centre[0], centre[1], centre[2]), base.robot.gravity)
    return [of_robot.kinetic + rotors, -(of_robot.mass * height)]


def _sum(terms: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total
