# SPDX-License-Identifier: Apache-2.0
"""A joint that asks for more than its actuator has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits

Quantity: TypeAlias = Literal["position", "velocity", "effort", "power", "braking power"]
QUANTITIES: tuple[Quantity, ...] = ("position", "velocity", "effort", "power", "braking power")


@dataclass(frozen=True)
class Excess:
    """A joint beyond one of its limits.

    Attributes:
        joint: its name.
        quantity: what is beyond its limit.
        value: what it asks for (SI units).
        limit: what it may have.
        unit: unit of both.
        limit_of: the joint that mimics this one and whose limit it is; empty for its own.
        jumps: whether it is for a position that its velocities do not lead to.
    """

    joint: str
    quantity: Quantity
    value: float
    limit: float
    unit: str
    limit_of: str = ""
    jumps: bool = False

    @property
    def amount(self) -> float:
        """By how much it is beyond the limit, at least 0."""
        return (
            abs(abs(self.value) - abs(self.limit))
            if self.quantity != "position"
            else abs(self.value - self.limit)
        )

    @property
    def part(self) -> float:
        """By how much, in parts of the limit."""
        return self.amount / abs(self.limit) if self.limit else self.amount

    @property
    def sentence(self) -> str:
        """What is wrong, in a sentence without a full stop."""
        mimic = f", which is that of joint '{self.limit_of}', which mimics it" if self.limit_of else ""
        jump = ", to be where its velocities do not lead" if self.jumps else ""
        return (
            f"joint '{self.joint}' asks for the {self.quantity} {self.value:.4g} {self.unit}, "
            f"{self.amount:.3g} {self.unit} beyond its limit of {self.limit:.4g} {self.unit}{mimic}{jump}"
        )


@dataclass(frozen=True, eq=False)
class Bounds:
    """What is asked for and what there is, of all joints and quantities.

    Attributes:
        values: by quantity, what is asked for, (..., n).
        limits: by quantity, what there is, with the sign of what is asked for, (..., n).
        beyond: by quantity, by how much the first is beyond the second; 0 or less where it is not.
    """

    values: dict[Quantity, Array]
    limits: dict[Quantity, Array]
    beyond: dict[Quantity, Array]


def bounds(limits: ActuatorLimits, q: Array, qd: Array, at: Array, torques: Array) -> Bounds:
    """Compare motions with limits.

    Args:
        limits: the limits.
        q: positions (rad or m), (..., n).
        qd: velocities (rad/s or m/s), (..., n).
        at: velocities at which torques act, which are `qd`, or those before a step, (..., n).
        torques: torques (N m or N), (..., n).
    """
    power = torques * at
    effort = limits.effort(at)
    below = limits.lower - q
    above = q - limits.upper
    under = below > above
    return Bounds(
        {"position": q, "velocity": qd, "effort": torques, "power": power, "braking power": -power},
        {
            "position": np.where(under, limits.lower, limits.upper),
            "velocity": np.copysign(limits.velocity, qd),
            "effort": np.copysign(effort, torques),
            "power": np.broadcast_to(limits.power, q.shape),
            "braking power": np.broadcast_to(limits.braking_power, q.shape),
        },
        {
            "position": np.maximum(below, above),
            "velocity": np.abs(qd) - limits.velocity,
            "effort": np.abs(torques) - effort,
            "power": power - limits.power,
            "braking power": -power - limits.braking_power,
        },
    )


def unit_of(limits: ActuatorLimits, quantity: Quantity, j: int) -> str:
    """Answer the unit of a quantity of joint j, counted from 0."""
    if quantity == "effort":
        return limits.effort_units[j]
    return {"position": limits.position_units[j], "velocity": f"{limits.position_units[j]}/s"}.get(
        quantity, "W"
    )


def excess_of(limits: ActuatorLimits, j: int, quantity: Quantity, value: float, limit: float) -> Excess:
    """Answer what a value of joint j, counted from 0, is beyond."""
    of_joint, limit_of = limits.of_joints[j], ""
    if quantity == "position":
        limit_of = of_joint.lower_of if value < of_joint.lower else of_joint.upper_of
    elif quantity == "velocity":
        limit_of = of_joint.velocity_of
    # A sum with 0 has no negative zero.
    unit = unit_of(limits, quantity, j)
    return Excess(limits.joint_names[j], quantity, value + 0.0, limit + 0.0, unit, limit_of)


def excesses(limits: ActuatorLimits, compared: Bounds, slack: float = 0.0) -> tuple[Excess, ...]:
    """Answer what is beyond its limit by more than `slack`, of one motion, by joint."""
    return tuple(
        excess_of(
            limits, j, quantity, float(compared.values[quantity][j]), float(compared.limits[quantity][j])
        )
        for j in range(len(limits.joint_names))
        for quantity in QUANTITIES
        if compared.beyond[quantity][j] > slack
    )
