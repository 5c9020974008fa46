# SPDX-License-Identifier: Apache-2.0
"""Boxes of joint space that no trajectory may enter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.model.followers import range_of_leader
from dyn_core.robot.robot import Robot

CLEARANCE = 1e-3
"""Distance that a trajectory keeps from each box (rad or m)."""


@dataclass(frozen=True)
class ForbiddenBox:
    """All positions in which each joint that is named is within its range; the others may be anywhere.

    Attributes:
        name: what messages call it.
        ranges: by joint name, least and greatest position (rad or m).
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        """Refuse a box without joints, and ranges that are none."""
        if not self.ranges:
            raise DynError(
                f"box '{self.name}' names no joint: give a range for at least one", element=self._element
            )
        for joint, (lower, upper) in self.ranges.items():
            if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
                raise DynError(
                    f"box '{self.name}', joint '{joint}': the range is {lower:g} to {upper:g}: "
                    "give two finite numbers, the lesser one first",
                    element=self._element,
                )

    @property
    def _element(self) -> str:
        return f"box '{self.name}'"


@dataclass(frozen=True, eq=False)
class CoordinateBox:
    """A box in the coordinates of a robot, with the clearance around it.

    Attributes:
        name: what messages call it.
        joints: indices of the coordinates that matter.
        lower: least positions of the box (rad or m).
        upper: greatest positions of the box (rad or m).
    """

    name: str
    joints: Array
    lower: Array
    upper: Array

    def holds(self, q: Array) -> bool:
        """Whether a position (n,) is in the box."""
        inside = (q[self.joints] > self.lower) & (q[self.joints] < self.upper)
        return bool(inside.all())

    def depths(self, least: Array, greatest: Array) -> Array:
        """Answer how deep each of N boxes of positions reaches into this one, by joint (rad or m).

        Where all are positive the boxes overlap.

        Args:
            least: least positions (N, n).
            greatest: greatest positions (N, n).
        """
        depths: Array = np.minimum(greatest[:, self.joints] - self.lower, self.upper - least[:, self.joints])
        return depths

    def first_entered(self, q: Array, slack: Array) -> int | None:
        """Answer after which of N positions the box may be entered before the next one; None if never.

        Args:
            q: positions one after the other (N, n).
            slack: greatest distance of the motion between two of them from the straight line (rad or m),
                (n,).
        """
        least = np.minimum(q[:-1], q[1:]) - slack
        greatest = np.maximum(q[:-1], q[1:]) + slack
        entered = np.flatnonzero((self.depths(least, greatest) > 0.0).all(axis=1))
        return int(entered[0]) if entered.size else None


def coordinate_boxes(robot: Robot, boxes: Sequence[ForbiddenBox]) -> tuple[CoordinateBox, ...]:
    """Answer boxes in the coordinates of a robot, without those that joints which mimic others never enter.

    Raises:
        DynError: a box names a joint that the robot does not have.
    """
    found = (_in_coordinates(robot, box) for box in boxes)
    return tuple(box for box in found if box is not None)


def _in_coordinates(robot: Robot, box: ForbiddenBox) -> CoordinateBox | None:
    place = {j: k for k, j in enumerate(robot.coordinates)}
    names = {joint.name: j for j, joint in enumerate(robot.joints, start=1)}
    ranges: dict[int, tuple[float, float]] = {}
    for name, (lower, upper) in box.ranges.items():
        if name not in names:
            raise DynError(
                f"box '{box.name}' names joint '{shortened(name, 40)}', which robot '{robot.name}' does not "
                "have: "
                f"its joints are {listed(names)}",
                element=f"box '{box.name}'",
            )
        j, low, high = names[name], lower - CLEARANCE, upper + CLEARANCE
        mimic = robot.joints[j - 1].mimic
        if mimic is not None:
            if mimic.leader == 0 or mimic.multiplier == 0.0:
                if low < mimic.offset < high:
                    continue  # it stands in the range for ever
                return None
            j = mimic.leader
            low, high = range_of_leader(mimic, low, high)
        if j not in place:
            raise DynError(
                f"box '{box.name}' names joint '{shortened(name, 40)}', which is passive and follows the "
                f"actuated joints: give ranges of those, {listed(robot.coordinate_names)}, or limits to it",
                element=f"box '{box.name}'",
            )
        k = place[j]
        before = ranges.get(k, (-math.inf, math.inf))
        ranges[k] = (max(low, before[0]), min(high, before[1]))
        if ranges[k][0] >= ranges[k][1]:
            return None
    if not ranges:
        raise DynError(
            f"box '{box.name}' names no joint that can leave it: give a range of one that moves",
            element=f"box '{box.name}'",
        )
    joints = np.array(sorted(ranges))
    low_high = np.array([ranges[k] for k in sorted(ranges)])
    return CoordinateBox(box.name, joints, low_high[:, 0], low_high[:, 1])
