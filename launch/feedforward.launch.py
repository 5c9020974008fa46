# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward`; `--show-args` lists the arguments."""

from launch import LaunchDescription

from dyn_nodes.launch_description import mode_argument, one_node


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    return one_node("feedforward", [mode_argument()], ["mode"], sends_torques=True)
