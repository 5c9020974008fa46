# SPDX-License-Identifier: Apache-2.0
"""Passive joints of planar loops in closed form: loops with three of them (SYMORO+ 2003, sec. 2.3.8).

A planar loop of which two joints of the tree and the cut joint are not known is closed by a dyad. With
three revolute joints these are the corners of a triangle of known sides, two circles that meet in two
points; with a prismatic one it is a circle and a line. Of both solutions one belongs to the assembly.
With two prismatic joints there is one solution, where two lines meet.

The loop is written as ``A F1 B F2 D 0 = 0``: A, B and D lead from the third joint, which is revolute,
to the first, from there to the second, and back to the third; F1 and F2 turn about z or slide along it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.algorithms.loops.constraints import chain
from dyn_core.algorithms.loops.loop_structure import LinearPassive, geometry_of, structure
from dyn_core.algorithms.loops.redundancy import SPECIAL, axes_of_loop
from dyn_core.core.errors import DynError
from dyn_core.geometry.forward import placements_from
from dyn_core.linalg.transform import Transform, apply, compose, inverse
from dyn_core.loops.numbers import Numbers
from dyn_core.model.loop import LoopType
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, atan2, cos, sin, sqrt
from dyn_core.symbolic.vec3 import Vec3

Values = Mapping[int, Scalar]
"""Positions by number of joint (rad or m): numbers, or arrays with one number a sample."""


@dataclass(frozen=True)
class Dyad:
    """Two passive joints that one loop gives in closed form.

    Attributes:
        loop: number of the loop, from 0.
        joints: numbers of the two joints of the tree, in the order of the chain around the loop.
        kind: types of the three joints, the cut joint last, such as ``RRR`` or ``RPR``.
        branch: which of the two solutions is that of the assembly, 1.0 or -1.0.
        reference: positions of the two joints in the assembly (rad or m), near which angles are answered.
    """

    loop: int
    joints: tuple[int, int]
    kind: str
    branch: float
    reference: tuple[float, float]


def dyads(robot: Robot) -> tuple[Dyad, ...]:
    """Answer the dyads of a robot in an order in which each needs only joints that are known before it."""
    found = structure(robot)
    by_joint = dict(zip(robot.independent, found.reference, strict=True))
    unknown, answer = set(found.unknown), []
    searched = True
    while unknown and searched:
        searched = False
        for number in range(len(robot.loops)):
            dyad = _dyad(robot, number, unknown, by_joint)
            if dyad is not None:
                answer.append(dyad)
                unknown -= set(dyad.joints)
                searched = True
    return tuple(answer)


def explicit_positions(robot: Robot, q: Sequence[Scalar]) -> list[Scalar]:
    """Positions of the passive joints without any iteration: by linear relations and dyads.

    Compiled functions iterate instead: a step of Newton's method from the last solution costs half as much as
    a dyad, one to three are taken, and the count of turns is kept. This is the same solution by other
    means, but for whole turns: passive angles are those within half a turn of the assembly, whatever turns
    the actuated joints have made, and a loop that does not close is no error.

    Args:
        robot: a robot with loops of which all passive joints have a closed form.
        q: positions of the actuated joints (rad or m): numbers, or arrays with one number a sample.

    Returns:
        the positions in the order of `passive_joint_names`; NaN where the loops do not close.

    Raises:
        DynError: the robot has no loops, or a passive joint has no closed form.
        ValueError: there are not as many positions as actuated joints.
    """
    if not robot.loops:
        raise DynError(
            f"robot '{robot.name}' has no loops, and no passive joints that follow through them",
            element=f"robot '{robot.name}'",
        )
    if not hasattr(q, "__len__") or len(q) != robot.dof:
        has = f"has {len(q)}" if hasattr(q, "__len__") else f"is {type(q).__name__}"
        raise ValueError(
            f"q: expected a position for each of the {robot.dof} actuated joints, or an array for each with "
            f"one position a sample, but it {has}"
        )
    found = structure(robot)
    values: dict[int, Scalar] = dict(zip(robot.coordinates, q, strict=True))
    values |= {linear.joint: _linear(linear, values) for linear in found.linear}
    for dyad in dyads(robot):
        values |= zip(dyad.joints, dyad_positions(robot, dyad, values), strict=True)
    missing = [robot.joints[j - 1].name for j in robot.independent if j not in values]
    if missing:
        raise DynError(
            f"joint '{missing[0]}' has no closed form: its loop is not planar, or more than two of its "
            "joints are not known before it: use solve_loops of a model",
            element=f"joint '{missing[0]}'",
        )
    passive = (j for j in robot.independent if robot.joints[j - 1].mu == 0)
    return [values[j] for j in passive]


def dyad_positions(robot: Robot, dyad: Dyad, known: Values) -> tuple[Scalar, Scalar]:
    """Positions of the two joints of a dyad (rad or m) where all others of its loop are known."""
    variables = _solved(robot, dyad, known)
    answer = []
    for j, variable, near in zip(dyad.joints, variables, dyad.reference, strict=True):
        mdh, turns = robot.joints[j - 1].mdh, robot.joints[j - 1].sigma is Sigma.REVOLUTE
        position = variable - (mdh.theta if turns else mdh.r)
        if turns:
            position = position - 2.0 * math.pi * np.round((position - near) / (2.0 * math.pi))
        answer.append(position)
    return answer[0], answer[1]


def _linear(linear: LinearPassive, values: Values) -> Scalar:
    return linear.constant + sum(k * values[j] for j, k in linear.coefficients)


def _dyad(robot: Robot, number: int, unknown: set[int], reference: Mapping[int, float]) -> Dyad | None:
    """Answer the dyad of a loop; None where it has none."""
    loop, numbers = robot.loops[number], Numbers(geometry_of(robot))
    cut = numbers.cuts[number]
    in_chain = chain(robot, cut).joints
    joints = [j for j in in_chain if j in unknown]
    if len(joints) == 1:  # the other one is known already, as the angle of a joint between two slides is
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
class _Free:
    """A joint that is solved for: whether it turns, and whether the chain runs through it backwards."""

    turns: bool
    sign: float


def _solved(robot: Robot, dyad: Dyad, known: Values) -> tuple[Scalar, Scalar]:
    """Theta or r of the two joints."""
    cut = Numbers(geometry_of(robot)).cuts[dyad.loop]
    around = chain(robot, cut)
    zero = {j: -_constant(robot, j) for j in dyad.joints}  # where theta or r is 0
    values = {**known, **zero}
    q = joint_positions(robot, [values.get(j, 0.0) for j in robot.independent])
    T = placements_from(robot, q, cut.P, (*around.joints, cut.C.body))
    first, second = dyad.joints
    A, B = T[first], compose(inverse(T[first]), T[second])
    D = compose(inverse(T[second]), compose(T[cut.C.body], cut.C.T_body_link))
    signs = dict(zip(around.joints, around.signs, strict=True))
    F1, F2 = (_Free(turn == "R", signs[j]) for turn, j in zip(dyad.kind, dyad.joints, strict=False))
    if dyad.kind[2] == "R":
        x1, x2 = _closed(A, F1, B, F2, D, dyad.branch)
    elif F1.turns:  # B F2 D K A = F1^-1, K the prismatic cut joint, which runs backwards here
        x2, _ = _closed(B, F2, D, _Free(turns=False, sign=1.0), A, dyad.branch)
        R = mat3.mul(mat3.mul(B.R, _turn(F2, x2)), mat3.mul(D.R, A.R))
        x1 = -atan2(R[1][0], R[0][0])
    else:  # K A F1 B F2 D, with F2 in its place
        _, x1 = _closed(D, _Free(turns=False, sign=1.0), A, F1, B, dyad.branch)
        R = mat3.mul(mat3.mul(D.R, A.R), B.R)
        x2 = -atan2(R[1][0], R[0][0])
    return F1.sign * x1, F2.sign * x2


def _constant(robot: Robot, j: int) -> float:
    joint = robot.joints[j - 1]
    return joint.mdh.theta if joint.sigma is Sigma.REVOLUTE else joint.mdh.r


def _turn(free: _Free, x: Scalar) -> mat3.Mat3:
    return _about_z(x) if free.turns else mat3.IDENTITY


def _about_z(x: Scalar) -> mat3.Mat3:
    c, s = cos(x), sin(x)
    return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))


def _closed(
    A: Transform, F1: _Free, B: Transform, F2: _Free, D: Transform, branch: float
) -> tuple[Scalar, Scalar]:
    """Answer the variables of F1 and F2 with ``A F1 B F2 D 0 = 0``, along the chain."""
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
    """Angle about z by which v is turned onto a."""
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
    """Lengths along z and g that lead to a point of the plane of both."""
    c, along_z, along_g = g[2], to[2], vec3.dot(to, g)
    scale = 1.0 / (1.0 - c * c)
    return scale * (along_z - c * along_g), scale * (along_g - c * along_z)
