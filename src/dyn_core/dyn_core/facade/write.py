# SPDX-License-Identifier: Apache-2.0
"""Write a robot as text."""

from __future__ import annotations

import warnings

from dyn_core.errors import ModelWarning, listed
from dyn_core.geometry.describe_robot import describe_robot
from dyn_core.io.urdf_text import urdf_text
from dyn_core.model.robot import Robot


def write_urdf(robot: Robot) -> str:
    """Answer a robot as URDF text, from which `load_robot` gets the same dynamics.

    Joints, links and their frames are those that the robot was loaded with. The first link of each
    body has the inertia of all links that are fixed to it; names of fixed joints are new. Rotor
    inertias are ``<dynamics armature="...">``, loops are ``<constraint>``.

    Raises:
        DynError: URDF cannot describe the robot: a body has first moments but no mass.

    Warns:
        ModelWarning: the robot has passive joints, offset torques or an assembly, for which URDF has no
            place.
    """
    lost = [f"passive joint '{name}'" for name in robot.passive_joint_names]
    lost += [f"offset torque of joint '{joint.name}'" for joint in robot.joints if joint.friction.Fo != 0.0]
    lost += ["assembly"] if robot.assembly else []
    if lost:
        what = listed(lost)
        warnings.warn(
            f"robot '{robot.name}': URDF has no place for {what}: keep a side file",
            ModelWarning,
            stacklevel=2,
        )
    return urdf_text(describe_robot(robot))
