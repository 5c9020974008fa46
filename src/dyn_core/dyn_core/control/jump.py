# SPDX-License-Identifier: Apache-2.0
"""References that jump."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import le, sub
from typing import NamedTuple

import numpy as np

from dyn_core.control.settings import PerJoint, joint_values
from dyn_core.control.vectors import check_vector
from dyn_core.core.arrays import Array


class Jump(NamedTuple):
    """A joint whose reference jumps.

    Attributes:
        joint: its name.
        step: how far it moved (rad or m).
        allowed: how far it may move in this time (rad or m).
        dt: the time (s).
    """

    joint: str
    step: float
    allowed: float
    dt: float

    @property
    def sentence(self) -> str:
        """What is wrong, in a sentence."""
        return (
            f"the reference of joint '{self.joint}' moves by {self.step:.4g} in {self.dt:.4g} s, "
            f"at most {self.allowed:.4g} is allowed"
        )


class JumpLimit:
    """How far a reference may move from one sample to the next: speed dt + slack.

    Attributes:
        joint_names: the joints.
        speed: greatest speed (rad/s or m/s), (n,); infinite for none.
        slack: what may be added to it whatever the time is (rad or m), (n,).
    """

    def __init__(self, joint_names: Sequence[str], speed: PerJoint, slack: PerJoint = 0.0) -> None:
        """Take speeds (rad/s or m/s) and slack (rad or m); DynError where one is negative."""
        self.joint_names = tuple(joint_names)
        self.speed = joint_values(
            "the greatest reference speed", joint_names, speed, least=0.0, infinite=True
        )
        self.slack = joint_values("the slack of the reference", joint_names, slack, least=0.0)
        self._slack: list[float] = self.slack.tolist()

    def jump(self, before: Array, q: Array, dt: float) -> Jump | None:
        """Answer the joint that is furthest beyond its limit, if there is one.

        Args:
            before: positions of the last sample (rad or m), (n,).
            q: positions of this one (rad or m), (n,).
            dt: time from that to this (s); what is not above 0 counts as 0.

        Raises:
            ValueError: a number is not finite.
        """
        if math.isnan(dt):
            raise ValueError("dt: expected a time, but it is nan")
        if self._near(before, q):
            return None
        check_vector("position", self.joint_names, q)
        check_vector("last position", self.joint_names, before)
        dt = max(dt, 0.0)
        # Infinity times zero would be no number.
        reach = self.speed * dt if dt > 0.0 else np.where(np.isinf(self.speed), math.inf, 0.0)
        allowed = reach + self.slack
        step = q - before
        beyond = np.abs(step) - allowed
        j = int(beyond.argmax())
        if beyond[j] <= 0.0:
            return None
        return Jump(self.joint_names[j], float(step[j]), float(allowed[j]), dt)

    def _near(self, before: Array, q: Array) -> bool:
        """Whether no joint moves by more than the slack, as nearly always. A NaN is not near to anything."""
        if not q.shape == before.shape == self.slack.shape:
            return False
        return all(map(le, map(abs, map(sub, q.tolist(), before.tolist())), self._slack))
