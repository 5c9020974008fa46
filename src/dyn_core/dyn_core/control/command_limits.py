# SPDX-License-Identifier: Apache-2.0
"""Checks of joint values, and limits of commands: torques, their rates, and jumps of the reference."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from operator import le, sub
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError, DynError, at_joint
from dyn_core.robot.robot import Robot

# Settings, checked once

PerJoint: TypeAlias = float | Mapping[str, float] | Iterable[float]
"""One number for all joints, numbers by joint name, or one number per joint in order."""


def number(what: str, value: float, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return a finite number that is at least `least` and greater than `above`; else raise DynError.

    `what` is the name of the number for the message, such as "the timeout (s)".
    """
    if not _within(value, least, above, infinite=False):
        expected = _valid(least, above, infinite=False)
        raise DynError("setting-range", setting=what, given=value, expected=expected, element=what)
    return float(value)


def joint_values(
    what: str,
    joint_names: Sequence[str],
    values: PerJoint,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    infinite: bool = False,
) -> Array:
    """Return one number for each joint, in the order of the joints, as a read-only array.

    Args:
        what: name of the numbers for messages, such as "the gain kp".
        values: the numbers, in one of the forms of `PerJoint`.
        least: least valid value.
        above: lower bound that is itself invalid.
        infinite: whether infinity is valid.
    """
    numbers = _in_order(what, joint_names, values)
    for name, value in zip(joint_names, numbers, strict=True):
        if not _within(value, least, above, infinite=infinite):
            expected = _valid(least, above, infinite=infinite)
            raise at_joint(name, "joint-setting-range", setting=what, given=value, expected=expected)
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array


def _in_order(what: str, joint_names: Sequence[str], values: PerJoint) -> list[float]:
    if isinstance(values, Mapping):
        unknown = [name for name in values if name not in joint_names]
        missing = [name for name in joint_names if name not in values]
        if unknown:
            raise DynError("setting-joint-unknown", setting=what, unknown=unknown, known=joint_names)
        if missing:
            raise DynError("setting-joint-missing", setting=what, missing=missing)
        return [values[name] for name in joint_names]
    if isinstance(values, Iterable) and not isinstance(values, str):
        numbers = list(values)
        if len(numbers) != len(joint_names):
            count = len(joint_names)
            raise DynError(
                "setting-count", setting=what, given=len(numbers), expected=count, known=joint_names
            )
        return numbers
    return [values] * len(joint_names)


def _within(value: object, least: float, above: float, *, infinite: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    x = float(value)
    valid = math.isfinite(x) or (infinite and x == math.inf)
    return valid and x >= least and (x > above or above == -math.inf)


def _valid(least: float, above: float, *, infinite: bool) -> str:
    bound = f" > {above:g}" if above > -math.inf else f" >= {least:g}" if least > -math.inf else ""
    return f"a finite number{bound}{' or infinity' if infinite else ''}"


# Joint vectors, checked in each cycle in a fraction of a microsecond


def is_finite(vector: Array) -> bool:
    """True if all numbers of one or more vectors are finite."""
    numbers = vector.tolist() if vector.ndim == 1 else vector.ravel().tolist()
    # A finite sum has only finite terms; a sum that is not finite may have overflowed.
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))


def check_vector(what: str, joint_names: Sequence[str], vector: Array) -> None:
    """Raise ValueError, with the name of the joint, unless a vector has one finite number for each joint."""
    if vector.shape != (len(joint_names),):
        raise ArgumentError("argument-shape", argument=what, expected=(len(joint_names),), given=vector.shape)
    if not is_finite(vector):
        refuse(what, joint_names, vector)


def refuse(what: str, joint_names: Sequence[str], vector: Array) -> None:
    """Raise ValueError for the first number that is not finite, in one vector or many."""
    name, value = next(
        (name, value)
        for numbers in vector.reshape(-1, len(joint_names)).tolist()
        for name, value in zip(joint_names, numbers, strict=True)
        if not math.isfinite(value)
    )
    raise ArgumentError("joint-value-not-finite", quantity=what, joint=name, given=value)


# Limits of torques

OnLimit = Literal["clip", "scale", "withhold"]


class Limited(NamedTuple):
    """Torques within limits."""

    torques: Array | None  # torques to send (N m or N), (n,); None if nothing should be sent
    excess: Array | None  # amounts beyond the limits (N m or N), at least 0, (n,); None without any


class EffortLimits:
    """Limits of torques, and the treatment of torques beyond them.

    ``"clip"`` limits each torque separately; ``"scale"`` multiplies all torques by one factor, which keeps
    their ratios; ``"withhold"`` returns no torques.

    `limits` are the greatest torques in both directions (N m or N), (n,); infinite if unknown.
    """

    def __init__(self, joint_names: Sequence[str], limits: PerJoint, on_limit: OnLimit = "clip") -> None:
        """Take the limits (N m or N); raise DynError if one is negative or not a number."""
        if on_limit not in get_args(OnLimit):
            raise DynError(
                "choice-unknown", setting="on_limit", given=on_limit, known="'clip', 'scale' or 'withhold'"
            )
        self.joint_names = tuple(joint_names)
        self.limits = joint_values("the effort limit", joint_names, limits, least=0.0, infinite=True)
        self.on_limit: OnLimit = on_limit
        # Only finite torques are below these bounds: a comparison with NaN is false.
        self._bounds = [min(limit, sys.float_info.max) for limit in self.limits.tolist()]

    @staticmethod
    def of_robot(robot: Robot, on_limit: OnLimit = "clip") -> EffortLimits:
        """Return the limits from the description of a robot."""
        efforts = (joint.limits.effort for joint in robot.independent_joints)
        limits = [math.inf if effort is None else effort for effort in efforts]
        return EffortLimits(robot.coordinate_names, limits, on_limit)

    def scaled(self, part: float) -> EffortLimits:
        """Return a part of the limits, above 0 and at most 1."""
        return self if part == 1.0 else EffortLimits(self.joint_names, part * self.limits, self.on_limit)

    def within(self, torques: Array) -> bool:
        """True if torques (N m or N) have the shape (n,), are finite and within their limits; in 0.4 us."""
        return torques.shape == self.limits.shape and all(map(le, map(abs, torques.tolist()), self._bounds))

    def applied(self, torques: Array, by_drive: Array | None = None) -> Limited:
        """Return torques (N m or N), (n,), within the limits; ValueError if a torque is not finite.

        Their sum with the torques `by_drive`, which the drive adds (N m or N), (n,), is within the limits,
        too. Zero is always allowed.
        """
        if by_drive is None and self.within(torques):
            return Limited(torques, None)
        if torques.shape != self.limits.shape:
            expected, given = self.limits.shape, torques.shape
            raise ArgumentError("argument-shape", argument="torques", expected=expected, given=given)
        if not is_finite(torques):
            refuse("torque", self.joint_names, torques)
        least, most = -self.limits, self.limits
        if by_drive is not None:
            check_vector("torque of the drive", self.joint_names, by_drive)
            least = np.minimum(np.maximum(least, least - by_drive), 0.0)
            most = np.maximum(np.minimum(most, most - by_drive), 0.0)
        excess = np.maximum(np.maximum(torques - most, least - torques), 0.0)
        beyond = excess > 0.0
        if not beyond.any():
            return Limited(torques, None)
        if self.on_limit == "withhold":
            return Limited(None, excess)
        if self.on_limit == "clip":
            return Limited(np.minimum(np.maximum(torques, least), most), excess)
        allowed = np.where(torques > 0.0, most, least)
        scaled = torques * float((allowed[beyond] / torques[beyond]).min())
        # The product may exceed the limit by a rounding error.
        return Limited(np.minimum(np.maximum(scaled, least), most), excess)

    def sentence(self, torques: Array, units: Sequence[str] | None = None) -> str:
        """Return a sentence about the joint whose torque (N m or N) exceeds its limit most."""
        j = int(np.argmax(np.abs(torques) - self.limits))
        unit = "" if units is None else f" {units[j]}"
        return (
            f"joint '{self.joint_names[j]}' asks for {torques[j]:.4g}{unit}, "
            f"its effort limit is {self.limits[j]:.4g}{unit}"
        )


class RateLimit:
    """Limit of the rate of torques.

    The limited torques are between those sent last and those requested: within any limits that both keep.

    `rate` is the greatest rate in both directions (N m/s or N/s), (n,); infinite for no limit.
    """

    def __init__(self, joint_names: Sequence[str], rate: PerJoint) -> None:
        """Take the rates (N m/s or N/s); raise DynError if one is not greater than 0."""
        self.joint_names = tuple(joint_names)
        self.rate = joint_values("the greatest rate of torque", joint_names, rate, above=0.0, infinite=True)

    def step(self, dt: float) -> Array:
        """Return the greatest change of each torque in a time `dt` (s): (n,), N m or N."""
        # Infinity times zero would be NaN: for dt = 0 only torques without a limit may change.
        return self.rate * dt if dt > 0.0 else np.where(np.isinf(self.rate), math.inf, 0.0)

    def applied(self, sent: Array, wanted: Array, dt: float) -> Limited:
        """Return the torques to send now; the excess is their remaining difference from `wanted`.

        Args:
            sent: torques sent last (N m or N), (n,).
            wanted: requested torques (N m or N), (n,).
            dt: time since the last torques were sent (s), at least 0.
        """
        check_vector("torque", self.joint_names, wanted)
        check_vector("torque sent last", self.joint_names, sent)
        if not 0.0 <= dt < math.inf:
            raise ArgumentError("argument-time-negative", argument="dt", given=dt)
        step = self.step(dt)
        size = np.abs(wanted - sent)
        if (size <= step).all():
            return Limited(wanted, None)
        torques = np.minimum(np.maximum(wanted, sent - step), sent + step)
        return Limited(torques, np.maximum(size - step, 0.0))


# Limits of the reference


class Jump(NamedTuple):
    """A joint whose reference changes by a step in a time dt (s) by more than is allowed (rad or m)."""

    joint: str
    step: float
    allowed: float
    dt: float

    @property
    def sentence(self) -> str:
        """The jump as a sentence."""
        return (
            f"the reference of joint '{self.joint}' moves by {self.step:.4g} in {self.dt:.4g} s, "
            f"at most {self.allowed:.4g} is allowed"
        )


class JumpLimit:
    """Limit of the change of a reference from one sample to the next: speed dt + slack.

    `speed` is the greatest speed (rad/s or m/s), (n,), infinite for no limit; `slack` is allowed in addition
    (rad or m), (n,).
    """

    def __init__(self, joint_names: Sequence[str], speed: PerJoint, slack: PerJoint = 0.0) -> None:
        """Take speeds (rad/s or m/s) and slack (rad or m); raise DynError if one is negative."""
        self.joint_names = tuple(joint_names)
        self.speed = joint_values(
            "the greatest reference speed", joint_names, speed, least=0.0, infinite=True
        )
        self.slack = joint_values("the slack of the reference", joint_names, slack, least=0.0)
        self._slack: list[float] = self.slack.tolist()

    def jump(self, before: Array, q: Array, dt: float) -> Jump | None:
        """Return the joint that exceeds its limit most; None if all are within their limits.

        Raise ValueError if a number is not finite.

        Args:
            before: positions of the last sample (rad or m), (n,).
            q: positions of this sample (rad or m), (n,).
            dt: time between the samples (s); a negative time counts as 0.
        """
        if math.isnan(dt):
            raise ArgumentError("argument-time-nan", argument="dt")
        if self._near(before, q):
            return None
        check_vector("position", self.joint_names, q)
        check_vector("last position", self.joint_names, before)
        dt = max(dt, 0.0)
        # Infinity times zero would be NaN.
        reach = self.speed * dt if dt > 0.0 else np.where(np.isinf(self.speed), math.inf, 0.0)
        allowed = reach + self.slack
        step = q - before
        beyond = np.abs(step) - allowed
        j = int(beyond.argmax())
        if beyond[j] <= 0.0:
            return None
        return Jump(self.joint_names[j], float(step[j]), float(allowed[j]), dt)

    def _near(self, before: Array, q: Array) -> bool:
        """True if no joint moves by more than the slack, as in nearly all calls; False with NaN."""
        if not q.shape == before.shape == self.slack.shape:
            return False
        return all(map(le, map(abs, map(sub, q.tolist(), before.tolist())), self._slack))
