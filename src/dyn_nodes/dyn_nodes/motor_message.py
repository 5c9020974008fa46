# SPDX-License-Identifier: Apache-2.0
"""Where motors behind springs have to be, as a message."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dyn_core.control.motion import Motion
from dyn_core.core.arrays import Array


def motor_reference(names: list[str], motors: Motion, efforts: Array, sec: int, nanosec: int) -> JointState:
    """Answer how motors have to move, and with which efforts, as seen at their joints.

    Args:
        names: the motors.
        motors: their positions and velocities (rad or m, and a second).
        efforts: their torques as they are sent, within limits (N m or N).
        sec: stamp.
        nanosec: of the stamp.
    """
    return JointState(
        header=Header(stamp=Time(sec=sec, nanosec=nanosec)),
        name=names,
        position=motors.q.tolist(),
        velocity=motors.qd.tolist(),
        effort=efforts.tolist(),
    )
