# SPDX-License-Identifier: Apache-2.0
"""Base parameters of a robot, and the robot whose inertial parameters are its base parameters."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Literal, TypeAlias, get_args

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import (
    PER_BODY,
    BaseParameters,
    standard_names,
    without_parameters,
)
from dyn_core.algorithms.base_parameters.loop_relations import closed_relations
from dyn_core.algorithms.base_parameters.numeric_relations import coupled_relations, numeric_relations
from dyn_core.algorithms.base_parameters.torque_effects import Mount
from dyn_core.algorithms.base_parameters.tree_relations import (
    Relations,
    WithLengths,
    tree_relations,
    with_lengths,
)
from dyn_core.core.errors import ArgumentError, check_choice
from dyn_core.robot.dynamic_parameters import PER_JOINT, parameter_values, parametrised
from dyn_core.robot.robot import Robot, refuse_moving_base
from dyn_core.symbolic.scalar import Scalar, Scalars

Method: TypeAlias = Literal["symbolic", "numeric"]


def base_parameters(
    robot: Robot,
    method: Method = "symbolic",
    mount: Mount = "fixed",
    rotor_inertia: bool = True,
    symbols: bool = False,
    seed: int = 0,
    without: Collection[str] = (),
) -> BaseParameters:
    """Return independent combinations of inertial parameters that give all joint torques of a robot.

    Both methods keep the first parameters, link by link, that are independent of those before them.

    Args:
        robot: the robot. The direction of its gravity matters, its dynamic parameters do not.
        method: ``"symbolic"``: by rules, without random numbers except for the additional grouping due to
            mimic joints and loops; ``"numeric"``: by a QR decomposition of the regressor in random states.
        mount: ``"fixed"``: the base is at rest; ``"tilted"``: the base is at rest in various attitudes, so
            gravity can have any direction; ``"moving"``: the base has any motion, which is known.
        rotor_inertia: whether the inertias of rotors are standard parameters.
        symbols: whether expressions have symbols for the lengths of the robot that are not 0, such as
            ``d3``, ``r4``, ``b5``; only for the symbolic method.
        seed: seed of the random states.
        without: names of standard parameters that are always 0 and are excluded, such as those that
            `always_zero` returns for robots with springs.

    Raises:
        DynError: the robot has loops that cannot be closed, or that its actuated joints do not determine;
            or its side file declares a moving base, and ``mount`` does not.
    """
    check_choice("method", method, get_args(Method))
    if symbols and method != "symbolic":
        raise ArgumentError("symbols-need-symbolic-method")
    if mount != "moving":
        refuse_moving_base(robot, f"the mount '{mount}'", "mount='moving'")
    names = standard_names(len(robot.joints))
    missing = [k for k, name in enumerate(names) if name in without]
    found = relations(robot, method, mount, seed, rotor_inertia, missing)
    columns = [k for k in range(len(names)) if rotor_inertia or k % len(PER_BODY) < len(PER_BODY) - 1]
    matrix = np.ascontiguousarray(found.matrix[:, columns])
    matrix.flags.writeable = False
    lengths = _with_symbols(robot, mount, found, rotor_inertia) if symbols else None
    whole = BaseParameters(
        tuple(names[k] for k in columns),
        tuple(names[k] for k in found.kept),
        matrix,
        robot.name,
        len(robot.joints),
        method,
        lengths.coefficients[:, columns] if lengths else None,
        lengths.values if lengths else {},
        tuple(names[k] for k in found.by_numbers),
    )
    return without_parameters(whole, without) if missing else whole


def _with_symbols(robot: Robot, mount: Mount, found: Relations, rotors: bool) -> WithLengths:
    """Return the relations with symbols; coefficients due to mimic joints and loops stay numbers."""
    kept = tree_relations(robot, mount, rotors).kept
    of_tree = with_lengths(robot, mount, rotors)
    return of_tree._replace(coefficients=found.matrix[:, kept] @ of_tree.coefficients)


def relations(
    robot: Robot,
    method: Method,
    mount: Mount,
    seed: int = 0,
    rotors: bool = True,
    without: Sequence[int] = (),
) -> Relations:
    """Return the grouping relations of a robot; the arguments are those of `base_parameters`.

    But `without` are indices of parameters, which only the numeric method uses.
    """
    check_choice("mount", mount, get_args(Mount))
    if method == "numeric":
        return numeric_relations(robot, mount, seed, rotors, without)
    of_tree = tree_relations(robot, mount, rotors)
    if robot.loops:
        return closed_relations(robot, mount, of_tree, seed)
    if robot.dof == len(robot.joints):
        return of_tree
    return coupled_relations(robot, mount, of_tree, seed)


def with_base_parameters(robot: Robot, mount: Mount = "fixed") -> Robot:
    """Return a robot whose inertial parameters are its base parameters, with the others 0.

    Its joint torques are the same for the same motion, and its functions need fewer operations. Its bodies
    may be unphysical: masses and moments of inertia may be negative, and first moments may have no mass.
    Wrenches through joints and on the ground depend on all parameters and are not the same.

    Args:
        robot: the robot.
        mount: as for `base_parameters`; ``"tilted"`` if the direction of gravity is to change.
    """
    refuse_moving_base(robot, "grouping of parameters, which keeps no forces on a base,")
    found = relations(robot, "symbolic", mount)
    values = parameter_values(robot.joints, robot.bodies[1:])
    grouped: list[Scalar] = list(values)
    for k in range(len(values)):
        if k % PER_JOINT < len(PER_BODY):
            grouped[k] = 0.0
    for k, row in zip(found.kept, found.matrix, strict=True):
        others = [c for c in np.flatnonzero(row).tolist() if c != k]
        terms = [values[_index(k)], *(float(row[c]) * values[_index(c)] for c in others)]
        grouped[_index(k)] = grouped_sum(terms)
    joints, bodies = parametrised(robot.joints, grouped)
    return replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies))


def grouped_sum(terms: Scalars) -> Scalar:
    """Return the sum; 0, which costs no operation, if the sum of numbers is 0 up to rounding."""
    total = reduce(add, terms)
    if isinstance(total, float) and abs(total) <= sys.float_info.epsilon * sum(map(abs, terms)):
        return 0.0
    return total


def _index(k: int) -> int:
    """Index of standard parameter k among all dynamic parameters, which include friction."""
    joint, parameter = divmod(k, len(PER_BODY))
    return PER_JOINT * joint + parameter
