# SPDX-License-Identifier: Apache-2.0
"""Parts of joint space where the robot must not be: it would hit itself, its table or its neighbour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array


@dataclass(frozen=True)
class JointBox:
    """Ranges of some joints; the robot is inside where all of them are within theirs.

    Attributes:
        name: what is there.
        ranges: least and greatest position (rad or m) by joint; joints that are not named may be anywhere.
    """

    name: str
    ranges: Mapping[str, tuple[float, float]]

    def check(self, joint_names: Sequence[str]) -> None:
        """Raise a DynError where a joint does not exist or a range is none."""
        unknown = [name for name in self.ranges if name not in joint_names]
        if unknown:
            raise DynError(
                f"forbidden box '{self.name}' has joint {listed(unknown)}: the joints are "
                f"{listed(joint_names)}",
                element=f"box '{self.name}'",
            )
        if not self.ranges:
            raise DynError(f"forbidden box '{self.name}' names no joint: it would be all of joint space")
        for joint, (lower, upper) in self.ranges.items():
            if not lower < upper or math.isinf(lower) and math.isinf(upper):
                raise DynError(
                    f"forbidden box '{self.name}' has the range {lower:g} to {upper:g} of joint '{joint}': "
                    "give a lower number first",
                    element=f"box '{self.name}'",
                )

    def first_inside(self, joint_names: Sequence[str], q: Array) -> int | None:
        """Answer the first of N positions (rad or m), (N, n), that is inside; None where none is."""
        inside = np.ones(len(q), dtype=bool)
        for j, name in enumerate(joint_names):
            if name in self.ranges:
                lower, upper = self.ranges[name]
                inside &= (q[:, j] >= lower) & (q[:, j] <= upper)
        return int(inside.argmax()) if inside.any() else None
