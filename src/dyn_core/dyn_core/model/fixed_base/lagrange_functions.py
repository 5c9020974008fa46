# SPDX-License-Identifier: Apache-2.0
"""The functions of a model that belong to the Lagrange form, and are made when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy.typing as npt

from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out, joint_vectors
from dyn_core.dynamics.coordinate_lagrange import refuse_loops
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.model.fixed_base.dynamics_programs import grouped, with_terms
from dyn_core.model.fixed_base.link_functions import LinkFunctions


class LagrangeTerms(NamedTuple):
    """Coefficients of ``tau = A qdd + B [qd qd] + C [qd^2] + Q`` (SYMORO+ 2003, eq. (3.5)).

    Friction and springs come beside it.

    ``[qd qd]`` are the products of two different velocities, qd_1 qd_2, qd_1 qd_3 ..., qd_2 qd_3 ..., as
    ``j, k = numpy.triu_indices(n, 1)`` orders them: ``qd[j] * qd[k]``. Of a batch each has the samples first.

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

    friction: bool
    rotor_inertia: bool
    base_parameters: bool

    def coriolis_matrix(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Matrix C of which C qd are the Coriolis and centrifugal torques, (n, n) or (N, n, n).

        Of all such matrices it is that of the Christoffel symbols: dA/dt - 2 C is skew-symmetric
        (SYMORO+ 2003, sec. 3.3.3).

        Args:
            q: positions.
            qd: velocities.
            out: array for the result.

        Raises:
            DynError: the robot has loops.
        """
        call = self._calls.get(("coriolis_matrix", "", None)) or self._lagrange_call("coriolis_matrix")
        return call(q, qd) if out is None else call(q, qd, out=out)

    def lagrange_terms(self, q: npt.ArrayLike, out: Array | None = None) -> LagrangeTerms:
        """Coefficients A, B, C and Q of the Lagrange form (SYMORO+ 2003, appendix 4.2).

        Args:
            q: positions.
            out: array for the four beside each other, (n, m) or (N, n, m) with m = 2 n + n (n - 1) / 2 + 1;
                what is answered are parts of it.

        Raises:
            DynError: the robot has loops.
        """
        call = self._calls.get(("lagrange_terms", "", None)) or self._lagrange_call("lagrange_terms")
        whole = call(q) if out is None else call(q, out=out)
        n = self.robot.dof
        return LagrangeTerms(whole[..., :n], whole[..., n : -n - 1], whole[..., -n - 1 : -1], whole[..., -1])

    def _lagrange_call(self, name: str) -> Callable[..., Array]:
        """Answer what computes one of the functions from whatever users give."""
        runnable = self._made((name,), partial(self._lagrange_program, name))

        def general(*vectors: npt.ArrayLike, out: Array | None = None) -> Array:
            given = dict(zip(("q", "qd"), vectors, strict=False))
            arrays = joint_vectors(self.robot.dof, **given)
            result = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
            return runnable.run(self._prepared, *arrays, out=result)

        call = self._calls[name, "", None] = runnable.function.bind(general, self._prepared)
        return call

    def _lagrange_program(self, name: str) -> Program:
        """Answer one of the functions as a program, of symbols where parameters can be set."""
        refuse_loops(self.robot)
        robot = with_terms(self.robot, self.friction, self.rotor_inertia)
        if self._tuning is None:
            return OF_LAGRANGE[name](grouped(robot, self.base_parameters, gravity_changes=False))
        symbolic = symbolic_robot(robot)
        of_symbols = with_terms(symbolic.robot, self.friction, self.rotor_inertia)
        program = OF_LAGRANGE[name](grouped(of_symbols, self.base_parameters, True), symbolic.graph)
        return replace(program, prepared=symbolic.parameters)
