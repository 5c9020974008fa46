# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward`; `--show-args` lists the arguments."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from dyn_nodes.launch_description import one_node


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    mode = DeclareLaunchArgument(
        "mode",
        default_value="",
        choices=["", "gravity", "inverse_dynamics", "computed_torque"],
        description="What is computed; empty: as params_file says.",
    )
    return one_node("feedforward", arguments=[mode], optional=["mode"])
