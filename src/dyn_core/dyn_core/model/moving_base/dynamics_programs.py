# SPDX-License-Identifier: Apache-2.0
"""Dynamics functions of a robot with a moving base as programs.

The inputs are the pose of the base, its velocity V and acceleration Vd, forces F on it, and joint vectors.
The results are one row: the base first, then the joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from dyn_core.algorithms.dynamics.direct_dynamics import articulated, joint_accelerations
from dyn_core.algorithms.dynamics.free_base import (
    UNITS,
    FreeMotion,
    Momentum,
    articulated_free_base,
    base_motion,
    composite_wrenches,
    factorised_free_base,
    free_inverse_dynamics,
    freedoms_at_0,
    momentum,
    numbers_of,
    screw_at_0,
    screw_at_link,
    twist_of,
)
from dyn_core.algorithms.dynamics.newton_euler import (
    drive_torques,
    free_base_inertia,
    link_wrenches,
)
from dyn_core.algorithms.dynamics.wrenches import Wrench, wrench_before, wrench_on_antecedent
from dyn_core.algorithms.link_motion import LinkMotion, link_motions
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.model.builder import Algorithm, Kind, Source, Vector
from dyn_core.model.external_wrenches import link_wrench_on
from dyn_core.model.fixed_base.dynamics_programs import accelerations as solved_accelerations
from dyn_core.model.fixed_base.dynamics_programs import parameter_symbols, with_terms
from dyn_core.robot.dynamic_parameters import INERTIAL, parametrised
from dyn_core.robot.mdh.direct_geometry import JointPlacement, joint_placement
from dyn_core.robot.moving_base import MovingBase, base_body, base_placement
from dyn_core.symbolic import mat3, screw, vec3
from dyn_core.symbolic.scalar import Scalar, larger
from dyn_core.symbolic.screw import Screw
from dyn_core.symbolic.transform import squared_length
from dyn_core.symbolic.vec3 import Vec3

Guard = Callable[..., Vector]
"""Takes an algorithm, the robot and its base, a pose and the other inputs; returns results."""

UNIT = 1e-3
"""Allowed deviation of the length of a quaternion from 1, by single precision and printed digits."""


def input_sizes(base: MovingBase) -> dict[str, int]:
    """Length of each input, by name."""
    of_base = dict.fromkeys(("V", "Vd", "F"), base.freedom)
    of_joints = dict.fromkeys(("q", "qd", "qdd", "tau"), base.robot.dof)
    sizes = {"pose": base.pose_size, "momentum": 6, "w": 6 * len(base.robot.bodies)}
    return sizes | of_base | of_joints


def base_kinds(base: MovingBase) -> dict[str, Kind]:
    """Return the functions of the model, by name."""
    k, n = base.freedom, base.robot.dof
    row, sizes = (k + n,), input_sizes(base)

    def kind(algorithms: Sequence[Algorithm], inputs: str, shape: tuple[int, ...]) -> Kind:
        return Kind(algorithms, {name: sizes[name] for name in inputs.split()}, shape)

    direct = direct_algorithms(base)
    given = [_given_direct_coupled] if is_coupled(base) else [_given_direct]
    found = {
        "inverse_dynamics_given_base": kind([_given_inverse], "pose V Vd q qd qdd", row),
        "forward_dynamics_given_base": kind(given, "pose V Vd q qd tau", row),
        "inertia_matrix": kind([_inertia_matrix], "q", (k + n, k + n)),
        "bias_forces": kind([_bias_forces], "pose V q qd", row),
        "external_forces": kind([_external_forces], "q w", row),
        "momentum": kind([_momentum], "pose V q qd", (6,)),
        "centre_of_mass": kind([_centre_of_mass], "pose q", (3,)),
        "energy": kind([_energy], "pose V q qd", (2,)),
    }
    if base.kind == "given":
        return found
    return {
        "inverse_dynamics": kind([_inverse], "pose V q qd qdd", row),
        "forward_dynamics": kind(direct, "pose V q qd tau", row),
        "pushed_inverse_dynamics": kind([_inverse], "pose V q qd qdd F", row),
        "pushed_forward_dynamics": kind(direct, "pose V q qd tau F", row),
        **found,
    }


def is_coupled(base: MovingBase) -> bool:
    """Whether joints mimic others."""
    return any(joint.mimic for joint in base.robot.joints)


def direct_algorithms(base: MovingBase) -> list[Algorithm]:
    """Return the algorithms for direct dynamics that suit the robot."""
    if is_coupled(base):
        return [_coupled_direct]
    return [partial(_direct, by) for by in (articulated_free_base, factorised_free_base)]


def base_program(base: MovingBase, name: str, guard: Guard | None = None) -> Program:
    """Return a function of the model as a program.

    `guard` changes the results where a quaternion is not of length 1; by default the first becomes NaN.
    """
    return base_program_from(Source(base), name, guard)


def base_program_from(source: Source[MovingBase], name: str, guard: Guard | None = None) -> Program:
    """Return the same from a source; with symbols for parameters it is yet to be staged."""
    base = source.robot
    kind = base_kinds(base)[name]
    guarded = base.kind != "planar" and "pose" in kind.sizes
    calls = (
        partial(guard or _guarded, algorithm, base) if guarded else partial(algorithm, base)
        for algorithm in kind.algorithms
    )
    programs = (trace(name, call, kind.sizes, kind.shape, graph=source.graph) for call in calls)
    return source.cheapest(replace(program, guarded=int(guarded)) for program in programs)


def symbolic_base(base: MovingBase) -> Source[MovingBase]:
    """Return a robot with symbols for its dynamic parameters and gravity; its geometry stays."""
    graph, symbols = parameter_symbols(len(base.parameters))
    return Source(with_base_parameters(base, symbols[:-3], symbols[-3:]), graph, symbols)


def with_base_parameters(base: MovingBase, values: Sequence[Scalar], gravity: Sequence[Scalar]) -> MovingBase:
    """Return the same robot with other dynamic parameters and gravity."""
    joints, bodies = parametrised(base.robot.joints, values[len(INERTIAL) :])
    x, y, z = gravity
    robot = replace(base.robot, joints=joints, bodies=(base_body(tuple(values)), *bodies), gravity=(x, y, z))
    return replace(base, robot=robot)


def with_base_terms(base: MovingBase, friction: bool, rotor_inertia: bool) -> MovingBase:
    """Return the robot without friction, or without rotor inertia, if these are off."""
    return replace(base, robot=with_terms(base.robot, friction, rotor_inertia))


def _guarded(algorithm: Algorithm, base: MovingBase, pose: Vector, *others: Vector) -> Vector:
    """Results, with NaN for the first where the quaternion of the pose is not of length 1."""
    first, *results = algorithm(base, pose, *others)
    return [larger(off_unit(pose), 2.0 * UNIT, math.nan, first), *results]


def off_unit(pose: Vector) -> Scalar:
    """Deviation of the squared length of the quaternion of a pose from 1, which may be 2 `UNIT`."""
    x, y, z, w = pose[3:]
    return abs(squared_length((x, y, z, w)) - 1.0)


def gravity_at_base(base: MovingBase, pose: Vector) -> Vec3:
    """Acceleration of gravity on the axes of the link of the base (m/s^2)."""
    return mat3.mul_vec(mat3.transpose(base_placement(base, pose).R), base.robot.gravity)


def _unaccelerated(base: MovingBase, pose: Vector, V: Vector) -> tuple[LinkMotion, Vec3]:
    """Motion of frame 0 without the accelerations of the base, and what is added to its acceleration.

    A base that moves freely falls with gravity, which then no joint feels; a planar base is held against it.
    """
    g = gravity_at_base(base, pose)
    felt = vec3.neg(g) if base.kind == "planar" else vec3.ZERO
    falls = vec3.ZERO if base.kind == "planar" else g
    start = base_motion(base.robot.T_root_0, twist_of(base, V).angular, Screw(felt, vec3.ZERO))
    return start, falls


def _felt(base: MovingBase, pose: Vector, V: Vector, Vd: Vector) -> LinkMotion:
    """Motion of frame 0 for a given acceleration, minus gravity."""
    linear, angular = twist_of(base, Vd)
    felt = vec3.sub(linear, gravity_at_base(base, pose))
    return base_motion(base.robot.T_root_0, twist_of(base, V).angular, Screw(felt, angular))


def _of_base(base: MovingBase, moved: FreeMotion, falls: Vec3) -> Vector:
    """Acceleration of the base's link."""
    if base.kind == "planar":
        return moved.amounts
    linear, angular = screw_at_link(base.robot.T_root_0, moved.added)
    return [*vec3.add(linear, falls), *angular]


def _forces_at_0(base: MovingBase, F: Vector) -> Vector:
    """Forces along the freedoms in frame 0, from those along the freedoms of the link."""
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
    """The same for joints that mimic others, which the recursions do not allow."""
    H = _bias_forces(base, pose, V, q, qd)
    A = coordinate_inertia(base, q)
    return solved_accelerations(A, H, [*(F or [0.0] * base.freedom), *tau])


def _given_inverse(
    base: MovingBase, pose: Vector, V: Vector, Vd: Vector, q: Vector, qd: Vector, qdd: Vector
) -> Vector:
    """Wrench on a base whose motion is given, and torques."""
    robot = base.robot
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    placements = _placements(base, at.q)
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
    placements = _placements(base, q)
    motions = link_motions(robot, placements, qd, [0.0] * len(robot.joints), _felt(base, pose, V, Vd))
    needed = link_wrenches(robot, motions, {})
    tree = articulated(robot, placements, qd, tau, needed, with_base=True)
    return [
        *_wrench_at_link(base, tree.wrench),
        *joint_accelerations(robot, placements, tree.joint_terms, screw.ZERO),
    ]


def _given_direct_coupled(
    base: MovingBase, pose: Vector, V: Vector, Vd: Vector, q: Vector, qd: Vector, tau: Vector
) -> Vector:
    """The same for joints that mimic others: the equations of the joints are solved first."""
    k = base.freedom
    H = _given_inverse(base, pose, V, Vd, q, qd, [0.0] * base.robot.dof)
    A = coordinate_inertia(base, q)
    qdd = solved_accelerations([row[k:] for row in A[k:]], H[k:], tau)
    coupling = [[a * x for a, x in zip(row[k:], qdd, strict=True)] for row in A[:k]]
    return [*(sum(terms, h) for h, terms in zip(H[:k], coupling, strict=True)), *qdd]


def _placements(base: MovingBase, q: Vector) -> list[JointPlacement]:
    return [joint_placement(joint, q_j) for joint, q_j in zip(base.robot.joints, q, strict=True)]


def _bias_forces(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """H of Khalil 2010, eq. (83)."""
    return _given_inverse(base, pose, V, [0.0] * base.freedom, q, qd, [0.0] * base.robot.dof)


def coordinate_inertia(base: MovingBase, q: Vector) -> list[list[Scalar]]:
    """A of Khalil 2010, eq. (84), in the velocities of the base's link and of the coordinates."""
    at = configuration(base.robot, q)
    k = base.freedom
    screws = _freedoms_of_link(base)
    A = free_base_inertia(base.robot, screws, _placements(base, at.q))
    of_joints = at.inertia([row[k:] for row in A[k:]])
    across = at.many_torques([row[k:] for row in A[:k]])
    top = [[*A[i][:k], *across[i]] for i in range(k)]
    return [*top, *([*(across[i][j] for i in range(k)), *row] for j, row in enumerate(of_joints))]


def _freedoms_of_link(base: MovingBase) -> list[Screw]:
    """Screws in frame 0 of the components of a velocity of the base's link."""
    if base.kind == "planar":
        return list(freedoms_at_0(base))
    units = [*(Screw(unit, vec3.ZERO) for unit in UNITS), *(Screw(vec3.ZERO, unit) for unit in UNITS)]
    return [screw_at_0(base.robot.T_root_0, unit) for unit in units]


def _inertia_matrix(base: MovingBase, q: Vector) -> Vector:
    """A of Khalil 2010, eq. (84)."""
    return [value for row in coordinate_inertia(base, q) for value in row]


def _external_forces(base: MovingBase, q: Vector, w: Vector) -> Vector:
    """Forces on the base and torques that balance the wrenches w of bodies.

    For each body w has the force and the moment in the frame of its first link, and about its origin.
    """
    robot = base.robot
    at = configuration(robot, q)
    placements = _placements(base, at.q)
    wrenches = []
    for link, start in zip((base.link, *robot.child_links), range(0, len(w), 6), strict=True):
        wrenches.append(link_wrench_on(link.T_body_link, w[start : start + 6]))
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
    of_robot = momentum(base.robot, _placements(base, at.q), v_0, at.rates(qd))
    R = mat3.mul(base_placement(base, pose).R, base.robot.T_root_0.R)
    return [*mat3.mul_vec(R, of_robot.at_0.force), *mat3.mul_vec(R, of_robot.angular)]


def _centre_of_mass(base: MovingBase, pose: Vector, q: Vector) -> Vector:
    """Centre of mass in the world."""
    at = configuration(base.robot, q)
    rest = [0.0] * len(base.robot.joints)
    of_robot = momentum(base.robot, _placements(base, at.q), screw.ZERO, rest)
    return _centre_in_world(base, pose, of_robot.centre)


def _centre_in_world(base: MovingBase, pose: Vector, centre: Vec3) -> list[Scalar]:
    R, p = base_placement(base, pose)
    R_0, p_0 = base.robot.T_root_0
    in_link = vec3.add(mat3.mul_vec(R_0, centre), p_0)
    return list(vec3.add(mat3.mul_vec(R, in_link), p))


def _moments_in_world(base: MovingBase, pose: Vector, of_robot: Momentum) -> Vec3:
    """First moments of mass about the origin of the world, which also a robot without mass has (kg m)."""
    R, p = base_placement(base, pose)
    R_0, p_0 = base.robot.T_root_0
    in_link = vec3.add(mat3.mul_vec(R_0, of_robot.moments), vec3.scale(of_robot.mass, p_0))
    return vec3.add(mat3.mul_vec(R, in_link), vec3.scale(of_robot.mass, p))


def _energy(base: MovingBase, pose: Vector, V: Vector, q: Vector, qd: Vector) -> Vector:
    """Kinetic energy, with that of the rotors, and potential energy."""
    at = configuration(base.robot, q)
    rates = at.rates(qd)
    v_0 = screw_at_0(base.robot.T_root_0, twist_of(base, V))
    of_robot = momentum(base.robot, _placements(base, at.q), v_0, rates)
    pairs = zip(base.robot.joints, rates, strict=True)
    rotors = sum((0.5 * joint.Ia * rate * rate for joint, rate in pairs), 0.0)
    moments = _moments_in_world(base, pose, of_robot)
    return [of_robot.kinetic + rotors, -vec3.dot(moments, base.robot.gravity)]
