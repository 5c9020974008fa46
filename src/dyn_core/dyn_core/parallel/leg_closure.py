# SPDX-License-Identifier: Apache-2.0
"""Joint positions of a leg that ends where the platform is, by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dyn_core.algorithms.parallel.leg_kinematics import (
    common_component,
    leg_jacobian,
    leg_state,
    platform_jacobian,
)
from dyn_core.core.errors import DynError
from dyn_core.geometry.forward import body_placements
from dyn_core.linalg.transform import apply
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.symbolic import mat3, vec3

CLOSED = 1e-12
"""Distance (m), and cosine, that a closed leg may leave."""

ITERATIONS = 60
LONGEST_STEP = 0.3


def gaps(leg: Leg, motion: PlatformMotion, q: Sequence[float]) -> list[float]:
    """By what a leg misses the platform, by component: on the axes of the last body (m), cosines."""
    T = body_placements(leg.robot, q)[-1]
    p = vec3.add(motion.p, mat3.mul_vec(motion.R, leg.anchor))
    apart = mat3.mul_vec(mat3.transpose(T.R), vec3.sub(apply(T, leg.point), p))
    turned = (
        vec3.dot(mat3.mul_vec(T.R, pair.in_leg), mat3.mul_vec(motion.R, pair.in_platform)) - pair.cosine
        for pair in leg.pairs
    )
    return [*apart, *turned]


def jacobians(leg: Leg, motion: PlatformMotion, q: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """All common components by the velocities of the joints, and by the velocity of the platform."""
    state = leg_state(replace(leg, components=()), motion, q)
    components = [common_component(state, motion, k) for k in leg.in_common]
    return np.array(leg_jacobian(state, components)), np.array(platform_jacobian(state, components))


def closed_leg(leg: Leg, motion: PlatformMotion, guess: Sequence[float]) -> list[float]:
    """Answer joint positions with which a leg meets the platform, by Newton's method.

    Args:
        leg: the leg.
        motion: placement of the platform.
        guess: joint positions to begin with (rad or m).

    Raises:
        DynError: the leg does not get there.
    """
    q = np.array(guess, dtype=float)
    wanted = list(leg.components)
    for _ in range(ITERATIONS):
        missing = np.array(gaps(leg, motion, q.tolist()))
        if not np.all(np.isfinite(missing)):
            break
        step = np.linalg.lstsq(jacobians(leg, motion, q.tolist())[0][wanted], -missing[wanted], rcond=None)[0]
        largest = float(np.max(np.abs(step)))
        if largest <= 1e-15 * max(1.0, float(np.max(np.abs(q)))) or (
            np.max(np.abs(missing[wanted])) <= 1e-15
        ):
            break
        q += step * min(1.0, LONGEST_STEP / largest)
    missing = np.array(gaps(leg, motion, q.tolist()))
    if not np.max(np.abs(missing)) <= CLOSED:
        raise does_not_reach(leg, motion, float(np.max(np.abs(missing))))
    return [float(x) for x in q]


def does_not_reach(leg: Leg, motion: PlatformMotion, left: float) -> DynError:
    """Answer what is said of a leg that misses the platform by so much (m, or a cosine)."""
    return DynError(
        f"leg '{leg.name}' does not reach the platform at {_text(motion.p)} m: {left:.3g} is left",
        element=f"loop '{leg.name}'",
    )


def _text(p: Sequence[float]) -> str:
    return f"({', '.join(f'{x:.4g}' for x in p)})"
