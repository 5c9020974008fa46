# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form of the coordinates, which joints that mimic others follow by a constant linear map.

With ``qd_tree = G qd`` and G constant, the Christoffel symbols of the coordinates are those of the joints
with G on each of the three sides, as the inertia matrix is with G on both (`dyn_core.robot.joint_coupling`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.dynamics.lagrange_form import Christoffel, LagrangeForm, lagrange_form
from dyn_core.core.errors import DynError, listed
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.robot.joint_coupling import coordinate_inertia, coordinate_torques
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar


def coordinate_lagrange(robot: Robot, q: Sequence[Scalar]) -> LagrangeForm:
    """Coefficients of the Lagrange form of the dof coordinates.

    Args:
        robot: the robot.
        q: n positions of the joints of the tree (rad or m).

    Raises:
        DynError: the robot has loops, or its side file says that its base moves.
    """
    refuse_loops(robot)
    refuse_moving_base(robot, "the Lagrange form")
    A, b, Q = lagrange_form(robot, q, robot.gravity_0)
    if all(joint.mimic is None for joint in robot.joints):
        return LagrangeForm(A, b, Q)
    return LagrangeForm(coordinate_inertia(robot, A), _gathered(robot, b), coordinate_torques(robot, Q))


def refuse_loops(robot: Robot) -> None:
    """Raise a DynError where a robot has loops: it has no Lagrange form here."""
    if robot.loops:
        loops = listed(loop.name for loop in robot.loops)
        raise DynError(
            f"robot '{robot.name}' has the loops {loops}: the Lagrange form is that of trees; "
            "cut the loops for that of its tree (dyn lagrange --tree, Robot.without_loops)",
            element=f"loop '{robot.loops[0].name}'",
        )


def _gathered(robot: Robot, b: Christoffel) -> Christoffel:
    """Sum up the symbols with G on each side."""
    by_last = [[coordinate_torques(robot, row) for row in rows] for rows in b]
    by_both = [_columns_gathered(robot, rows) for rows in by_last]
    gathered: Christoffel = [[] for _ in range(robot.dof)]
    for rows in zip(*by_both, strict=True):
        for i, row in enumerate(_columns_gathered(robot, rows)):
            gathered[i].append(row)
    return gathered


def _columns_gathered(robot: Robot, rows: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """Answer ``G^T rows``."""
    columns = [coordinate_torques(robot, column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]
