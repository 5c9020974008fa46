# SPDX-License-Identifier: Apache-2.0
"""Robots with a symbol for each dynamic parameter, length and position that is not 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import TypeAlias

from dyn_core.algorithms.base_parameters.determination import base_parameters, with_base_parameters
from dyn_core.algorithms.dynamics.lagrange_form import coordinate_lagrange, refuse_loops
from dyn_core.robot.dynamic_parameters import parametrised
from dyn_core.robot.joints import Joint, MdhParameters, Sigma
from dyn_core.robot.mdh.direct_geometry import SKEW
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar, cos_sin, quarter_turns
from dyn_core.symbolic.transform import Transform

ROUNDING = 1e-12
"""Value below which lengths (m), components of directions, and parameters relative to the greatest of their
kind count as 0."""

Symbol = Callable[[str], Scalar]
Rows: TypeAlias = Sequence[Sequence[Scalar]]

_WORD = re.compile("[A-Za-z]+[0-9]*")


@dataclass(frozen=True)
class NamedRobot:
    """A robot with symbols for values that are not 0.

    Attributes:
        robot: the robot.
        q: positions of its n joints, as expressions of the coordinates and of defined symbols.
        definitions: pairs of a symbol and its expression as text.
        values: lengths (m), parameters and gravity (SI units) by symbol.
    """

    robot: Robot
    q: tuple[Scalar, ...]
    definitions: tuple[tuple[str, str], ...]
    values: Mapping[str, float]

    def lagrange_matrices(self) -> tuple[Rows, Rows, Rows, Rows]:
        """Return A, B, C and Q of ``tau = A qdd + B [qd qd] + C [qd^2] + Q``, Q as a column."""
        A, b, Q = coordinate_lagrange(self.robot, self.q)
        n = range(len(Q))
        B = [[2.0 * b[i][j][k] for j, k in combinations(n, 2)] for i in n]
        return A, B, [[b[i][j][j] for j in n] for i in n], [[torque] for torque in Q]

    def used(self, symbols: Collection[str]) -> NamedRobot:
        """Return the robot with only the definitions and values that some symbols need."""
        definitions = tuple((name, text) for name, text in self.definitions if name in symbols)
        needed = {*symbols, *(word for _, text in definitions for word in _WORD.findall(text))}
        values = {name: value for name, value in self.values.items() if name in needed}
        return replace(self, definitions=definitions, values=MappingProxyType(values))


def named_robot(robot: Robot, symbol: Symbol, grouped: bool, numbers: bool) -> NamedRobot:
    """Return a tree with symbols: positions ``q2``, ``th2`` and ``r3``, ``d3``, ``MX2``, ``ZZR1``, ``g``.

    Names end in the numbers of the joints, as in the table of geometric parameters. ``th2`` is the angle of a
    revolute joint whose theta at q = 0 is not a multiple of pi/2, ``r3`` the distance of a prismatic joint.
    `grouped` replaces standard parameters by base parameters; with `numbers` only positions are symbols.
    """
    refuse_loops(robot)
    named = _Naming(symbol)
    q = _positions(robot, symbol)
    joints = []
    for j, joint in enumerate(robot.joints, start=1):
        placed = joint if numbers else replace(joint, mdh=named.mdh(j, joint))
        placed, q[j - 1] = named.position(j, placed, q[j - 1], _text(joint, j))
        joints.append(placed)
    if numbers:
        of_numbers = with_base_parameters(robot) if grouped else robot
        pairs = zip(joints, of_numbers.joints, strict=True)
        joints = [replace(joint, Ia=other.Ia) for joint, other in pairs]
        return named.done(replace(of_numbers, joints=tuple(joints)), q)
    free_joints, bodies = parametrised(joints, named.base(robot) if grouped else named.standard(robot))
    gravity = named.gravity(robot.gravity_0)
    upright = Transform(mat3.IDENTITY, robot.T_root_0.p)
    bodies = (robot.bodies[0], *bodies)
    free = replace(robot, joints=free_joints, bodies=bodies, gravity=gravity, T_root_0=upright)
    return named.done(free, q)


class _Naming:
    """The symbols made so far, with their definitions and values."""

    def __init__(self, symbol: Symbol) -> None:
        self._symbol = symbol
        self._definitions: list[tuple[str, str]] = []
        self._values: dict[str, float] = {}

    def done(self, robot: Robot, q: Iterable[Scalar]) -> NamedRobot:
        return NamedRobot(robot, tuple(q), tuple(self._definitions), MappingProxyType(self._values))

    def value(self, name: str, value: float, least: float = ROUNDING) -> Scalar:
        """Return a symbol for a number; 0 if the number is a rounding error."""
        if abs(value) <= least:
            return 0.0
        self._values[name] = value
        return self._symbol(name)

    def mdh(self, j: int, joint: Joint) -> MdhParameters:
        """Return the geometric parameters with symbols for lengths, or unchanged for almost parallel axes."""
        mdh = joint.mdh
        if _almost_parallel(joint):
            return mdh
        r = mdh.r if joint.sigma is Sigma.PRISMATIC else self.value(f"r{j}", mdh.r)
        return replace(mdh, b=self.value(f"b{j}", mdh.b), d=self.value(f"d{j}", mdh.d), r=r)

    def position(self, j: int, joint: Joint, q: Scalar, text: str) -> tuple[Joint, Scalar]:
        """Return the joint without its offset, and a symbol for its position with the offset, if any."""
        mdh = joint.mdh
        if isinstance(q, float):
            return joint, q
        offset = joint.mimic.offset if joint.mimic else 0.0
        if joint.sigma is Sigma.REVOLUTE:
            if quarter_turns(mdh.theta) is not None and offset == 0.0:
                return joint, q
            name, offset, mdh = f"th{j}", mdh.theta + offset, replace(mdh, theta=0.0)
        else:
            offset += mdh.r
            if _almost_parallel(joint) or abs(offset) <= ROUNDING:
                return joint, q
            name, mdh = f"r{j}", replace(mdh, r=0.0)
        self._definitions.append((name, f"{text} {'-' if offset < 0.0 else '+'} {abs(offset):.15g}"))
        return replace(joint, mdh=mdh), self._symbol(name)

    def standard(self, robot: Robot) -> list[Scalar]:
        """Return the standard parameters, with friction 0."""
        return self._parameters(robot, dict(zip(robot.parameter_names, robot.parameters, strict=True)))

    def base(self, robot: Robot) -> list[Scalar]:
        """Return the standard parameters with base parameters instead of those they are named after."""
        found = base_parameters(robot, symbols=True)
        standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
        values = dict.fromkeys(robot.parameter_names, 0.0)
        values |= dict(zip(found.kept, found.values(standard).tolist(), strict=True))
        names = dict(zip(found.kept, found.names, strict=True))
        parameters = self._parameters(robot, values, names)
        least = _least(standard)
        present = {name: value for name, value in standard.items() if abs(value) > least[name]}
        texts = (expression.split(" = ", 1) for expression in found.expressions_of(present))
        grouped = {name: text for name, text in texts if name != text and name in self._values}
        self._values = {**found.lengths, **present, **self._values}
        self._definitions += grouped.items()
        return parameters

    def _parameters(
        self, robot: Robot, values: Mapping[str, float], names: Mapping[str, str] = MappingProxyType({})
    ) -> list[Scalar]:
        least = _least(values)
        return [
            0.0 if name.startswith("F") else self.value(names.get(name, name), values[name], least[name])
            for name in robot.parameter_names
        ]

    def gravity(self, gravity_0: vec3.Vec3) -> vec3.Vec3:
        """Return gravity in frame 0 as a symbol times numbers."""
        size = vec3.norm(gravity_0)
        if size == 0.0:
            return vec3.ZERO
        g = self.value("g", size, 0.0)
        x, y, z = (_rounded(component / size) for component in gravity_0)
        return x * g, y * g, z * g


def _positions(robot: Robot, symbol: Symbol) -> list[Scalar]:
    """Return the positions of the joints as expressions of the coordinates; a number for a fixed joint."""
    coordinates = {j: symbol(f"q{j}") for j in robot.coordinates}
    q: list[Scalar] = []
    for j, joint in enumerate(robot.joints, start=1):
        if joint.mimic is None:
            q.append(coordinates[j])
        elif joint.mimic.leader == 0:
            q.append(joint.mimic.offset)
        else:
            leader, multiplier = coordinates[joint.mimic.leader], joint.mimic.multiplier
            q.append(leader if multiplier == 1.0 else multiplier * leader)
    return q


def _text(joint: Joint, j: int) -> str:
    mimic = joint.mimic
    if mimic is None:
        return f"q{j}"
    return f"q{mimic.leader}" if mimic.multiplier == 1.0 else f"{mimic.multiplier:.15g}*q{mimic.leader}"


def _almost_parallel(joint: Joint) -> bool:
    """True if iTj is not computed from d, b and r, which are large and cancel (see `joint_placement`)."""
    sine = cos_sin(joint.mdh.alpha)[1]
    return sine != 0.0 and abs(sine) < SKEW


def _rounded(component: float) -> float:
    """Return a component of a direction, without a rounding error from a whole number."""
    return float(round(component)) if abs(component - round(component)) < ROUNDING else component


def _least(values: Mapping[str, float]) -> dict[str, float]:
    """Return the size up to which each parameter counts as 0, relative to the greatest of its kind."""
    scale: dict[str, float] = {}
    for name, value in values.items():
        scale[_kind(name)] = max(scale.get(_kind(name), 0.0), abs(value))
    return {name: ROUNDING * scale[_kind(name)] for name in values}


def _kind(name: str) -> str:
    """Return the kind of a parameter, whose members have the same unit: J, MS, M, Ia, or a friction name."""
    letters = name.rstrip("0123456789")
    if letters in ("XX", "XY", "XZ", "YY", "YZ", "ZZ"):
        return "J"
    return "MS" if letters in ("MX", "MY", "MZ") else letters
