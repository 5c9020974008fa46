# SPDX-License-Identifier: Apache-2.0
"""A robot under ros2_control, with torques of the node `feedforward`; `--show-args` lists the arguments.

Without arguments the robot is one with mock hardware. The controller that sends torques stays inactive unless
`activate` says otherwise.
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
    mode_argument,
    node,
    optional,
    parameter_file,
    profile_argument,
    profile_parameter,
    switch_argument,
)

_EXAMPLE = robot_directory().parent / "ros2_control"


def _nodes(context: LaunchContext) -> list[Node]:
    for package in ("controller_manager", "robot_state_publisher"):
        installed_package(package)
    name = given(context, "controller")
    file = parameter_file(context, "params_file", "feedforward")
    controllers = parameter_file(context, "controllers_file", "controller_manager", name)
    controller = effort_controller(controllers, name)
    robot = given_robot(context, default=str(_EXAMPLE / "rx90_mock.urdf.xacro"))
    text = description_text(robot, element="ros2_control")
    common = {"use_sim_time": given_switch(context, "use_sim_time")}
    where = {"namespace": given(context, "namespace"), "output": "screen"}
    if controller.takes_trajectories:
        topics = {"~/joint_trajectory_effort": "joint_trajectory", "~/controller_state": "controller_state"}
    else:
        topics = {"~/commands": "commands"}
    state = [] if given_switch(context, "activate") else ["--inactive"]
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[exact({"robot_description": text}), common],
            **where,
        ),
        # Torques start before the controller that receives them.
        node(
            context,
            "feedforward",
            [
                file,
                robot,
                optional(context, "mode"),
                profile_parameter(context),
                {"command_joints": list(controller.joints)},
            ],
            remappings=[(ours, f"{name}/{its}") for ours, its in topics.items()],
        ),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[controllers, common],
            **where,
        ),
        *(
            Node(
                package="controller_manager",
                executable="spawner",
                name=f"spawn_{spawned}",
                arguments=[spawned, "--param-file", controllers, *options],
                **where,
            )
            for spawned, options in (("joint_state_broadcaster", []), (name, state))
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the nodes."""
    return LaunchDescription(
        [
            *common_arguments(
                "feedforward.yaml", robot="Empty: description_file, or an RX90 of mock hardware."
            ),
            mode_argument(),
            profile_argument(),
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
            switch_argument(
                "activate", "false", "Activate that controller at once, so that torques act on the robot."
            ),
            OpaqueFunction(function=_nodes),
        ]
    )
