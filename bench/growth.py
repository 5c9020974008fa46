# SPDX-License-Identifier: Apache-2.0
"""How models grow with the number of joints: operations, and time, for chains."""

from __future__ import annotations

import timeit
from random import Random

import numpy as np

import dyn_core

LENGTHS = (2, 4, 8, 16, 32, 64)


def chain(n: int) -> str:
    """URDF of a chain of n revolute joints in general position."""
    random = Random(n)

    def triple(size: float) -> str:
        return " ".join(f"{random.uniform(-size, size):.6f}" for _ in range(3))

    links = [
        f'<link name="l{j}"><inertial><origin xyz="{triple(0.2)}"/><mass value="2"/><inertia ixx="0.1" '
        'ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.01" izz="0.15"/></inertial></link>'
        for j in range(n + 1)
    ]
    joints = [
        f'<joint name="j{j}" type="continuous"><origin xyz="{triple(0.4)}" rpy="{triple(3.0)}"/>'
        f'<parent link="l{j}"/><child link="l{j + 1}"/><axis xyz="{triple(1.0)}"/></joint>'
        for j in range(n)
    ]
    return f'<robot name="chain{n}">{"".join(links + joints)}</robot>'


def rows() -> list[str]:
    """One line a length: operations, and time of one call in C, of inverse and direct dynamics."""
    lines = [f"{'joints':>6} {'inverse':>22} {'direct':>22}"]
    for n in LENGTHS:
        robot = dyn_core.load_robot(chain(n))
        model = dyn_core.compile_model(robot, friction=False, backend="python")
        words = [f"{n:>6}"]
        for name in ("inverse_dynamics", "forward_dynamics"):
            counts = model.operation_counts(name)
            total = counts["mul"] + counts["add"]
            words.append(f"{total:>9} ops {total / n:>7.0f}/n")
        lines.append(" ".join(words))
    return lines


def python_backend_s(path: str) -> float:
    """Least time of one call of inverse dynamics without a compiler."""
    model = dyn_core.compile_model(dyn_core.load_robot(path), friction=False, backend="python")
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, model.robot.dof))
    return min(timeit.repeat(lambda: model.inverse_dynamics(q, v, a), number=200, repeat=7)) / 200
