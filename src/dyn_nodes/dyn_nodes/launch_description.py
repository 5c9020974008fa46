# SPDX-License-Identifier: Apache-2.0
"""What the launch files of this package have in common; for systems with `launch` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from dyn_core import DynError
from dyn_nodes import robots


def robot_arguments() -> list[DeclareLaunchArgument]:
    """Arguments that say which robot it is."""
    return [
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description=f"An installed robot ({', '.join(robots.names())}), or as description_file.",
        ),
        DeclareLaunchArgument(
            "description_file",
            default_value="",
            description="URDF or xacro file of the robot; empty: from the topic robot_description.",
        ),
    ]


def common_arguments() -> list[DeclareLaunchArgument]:
    """Arguments of all launch files."""
    return [
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the nodes."),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=["true", "false"],
            description="Take the time from the topic /clock.",
        ),
    ]


def robot_parameters(context: LaunchContext) -> dict[str, Any]:
    """Answer the parameters that say which robot it is, as the arguments give it."""
    name = LaunchConfiguration("robot").perform(context)
    file = LaunchConfiguration("description_file").perform(context)
    if name and file:
        raise DynError("both robot and description_file are given: leave one of them out")
    if not name and not file:
        return {}
    path = robots.find(name or file)
    if path.suffix == ".xacro":
        text = ParameterValue(Command(["xacro '", str(path), "'"]), value_type=str)
        return {"robot_description": text}
    return {"description_file": str(path)}


def node(
    executable: str,
    *,
    parameters: Sequence[Any] = (),
    optional: Sequence[str] = (),
    remappings: Sequence[tuple[str, str]] = (),
) -> OpaqueFunction:
    """Run one of our nodes, with the robot and the arguments of the launch file.

    Args:
        executable: its name; its parameters are those of the argument `params_file`.
        parameters: more of them, which come before those of the arguments.
        optional: arguments that are parameters of the same name where they are not empty.
        remappings: names of topics and what they become.
    """

    def made(context: LaunchContext) -> list[Node]:
        given = {name: LaunchConfiguration(name).perform(context) for name in optional}
        chosen = {name: ParameterValue(text, value_type=str) for name, text in given.items() if text}
        use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
        return [
            Node(
                package="dyn_nodes",
                executable=executable,
                name=executable,
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    LaunchConfiguration("params_file"),
                    *parameters,
                    {**robot_parameters(context), **chosen, "use_sim_time": use_sim_time},
                ],
                remappings=list(remappings),
                output="screen",
            )
        ]

    return OpaqueFunction(function=made)


def one_node(
    executable: str, arguments: Sequence[DeclareLaunchArgument] = (), optional: Sequence[str] = ()
) -> LaunchDescription:
    """Answer the launch description of one node with its own file of parameters.

    Args:
        executable: its name.
        arguments: more arguments.
        optional: as for `node`.
    """
    default = PathJoinSubstitution([FindPackageShare("dyn_nodes"), "config", f"{executable}.yaml"])
    parameters = DeclareLaunchArgument(
        "params_file", default_value=default, description="YAML file of parameters."
    )
    return LaunchDescription(
        [
            *common_arguments(),
            parameters,
            *arguments,
            *robot_arguments(),
            node(executable, optional=optional),
        ]
    )
