# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward`; `--show-args` lists the arguments."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    default_parameters = PathJoinSubstitution([FindPackageShare("dyn_nodes"), "config", "feedforward.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node."),
            DeclareLaunchArgument(
                "params_file",
                default_value=default_parameters,
                description="YAML file of parameters.",
            ),
            DeclareLaunchArgument(
                "description_file",
                default_value="",
                description="URDF file of the robot; empty: from the topic robot_description.",
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                choices=["true", "false"],
                description="Take the time from the topic /clock.",
            ),
            Node(
                package="dyn_nodes",
                executable="feedforward",
                name="feedforward",
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    LaunchConfiguration("params_file"),
                    {
                        "description_file": ParameterValue(
                            LaunchConfiguration("description_file"), value_type=str
                        ),
                        "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                    },
                ],
                output="screen",
            ),
        ]
    )
