# SPDX-License-Identifier: Apache-2.0
"""Passive joints of planar loops in closed form: loops with three of them (SYMORO+ 2003, sec. 2.3.8).

A dyad closes a planar loop in which two joints of the tree and the cut joint are unknown. Three revolute
joints are the corners of a triangle with known sides, and the solutions are the two intersections of two
circles. With one prismatic joint they are the intersections of a circle and a line. One of the two
solutions belongs to the assembly. With two prismatic joints there is one solution, the intersection of two
lines.

The loop is written as ``A F1 B F2 D 0 = 0``. A leads from the third joint, which is revolute, to the first,
B to the second, and D back to the third. F1 and F2 turn about z or slide along z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.algorithms.loops.constraints import ConstraintArrays, chain
from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.algorithms.loops.redundancy import SPECIAL, axes_of_loop
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import LoopType, Sigma
from dyn_core.robot.mdh.direct_geometry import placements_from
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, Scalars, atan2, cos, sin, sqrt
from dyn_core.symbolic.transform import Transform, apply, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

Values = Mapping[int, Scalar]
"""Positions (rad or m) by number of the joint: numbers, or arrays with one number per sample."""


@dataclass(frozen=True)
class Dyad:
    """Two passive joints that one loop gives in closed form.

    Attributes:
        loop: number of the loop, from 0.
        joints: numbers of the two joints of the tree, in the order of the chain.
        kind: types of the three joints, the cut joint last, such as ``RRR`` or ``RPR``.
        branch: sign of the solution that belongs to the assembly, 1.0 or -1.0.
        reference: their positions in the assembly (rad or m); angles are returned near them.
    """

    loop: int
    joints: tuple[int, int]
    kind: str
    branch: float
    reference: tuple[float, float]


def dyads(robot: Robot) -> tuple[Dyad, ...]:
    """Return the dyads of a robot in an order of solution: each needs only joints that are known before."""
    found = structure(robot)
    by_joint = dict(zip(robot.independent, found.reference, strict=True))
    unknown, ordered = set(found.unknown), []
    while unknown:
        before = len(unknown)
        for number in range(len(robot.loops)):
            dyad = _dyad(robot, number, unknown, by_joint)
            if dyad is not None:
                ordered.append(dyad)
                unknown -= set(dyad.joints)
        if len(unknown) == before:
            break
    return tuple(ordered)


def explicit_positions(robot: Robot, q: Scalars) -> list[Scalar]:
    """Compute the positions of the passive joints without iteration: by linear relations and dyads.

    Compiled functions iterate instead: a step of Newton's method from the last solution costs half as much as
    a dyad, one to three steps are enough, and turns are counted. The solution is the same except for whole
    turns: passive angles are within half a turn of the assembly, whatever turns the actuated joints have
    made. A loop that does not close gives NaN, not an error.

    Args:
        robot: a robot with loops whose passive joints all have a closed form.
        q: positions of the actuated joints (rad or m): numbers, or arrays with one number per sample.

    Returns:
        the positions in the order of `passive_joint_names`; NaN where the loops do not close.

    Raises:
        DynError: the robot has no loops, or a passive joint has no closed form.
        ValueError: there are not as many positions as actuated joints.
    """
    if not robot.loops:
        raise DynError("robot-without-loops", robot=robot.name, element=f"robot '{robot.name}'")
    if not hasattr(q, "__len__") or len(q) != robot.dof:
        if hasattr(q, "__len__"):
            raise ArgumentError("positions-count", count=robot.dof, given=len(q))
        raise ArgumentError("positions-type", count=robot.dof, given=type(q).__name__)
    found = structure(robot)
    values: dict[int, Scalar] = dict(zip(robot.coordinates, q, strict=True))
    for linear in found.linear:
        values[linear.joint] = linear.constant + sum(k * values[j] for j, k in linear.coefficients)
    for dyad in dyads(robot):
        values |= zip(dyad.joints, dyad_positions(robot, dyad, values), strict=True)
    missing = [robot.joints[j - 1].name for j in robot.independent if j not in values]
    if missing:
        raise DynError("joint-without-closed-form", joint=missing[0], element=f"joint '{missing[0]}'")
    passive = (j for j in robot.independent if robot.joints[j - 1].mu == 0)
    return [values[j] for j in passive]


def dyad_positions(robot: Robot, dyad: Dyad, known: Values) -> tuple[Scalar, Scalar]:
    """Positions of the two joints of a dyad (rad or m), if all other joints of its loop are known."""
    variables = _solved(robot, dyad, known)
    positions = []
    for j, variable, near in zip(dyad.joints, variables, dyad.reference, strict=True):
        mdh, turns = robot.joints[j - 1].mdh, robot.joints[j - 1].sigma is Sigma.REVOLUTE
        position = variable - (mdh.theta if turns else mdh.r)
        if turns:
            position = position - 2.0 * math.pi * np.round((position - near) / (2.0 * math.pi))
        positions.append(position)
    return positions[0], positions[1]


def _dyad(robot: Robot, number: int, unknown: set[int], reference: Mapping[int, float]) -> Dyad | None:
    """Return the dyad of a loop; None if it has none."""
    loop, numbers = robot.loops[number], ConstraintArrays(geometry_of(robot))
    cut = numbers.cuts[number]
    in_chain = chain(robot, cut).joints
    joints = [j for j in in_chain if j in unknown]
    if len(joints) == 1:  # the other joint is known already, such as the angle of a joint between two slides
        others = [j for j in in_chain if j not in unknown and robot.joints[j - 1].mu == 0]
        joints = sorted(joints + others[:1], key=in_chain.index)
    mimics = any(robot.joints[j - 1].mimic is not None for j in in_chain)
    if len(joints) != 2 or mimics or loop.type not in (LoopType.REVOLUTE, LoopType.PRISMATIC):
        return None
    kind = "".join("RP"[robot.joints[j - 1].sigma] for j in joints)
    kind += "R" if loop.type is LoopType.REVOLUTE else "P"
    positions = joint_positions(robot, [reference[j] for j in robot.independent])
    planar = axes_of_loop(robot, cut, loop.type, positions).off_parallel() <= SPECIAL
    if not planar or "R" not in kind:
        return None
    here = (reference[joints[0]], reference[joints[1]])
    dyad = Dyad(number, (joints[0], joints[1]), kind, 1.0, here)
    rest = {j: reference[j] for j in robot.independent if j not in joints}

    def away(dyad: Dyad) -> float:
        found = dyad_positions(robot, dyad, rest)
        return sum(abs(float(a) - b) for a, b in zip(found, here, strict=True))

    other = replace(dyad, branch=-1.0)
    return dyad if not away(other) < away(dyad) else other


@dataclass(frozen=True)
class _UnknownJoint:
    """A joint that is solved for: whether it turns, and -1.0 if the chain runs through it backwards."""

    turns: bool
    sign: float


def _solved(robot: Robot, dyad: Dyad, known: Values) -> tuple[Scalar, Scalar]:
    """Theta or r of the two joints."""
    cut = ConstraintArrays(geometry_of(robot)).cuts[dyad.loop]
    around = chain(robot, cut)
    zero = {j: -mdh_at_zero(robot, j) for j in dyad.joints}  # theta or r is 0 there
    values = {**known, **zero}
    q = joint_positions(robot, [values.get(j, 0.0) for j in robot.independent])
    T = placements_from(robot, q, cut.P, (*around.joints, cut.C.body))
    first, second = dyad.joints
    A, B = T[first], compose(inverse(T[first]), T[second])
    D = compose(inverse(T[second]), compose(T[cut.C.body], cut.C.T_body_link))
    signs = dict(zip(around.joints, around.signs, strict=True))
    F1, F2 = (_UnknownJoint(turn == "R", signs[j]) for turn, j in zip(dyad.kind, dyad.joints, strict=False))
    if dyad.kind[2] == "R":
        x1, x2 = _closed(A, F1, B, F2, D, dyad.branch)
    elif F1.turns:  # B F2 D K A = F1^-1, K the prismatic cut joint, which runs backwards here
        x2, _ = _closed(B, F2, D, _UnknownJoint(turns=False, sign=1.0), A, dyad.branch)
        R = mat3.mul(mat3.mul(B.R, _about_z(x2) if F2.turns else mat3.IDENTITY), mat3.mul(D.R, A.R))
        x1 = -atan2(R[1][0], R[0][0])
    else:  # K A F1 B F2 D, with F2 at that position
        _, x1 = _closed(D, _UnknownJoint(turns=False, sign=1.0), A, F1, B, dyad.branch)
        R = mat3.mul(mat3.mul(D.R, A.R), B.R)
        x2 = -atan2(R[1][0], R[0][0])
    return F1.sign * x1, F2.sign * x2


def mdh_at_zero(robot: Robot, j: int) -> float:
    """Theta or r of a joint (rad or m) at the URDF position 0."""
    joint = robot.joints[j - 1]
    return joint.mdh.theta if joint.sigma is Sigma.REVOLUTE else joint.mdh.r


def _about_z(x: Scalar) -> mat3.Mat3:
    c, s = cos(x), sin(x)
    return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))


def _closed(
    A: Transform, F1: _UnknownJoint, B: Transform, F2: _UnknownJoint, D: Transform, branch: float
) -> tuple[Scalar, Scalar]:
    """Return the variables of F1 and F2 that solve ``A F1 B F2 D 0 = 0``, along the chain."""
    a, b, d = inverse(A).p, B.p, D.p
    if F1.turns and F2.turns:
        x2 = _two_circles(a, B, d, branch)
        return _turned_onto(vec3.add(b, mat3.mul_vec(B.R, mat3.mul_vec(_about_z(x2), d))), a), x2
    if F1.turns:
        w, g = apply(B, d), mat3.column(B.R, 2)
        x2 = _circle_and_line(w, g, vec3.dot(a, a), branch)
        return _turned_onto(vec3.add(w, vec3.scale(x2, g)), a), x2
    if F2.turns:  # the same, backwards
        E = inverse(B)
        w, g = apply(E, a), vec3.neg(mat3.column(E.R, 2))
        x1 = _circle_and_line(w, g, vec3.dot(d, d), branch)
        return x1, _turned_onto(d, vec3.add(w, vec3.scale(x1, g)))
    return _two_lines(vec3.sub(a, apply(B, d)), mat3.column(B.R, 2))


def _turned_onto(v: Vec3, a: Vec3) -> Scalar:
    """Angle about z that turns v onto a."""
    return atan2(v[0] * a[1] - v[1] * a[0], v[0] * a[0] + v[1] * a[1])


def _two_circles(a: Vec3, B: Transform, d: Vec3, branch: float) -> Scalar:
    """Angle x with ``|b + R_B Rz(x) d| = |a|``: X cos x + Y sin x = h, of SYMORO+ 2003, table 2.1, type 2."""
    e = mat3.mul_vec(mat3.transpose(B.R), B.p)
    X, Y = e[0] * d[0] + e[1] * d[1], e[1] * d[0] - e[0] * d[1]
    h = 0.5 * (vec3.dot(a, a) - vec3.dot(B.p, B.p) - vec3.dot(d, d)) - e[2] * d[2]
    root = branch * sqrt(X * X + Y * Y - h * h)
    return atan2(h * Y + root * X, h * X - root * Y)


def _circle_and_line(w: Vec3, g: Vec3, square: Scalar, branch: float) -> Scalar:
    """Length x with ``|w + x g|^2 = square``, g a unit vector."""
    along = vec3.dot(w, g)
    return branch * sqrt(along * along - vec3.dot(w, w) + square) - along


def _two_lines(to: Vec3, g: Vec3) -> tuple[Scalar, Scalar]:
    """Lengths along z and g that lead to a point in the plane of both."""
    c, along_z, along_g = g[2], to[2], vec3.dot(to, g)
    scale = 1.0 / (1.0 - c * c)
    return scale * (along_z - c * along_g), scale * (along_g - c * along_z)
