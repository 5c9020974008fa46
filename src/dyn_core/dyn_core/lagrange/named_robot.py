# SPDX-License-Identifier: Apache-2.0
"""A robot with a name for each dynamic parameter, length and position that is not 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.dynamics.coordinate_lagrange import refuse_loops
from dyn_core.geometry.joint_placement import SKEW
from dyn_core.grouping.regroup import with_base_parameters
from dyn_core.linalg.angle import cos_sin, quarter_turns
from dyn_core.linalg.transform import Transform
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.model.standard_parameters import parametrised
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar

ROUNDING = 1e-12
"""Lengths (m), components of directions, and parameters beside the greatest of their kind: 0 below this."""

Symbol = Callable[[str], Scalar]

_WORD = re.compile("[A-Za-z]+[0-9]*")


@dataclass(frozen=True)
class NamedRobot:
    """A robot of symbols.

    Attributes:
        robot: the robot, with symbols for what is not 0.
        q: positions of its n joints, made of those of the coordinates and of defined symbols.
        definitions: symbols that stand for expressions, with these as text.
        values: lengths (m), parameters and gravity (SI units) by symbol.
    """

    robot: Robot
    q: tuple[Scalar, ...]
    definitions: tuple[tuple[str, str], ...]
    values: Mapping[str, float]

    def used(self, symbols: Collection[str]) -> NamedRobot:
        """Answer the same with those definitions and values alone that some symbols need."""
        definitions = tuple((name, text) for name, text in self.definitions if name in symbols)
        needed = {*symbols, *(word for _, text in definitions for word in _WORD.findall(text))}
        values = {name: value for name, value in self.values.items() if name in needed}
        return replace(self, definitions=definitions, values=MappingProxyType(values))


def named_robot(robot: Robot, symbol: Symbol, grouped: bool, numbers: bool) -> NamedRobot:
    """Answer a robot with symbols: ``q2``, ``th2`` and ``r3`` of positions, ``d3``, ``MX2``, ``ZZR1``, ``g``.

    They end in the numbers of the joints of the tree, as in its table of geometric parameters. ``th2`` is the
    angle of a joint that is not at a multiple of pi/2 at 0, ``r3`` the distance of a prismatic one.

    Args:
        robot: the robot, a tree.
        symbol: makes a symbol.
        grouped: whether base parameters take the place of the standard ones.
        numbers: whether parameters, lengths and gravity are numbers, and positions alone symbols.
    """
    refuse_loops(robot)
    named = _Naming(symbol)
    q = _positions(robot, symbol)
    joints = []
    for j, joint in enumerate(robot.joints, start=1):
        placed = joint if numbers else replace(joint, mdh=named.mdh(j, joint))
        free, q[j - 1] = named.position(j, placed, q[j - 1], _text(robot, j))
        joints.append(free)
    if numbers:
        of_numbers = with_base_parameters(robot) if grouped else robot
        placed_joints = tuple(
            replace(joint, Ia=other.Ia) for joint, other in zip(joints, of_numbers.joints, strict=True)
        )
        return named.done(replace(of_numbers, joints=placed_joints), q)
    parameters = named.base(robot) if grouped else named.standard(robot)
    joints_of_symbols, bodies = parametrised(joints, parameters)
    gravity = named.gravity(robot.gravity_0)
    upright = Transform(mat3.IDENTITY, robot.T_root_0.p)
    return named.done(
        replace(
            robot,
            joints=joints_of_symbols,
            bodies=(robot.bodies[0], *bodies),
            gravity=gravity,
            T_root_0=upright,
        ),
        q,
    )


class _Naming:
    """Symbols that have been made, with what they stand for."""

    def __init__(self, symbol: Symbol) -> None:
        self._symbol = symbol
        self._definitions: list[tuple[str, str]] = []
        self._values: dict[str, float] = {}

    def done(self, robot: Robot, q: Iterable[Scalar]) -> NamedRobot:
        return NamedRobot(robot, tuple(q), tuple(self._definitions), MappingProxyType(self._values))

    def value(self, name: str, value: float, least: float = ROUNDING) -> Scalar:
        """Answer a symbol for a number; 0 for one that is a rounding."""
        if abs(value) <= least:
            return 0.0
        self._values[name] = value
        return self._symbol(name)

    def mdh(self, j: int, joint: Joint) -> MdhParameters:
        """Answer the geometric parameters with symbols for lengths, where iTj is made of them alone."""
        mdh = joint.mdh
        if _almost_parallel(joint):
            return mdh
        r = mdh.r if joint.sigma is Sigma.PRISMATIC else self.value(f"r{j}", mdh.r)
        return replace(mdh, b=self.value(f"b{j}", mdh.b), d=self.value(f"d{j}", mdh.d), r=r)

    def position(self, j: int, joint: Joint, q: Scalar, text: str) -> tuple[Joint, Scalar]:
        """Answer the joint without its offset, and a symbol for its position with the offset, if any."""
        mdh = joint.mdh
        if isinstance(q, float):
            return joint, q
        if joint.sigma is Sigma.REVOLUTE:
            offset = joint.mimic.offset if joint.mimic else 0.0
            if quarter_turns(mdh.theta) is not None and offset == 0.0:
                return joint, q
            name, offset, mdh = f"th{j}", mdh.theta + offset, replace(mdh, theta=0.0)
        else:
            offset = mdh.r + (joint.mimic.offset if joint.mimic else 0.0)
            if _almost_parallel(joint) or abs(offset) <= ROUNDING:
                return replace(joint, mdh=mdh), q
            name, mdh = f"r{j}", replace(mdh, r=0.0)
        self._definitions.append((name, f"{text} {'-' if offset < 0.0 else '+'} {abs(offset):.15g}"))
        return replace(joint, mdh=mdh), self._symbol(name)

    def standard(self, robot: Robot) -> list[Scalar]:
        """Answer the standard parameters, friction apart."""
        values = dict(zip(robot.parameter_names, robot.parameters, strict=True))
        return self._parameters(robot, values)

    def base(self, robot: Robot) -> list[Scalar]:
        """Answer the base parameters in the place of the standard ones that they are named after."""
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
        """Answer gravity in frame 0: a symbol times numbers."""
        size = vec3.norm(gravity_0)
        if size == 0.0:
            return vec3.ZERO
        g = self.value("g", size, 0.0)
        x, y, z = (component / size for component in gravity_0)
        return (_rounded(x) * g, _rounded(y) * g, _rounded(z) * g)


def _positions(robot: Robot, symbol: Symbol) -> list[Scalar]:
    """Answer the positions of the joints, of symbols for the coordinates; a number where one stands still."""
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


def _text(robot: Robot, j: int) -> str:
    mimic = robot.joints[j - 1].mimic
    if mimic is None:
        return f"q{j}"
    return f"q{mimic.leader}" if mimic.multiplier == 1.0 else f"{mimic.multiplier:.15g}*q{mimic.leader}"


def _almost_parallel(joint: Joint) -> bool:
    """Whether iTj is not made of d, b and r, which are large and cancel (see `joint_placement`)."""
    sine = cos_sin(joint.mdh.alpha)[1]
    return sine != 0.0 and abs(sine) < SKEW


def _rounded(component: float) -> float:
    """Answer a component of a direction, or the whole number that it is a rounding of."""
    return float(round(component)) if abs(component - round(component)) < ROUNDING else component


def _least(values: Mapping[str, float]) -> dict[str, float]:
    """Answer up to which size each parameter is a rounding of 0, beside the greatest of its kind."""
    scale: dict[str, float] = {}
    for name, value in values.items():
        scale[_kind(name)] = max(scale.get(_kind(name), 0.0), abs(value))
    return {name: ROUNDING * scale[_kind(name)] for name in values}


def _kind(name: str) -> str:
    """Answer what parameters have the same unit as one: J, MS, M, Ia, or that of friction itself."""
    letters = name.rstrip("0123456789")
    if letters in ("XX", "XY", "XZ", "YY", "YZ", "ZZ"):
        return "J"
    return "MS" if letters in ("MX", "MY", "MZ") else letters
