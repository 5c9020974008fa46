# SPDX-License-Identifier: Apache-2.0
"""Numbers for joints, in their order or by their names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError, listed

JointValues: TypeAlias = npt.ArrayLike | Mapping[str, float]
"""One number for each joint, in the order of the joints, or numbers by name, 0 for the others."""


def joint_values(name: str, values: JointValues, robot: str, joint_names: Sequence[str]) -> Array:
    """Answer finite numbers in the order of the joints.

    Args:
        name: what they are called.
        values: the numbers.
        robot: name of the robot.
        joint_names: names of its joints.

    Raises:
        ValueError: their number is not that of the joints, or one is not finite.
        DynError: there is no such joint.
    """
    if not isinstance(values, np.ndarray) and isinstance(values, Mapping):  # the second takes its time
        unknown = [joint for joint in values if joint not in joint_names]
        if unknown:
            raise DynError(
                f"{name}: robot '{robot}' has no joint {listed(map(str, unknown))} that moves by itself: "
                f"its joints are {listed(joint_names)}",
                element=f"joint '{unknown[0]}'",
            )
        values = [values.get(joint, 0.0) for joint in joint_names]
    array = as_floats(name, values)
    if array.shape != (len(joint_names),):
        raise ValueError(
            f"{name}: expected the shape ({len(joint_names)},), but it has {array.shape}: give a number "
            f"for each of the joints {listed(joint_names, 12)}, in this order"
        )
    numbers = array.tolist()
    if not all(map(math.isfinite, numbers)):
        joint, value = next(
            pair for pair in zip(joint_names, numbers, strict=True) if not math.isfinite(pair[1])
        )
        raise ValueError(f"{name}: that of joint '{joint}' is {value}: give a finite number")
    return array
