# SPDX-License-Identifier: Apache-2.0
"""A leg of a parallel robot, as data."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.parallel.leg_positions import LegPositions
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class AxisPair:
    """An axis in the leg and one in the platform, whose angle the cut joint keeps.

    The leg and the platform have one angular velocity along the normal of both: a universal joint
    keeps the angle of its axes, a revolute joint those of its axis with two normals of it in the platform.

    Attributes:
        in_leg: unit vector in the frame of the leg's last body.
        in_platform: unit vector in the frame of the platform's link.
        cosine: cosine of their angle.
    """

    in_leg: Vec3
    in_platform: Vec3
    cosine: float


@dataclass(frozen=True)
class Leg:
    """A chain of joints from the base to a cut joint on the platform.

    What the leg and the platform have in common are components of their motion: the velocity of the centre of
    the cut joint, on the axes of the last body of the leg, then the angular velocities along the normals of
    pairs of axes.

    Attributes:
        name: name of the cut joint.
        bodies: numbers of its joints and bodies in the tree, from the base on.
        robot: the leg alone, a robot with one chain.
        point: centre of the cut joint in the frame of the last body (m).
        anchor: the same in the frame of the platform's link (m).
        pairs: pairs of axes.
        components: places of as many common components as the leg has joints, which determine how it moves.
        actuated: places of the actuated joints in the leg.
        closed_form: what gives the joint positions; None where they are found by iteration.
    """

    name: str
    bodies: tuple[int, ...]
    robot: Robot
    point: Vec3
    anchor: Vec3
    pairs: tuple[AxisPair, ...]
    components: tuple[int, ...]
    actuated: tuple[int, ...]
    closed_form: LegPositions | None

    @property
    def in_common(self) -> range:
        """Places of all components that the leg and the platform have in common."""
        return range(3 + len(self.pairs))
