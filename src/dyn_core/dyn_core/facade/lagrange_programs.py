# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form as programs of the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from dyn_core.algorithms.dynamics.lagrange_form import coriolis_matrix
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.coordinate_lagrange import coordinate_lagrange, refuse_loops
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar

Vector = Sequence[Scalar]


def lagrange_terms(robot: Robot, graph: Graph | None = None) -> Program:
    """Answer the matrices A, B, C and Q beside each other as a program of q: n rows."""
    refuse_loops(robot)
    n, names = robot.dof, robot.coordinate_names
    pairs = list(combinations(range(n), 2))

    def algorithm(q: Vector) -> Vector:
        A, b, Q = coordinate_lagrange(robot, joint_positions(robot, q))
        rows: list[Scalar] = []
        for i in range(n):
            rows += A[i]
            rows += (2.0 * b[i][j][k] for j, k in pairs)
            rows += (b[i][j][j] for j in range(n))
            rows.append(Q[i])
        return rows

    columns = (
        *(f"A:{name}" for name in names),
        *(f"B:{names[j]}:{names[k]}" for j, k in pairs),
        *(f"C:{name}" for name in names),
        "Q",
    )
    program = trace("lagrange_terms", algorithm, {"q": n}, (n, len(columns)), graph=graph)
    return replace(program, columns=columns)


def coriolis_matrix_of(robot: Robot, graph: Graph | None = None) -> Program:
    """Answer the Coriolis matrix as a program of q and qd: n x n."""
    refuse_loops(robot)
    n = robot.dof

    def algorithm(q: Vector, qd: Vector) -> Vector:
        form = coordinate_lagrange(robot, joint_positions(robot, q))
        return [entry for row in coriolis_matrix(form.christoffel, qd) for entry in row]

    return trace("coriolis_matrix", algorithm, {"q": n, "qd": n}, (n, n), graph=graph)


OF_LAGRANGE: Mapping[str, Callable[..., Program]] = {
    "coriolis_matrix": coriolis_matrix_of,
    "lagrange_terms": lagrange_terms,
}
"""The programs by name."""
