# SPDX-License-Identifier: Apache-2.0
"""The closed form that a leg has, if it has one."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.algorithms.parallel.leg_positions import revolute_universal
from dyn_core.parallel.leg import Leg
from dyn_core.parallel.leg_positions import LegPositions, Position, first_origin, in_seat
from dyn_core.parallel.platform_motion import PlatformMotion
from dyn_core.parallel.universal_prismatic import universal_prismatic
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.vec3 import Vec3


def closed_form(robot: Robot, point: Vec3, assembly: Sequence[float]) -> LegPositions | None:
    """Answer what gives the joint positions of a leg from where its end is; None where nothing does.

    Args:
        robot: the leg.
        point: its end in the frame of the last body (m).
        assembly: joint positions on the branch that is wanted.
    """
    return universal_prismatic(robot, point, assembly) or revolute_universal(robot, point, assembly)


def closed_positions(leg: Leg, motion: PlatformMotion) -> list[Position]:
    """Joint positions of a leg that has a closed form."""
    assert leg.closed_form is not None
    return leg.closed_form.positions(_end(leg, motion))


def beyond_reach(leg: Leg, motion: PlatformMotion) -> float:
    """How far the platform is from what a leg that has a closed form can reach (m)."""
    assert leg.closed_form is not None
    return leg.closed_form.beyond(_end(leg, motion))


def _end(leg: Leg, motion: PlatformMotion) -> Vec3:
    """Where the platform wants the end of a leg, as the closed form takes it (m)."""
    L = mat3.mul_vec(motion.R, leg.anchor)
    end = vec3.add(vec3.sub(L, first_origin(leg.robot)), motion.p)
    return in_seat(leg.robot, end)


def given_or_closed(leg: Leg, motion: PlatformMotion, given: Sequence[Scalar]) -> Sequence[Position]:
    """Joint positions of a leg: those that were found for it, where it has no closed form."""
    return closed_positions(leg, motion) if leg.closed_form is not None else given
