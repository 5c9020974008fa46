# SPDX-License-Identifier: Apache-2.0
"""Settings of an exciting trajectory, and forbidden boxes of joint space."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import path_text, read_text
from dyn_core.robot.joint_coupling import range_of_leader
from dyn_core.robot.robot import Robot
from dyn_core.robot.yaml_text import Node, as_node, entries, items, number, parse_yaml, place_in
from dyn_core.robot.yaml_text import name as yaml_name

CLEARANCE = 1e-3
"""Distance that a trajectory keeps from each box (rad or m)."""
MOST_HARMONICS = 20
MOST_PERIODS = 40
MOST_WORK = 100_000


@dataclass(frozen=True)
class ForbiddenBox:
    """All positions in which every named joint is within its range, at any position of the others.

    Attributes:
        name: name in messages.
        ranges: by joint name, least and greatest position (rad or m).
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        """Refuse a box without joints, and invalid ranges."""
        element = f"box '{self.name}'"
        if not self.ranges:
            raise DynError("box-without-joints", element=element, box=self.name)
        for joint, (lower, upper) in self.ranges.items():
            if not -math.inf < lower <= upper < math.inf:
                raise DynError(
                    "box-range-invalid", element=element, box=self.name, joint=joint, lower=lower, upper=upper
                )


@dataclass(frozen=True, eq=False)
class CoordinateBox:
    """A box in the coordinates of a robot, with the clearance around it.

    Attributes:
        name: name in messages.
        joints: indices of the coordinates that bound it.
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
        """Return the depth to which N boxes from `least` to `greatest`, (N, n), reach into this, by joint.

        The boxes overlap where all depths (rad or m) are positive.
        """
        depths: Array = np.minimum(greatest[:, self.joints] - self.lower, self.upper - least[:, self.joints])
        return depths

    def first_entered(self, q: Array, slack: Array) -> int | None:
        """Return the index of the first sample of a motion q (N, n) after which it may enter the box.

        It is None if the motion never does. `slack`, (n,), is the greatest distance (rad or m) of the motion
        between two samples from the straight line.
        """
        least = np.minimum(q[:-1], q[1:]) - slack
        greatest = np.maximum(q[:-1], q[1:]) + slack
        entered = np.flatnonzero((self.depths(least, greatest) > 0.0).all(axis=1))
        return int(entered[0]) if entered.size else None


def coordinate_boxes(robot: Robot, boxes: Sequence[ForbiddenBox]) -> tuple[CoordinateBox, ...]:
    """Return boxes in the coordinates of a robot, without those whose range a mimic joint never enters.

    Raises:
        DynError: a box names a joint that the robot does not have, or a passive one.
    """
    found = (_in_coordinates(robot, box) for box in boxes)
    return tuple(box for box in found if box is not None)


def _in_coordinates(robot: Robot, box: ForbiddenBox) -> CoordinateBox | None:
    element = f"box '{box.name}'"
    names = [joint.name for joint in robot.joints]
    ranges: dict[int, tuple[float, float]] = {}
    for name, (lower, upper) in box.ranges.items():
        if name not in names:
            raise DynError(
                "box-joint-unknown", element=element, box=box.name, joint=name, robot=robot.name, known=names
            )
        j, low, high = names.index(name) + 1, lower - CLEARANCE, upper + CLEARANCE
        mimic = robot.joints[j - 1].mimic
        if mimic is not None:
            if mimic.leader == 0 or mimic.multiplier == 0.0:
                if low < mimic.offset < high:
                    continue  # the joint always stands in the range
                return None
            j = mimic.leader
            low, high = range_of_leader(mimic, low, high)
        if j not in robot.coordinates:
            known = robot.coordinate_names
            raise DynError("box-joint-passive", element=element, box=box.name, joint=name, actuated=known)
        k = robot.coordinates.index(j)
        before = ranges.get(k, (-math.inf, math.inf))
        ranges[k] = (max(low, before[0]), min(high, before[1]))
        if ranges[k][0] >= ranges[k][1]:
            return None
    if not ranges:
        raise DynError("box-without-moving-joint", element=element, box=box.name)
    joints = sorted(ranges)
    return CoordinateBox(box.name, np.array(joints), *np.array([ranges[k] for k in joints]).T)


def read_boxes(
    source: str | os.PathLike[str] | Mapping[str, object] | Sequence[Mapping[str, object]],
) -> tuple[ForbiddenBox, ...]:
    """Return the boxes of a YAML file, or of its contents as a mapping, or of its list of boxes.

    .. code-block:: yaml

        boxes:
          - name: table                # in messages
            joints:                    # the box: all of these within their ranges (rad or m)
              shoulder: [0.9, 1.8]
              elbow: [-1.0, 0.0]

    Raises:
        DynError: the file cannot be read or used; the message names file, line and box.
    """
    if not isinstance(source, str | os.PathLike):
        return _boxes(as_node(source if isinstance(source, Mapping) else {"boxes": source}))
    text = read_text(source, "YAML", "YAML")
    try:
        return _boxes(parse_yaml(text))
    except DynError as error:
        raise error.in_file(path_text(source)) from error


def _boxes(root: Node) -> tuple[ForbiddenBox, ...]:
    given = entries("the file", root, ("boxes",))
    if "boxes" not in given:
        raise DynError("entry-missing", entry="boxes", expected="a list of boxes")
    boxes = [_box(f"boxes[{k}]", node) for k, node in enumerate(items("boxes", given["boxes"]))]
    for name, count in Counter(box.name for box in boxes).items():
        if count > 1:
            raise DynError("box-name-repeated", box=name)
    return tuple(boxes)


def _box(entry: str, node: Node) -> ForbiddenBox:
    given = entries(entry, node, ("name", "joints"))
    shown = yaml_name(f"{entry}, name", given["name"]) if "name" in given else entry
    owner = Place("box", shortened(shown, 40))
    if "joints" not in given:
        raise DynError("box-joints-missing", place=place_in(owner, node))
    ranges = entries(f"{owner}, joints", given["joints"])
    return ForbiddenBox(
        shown,
        {joint: _range(f"{owner}, joint '{shortened(joint, 40)}'", two) for joint, two in ranges.items()},
    )


def _range(owner: str, node: Node) -> tuple[float, float]:
    values = items(owner, node)
    if len(values) != 2:
        raise DynError("box-range-count", place=place_in(owner, node), count=len(values))
    lower, upper = (number(owner, value) for value in values)
    return lower, upper


@dataclass(frozen=True)
class ExcitationSettings:
    """Settings of the search for an exciting trajectory.

    Attributes:
        duration: time from rest to rest (s).
        blend: duration of the start from rest, and of the return to rest (s).
        periods: repetitions of the series between the blends.
        harmonics: number of sines for each joint.
        start: position at rest before and after (rad or m), in the order of the joints, or by name, where
            joints that are not named are in the middle of their range; None to choose one.
        position_scale: part of the ranges that is used, about their middle.
        velocity_scale: part of the velocity limits that is used.
        acceleration_scale: part of the acceleration limits that is used.
        effort_scale: part of the effort limits that is used.
        accelerations: acceleration limits by joint name (rad/s^2 or m/s^2); a URDF has none.
        boxes: boxes that the trajectory does not enter.
        seed: seed of the random start values.
        tries: number of random start values; the best one is improved.
        iterations: steps of the improvement; each start value gets a quarter as many.
    """

    duration: float = 30.0
    blend: float = 2.5
    periods: int = 1
    harmonics: int = 5
    start: Sequence[float] | Mapping[str, float] | None = None
    position_scale: float = 0.95
    velocity_scale: float = 0.8
    acceleration_scale: float = 1.0
    effort_scale: float = 0.8
    accelerations: Mapping[str, float] = field(default_factory=dict)
    boxes: tuple[ForbiddenBox, ...] = ()
    seed: int = 0
    tries: int = 4
    iterations: int = 800

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name in ("duration", "blend"):
            self._check(name, 0.0 < getattr(self, name) < math.inf, "a finite number of seconds > 0")
        if self.duration <= 2.0 * self.blend:
            raise ArgumentError("duration-too-short", duration=self.duration, blend=self.blend)
        for name in ("position_scale", "velocity_scale", "acceleration_scale", "effort_scale"):
            self._check(name, 0.0 < getattr(self, name) <= 1.0, "a number > 0, at most 1")
        for joint, limit in self.accelerations.items():
            if not 0.0 < limit < math.inf:
                owner, expected = "the acceleration limit", "a number > 0"
                raise ArgumentError(
                    "joint-setting-range", setting=owner, joint=joint, given=limit, expected=expected
                )
        most = {"periods": MOST_PERIODS, "harmonics": MOST_HARMONICS}
        for name, greatest in (most | {"tries": MOST_WORK, "iterations": MOST_WORK}).items():
            value = getattr(self, name)
            self._check(
                name, _is_whole(value) and 1 <= value <= greatest, f"a whole number from 1 to {greatest}"
            )
        self._check("seed", _is_whole(self.seed) and self.seed >= 0, "a whole number >= 0")

    def _check(self, name: str, is_valid: bool, expected: str) -> None:
        if not is_valid:
            raise ArgumentError("setting-range", setting=name, given=getattr(self, name), expected=expected)

    @property
    def period(self) -> float:
        """Period of the first harmonic (s)."""
        return (self.duration - 2.0 * self.blend) / self.periods


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
