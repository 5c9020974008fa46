# SPDX-License-Identifier: Apache-2.0
"""The message in which joint_trajectory_controller tells its state, where its package is installed."""

from __future__ import annotations

from importlib import import_module

from dyn_core import DynError


def controller_state_type() -> type:
    """Answer control_msgs/JointTrajectoryControllerState; DynError where it is not installed."""
    try:
        message: type = import_module("control_msgs.msg").JointTrajectoryControllerState
    except (ImportError, AttributeError) as problem:
        raise DynError(
            "parameter controller_state is true, but control_msgs cannot be imported here: install "
            "ros-$ROS_DISTRO-control-msgs, or set it to false"
        ) from problem
    return message
