# SPDX-License-Identifier: Apache-2.0
"""Method 1 of Walker and Orin: the Newton-Euler recursion run n + 1 times (Kvrgic-Vidakovic, sec. I)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.formulations.chain import Chain
from dyn_core.representations.newton_euler import newton_euler
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def walker_orin(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], gravity_0: Vec3
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Inertia matrix, a column for each unit acceleration at rest and without gravity, and bias torques.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    rest = [0.0] * n
    bias = newton_euler(chain, q, qd, rest, gravity_0)
    columns = [newton_euler(chain, q, rest, [float(k == j) for k in range(n)], vec3.ZERO) for j in range(n)]
    return [list(row) for row in zip(*columns, strict=True)], bias
