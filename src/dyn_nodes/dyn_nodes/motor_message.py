# SPDX-License-Identifier: Apache-2.0
"""Where motors behind springs have to be, as a message."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dyn_core.control.motion import Motion


def motor_reference(names: list[str], motors: Motion, sec: int, nanosec: int) -> JointState:
    """Answer positions and velocities of motors, as seen at their joints (rad or m, and a second)."""
    return JointState(
        header=Header(stamp=Time(sec=sec, nanosec=nanosec)),
        name=names,
        position=motors.q.tolist(),
        velocity=motors.qd.tolist(),
    )
