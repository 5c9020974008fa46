# SPDX-License-Identifier: Apache-2.0
"""One configuration in which all loops are closed: that of the assembly, or near it."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.algorithms.loops.closed_configurations import CLOSED, closed_by
from dyn_core.algorithms.loops.redundancy import almost_special
from dyn_core.core.errors import DynError, listed
from dyn_core.loops.numbers import Array, Numbers
from dyn_core.robot.robot import Robot

NEAR = 0.5
"""How far (rad, or sizes of the loops) the joints that an assembly names may be from closed positions."""


def closed_reference(numbers: Numbers) -> Array:
    """Answer positions (rad or m) of the independent joints that close the loops, near the assembly.

    Raises:
        DynError: the loops cannot be closed, or only far from the assembly.
    """
    robot = numbers.robot
    start = _start(robot)
    named = {name for name, _ in robot.assembly}
    everything = range(len(start))
    passive = [k for k, j in enumerate(robot.independent) if robot.joints[j - 1].mu == 0]
    unnamed = [k for k, name in enumerate(robot.joint_names) if name not in named]
    found, gap = start, math.inf
    for movable in (passive, unnamed, everything):
        (found,), (gap,) = closed_by(numbers, start[np.newaxis], movable)
        if gap < CLOSED:
            break
    if gap >= CLOSED:
        raise _cannot_close(numbers, start, found)
    _check_near(numbers, start, found)
    return found


def _start(robot: Robot) -> Array:
    """Positions of the assembly; of joints that it does not name 0, or the nearest of their range."""
    assembly = dict(robot.assembly)
    positions = []
    for j in robot.independent:
        joint = robot.joints[j - 1]
        lower = -math.inf if joint.limits.lower is None else joint.limits.lower
        upper = math.inf if joint.limits.upper is None else joint.limits.upper
        positions.append(assembly.get(joint.name, min(max(0.0, lower), upper)))
    return np.array(positions)


def worst_opening(numbers: Numbers, q: Array) -> str:
    """Answer which loop is open most in one configuration, and by how much, as words."""
    (openings,), _ = numbers.openings(q[np.newaxis])
    worst, words, place = -1.0, "", 0
    for cut in numbers.cuts:
        own = openings[place : place + cut.rows]
        place += cut.rows
        apart = float(np.linalg.norm(own[: len(cut.linear)])) * numbers.size
        turned = float(np.linalg.norm(own[len(cut.linear) :]))
        if float(np.linalg.norm(own)) > worst:
            worst = float(np.linalg.norm(own))
            words = f"loop '{cut.name}' is open by {apart:.3g} m and {turned:.3g} rad"
    return words


def _cannot_close(numbers: Numbers, start: Array, found: Array) -> DynError:
    robot = numbers.robot
    where = "in its assembly" if robot.assembly else "with all joints at 0"
    remedy = "check the frames of the loops"
    if not robot.assembly:
        remedy += ", or give an assembly, joint positions near a configuration that closes them"
    else:
        remedy += " and the assembly"
    return DynError(
        f"the loops of robot '{robot.name}' cannot be closed: {where} {worst_opening(numbers, start)}, and "
        f"where it comes nearest to closing them {worst_opening(numbers, found)}: {remedy}"
        f"{almost_special(numbers, found)}",
        element=f"loop '{robot.loops[0].name}'",
    )


def _check_near(numbers: Numbers, start: Array, found: Array) -> None:
    robot = numbers.robot
    named = {name for name, _ in robot.assembly}
    away = np.abs(found - start) / numbers.column_units
    far = [k for k, name in enumerate(robot.joint_names) if name in named and away[k] > NEAR]
    if not far:
        return
    worst = max(far, key=lambda k: float(away[k]))
    joint = robot.joint(robot.joint_names[worst])
    raise DynError(
        f"the assembly of robot '{robot.name}' is far from closing its loops: "
        f"{worst_opening(numbers, start)}; where they close, joint '{joint.name}' is at "
        f"{found[worst]:.4g} {joint.position_unit} and not at {start[worst]:.4g}: give joint "
        f"positions near a closed configuration (the assembly names {listed(sorted(named))})"
        f"{almost_special(numbers, start)}",
        element=f"loop '{robot.loops[0].name}'",
    )
