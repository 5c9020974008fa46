# SPDX-License-Identifier: Apache-2.0
"""Operation counts of the formulations: as written, traced with symbols, and traced for one arm.

`INVERSE`, `EQUATIONS` and `DIRECT` list the formulations by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from dyn_core.algorithms.dynamics.direct_dynamics import (
    articulated_direct_dynamics,
    factorised_direct_dynamics,
)
from dyn_core.algorithms.dynamics.newton_euler import (
    bias_torques,
    factorised,
    inertia_and_bias,
    inertia_matrix,
    inverse_dynamics,
    solved,
)
from dyn_core.formulations.chain import (
    Chain,
    Symbol,
    Vector,
    chain_of,
    continued,
    general_chain,
    general_gravity,
    general_robot,
)
from dyn_core.formulations.lagrangian import (
    angular_velocity_lagrangian,
    lagrangian_3x3,
    lagrangian_4x4,
    uicker_kahn,
    waters,
)
from dyn_core.formulations.recursive_newton_euler import (
    Equations,
    articulated,
    composite_inertia,
    mrnea,
    newton_euler,
    walker_orin,
)
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.expression_graph import Graph, operation_counts
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

# Formulations by name

Run: TypeAlias = Callable[[Chain, Vector, Vector, Vector, Vec3], list[Scalar]]
"""Function of q, qd, then qdd, torques or nothing, and gravity."""

FormOfEquations: TypeAlias = Callable[[Chain, Vector, Vector, Vec3], Equations]
Production: TypeAlias = Callable[[Robot, Vector, Vector, Vector], list[Scalar]]

INVERSE: Mapping[str, Run] = {
    "Uicker-Kahn": uicker_kahn,
    "Waters": waters,
    "Lagrangian, 4 x 4": lagrangian_4x4,
    "Lagrangian, 3 x 3": lagrangian_3x3,
    "angular velocity": angular_velocity_lagrangian,
    "Newton-Euler": newton_euler,
}
"""Torques from q, qd, qdd and gravity."""

EQUATIONS: Mapping[str, FormOfEquations] = {
    "Walker-Orin 1": walker_orin,
    "mRNEA": mrnea,
    "composite inertia": composite_inertia,
}
"""Inertia matrix and bias torques from q, qd and gravity."""


def _solving(equations: FormOfEquations) -> Run:
    def direct(chain: Chain, q: Vector, qd: Vector, torques: Vector, gravity_0: Vec3) -> list[Scalar]:
        A, H = equations(chain, q, qd, gravity_0)
        factors = factorised(A, [range(k) for k in range(len(chain))])
        return solved(factors, [tau - bias for tau, bias in zip(torques, H, strict=True)])

    return direct


DIRECT: Mapping[str, Run] = {
    **{name: _solving(equations) for name, equations in EQUATIONS.items()},
    "articulated": articulated,
}
"""Accelerations from q, qd, torques and gravity."""


# Counts


def _flat(A: Sequence[Vector], H: Vector) -> list[Scalar]:
    return [*(x for row in A for x in row), *H]


def _all_entries(equations: FormOfEquations) -> Run:
    """Return the function of all entries of the inertia matrix and the bias torques."""

    def run(chain: Chain, q: Vector, qd: Vector, _: Vector, gravity_0: Vec3) -> list[Scalar]:
        return _flat(*equations(chain, q, qd, gravity_0))

    return run


class Operations(NamedTuple):
    """Multiplications and additions of one evaluation; a division counts as a multiplication."""

    mul: int
    add: int

    @property
    def total(self) -> int:
        """Sum of both."""
        return self.mul + self.add


class Count(NamedTuple):
    """Operations of a formulation for one number of joints.

    Attributes:
        written: as written, in general position; None for the algorithms of models, written for tracing.
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
    units = ([float(k == j) for k in range(n)] for j in range(n))
    columns = [inverse_dynamics(robot, q, rest, unit, vec3.ZERO, {}) for unit in units]
    return _flat(columns, bias_torques(robot, q, qd, robot.gravity_0, {}))


FORMS: Mapping[str, Mapping[str, Run]] = {
    "inverse dynamics": INVERSE,
    "inertia matrix and bias torques": {name: _all_entries(form) for name, form in EQUATIONS.items()},
    "direct dynamics": DIRECT,
}
"""The formulations by the quantity that they compute."""

PRODUCTION: Mapping[str, Mapping[str, Production]] = {
    "inverse dynamics": {
        "of models, Newton-Euler": lambda r, q, qd, x: inverse_dynamics(r, q, qd, x, r.gravity_0, {})
    },
    "inertia matrix and bias torques": {
        "of models, Walker-Orin 1": lambda r, q, qd, _: _by_columns(r, q, qd),
        "of models, mRNEA": lambda r, q, qd, _: _flat(*inertia_and_bias(r, q, qd, r.gravity_0, {})),
        "of models, composite inertia": lambda r, q, qd, _: _flat(
            inertia_matrix(r, q), bias_torques(r, q, qd, r.gravity_0, {})
        ),
    },
    "direct dynamics": {
        "of models, composite inertia": lambda r, q, qd, x: factorised_direct_dynamics(
            r, q, qd, x, r.gravity_0, {}
        ),
        "of models, articulated": lambda r, q, qd, x: articulated_direct_dynamics(
            r, q, qd, x, r.gravity_0, {}
        ),
    },
}
"""The algorithms of models by the quantity that they compute, written as models trace them."""


def counted(what: str, name: str, n: int, arm: Robot) -> Count:
    """Count the operations of a formulation of the quantity `what`, a key of `FORMS`, for n joints.

    The last count is that of the arm, which is repeated if it has fewer joints.
    """
    like_arm = continued(arm, n)
    if name in FORMS[what]:
        run, chain = FORMS[what][name], chain_of(like_arm)

        def general(symbol: Symbol, q: Vector, qd: Vector, x: Vector) -> list[Scalar]:
            return run(general_chain(n, symbol), q, qd, x, general_gravity(symbol))

        of_arm = _traced(n, lambda _, q, qd, x: run(chain, q, qd, x, like_arm.gravity_0))
        return Count(as_written(run, n), _traced(n, general), of_arm)
    production = PRODUCTION[what][name]
    return Count(
        None,
        _traced(n, lambda symbol, *vectors: production(general_robot(n, symbol), *vectors)),
        _traced(n, lambda _, *vectors: production(like_arm, *vectors)),
    )


def as_written(run: Run, n: int) -> Operations:
    """Count the operations of a formulation as written, for n revolute joints in general position."""
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


# Counting scalar


def _counted(kind: str) -> Callable[..., Tally]:
    def operation(self: Tally, *_: object) -> Tally:
        self.counts[kind] += 1
        return self

    return operation


class Tally:
    """A scalar without value that counts operations; operations on numbers and signs are not counted.

    All values that share the counter `counts` add to it.
    """

    __slots__ = ("counts",)

    def __init__(self, counts: Counter[str]) -> None:
        """Share a counter."""
        self.counts = counts

    def __neg__(self) -> Tally:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = _counted("add")
    __mul__ = __rmul__ = _counted("mul")
    __truediv__ = __rtruediv__ = _counted("div")
    sin = cos = _counted("trig")


# Growth of counts with the number of joints


class Polynomial(NamedTuple):
    """The leading term ``leading n^degree`` of counts that are a polynomial in n."""

    degree: int
    leading: float


def polynomial(counts: Sequence[int]) -> Polynomial | None:
    """Return the polynomial of the counts for successive numbers of joints; None if they have none.

    The differences of the order of the degree are constant; at least three of them are required.
    """
    differences = list(counts)
    for degree in range(len(counts) - 2):
        if len(set(differences)) == 1:
            return Polynomial(degree, differences[0] / math.factorial(degree))
        differences = [b - a for a, b in pairwise(differences)]
    return None


def slope(count: int, of_twice: int) -> float:
    """Exponent of the growth of counts between a number of joints and twice that number."""
    return math.log2(of_twice / count)
