# SPDX-License-Identifier: Apache-2.0
"""What the launch files of this package have in common; for systems with `launch` only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from dyn_core import DynError
from dyn_nodes import robots
from dyn_nodes.common.robot_argument import existing, robot_parameters
from dyn_nodes.parameter_file import check_applies

Parameters: TypeAlias = "str | Mapping[str, Any]"
"""The path of a file, or values by name."""

SWITCH = ["true", "false", "True", "False"]
"""What a switch can be; Python writes the latter."""


def common_arguments(
    params_file: str, *, robot: str = "Empty: the robot is taken from the topic robot_description."
) -> list[DeclareLaunchArgument]:
    """Arguments of all launch files.

    Args:
        params_file: name of the file of parameters in `config` that is used where none is given.
        robot: what happens where no robot is given.
    """
    default = robots.directory().parent / params_file
    names = ", ".join(robots.names())
    return [
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the nodes."),
        DeclareLaunchArgument(
            "params_file", default_value=str(default), description="YAML file of parameters."
        ),
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description=f"The robot: an installed one ({names}), or as description_file. {robot}",
        ),
        DeclareLaunchArgument(
            "description_file",
            default_value="",
            description="URDF file of the robot, or a file that ends in .xacro; in the place of robot.",
        ),
        DeclareLaunchArgument(
            "xacro_arguments",
            default_value="",
            description="Arguments for xacro, where the robot is such a file: 'prefix:=left_ limited:=true'.",
        ),
        DeclareLaunchArgument(
            "side_file",
            default_value="",
            description="YAML file with loops, friction, rotor inertias. Empty: that of an installed robot, "
            "or as params_file says.",
        ),
        DeclareLaunchArgument(
            "dynamic_parameters_file",
            default_value="",
            description="parameters.yaml that dyn identify has written. Empty: as params_file says.",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=SWITCH,
            description="Take the time from the topic /clock.",
        ),
    ]


def mode_argument(default: str = "") -> DeclareLaunchArgument:
    """The argument that says what the node feedforward computes."""
    return DeclareLaunchArgument(
        "mode",
        default_value=default,
        choices=["", "gravity", "inverse_dynamics", "computed_torque"],
        description="What feedforward computes; empty: as params_file says.",
    )


def given(context: LaunchContext, name: str) -> str:
    """Answer the value of an argument."""
    return str(LaunchConfiguration(name).perform(context))


def given_switch(context: LaunchContext, name: str) -> bool:
    """Answer the value of an argument that is one of `SWITCH`."""
    return given(context, name).lower() == "true"


def given_robot(context: LaunchContext, default: str = "") -> dict[str, str]:
    """Answer the parameters that say which robot it is, as the arguments give it.

    Args:
        context: of the launch.
        default: the robot, as `robot` can be, where the arguments name none.
    """
    robot, description_file = given(context, "robot"), given(context, "description_file")
    if not description_file:
        robot = robot or default
    return robot_parameters(
        robot,
        description_file,
        given(context, "side_file"),
        given(context, "xacro_arguments"),
        given(context, "dynamic_parameters_file"),
    )


def parameter_file(context: LaunchContext, argument: str, *nodes: str) -> str:
    """Answer the file of parameters that an argument gives.

    Args:
        context: of the launch.
        argument: its name.
        nodes: names of the nodes that the file is for; it need not have parameters for them.

    Raises:
        DynError: there is no such file, or it is for a node of the same name in another namespace.
    """
    file = existing(argument, given(context, argument))
    for name in nodes:
        check_applies(file, full_name(context, name))
    return file


def full_name(context: LaunchContext, node: str) -> str:
    """Answer the name of a node in the namespace of the arguments, and in those that are pushed around it."""
    pushed = context.launch_configurations.get("ros_namespace")
    namespace = make_namespace_absolute(prefix_namespace(pushed, given(context, "namespace")))
    return f"{str(namespace).rstrip('/')}/{node}"


def node(
    context: LaunchContext,
    executable: str,
    parameters: Sequence[Parameters],
    *,
    remappings: Sequence[tuple[str, str]] = (),
    use_sim_time: bool | None = None,
) -> Node:
    """Answer what starts one of our nodes in the namespace of the arguments.

    Args:
        context: of the launch.
        executable: its name.
        parameters: files and values; what comes later counts more.
        remappings: names of topics and what they become.
        use_sim_time: whether it takes the time from /clock; None for as the arguments say.
    """
    if use_sim_time is None:
        use_sim_time = given_switch(context, "use_sim_time")
    return Node(
        package="dyn_nodes",
        executable=executable,
        name=executable,
        namespace=given(context, "namespace"),
        parameters=[*(exact(part) for part in parameters), {"use_sim_time": use_sim_time}],
        remappings=list(remappings),
        output="screen",
    )


def optional(context: LaunchContext, *names: str) -> dict[str, str]:
    """Answer the arguments that are parameters of the same name, but for those that are empty."""
    values = {name: given(context, name) for name in names}
    return {name: value for name, value in values.items() if value}


def given_number(context: LaunchContext, name: str, least: float, most: float) -> float:
    """Answer the value of an argument that is a number; DynError where it is none, or out of range."""
    text = given(context, name)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise DynError(f"{name} is '{text}': give a number from {least:g} to {most:g}")
    return value


def one_node(
    executable: str,
    arguments: Sequence[DeclareLaunchArgument] = (),
    options: Sequence[str] = (),
    switches: Sequence[str] = (),
) -> LaunchDescription:
    """Answer the launch description of one node with its own file of parameters.

    Args:
        executable: its name.
        arguments: more arguments.
        options: those of them that are parameters of the same name where they are not empty.
        switches: the same, where the parameters are true or false.
    """

    def made(context: LaunchContext) -> list[Node]:
        chosen = {name: given_switch(context, name) for name in optional(context, *switches)}
        parameters: list[Parameters] = [
            parameter_file(context, "params_file", executable),
            given_robot(context),
            optional(context, *options),
            chosen,
        ]
        return [node(context, executable, parameters)]

    declared = common_arguments(f"{executable}.yaml")
    return LaunchDescription([*declared, *arguments, OpaqueFunction(function=made)])


def exact(part: Parameters) -> Any:
    """Answer parameters whose texts stay texts: launch would read "1.0", or the colons of a URDF, as YAML."""
    if not isinstance(part, Mapping):
        return part
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in part.items()
    }
