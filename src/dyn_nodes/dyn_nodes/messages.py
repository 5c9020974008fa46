# SPDX-License-Identifier: Apache-2.0
"""Messages of dyn_msgs from the values of the model."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3
from numpy.typing import NDArray
from std_msgs.msg import Header

from dyn_msgs.msg import JointTorques, ModelInfo
from dyn_nodes.model_source import LoadedModel
from dyn_nodes.rejection import Rejection


def gravity_torques(loaded: LoadedModel, q: NDArray[np.float64], stamp: Time) -> JointTorques:
    """Answer the torques (N m or N) that hold the robot still at `q` (rad or m), within its limits.

    A torque that is not finite is a Rejection.
    """
    gravity = loaded.model.gravity_torques(q)
    for name, value in zip(loaded.model.joint_names, gravity, strict=True):
        if not np.isfinite(value):
            raise Rejection(f"the gravity torque of joint '{name}' is {value} for the joint state {q}")
    zero = [0.0] * len(gravity)
    total = np.clip(gravity, -loaded.effort_limit, loaded.effort_limit)
    limited = bool(np.any(total != gravity))
    return JointTorques(
        header=Header(stamp=stamp),
        name=list(loaded.model.joint_names),
        inertial=zero,
        coriolis=zero,
        gravity=gravity.tolist(),
        friction=zero,
        total=total.tolist(),
        status=JointTorques.STATUS_LIMITED if limited else JointTorques.STATUS_OK,
    )


def beyond_limit(torques: JointTorques, loaded: LoadedModel) -> str:
    """Name the joint that is furthest above its effort limit."""
    excess = np.abs(torques.gravity) - loaded.effort_limit
    j = int(np.argmax(excess))
    unit = loaded.robot.independent_joints[j].effort_unit
    return (
        f"joint '{torques.name[j]}' asks for {torques.gravity[j]:.4g} {unit}, "
        f"its effort limit is {loaded.effort_limit[j]:.4g} {unit}"
    )


def model_info(loaded: LoadedModel, stamp: Time) -> ModelInfo:
    """Describe the model in use."""
    robot = loaded.robot
    x, y, z = robot.gravity
    return ModelInfo(
        header=Header(stamp=stamp, frame_id=robot.link_names[0]),
        robot_name=robot.name,
        description_hash=robot.description_hash,
        degrees_of_freedom=robot.dof,
        joint_name=list(loaded.model.joint_names),
        effort_unit=[joint.effort_unit for joint in robot.independent_joints],
        effort_limit=loaded.effort_limit.tolist(),
        gravity=Vector3(x=x, y=y, z=z),
    )
