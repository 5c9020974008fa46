# SPDX-License-Identifier: Apache-2.0
"""The base parameters of a robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from dyn_core.algorithms.base_parameters.numeric_relations import coupled_relations, numeric_relations
from dyn_core.algorithms.base_parameters.tree_relations import tree_relations
from dyn_core.grouping.base_parameters import PER_BODY, BaseParameters, standard_names
from dyn_core.grouping.closed_relations import closed_relations
from dyn_core.grouping.effects import Mount
from dyn_core.grouping.lengths import WithLengths, with_lengths
from dyn_core.grouping.relations import Relations
from dyn_core.grouping.without_parameters import without_parameters
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.robot.robot import Robot

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
    """Answer independent combinations of inertial parameters that give all joint torques of a robot.

    Both methods keep the first parameters, link by link, that are independent of those before them.

    Args:
        robot: the robot. The direction of its gravity counts, its dynamic parameters do not.
        method: ``"symbolic"``: by rules, without random numbers, but for what joints that mimic others,
            and loops, group in addition; ``"numeric"``: by a QR decomposition of the regressor in random
            states.
        mount: ``"fixed"``: the base stands still; ``"tilted"``: it stands still in various attitudes,
            so that gravity can have any direction; ``"moving"``: it moves in any way, which is known.
        rotor_inertia: whether the inertias of rotors are among the standard parameters.
        symbols: whether expressions have symbols for the lengths of the robot that are not 0, ``d3``,
            ``r4``, ``b5``; only by rules.
        seed: of the random states.
        without: names of standard parameters that are always 0, as `always_zero` answers those of robots with
            springs: they are none of the standard parameters then.

    Raises:
        DynError: the robot has loops that cannot be closed, or that its actuated joints do not determine;
            or its side file says that its base moves, and ``mount`` does not.
    """
    if method not in get_args(Method):
        raise ValueError(f"method: expected 'symbolic' or 'numeric', but it is {method!r}")
    if symbols and method != "symbolic":
        raise ValueError("symbols: only the symbolic method has them")
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
    """Answer the relations with symbols; what mimic joints and loops add stays numbers."""
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
    """Answer the grouping relations of a robot: see `base_parameters`."""
    if mount not in get_args(Mount):
        raise ValueError(f"mount: expected 'fixed', 'tilted' or 'moving', but it is {mount!r}")
    if method == "numeric":
        return numeric_relations(robot, mount, seed, rotors, without)
    of_tree = tree_relations(robot, mount, rotors)
    if robot.loops:
        return closed_relations(robot, mount, of_tree, seed)
    if robot.dof == len(robot.joints):
        return of_tree
    return coupled_relations(robot, mount, of_tree, seed)
