# SPDX-License-Identifier: Apache-2.0
"""What a trajectory for identification should be like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral

from dyn_core.excitation.excitation_settings import ForbiddenBox

MOST_HARMONICS = 20
MOST_PERIODS = 40
MOST_WORK = 100_000


@dataclass(frozen=True)
class ExcitationSettings:
    """How a trajectory is looked for.

    Attributes:
        duration: time from rest to rest (s).
        blend: time in which it comes up from rest, and in which it goes down to it (s).
        periods: how often the series is repeated between the blends.
        harmonics: number of sines for each joint.
        start: position at rest before and after (rad or m), in the order of the joints, or by name, where
            joints that are not named are in the middle of their range; None to choose one.
        position_scale: part of the ranges that is used, about their middle.
        velocity_scale: part of the velocity limits that is used.
        acceleration_scale: part of the acceleration limits that is used.
        effort_scale: part of the effort limits that is used.
        accelerations: acceleration limits by joint name (rad/s^2 or m/s^2), which no URDF has.
        boxes: what no position may be in.
        seed: of the random numbers that the search begins with.
        tries: random beginnings, of which the best is improved.
        iterations: steps of the improvement; each beginning gets a quarter as many.
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
        """Refuse what leads to no trajectory."""
        for name in ("duration", "blend"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} is {value!r}: give a finite number of seconds > 0")
        if self.duration <= 2.0 * self.blend:
            raise ValueError(
                f"duration is {self.duration:g} s, which two blends of {self.blend:g} s leave nothing of: "
                "give a longer duration or a shorter blend"
            )
        for name in ("position", "velocity", "acceleration", "effort"):
            value = getattr(self, f"{name}_scale")
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{name}_scale is {value!r}: give a number > 0, at most 1")
        for joint, limit in self.accelerations.items():
            if not 0.0 < limit < math.inf:
                raise ValueError(f"the acceleration limit of joint '{joint}' is {limit!r}: give a number > 0")
        most = {
            "periods": MOST_PERIODS,
            "harmonics": MOST_HARMONICS,
            "tries": MOST_WORK,
            "iterations": MOST_WORK,
        }
        for name, greatest in most.items():
            value = getattr(self, name)
            if not (_is_whole(value) and 1 <= value <= greatest):
                raise ValueError(f"{name} is {value!r}: give a whole number from 1 to {greatest}")
        if not _is_whole(self.seed) or self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}: give a whole number >= 0")

    @property
    def period(self) -> float:
        """Period of the first harmonic (s)."""
        return (self.duration - 2.0 * self.blend) / self.periods


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
