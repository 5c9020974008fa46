# SPDX-License-Identifier: Apache-2.0
"""A simulated robot that is held, and follows trajectories: `simulation`, `feedforward` and `controller`.

Send a trajectory_msgs/JointTrajectory on feedforward/joint_trajectory, or a stream of dyn_msgs/JointReference
on feedforward/reference. `--show-args` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node

from dyn_nodes.launch_description import (
    common_arguments,
    given_number,
    given_robot,
    given_switch,
    mode_argument,
    node,
    optional,
    parameter_file,
)

_OF_CONTROLLER = [
    ("~/feedforward", "feedforward/torques"),
    ("~/reference", "feedforward/reference"),
    # Both follow the trajectories that feedforward has accepted.
    ("~/joint_trajectory", "feedforward/joint_trajectory_effort"),
]


def _nodes(context: LaunchContext) -> list[Node]:
    file = parameter_file(context, "params_file", "simulation", "feedforward", "controller")
    robot = given_robot(context, default="rx90")
    model_error = given_number(context, "model_error", 0.0, 0.9)
    clock = given_switch(context, "use_sim_time")
    return [
        node(
            context,
            "simulation",
            [file, robot, {"model_error": model_error, "publish_clock": clock}],
            remappings=[("~/torques", "controller/torques")],
            # It publishes the simulated time of the other nodes.
            use_sim_time=False,
        ),
        node(context, "feedforward", [file, robot, optional(context, "mode")]),
        node(context, "controller", [file, robot], remappings=_OF_CONTROLLER),
    ]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the nodes."""
    return LaunchDescription(
        [
            *common_arguments("demo.yaml", robot="Empty: description_file, or rx90 where that is empty too."),
            mode_argument(),
            DeclareLaunchArgument(
                "model_error",
                default_value="0.0",
                description="Largest relative error, 0 to 0.9, of the masses, inertias and friction that "
                "feedforward knows.",
            ),
            OpaqueFunction(function=_nodes),
        ]
    )
