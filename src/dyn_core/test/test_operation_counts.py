# SPDX-License-Identifier: Apache-2.0
"""Operations that are left for one robot: linear in the number of joints, and few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from counting_scalar import inputs, operations

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.articulated_dynamics import articulated_direct_dynamics
from dyn_core.dynamics.factorised_dynamics import factorised_direct_dynamics
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.model.standard_parameters import parametrised
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.vec3 import Vec3

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
GRAVITY: Vec3 = (0.0, 0.0, -9.81)

Function = Callable[[Robot, Sequence, Sequence, Sequence], list]
FUNCTIONS: dict[str, Function] = {
    "inverse": lambda robot, q, qd, qdd: inverse_dynamics(robot, q, qd, qdd, GRAVITY, {}),
    "articulated": lambda robot, q, qd, tau: articulated_direct_dynamics(robot, q, qd, tau, GRAVITY, {}),
    "factorised": lambda robot, q, qd, tau: factorised_direct_dynamics(robot, q, qd, tau, GRAVITY, {}),
    "inertia matrix": lambda robot, q, _, __: [x for row in inertia_matrix(robot, q) for x in row],
}


def counted(robot: Robot, function: Function, parameters: Sequence[str]) -> Counter[str]:
    """Count with the parameters of these names as symbols and the others 0."""
    n = robot.dof
    states = [f"{name}{j}" for name in ("q", "qd", "qdd") for j in range(n)]
    symbols = dict(zip([*states, *parameters], inputs(*states, *parameters), strict=True))
    values = [symbols.get(name, 0.0) for name in robot.parameter_names]
    joints, bodies = parametrised(robot.joints, values)
    robot = replace(robot, joints=joints, bodies=(robot.bodies[0], *bodies))
    q, qd, qdd = ([symbols[f"{name}{j}"] for j in range(n)] for name in ("q", "qd", "qdd"))
    return operations(function(robot, q, qd, qdd))


def chain(n: int) -> Robot:
    """Answer a chain with all kinds of neighbouring axes, without any special length."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    joints = []
    for j in range(n):
        like = robot.joints[1 + j % 4]
        sigma = Sigma.PRISMATIC if j % 4 == 3 else Sigma.REVOLUTE
        mdh = replace(like.mdh, d=0.3, r=0.2)
        joints.append(replace(like, name=f"j{j}", antecedent=j, sigma=sigma, mdh=mdh))
    return replace(robot, joints=tuple(joints), bodies=(robot.bodies[1],) * (n + 1), link_frames=())


@pytest.mark.parametrize("name", ["inverse", "articulated"])
def test_operations_grow_linearly(name: str) -> None:
    totals = {}
    for n in (2, 4, 8, 16, 20, 32, 36):
        robot = chain(n)
        parameters = [p for p in robot.parameter_names if p[:2] not in ("Fs", "Fo", "Fv")]
        totals[n] = counted(robot, FUNCTIONS[name], parameters).total()
    per_joint = (totals[36] - totals[32]) / 4
    assert (totals[20] - totals[16]) / 4 == per_joint, totals
    assert totals[32] <= 32 * per_joint, totals
    assert per_joint < {"inverse": 210, "articulated": 420}[name], totals


BASE = (
    "XX",
    "XY",
    "XZ",
    "YZ",
    "ZZ",
    "MX",
    "MY",
)  # of every link but the first, in a chain of revolute joints
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
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    count = counted(robot, FUNCTIONS[name], RX90)
    assert count["mul"] + count["div"] <= multiplications, count
    assert count["add"] <= additions, count
    assert count["trig"] <= 12
