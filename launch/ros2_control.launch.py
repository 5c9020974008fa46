# SPDX-License-Identifier: Apache-2.0
"""A robot under ros2_control, with torques of the node `feedforward`; `--show-args` lists the arguments.

Without arguments the robot is one with mock hardware. With `manager`, feedforward and its controller run
beside the controller_manager of a vendor's driver, and nothing else is started. The controller that sends
torques stays inactive unless `activate` says otherwise.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from dyn_nodes.common.parameter_file import effort_controller
from dyn_nodes.common.robot_argument import description_text, installed_package, robot_directory
from dyn_nodes.launch_description import (
    common_arguments,
    exact,
    given,
    given_robot,
    given_switch,
    joint_states_topic_argument,
    mode_argument,
    node,
    optional,
    parameter_file,
    profile_argument,
    profile_parameter,
    switch_argument,
    topic_remapping,
)

_EXAMPLE = robot_directory().parent / "ros2_control"


def _nodes(context: LaunchContext) -> list[Node]:
    manager = given(context, "manager")
    for package in ("controller_manager", *([] if manager else ["robot_state_publisher"])):
        installed_package(package)
    name = given(context, "controller")
    of_manager = () if manager else ("controller_manager",)
    file = parameter_file(context, "params_file", "feedforward")
    controllers = parameter_file(context, "controllers_file", *of_manager, name)
    controller = effort_controller(controllers, name)
    robot = given_robot(context, default="" if manager else str(_EXAMPLE / "rx90_mock.urdf.xacro"))
    if controller.takes_trajectories:
        topics = {"~/joint_trajectory_effort": "joint_trajectory", "~/controller_state": "controller_state"}
    else:
        topics = {"~/commands": "commands"}
    feedforward = node(
        context,
        "feedforward",
        [
            file,
            robot,
            optional(context, "mode"),
            profile_parameter(context),
            {"command_joints": list(controller.joints)},
        ],
        remappings=[
            *((ours, f"{name}/{its}") for ours, its in topics.items()),
            *topic_remapping(context, "joint_states", "joint_states_topic"),
        ],
    )
    state = [] if given_switch(context, "activate") else ["--inactive"]
    if manager:
        ours = [_spawner(context, controllers, name, "--controller-manager", manager, *state)]
    else:
        ours = [
            *_managed(context, controllers, robot),
            _spawner(context, controllers, "joint_state_broadcaster"),
            _spawner(context, controllers, name, *state),
        ]
    # Torques start before the controller that receives them.
    return [feedforward, *ours]


def _managed(context: LaunchContext, controllers: str, robot: dict[str, str]) -> list[Node]:
    """Return a controller_manager of our own, and what publishes the description for it."""
    text = description_text(robot, element="ros2_control")
    common = {"use_sim_time": given_switch(context, "use_sim_time")}
    where = {"namespace": given(context, "namespace"), "output": "screen"}
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[exact({"robot_description": text}), common],
            **where,
        ),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[controllers, common],
            **where,
        ),
    ]


def _spawner(context: LaunchContext, controllers: str, name: str, *options: str) -> Node:
    """Return what loads a controller into a controller_manager, and ends."""
    return Node(
        package="controller_manager",
        executable="spawner",
        name=f"spawn_{name}",
        arguments=[name, "--param-file", controllers, *options],
        namespace=given(context, "namespace"),
        output="screen",
    )


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the nodes."""
    return LaunchDescription(
        [
            *common_arguments(
                "feedforward.yaml",
                robot="Empty: description_file, or an RX90 of mock hardware; with manager, the topic.",
            ),
            mode_argument(),
            profile_argument(),
            joint_states_topic_argument(),
            DeclareLaunchArgument(
                "controllers_file",
                default_value=str(_EXAMPLE / "rx90_controllers.yaml"),
                description="YAML file of controller_manager and its controllers.",
            ),
            DeclareLaunchArgument(
                "controller",
                default_value="effort_controller",
                description="The controller of controllers_file that takes the torques, as arrays or as "
                "trajectories.",
            ),
            DeclareLaunchArgument(
                "manager",
                default_value="",
                description="Name of a controller_manager that runs, as /controller_manager of a vendor's "
                "driver: the controller is loaded into it. Empty: one is started.",
            ),
            switch_argument(
                "activate", "false", "Activate that controller at once, so that torques act on the robot."
            ),
            OpaqueFunction(function=_nodes),
        ]
    )
