# SPDX-License-Identifier: Apache-2.0
"""The node `simulation`; `--show-args` lists the arguments."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

from dyn_nodes.launch_description import SWITCH, one_node


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    clock = DeclareLaunchArgument(
        "publish_clock",
        default_value="",
        choices=["", *SWITCH],
        description="Publish simulated time on /clock, for nodes with use_sim_time; empty: as params_file "
        "says.",
    )
    return one_node("simulation", [clock], switches=["publish_clock"])
