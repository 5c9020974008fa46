# SPDX-License-Identifier: Apache-2.0
"""Joint states for a loose node, and how far torques go from one message to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from loose_node import LooseNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dyn_msgs.msg import JointTorques

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
PERIOD = 0.01


def send_state(loose: LooseNode, q: Sequence[float] = Q, qd: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    """Send a joint state of the arm rrp and let a hundredth of a second pass."""
    loose.send(
        "/joint_states",
        JointState(header=Header(stamp=loose.stamp), name=NAMES, position=list(q), velocity=list(qd)),
    )
    loose.pass_time(PERIOD)


def states_for(loose: LooseNode, seconds: float, q: Sequence[float] = Q) -> list[JointTorques]:
    """Send joint states at 100 Hz, and answer the torques that are published meanwhile."""
    count = len(loose.published["torques"])
    for _ in range(round(seconds / PERIOD)):
        send_state(loose, q)
    return loose.published["torques"][count:]


def largest_step(torques: Sequence[JointTorques]) -> float:
    """Largest difference of a torque from one message to the next (N m or N)."""
    pairs = pairwise(torque.total for torque in torques)
    return max((abs(b - a) for x, y in pairs for a, b in zip(x, y, strict=True)), default=0.0)
