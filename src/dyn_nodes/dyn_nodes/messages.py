# SPDX-License-Identifier: Apache-2.0
"""Messages of dyn_msgs from the values of the model."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3
from std_msgs.msg import Header

from dyn_msgs.msg import ModelInfo
from dyn_nodes.model_source import LoadedModel


def model_info(loaded: LoadedModel, stamp: Time) -> ModelInfo:
    """Describe the model in use."""
    robot = loaded.robot
    x, y, z = robot.gravity
    return ModelInfo(
        header=Header(stamp=stamp, frame_id=robot.link_names[0]),
        robot_name=robot.name,
        description_hash=robot.description_hash,
        degrees_of_freedom=robot.dof,
        joint_name=list(robot.coordinate_names),
        effort_unit=[joint.effort_unit for joint in robot.independent_joints],
        effort_limit=loaded.effort_limit.tolist(),
        gravity=Vector3(x=x, y=y, z=z),
    )
