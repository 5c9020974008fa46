# SPDX-License-Identifier: Apache-2.0
"""The formulations by name, each as what it answers: torques, the equations of motion, or accelerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.formulations.chain import Chain
from dyn_core.formulations.lagrangian import lagrangian_3x3
from dyn_core.formulations.recursive_newton_euler import mrnea
from dyn_core.representations.angular_velocity import angular_velocity_lagrangian
from dyn_core.representations.articulated import articulated
from dyn_core.representations.composite_inertia import composite_inertia
from dyn_core.representations.lagrangian_4x4 import lagrangian_4x4
from dyn_core.representations.newton_euler import newton_euler
from dyn_core.representations.uicker_kahn import uicker_kahn
from dyn_core.representations.walker_orin import walker_orin
from dyn_core.representations.waters import waters
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3

Vector: TypeAlias = Sequence[Scalar]
Inverse: TypeAlias = Callable[[Chain, Vector, Vector, Vector, Vec3], list[Scalar]]
Direct: TypeAlias = Callable[[Chain, Vector, Vector, Vector, Vec3], list[Scalar]]
Equations: TypeAlias = Callable[[Chain, Vector, Vector, Vec3], tuple[list[list[Scalar]], list[Scalar]]]

INVERSE: Mapping[str, Inverse] = {
    "Uicker-Kahn": uicker_kahn,
    "Waters": waters,
    "Lagrangian, 4 x 4": lagrangian_4x4,
    "Lagrangian, 3 x 3": lagrangian_3x3,
    "angular velocity": angular_velocity_lagrangian,
    "Newton-Euler": newton_euler,
}
"""Torques from q, qd, qdd and gravity."""

EQUATIONS: Mapping[str, Equations] = {
    "Walker-Orin 1": walker_orin,
    "mRNEA": mrnea,
    "composite inertia": composite_inertia,
}
"""Inertia matrix and bias torques from q, qd and gravity."""


def _solving(equations: Equations) -> Direct:
    def direct(chain: Chain, q: Vector, qd: Vector, torques: Vector, gravity_0: Vec3) -> list[Scalar]:
        A, H = equations(chain, q, qd, gravity_0)
        factors = factorised(A, [range(k) for k in range(len(chain))])
        return solved(factors, [tau - bias for tau, bias in zip(torques, H, strict=True)])

    return direct


DIRECT: Mapping[str, Direct] = {
    **{name: _solving(equations) for name, equations in EQUATIONS.items()},
    "articulated": articulated,
}
"""Accelerations from q, qd, torques and gravity."""
