# SPDX-License-Identifier: Apache-2.0
"""A closed configuration of all legs near the assembly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.linalg.transform import Transform
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_closure import CLOSED, ITERATIONS, LONGEST_STEP, gaps, jacobians
from dyn_core.parallel.placement_entries import placement_entries
from dyn_core.parallel.platform_motion import PlatformMotion, platform_motion
from dyn_core.symbolic import mat3, vec3

SETTLED = 1e-15
"""Step of the iteration that is nothing but rounding (m or rad)."""


class Assembled(NamedTuple):
    """Placement of the platform in the frame of the root, and joint positions of the legs (rad or m)."""

    T: Transform
    q: tuple[tuple[float, ...], ...]


def assembled(legs: Sequence[Leg], near: Assembled, fixed: Matrix) -> Assembled:
    """Answer a configuration in which all legs are closed, by the Gauss-Newton method.

    Args:
        legs: the legs; which components determine them does not matter.
        near: where to begin.
        fixed: rows [linear; angular] along which the platform does not move, whatever the legs do.

    Raises:
        DynError: the legs do not close.
    """
    T, q = near.T, np.array([x for of_leg in near.q for x in of_leg])
    sizes = [len(leg.bodies) for leg in legs]
    ends = np.cumsum(sizes).tolist()
    for _ in range(ITERATIONS):
        rows, missing = [], []
        for leg, end, size in zip(legs, ends, sizes, strict=True):
            of_leg = q[end - size : end].tolist()
            J, of_platform = jacobians(leg, at(T), of_leg)
            block = np.zeros((len(J), len(q) + 6))
            block[:, end - size : end], block[:, len(q) :] = J, -of_platform
            rows.append(block)
            missing += gaps(leg, at(T), of_leg)
        if not np.all(np.isfinite(missing)):
            break
        rows.append(np.hstack([np.zeros((len(fixed), len(q))), fixed]))
        wanted = np.concatenate([-np.array(missing), np.zeros(len(fixed))])
        step = np.linalg.lstsq(np.vstack(rows), wanted, rcond=1e-10)[0]
        largest = float(np.max(np.abs(step)))
        if largest <= SETTLED:
            break
        step *= min(1.0, LONGEST_STEP / largest)
        q = q + step[: len(q)]
        T = moved(T, step[len(q) :])
    closed = Assembled(T, tuple(tuple(q[e - n : e].tolist()) for e, n in zip(ends, sizes, strict=True)))
    for leg, of_leg in zip(legs, closed.q, strict=True):
        _is_closed(leg, T, of_leg)
    return closed


def _is_closed(leg: Leg, T: Transform, q: Sequence[float]) -> None:
    missing = max(map(abs, gaps(leg, at(T), q)))
    if not missing <= CLOSED:
        raise DynError(
            f"leg '{leg.name}' is open in the assembly, and near it, by {missing:.3g}: give positions of all "
            "joints, those of the platform too, that close the legs",
            element=f"loop '{leg.name}'",
        )


def at(T: Transform) -> PlatformMotion:
    """Answer a platform at rest."""
    return platform_motion(placement_entries(T), (0.0,) * 6, (0.0,) * 6, None)


def moved(T: Transform, by: Matrix) -> Transform:
    """Placement after a displacement [linear; rotation vector] on the axes of the root (m, rad)."""
    angle = float(np.linalg.norm(by[3:]))
    R = T.R
    if angle > 0.0:
        x, y, z = (by[3:] / angle).tolist()
        turn = mat3.add(
            mat3.scale(math.sin(angle), mat3.skew((x, y, z))),
            mat3.scale(2.0 * math.sin(0.5 * angle) ** 2, mat3.skew_squared((x, y, z))),
        )
        R = mat3.mul(mat3.add(mat3.IDENTITY, turn), T.R)
    dx, dy, dz = by[:3].tolist()
    return Transform(R, vec3.add(T.p, (dx, dy, dz)))
