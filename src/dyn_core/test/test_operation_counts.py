# SPDX-License-Identifier: Apache-2.0
"""Operation counts for one robot: linear in the number of joints, and small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from robots import example

from dyn_core.algorithms.dynamics import direct_dynamics as direct
from dyn_core.algorithms.dynamics.newton_euler import inertia_matrix, inverse_dynamics
from dyn_core.robot.dynamic_parameters import parametrised
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph, operation_counts
from dyn_core.symbolic.vec3 import Vec3

GRAVITY: Vec3 = (0.0, 0.0, -9.81)

Function = Callable[[Robot, Sequence, Sequence, Sequence], list]
FUNCTIONS: dict[str, Function] = {
    "inverse": lambda robot, q, qd, qdd: inverse_dynamics(robot, q, qd, qdd, GRAVITY, {}),
    "articulated": lambda robot, *state: direct.articulated_direct_dynamics(robot, *state, GRAVITY, {}),
    "factorised": lambda robot, *state: direct.factorised_direct_dynamics(robot, *state, GRAVITY, {}),
    "inertia matrix": lambda robot, q, _, __: [x for row in inertia_matrix(robot, q) for x in row],
}


def counted(robot: Robot, function: Function, parameters: Sequence[str]) -> Counter[str]:
    """Count operations with the parameters of these names as symbols and the others 0."""
    n, graph = robot.dof, Graph()
    symbols = {name: graph.input(name) for name in parameters}
    joints, bodies = parametrised(robot.joints, [symbols.get(name, 0.0) for name in robot.parameter_names])
    robot = replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies))
    states = ([graph.input(f"{name}{j}") for j in range(n)] for name in ("q", "qd", "qdd"))
    return Counter(operation_counts(function(robot, *states)))


def frictionless(robot: Robot) -> list[str]:
    return [name for name in robot.parameter_names if name[:2] not in ("Fs", "Fo", "Fv")]


def chain(n: int) -> Robot:
    """Return a chain with all kinds of neighbouring axes and general lengths."""
    robot = example("rx90")
    joints = []
    for j in range(n):
        like, sigma = robot.joints[1 + j % 4], Sigma.PRISMATIC if j % 4 == 3 else Sigma.REVOLUTE
        mdh = replace(like.mdh, d=0.3, r=0.2)
        joints.append(replace(like, name=f"j{j}", antecedent=j, sigma=sigma, mdh=mdh))
    return replace(robot, joints=tuple(joints), bodies=(robot.bodies[1],) * (n + 1), link_frames=())


def growth(robots: Callable[[int], Robot], function: Function) -> float:
    """Operations of each further joint, apart from the first joints, which cost less."""
    chains = {n: robots(n) for n in (2, 4, 8, 16, 20, 32, 36)}
    totals = {n: counted(robot, function, frictionless(robot)).total() for n, robot in chains.items()}
    per_joint = (totals[36] - totals[32]) / 4
    assert (totals[20] - totals[16]) / 4 == per_joint, totals
    assert totals[32] <= 32 * per_joint, totals
    return per_joint


@pytest.mark.parametrize(("name", "most"), [("inverse", 210), ("articulated", 420)])
def test_operations_grow_linearly(name: str, most: float) -> None:
    assert growth(chain, FUNCTIONS[name]) < most


BASE = ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY")  # of all links but the first, in a revolute chain
RX90 = ["ZZ1", *(f"{name}{j}" for j in range(2, 7) for name in BASE), *(f"Ia{j}" for j in range(3, 7))]


@pytest.mark.parametrize(
    ("name", "multiplications", "additions"),
    [
        ("inverse", 251, 238),  # SYMORO+ 253, 238; OpenSYMORO 291, 230
        ("inertia matrix", 114, 113),  # OpenSYMORO 195, 137
        ("articulated", 566, 503),  # OpenSYMORO 858, 626
        ("factorised", 444, 399),
    ],
)
def test_rx90_with_base_parameters(name: str, multiplications: int, additions: int) -> None:
    """The robot of SYMORO+ 2003, table 1.2; a division counts as a multiplication."""
    count = counted(example("rx90"), FUNCTIONS[name], RX90)
    assert count["mul"] + count["div"] <= multiplications, count
    assert count["add"] <= additions, count
    assert count["trig"] <= 12
