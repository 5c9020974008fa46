# SPDX-License-Identifier: Apache-2.0
"""A robot with symbols in the place of its dynamic parameters and of gravity."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dyn_core.model.standard_parameters import parametrised
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Graph


@dataclass(frozen=True)
class SymbolicRobot:
    """A robot of symbols.

    Attributes:
        robot: the robot.
        graph: the graph of its symbols.
        parameters: the symbols: `Robot.parameters`, then the three components of gravity.
    """

    robot: Robot
    graph: Graph
    parameters: tuple[Expr, ...]


def symbolic_robot(robot: Robot) -> SymbolicRobot:
    """Answer a robot with symbols for its dynamic parameters and gravity; its geometry stays."""
    graph = Graph()
    symbols = tuple(graph.input(f"parameters[{k}]") for k in range(len(robot.parameters) + 3))
    joints, bodies = parametrised(robot.joints, symbols[:-3])
    x, y, z = symbols[-3:]
    symbolic = replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies), gravity=(x, y, z))
    return SymbolicRobot(symbolic, graph, symbols)
