# SPDX-License-Identifier: Apache-2.0
"""What the sensors of the joints say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.robot.robot import Robot
from dyn_core.simulation.settings import is_number

PerJoint: TypeAlias = float | Mapping[str, float]
"""One value for all joints, or values by joint, 0 for those that are not named."""


@dataclass(frozen=True)
class SensorSettings:
    """Noise and resolution of the sensors; DynError where a value makes no sense.

    Attributes:
        position_noise: standard deviation of measured positions (rad or m).
        velocity_noise: standard deviation of measured velocities (rad/s or m/s).
        effort_noise: standard deviation of measured efforts (N m or N).
        position_resolution: measured positions are multiples of this (rad or m), unless it is 0.
        velocity_resolution: measured velocities are multiples of this (rad/s or m/s), unless it is 0.
        effort_resolution: measured efforts are multiples of this (N m or N), unless it is 0.
        seed: of the noise.
    """

    position_noise: PerJoint = 0.0
    velocity_noise: PerJoint = 0.0
    effort_noise: PerJoint = 0.0
    position_resolution: PerJoint = 0.0
    velocity_resolution: PerJoint = 0.0
    effort_resolution: PerJoint = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in (field.name for field in fields(self) if field.name != "seed"):
            value = getattr(self, name)
            named = value.items() if isinstance(value, Mapping) else [("", value)]
            for joint, number in named:
                if not is_number(number) or not 0.0 <= number < math.inf:
                    of = f" of joint '{joint}'" if joint else ""
                    raise DynError(
                        f"the setting {name}{of} is {number!r}: give a finite number >= 0", element=name
                    )
        checked_seed(self.seed)


def checked_seed(seed: int) -> int:
    """Answer a seed of random numbers; DynError where it is none."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise DynError(f"the seed is {seed!r}: give a whole number >= 0", element="seed")
    return seed


class Measurement(NamedTuple):
    """What the sensors say of one moment.

    Attributes:
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        effort: efforts of the actuators (N m or N).
    """

    q: Array
    qd: Array
    effort: Array


class Sensors:
    """The sensors of a robot; their noise depends on the seed and on how often they were read."""

    def __init__(self, robot: Robot, settings: SensorSettings) -> None:
        """Bring the values into the order of the joints; DynError for a joint that the robot has not."""
        quantities = ("position", "velocity", "effort")
        self._noise = [_in_order(robot, f"{name}_noise", settings) for name in quantities]
        self._resolution = [_in_order(robot, f"{name}_resolution", settings) for name in quantities]
        self._random = np.random.default_rng(settings.seed)
        self._exact = not any(values.any() for values in (*self._noise, *self._resolution))

    def read(self, *values: Array) -> Measurement:
        """Answer what the sensors say of positions, velocities and efforts."""
        if self._exact:
            return Measurement(*values)
        # As many are drawn whatever the noise is, so that one sensor's does not change another's.
        drawn = self._random.standard_normal((3, len(values[0])))
        noisy = [value + noise * x for value, noise, x in zip(values, self._noise, drawn, strict=True)]
        return Measurement(*(_rounded(x, step) for x, step in zip(noisy, self._resolution, strict=True)))


def _rounded(values: Array, resolution: Array) -> Array:
    some = np.where(resolution > 0.0, resolution, 1.0)
    return np.where(resolution > 0.0, some * np.rint(values / some), values)


def _in_order(robot: Robot, name: str, settings: SensorSettings) -> Array:
    value = getattr(settings, name)
    if not isinstance(value, Mapping):
        return np.full(robot.dof, float(value))
    unknown = [joint for joint in value if joint not in robot.coordinate_names]
    if unknown:
        raise DynError(
            f"the setting {name} names joint {listed(unknown)}: "
            f"the joints are {listed(robot.coordinate_names)}",
            element=f"joint '{unknown[0]}'",
        )
    return np.array([float(value.get(joint, 0.0)) for joint in robot.coordinate_names])
