# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the launch files of this package; needs `launch`."""

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
from dyn_core.robot.robot_files import robot_files
from dyn_nodes.common.drive_profile import profile_names, read_profile
from dyn_nodes.common.parameter_file import check_applies
from dyn_nodes.common.robot_argument import existing, robot_directory, robot_parameters

Parameters: TypeAlias = "str | Mapping[str, Any]"
"""The path of a file, or values by name."""

SWITCH = ["true", "false", "True", "False"]
"""Values of a switch; Python writes "True" and "False"."""


def common_arguments(
    params_file: str, *, robot: str = "Empty: the robot is taken from the topic robot_description."
) -> list[DeclareLaunchArgument]:
    """Return the arguments of all launch files; `robot` says what happens where no robot is given."""
    default = robot_directory().parent / params_file
    names = ", ".join(robot_files())
    arguments = (
        ("namespace", "", "Namespace of the nodes."),
        ("params_file", str(default), "YAML file of parameters."),
        ("robot", "", f"The robot: an installed one ({names}), or as description_file. {robot}"),
        ("description_file", "", "Instead of robot: its URDF file, or a file that ends in .xacro."),
        ("xacro_arguments", "", "Arguments of a xacro file, as in 'prefix:=left_ limited:=true'."),
        ("side_file", "", "YAML file with loops, friction, rotor inertias. Empty: of robot or params_file."),
        ("dynamic_parameters_file", "", "parameters.yaml of dyn identify. Empty: that of params_file."),
    )
    return [
        *(
            DeclareLaunchArgument(name, default_value=value, description=text)
            for name, value, text in arguments
        ),
        switch_argument("use_sim_time", "false", "Take the time from the topic /clock."),
    ]


def switch_argument(name: str, default: str, description: str, *others: str) -> DeclareLaunchArgument:
    """Return an argument that is one of `SWITCH` or of other values."""
    return DeclareLaunchArgument(
        name, default_value=default, choices=[*others, *SWITCH], description=description
    )


def mode_argument(default: str = "") -> DeclareLaunchArgument:
    """Return the argument for the mode of the node feedforward."""
    modes = ["", "gravity", "inverse_dynamics", "computed_torque"]
    text = "Torques that feedforward computes; empty: the mode in params_file."
    return DeclareLaunchArgument("mode", default_value=default, choices=modes, description=text)


def profile_argument() -> DeclareLaunchArgument:
    """Return the argument for the driver profile of a node that sends torques."""
    names = ", ".join(profile_names())
    text = (
        f"Driver profile: {names}, or the path of a YAML file; it gives defaults of parameters. Empty: none."
    )
    return DeclareLaunchArgument("profile", default_value="", description=text)


def commands_topic_argument() -> DeclareLaunchArgument:
    """Return the argument for the topic of torques of a driver."""
    text = "Topic of the controller that takes the torques as arrays. Empty: that of profile, or ~/commands."
    return DeclareLaunchArgument("commands_topic", default_value="", description=text)


def joint_states_topic_argument() -> DeclareLaunchArgument:
    """Return the argument for the topic of joint states of a driver."""
    text = "Topic of joint states. Empty: that of profile, or joint_states."
    return DeclareLaunchArgument("joint_states_topic", default_value="", description=text)


def profile_parameter(context: LaunchContext) -> dict[str, str]:
    """Return the parameter for the profile of the arguments; DynError where its driver takes no torques."""
    chosen = given(context, "profile")
    if not chosen:
        return {}
    profile = read_profile(chosen)
    profile.check_takes_torque()
    is_installed = chosen == profile.name
    return {"profile": chosen if is_installed else existing("profile", chosen)}


def topic_remapping(context: LaunchContext, ours: str, argument: str) -> list[tuple[str, str]]:
    """Return how one of our topics is remapped to that of an argument, or of the profile; empty: not."""
    chosen = given(context, "profile")
    profile = read_profile(chosen) if chosen else None
    its = given(context, argument) or getattr(profile, argument, "")
    return [] if its in ("", ours) else [(ours, its)]


def given(context: LaunchContext, name: str) -> str:
    """Return the value of an argument."""
    return str(LaunchConfiguration(name).perform(context))


def given_switch(context: LaunchContext, name: str) -> bool:
    """Return the value of an argument that is one of `SWITCH`."""
    return given(context, name).lower() == "true"


def given_robot(context: LaunchContext, default: str = "") -> dict[str, str]:
    """Return the parameters that select the robot of the arguments, or `default` where they name none."""
    names = ("robot", "description_file", "side_file", "xacro_arguments", "dynamic_parameters_file")
    arguments = {name: given(context, name) for name in names}
    if not arguments["description_file"]:
        arguments["robot"] = arguments["robot"] or default
    return robot_parameters(**arguments)


def parameter_file(context: LaunchContext, argument: str, *nodes: str) -> str:
    """Return the file of parameters of an argument, which need not have parameters for all these nodes.

    Raises:
        DynError: the file does not exist, or is for a node of the same name in another namespace.
    """
    file = existing(argument, given(context, argument))
    for name in nodes:
        check_applies(file, full_name(context, name))
    return file


def full_name(context: LaunchContext, node: str) -> str:
    """Return the name of a node in the namespace of the arguments and of enclosing groups."""
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
    """Return the launch action for a node of this package, in the namespace of the arguments.

    Later `parameters` override earlier ones. `use_sim_time` is None for the value of the arguments.
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
    """Return the arguments that are not empty, as parameters of the same name."""
    values = {name: given(context, name) for name in names}
    return {name: value for name, value in values.items() if value}


def given_number(context: LaunchContext, name: str, least: float, most: float) -> float:
    """Return the value of a numeric argument; DynError where it is not a number, or out of range."""
    text = given(context, name)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise DynError("launch-argument-range", argument=name, given=text, lower=least, upper=most)
    return value


def one_node(
    executable: str,
    arguments: Sequence[DeclareLaunchArgument] = (),
    options: Sequence[str] = (),
    switches: Sequence[str] = (),
    *,
    sends_torques: bool = False,
) -> LaunchDescription:
    """Return the launch description of one node with its own file of parameters.

    `options` are the arguments that are parameters of the same name where they are not empty, `switches` the
    boolean ones. A node that sends torques has arguments for its driver.
    """

    def made(context: LaunchContext) -> list[Node]:
        chosen = {name: given_switch(context, name) for name in optional(context, *switches)}
        parameters: list[Parameters] = [
            parameter_file(context, "params_file", executable),
            given_robot(context),
            optional(context, *options),
            chosen,
        ]
        if not sends_torques:
            return [node(context, executable, parameters)]
        parameters.append(profile_parameter(context))
        topics = {"~/commands": "commands_topic", "joint_states": "joint_states_topic"}
        rules = [rule for ours, its in topics.items() for rule in topic_remapping(context, ours, its)]
        return [node(context, executable, parameters, remappings=rules)]

    driver = [profile_argument(), commands_topic_argument(), joint_states_topic_argument()]
    of_driver = driver if sends_torques else []
    declared = [*common_arguments(f"{executable}.yaml"), *of_driver]
    return LaunchDescription([*declared, *arguments, OpaqueFunction(function=made)])


def exact(part: Parameters) -> Any:
    """Return parameters whose texts stay texts: launch would read "1.0", or the colons of a URDF, as YAML."""
    if not isinstance(part, Mapping):
        return part
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in part.items()
    }
