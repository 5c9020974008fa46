# SPDX-License-Identifier: Apache-2.0
"""The node `controller`; `--show-args` lists the arguments."""

from launch import LaunchDescription

from dyn_nodes.launch_description import one_node


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    return one_node("controller", sends_torques=True)
