# SPDX-License-Identifier: Apache-2.0
"""Positions of a robot to try, within its limits."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot

SEED = 2003

FAR = 1e3
"""Position beyond which nothing is tried (rad or m)."""


def tried_positions(robot: Robot, count: int) -> Array:
    """Answer `count` positions (count, dof), the same in every call (rad or m).

    The first is as near to 0 as limits allow. Of the others half are anywhere within the limits. In
    the other half the joints are at limits and at multiples of pi/2, where gravity needs most.
    """
    random = np.random.default_rng(SEED)
    q = np.zeros((count, robot.dof))
    for k, joint in enumerate(robot.independent_joints):
        lower, upper = tried_range(joint)
        quarters = np.arange(math.ceil(2.0 * lower / math.pi), math.floor(2.0 * upper / math.pi) + 1)
        special = (
            [lower, upper] if joint.sigma is Sigma.PRISMATIC else [lower, upper, *quarters * math.pi / 2]
        )
        half = count // 2
        q[1:half, k] = random.uniform(lower, upper, half - 1)
        q[half:, k] = random.choice(special, count - half)
        q[0, k] = min(max(0.0, lower), upper)
    return q


def tried_range(joint: Joint) -> tuple[float, float]:
    """Answer the range of a joint that is tried (rad or m): one turn, or 0, where it is not known."""
    turn = math.pi if joint.sigma is Sigma.REVOLUTE else 0.0
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None:
        return -turn, turn
    if joint.sigma is Sigma.REVOLUTE:
        is_turn = upper - lower >= 2.0 * math.pi or max(-lower, upper) > FAR
        return (-turn, turn) if is_turn else (lower, upper)
    return max(-FAR, min(lower, FAR)), max(-FAR, min(upper, FAR))
