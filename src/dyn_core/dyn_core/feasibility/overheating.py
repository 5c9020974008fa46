# SPDX-License-Identifier: Apache-2.0
"""Motors that a motion, made again and again, would make too hot."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.feasibility.actuator_limits import ActuatorLimits
from dyn_core.feasibility.motor_sizing import MotorLoad

ROUNDING = 1e-9
"""Part of a limit that rounding may take."""


@dataclass(frozen=True)
class Overheating:
    """A motor whose torque is more, in the root mean square, than it bears for ever.

    Attributes:
        joint: name of its joint.
        value: root mean square of the torque over the motion (N m or N).
        limit: the torque that it bears for ever.
        unit: unit of both.
    """

    joint: str
    value: float
    limit: float
    unit: str

    @property
    def sentence(self) -> str:
        """What is wrong, in a sentence without a full stop."""
        return (
            f"joint '{self.joint}' needs {self.value:.4g} {self.unit} in the root mean square, "
            f"{self.value - self.limit:.3g} {self.unit} beyond the {self.limit:.4g} {self.unit} that "
            "it bears for ever"
        )


def overheatings(limits: ActuatorLimits, loads: tuple[MotorLoad, ...]) -> tuple[Overheating, ...]:
    """Answer the motors that would get too hot if the motion went on for ever, by joint."""
    return tuple(
        Overheating(load.joint, load.rms_effort, limit.continuous_effort, load.effort_unit)
        for limit, load in zip(limits.of_joints, loads, strict=True)
        if load.rms_effort > limit.continuous_effort * (1.0 + ROUNDING)
    )
