# SPDX-License-Identifier: Apache-2.0
"""Operations of the formulations: as they are written, traced with symbols, and traced for one arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.articulated_dynamics import articulated_direct_dynamics
from dyn_core.dynamics.bias_torques import bias_torques
from dyn_core.dynamics.factorised_dynamics import factorised_direct_dynamics
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.dynamics.mrnea import inertia_and_bias
from dyn_core.expr.analysis import operation_counts
from dyn_core.formulations.chain import Chain, chain_of
from dyn_core.representations.chains import Symbol, continued, general_chain, general_robot
from dyn_core.representations.forms import DIRECT, EQUATIONS, INVERSE, Equations, Vector
from dyn_core.representations.tally import Tally
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

Run = Callable[[Chain, Vector, Vector, Vector, Vec3], list[Scalar]]
Production = Callable[[Robot, Vector, Vector, Vector], list[Scalar]]


def _flat(A: Sequence[Vector], H: Vector) -> list[Scalar]:
    return [*(x for row in A for x in row), *H]


def _answering_all(equations: Equations) -> Run:
    """Answer the function whose results are the entries of the inertia matrix and the bias torques."""

    def run(chain: Chain, q: Vector, qd: Vector, _: Vector, gravity_0: Vec3) -> list[Scalar]:
        return _flat(*equations(chain, q, qd, gravity_0))

    return run


class Operations(NamedTuple):
    """Multiplications and additions of one evaluation; a division counts as a multiplication."""

    mul: int
    add: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.mul + self.add


class Count(NamedTuple):
    """Operations of a formulation for one number of joints.

    Attributes:
        written: as it is written, in general position; None for what models compute with, which is
            written to be traced.
        general: traced in general position, with symbols for all constants.
        arm: traced for one arm, with numbers for all constants.
    """

    written: Operations | None
    general: Operations
    arm: Operations


def _by_columns(robot: Robot, q: Vector, qd: Vector) -> list[Scalar]:
    """Method 1 of Walker and Orin with the inverse dynamics of models."""
    n = len(robot.joints)
    rest = [0.0] * n
    columns = [
        inverse_dynamics(robot, q, rest, [float(k == j) for k in range(n)], vec3.ZERO, {}) for j in range(n)
    ]
    return _flat(columns, bias_torques(robot, q, qd, robot.gravity_0, {}))


FORMS: Mapping[str, Mapping[str, Run]] = {
    "inverse dynamics": INVERSE,
    "inertia matrix and bias torques": {
        name: _answering_all(equations) for name, equations in EQUATIONS.items()
    },
    "direct dynamics": DIRECT,
}
"""The formulations, by what they compute."""

PRODUCTION: Mapping[str, Mapping[str, Production]] = {
    "inverse dynamics": {
        "of models, Newton-Euler": lambda robot, q, qd, x: inverse_dynamics(
            robot, q, qd, x, robot.gravity_0, {}
        )
    },
    "inertia matrix and bias torques": {
        "of models, Walker-Orin 1": lambda robot, q, qd, _: _by_columns(robot, q, qd),
        "of models, mRNEA": lambda robot, q, qd, _: _flat(
            *inertia_and_bias(robot, q, qd, robot.gravity_0, {})
        ),
        "of models, composite inertia": lambda robot, q, qd, _: _flat(
            inertia_matrix(robot, q), bias_torques(robot, q, qd, robot.gravity_0, {})
        ),
    },
    "direct dynamics": {
        "of models, composite inertia": lambda robot, q, qd, x: factorised_direct_dynamics(
            robot, q, qd, x, robot.gravity_0, {}
        ),
        "of models, articulated": lambda robot, q, qd, x: articulated_direct_dynamics(
            robot, q, qd, x, robot.gravity_0, {}
        ),
    },
}
"""The algorithms in the text that models are traced from, by what they compute."""


def counted(what: str, name: str, n: int, arm: Robot) -> Count:
    """Count the operations of a formulation for n joints.

    Args:
        what: what it computes: a key of `FORMS`.
        name: its name there or in `PRODUCTION`.
        n: number of joints.
        arm: the arm of the last count, which goes on with itself where it has fewer joints.
    """
    like_arm = continued(arm, n)
    if name in FORMS[what]:
        run, chain = FORMS[what][name], chain_of(like_arm)
        return Count(
            as_written(run, n),
            _traced(n, lambda symbol, q, qd, x: run(general_chain(n, symbol), q, qd, x, _gravity(symbol))),
            _traced(n, lambda _, q, qd, x: run(chain, q, qd, x, like_arm.gravity_0)),
        )
    production = PRODUCTION[what][name]
    return Count(
        None,
        _traced(n, lambda symbol, q, qd, x: production(general_robot(n, symbol), q, qd, x)),
        _traced(n, lambda _, q, qd, x: production(like_arm, q, qd, x)),
    )


def _gravity(symbol: Symbol) -> Vec3:
    return symbol("GX"), symbol("GY"), symbol("GZ")


def as_written(run: Run, n: int) -> Operations:
    """Count what a formulation does with n revolute joints in general position, run as it is written."""
    counts: Counter[str] = Counter()
    value = Tally(counts)
    vector = [value] * n
    run(general_chain(n, lambda _: value), vector, vector, vector, (value, value, value))
    return Operations(counts["mul"] + counts["div"], counts["add"])


def _traced(n: int, run: Callable[..., Sequence[Scalar]]) -> Operations:
    graph = Graph()
    vectors = ([graph.input(f"{name}{j}") for j in range(1, n + 1)] for name in ("q", "qd", "x"))
    counts = operation_counts(tuple(run(graph.input, *vectors)))
    return Operations(counts["mul"] + counts["div"], counts["add"])
