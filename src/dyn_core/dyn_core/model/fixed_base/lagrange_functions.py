# SPDX-License-Identifier: Apache-2.0
"""Functions of the Lagrange form tau = A qdd + B [qd qd] + C [qd^2] + Q, compiled at their first call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.lagrange_form import coordinate_lagrange, coriolis_matrix, refuse_loops
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array, joint_vectors
from dyn_core.model.builder import Vector
from dyn_core.model.fixed_base.link_functions import LinkFunctions
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar


def lagrange_terms(robot: Robot, graph: Graph | None = None) -> Program:
    """Return the matrices A, B, C and Q beside each other, n rows, as a program of q."""
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

    products = (f"B:{names[j]}:{names[k]}" for j, k in pairs)
    columns = (*(f"A:{name}" for name in names), *products, *(f"C:{name}" for name in names), "Q")
    program = trace("lagrange_terms", algorithm, {"q": n}, (n, len(columns)), graph=graph)
    return replace(program, columns=columns)


def coriolis_matrix_of(robot: Robot, graph: Graph | None = None) -> Program:
    """Return the Coriolis matrix, n x n, as a program of q and qd."""
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


class LagrangeTerms(NamedTuple):
    """Coefficients of ``tau = A qdd + B [qd qd] + C [qd^2] + Q`` (SYMORO+ 2003, eq. (3.5)).

    Friction and springs are not included. ``[qd qd]`` are the products of two different velocities, ``qd[j] *
    qd[k]`` in the order of ``j, k = numpy.triu_indices(n, 1)``. In a batch each array has the samples first.

    Attributes:
        A: inertia matrix with the inertia of the rotors, n x n.
        B: coefficients of the Coriolis torques, n x n (n - 1) / 2.
        C: coefficients of the centrifugal torques, n x n.
        Q: gravity torques, n.
    """

    A: Array
    B: Array
    C: Array
    Q: Array


class LagrangeFunctions(LinkFunctions):
    """The Lagrange form of a tree.

    The first call traces and compiles: make one before a control loop begins.
    """

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Matrix C whose product C qd is the Coriolis and centrifugal torques, (n, n) or (N, n, n).

        It is made of the Christoffel symbols, so that dA/dt - 2 C is skew-symmetric (SYMORO+ 2003, sec.
        3.3.3).

        Raises:
            DynError: the robot has loops.
        """
        call = self._calls.get(("coriolis_matrix", "", None)) or self._lagrange_call("coriolis_matrix")
        return call(q, qd) if out is None else call(q, qd, out=out)

    def lagrange_terms(self, q: ArrayLike, out: Array | None = None) -> LagrangeTerms:
        """Coefficients A, B, C and Q of the Lagrange form (SYMORO+ 2003, appendix 4.2).

        `out` takes the four beside each other, (n, m) or (N, n, m) with m = 2 n + n (n - 1) / 2 + 1; the
        results are views of it.

        Raises:
            DynError: the robot has loops.
        """
        call = self._calls.get(("lagrange_terms", "", None)) or self._lagrange_call("lagrange_terms")
        whole = call(q) if out is None else call(q, out=out)
        n = self.robot.dof
        return LagrangeTerms(whole[..., :n], whole[..., n : -n - 1], whole[..., -n - 1 : -1], whole[..., -1])

    def _lagrange_call(self, name: str) -> Callable[..., Array]:
        """Return the compiled function, which takes all arguments that users may give."""
        runnable = self._functions.other((name,), partial(self._lagrange_program, name))

        def general(*vectors: ArrayLike, out: Array | None = None) -> Array:
            given = dict(zip(("q", "qd"), vectors, strict=False))
            return self._run(runnable, joint_vectors(self.robot.dof, **given), out)

        call = self._calls[name, "", None] = runnable.function.bind(general, self._prepared)
        return call

    def _lagrange_program(self, name: str) -> Program:
        """Return one of the functions as a program, of symbols where parameters can be set."""
        refuse_loops(self.robot)
        source = self._functions.family.source(self._tuning is not None)
        return replace(OF_LAGRANGE[name](source.robot, source.graph), prepared=source.parameters or None)
