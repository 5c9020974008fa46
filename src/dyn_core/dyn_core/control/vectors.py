# SPDX-License-Identifier: Apache-2.0
"""Joint vectors that come at each cycle, checked in a fraction of a microsecond."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyn_core.core.arrays import Array


def is_finite(vector: Array) -> bool:
    """Whether all numbers of a vector, or of many, are finite."""
    numbers = vector.tolist() if vector.ndim == 1 else vector.ravel().tolist()
    # The sum is finite only if all numbers are; if it is not, it may have overflowed.
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))


def check_vector(what: str, joint_names: Sequence[str], vector: Array) -> None:
    """Refuse a vector that has not one finite number for each joint; ValueError names the joint.

    Args:
        what: what the numbers are, for the message: "position".
        joint_names: names of the joints.
        vector: the numbers.
    """
    if vector.shape != (len(joint_names),):
        raise ValueError(f"{what}: expected the shape ({len(joint_names)},), but it has {vector.shape}")
    if not is_finite(vector):
        refuse(what, joint_names, vector)


def refuse(what: str, joint_names: Sequence[str], vector: Array) -> None:
    """Raise a ValueError that names the first joint whose number is not finite, in one vector or many."""
    name, value = next(
        (name, value)
        for numbers in vector.reshape(-1, len(joint_names)).tolist()
        for name, value in zip(joint_names, numbers, strict=True)
        if not math.isfinite(value)
    )
    raise ValueError(f"the {what} of joint '{name}' is {value}: it has to be finite")
