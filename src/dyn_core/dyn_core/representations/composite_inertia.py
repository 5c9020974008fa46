# SPDX-License-Identifier: Apache-2.0
"""Inertia matrix by composite links, with bias torques by Newton-Euler (SYMORO+ 2003, sec. 3.6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.dynamics.inertia_matrix import wrench_of_unit_acceleration
from dyn_core.dynamics.wrench import wrench_on_antecedent
from dyn_core.formulations.chain import Chain
from dyn_core.representations.newton_euler import newton_euler
from dyn_core.representations.placement import placements
from dyn_core.robot.links import in_frame, merge
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def composite_inertia(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], gravity_0: Vec3
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Inertia matrix: SYMORO+ 2003, eqs. (3.97) to (3.103); and bias torques.

    Args:
        chain: the n links.
        q: n joint positions (rad or m).
        qd: n joint velocities (rad/s or m/s).
        gravity_0: acceleration of gravity in frame 0 (m/s^2).
    """
    n = len(chain)
    T = placements(chain, q)
    carried = [link.body for link in chain]
    for j in range(n - 1, 0, -1):
        carried[j - 1] = merge(carried[j - 1], in_frame(T[j], carried[j]))
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j, link in enumerate(chain):
        wrench = wrench_of_unit_acceleration(carried[j], link.sigma)
        A[j][j] = wrench.along(link.sigma)
        for i in range(j - 1, -1, -1):
            wrench = wrench_on_antecedent(T[i + 1], wrench)
            A[i][j] = A[j][i] = wrench.along(chain[i].sigma)
    return A, newton_euler(chain, q, qd, [0.0] * n, gravity_0)
