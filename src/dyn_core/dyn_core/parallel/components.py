# SPDX-License-Identifier: Apache-2.0
"""Which of the components that a leg and the platform have in common determine how the leg moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.linalg.transform import Transform
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_closure import jacobians
from dyn_core.parallel.placement_entries import placement_entries
from dyn_core.parallel.platform_motion import platform_motion
from dyn_core.symbolic import vec3

CLEAR = 1e-6
"""Least part of a row that is independent of those before it."""


def independent_components(leg: Leg, T_home: Transform, q: Sequence[float]) -> tuple[int, ...]:
    """Answer the first independent components, as many as the leg has joints.

    Args:
        leg: the leg; its own components do not matter.
        T_home: placement of the platform in the frame of the root.
        q: joint positions of the leg that belong to it (rad or m).
    """
    still = (*vec3.ZERO, *vec3.ZERO)
    J = jacobians(leg, platform_motion(placement_entries(T_home), still, still, None), q)[0]
    chosen: list[int] = []
    for k in range(len(J)):
        rows = J[[*chosen, k]]
        sizes = np.linalg.svd(rows / max(float(np.max(np.abs(J))), 1e-300), compute_uv=False)
        if len(chosen) < len(leg.bodies) and sizes[-1] > CLEAR:
            chosen.append(k)
    if len(chosen) < len(leg.bodies):
        raise DynError(
            f"leg '{leg.name}': in the assembly a part of it can move while the platform stands: give an "
            "assembly that is closed and not singular, or take away the joint that turns idly",
            element=f"loop '{leg.name}'",
        )
    return tuple(chosen)
