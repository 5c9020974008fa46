# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, by name and checked: what passes here may be computed with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from dyn_nodes.rejection import Rejection


def concerns(message: JointState, joint_names: Sequence[str]) -> bool:
    """Whether a message has any of the joints; on a robot, a gripper or a cart may share the topic."""
    return not set(joint_names).isdisjoint(message.name)


def positions(message: JointState, joint_names: Sequence[str]) -> NDArray[np.float64]:
    """Answer the positions (rad or m) of the joints in the order of `joint_names`, shape (n,).

    Joints that are not asked for are passed over, whatever their values are.
    """
    names = message.name
    if len(message.position) < len(names):
        raise Rejection(
            f"joint state has {len(names)} names but {len(message.position)} positions: "
            f"joint '{names[len(message.position)]}' has none"
        )
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise Rejection(f"joint state names joint '{repeated}' more than once")
    missing = [name for name in joint_names if name not in index]
    if missing:
        raise Rejection(f"joint state lacks joint {', '.join(map(repr, missing))}")
    values = np.array([message.position[index[name]] for name in joint_names], dtype=np.float64)
    for name, value in zip(joint_names, values, strict=True):
        if not np.isfinite(value):
            raise Rejection(f"joint state gives joint '{name}' the position {value}")
    return values


def check_age(age_s: float, max_age_s: float) -> None:
    """Refuse data whose stamp is more than `max_age_s` before or after the present."""
    if abs(age_s) > max_age_s:
        when = "old" if age_s > 0 else "in the future"
        raise Rejection(
            f"joint state is {abs(age_s):.3f} s {when} by its stamp, more than max_age = {max_age_s:g} s"
        )
