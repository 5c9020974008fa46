# SPDX-License-Identifier: Apache-2.0
"""The node `simulation`; `--show-args` lists the arguments."""

from launch import LaunchDescription

from dyn_nodes.launch_description import one_node, switch_argument


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    text = "Publish simulated time on /clock, for nodes with use_sim_time; empty: the value in params_file."
    clock = switch_argument("publish_clock", "", text, "")
    return one_node("simulation", [clock], switches=["publish_clock"])
