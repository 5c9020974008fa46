# SPDX-License-Identifier: Apache-2.0
"""Grouping relations in which the lengths of a robot are symbols: ``d3**2*M3`` for ``0.2025*M3``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.base_parameters.tree_relations import divisions, gathered
from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.inertial_maps import Matrix, average, moved_parameters
from dyn_core.grouping.polynomial import polynomial, variable
from dyn_core.grouping.relations import size_of, units_of
from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3

FAR = 100.0
"""Where b or r is longer (m), two axes are almost parallel, and their position stays a number."""


class WithLengths(NamedTuple):
    """Grouping relations with symbols.

    Attributes:
        coefficients: entries of the matrix of the relations, each a `Polynomial`.
        values: the lengths by symbol (m).
    """

    coefficients: Matrix
    values: Mapping[str, float]


def with_lengths(robot: Robot, mount: Mount, rotors: bool) -> WithLengths:
    """Answer the grouping relations of a tree with symbols for d, b and r of each joint that are not 0."""
    size = size_of(robot)
    width = len(PER_BODY)
    units = units_of(robot.joints, size).reshape(-1, width)
    links = [
        link._replace(relations=own[list(link.kept), None] * link.relations / own)
        for link, own in zip(divisions(robot, mount, rotors), units, strict=True)
    ]
    values: dict[str, float] = {}
    moves = []
    for j, joint in enumerate(robot.joints, start=1):
        symbols = {f"{name}{j}": value for name, value in _lengths(joint).items()}
        values |= symbols
        moves.append(moved_parameters(_placement(joint, j, symbols)) @ average(joint.sigma))
    entries = gathered(robot.joints, links, moves)
    coefficients = np.empty(entries.shape, dtype=object)
    coefficients[:] = [[polynomial(entry) for entry in row] for row in entries]
    return WithLengths(coefficients, MappingProxyType(values))


def _lengths(joint: Joint) -> dict[str, float]:
    """Answer the lengths that are not 0, but r of a prismatic joint, which makes no difference."""
    mdh = joint.mdh
    if max(abs(mdh.b), abs(mdh.r)) > FAR:
        return {}
    r = 0.0 if joint.sigma is Sigma.PRISMATIC else mdh.r
    return {name: value for name, value in {"b": mdh.b, "d": mdh.d, "r": r}.items() if value != 0.0}


def _placement(joint: Joint, j: int, symbols: Mapping[str, float]) -> Transform:
    """Answer iTj with symbols in eq. (4.15)."""
    at_zero = joint_transform(joint, 0.0)
    if max(abs(joint.mdh.b), abs(joint.mdh.r)) > FAR:
        return at_zero
    b, d, r = (variable(f"{name}{j}") if f"{name}{j}" in symbols else 0.0 for name in "bdr")
    c, s = cos_sin(joint.mdh.gamma)
    x, y, z = mat3.column(at_zero.R, 2)
    return Transform(at_zero.R, (d * c + r * x, d * s + r * y, b + r * z))
