# SPDX-License-Identifier: Apache-2.0
"""Write a robot as text."""

from __future__ import annotations

import warnings

from dyn_core.core.errors import ModelWarning
from dyn_core.geometry.build_elastic import without_springs
from dyn_core.geometry.describe_par import describe_par
from dyn_core.geometry.describe_robot import describe_robot
from dyn_core.loops.cut_frames import with_cut_frames
from dyn_core.robot.par.writer import par_text
from dyn_core.robot.robot import Robot
from dyn_core.robot.urdf.writer import urdf_text


def write_urdf(robot: Robot) -> str:
    """Answer a robot as URDF text, from which `load_robot` gets the same dynamics.

    Joints, links and their frames are those that the robot was loaded with. The first link of each
    body has the inertia of all links that are fixed to it; names of fixed joints are new. Rotor
    inertias are ``<dynamics armature="...">``, loops are ``<constraint>``.

    Raises:
        DynError: URDF cannot describe the robot: a body has first moments but no mass.

    Warns:
        ModelWarning: the robot has passive joints, springs, offset torques or an assembly, for which URDF
            has no place.
    """
    elastic = robot.elastic_joint_names
    lost = [f"passive joint '{name}'" for name in robot.passive_joint_names if name not in elastic]
    _warn_of_loss(robot, "URDF", lost)
    return urdf_text(describe_robot(without_springs(robot)))


def write_par(robot: Robot) -> str:
    """Answer a robot as SYMORO+ .par text, from which `load_robot` gets the same dynamics.

    The parameters are those of the robot: its MDH parameters, inertias about the origins of the
    frames, rotor inertias and friction. Names of joints are kept in a comment. Left out are what
    .par files have no place for and dynamics do not need: names of links, frames of tools, limits,
    and the mass of the base.

    Raises:
        DynError: a .par file cannot describe the robot: it has other loops than revolute and prismatic.

    Warns:
        ModelWarning: the robot has springs, offset torques or an assembly, for which a .par file has no
            place.
    """
    _warn_of_loss(robot, "a .par file", [])
    return par_text(describe_par(with_cut_frames(without_springs(robot))))


def _warn_of_loss(robot: Robot, form: str, lost: list[str]) -> None:
    lost += [f"the spring of joint '{name}'" for name in robot.elastic_joint_names]
    lost += [f"offset torque of joint '{joint.name}'" for joint in robot.joints if joint.friction.Fo != 0.0]
    lost += ["assembly"] if robot.assembly else []
    lost += [f"base '{robot.base}'"] if robot.base else []
    if lost:
        message = f"robot '{robot.name}': {form} has no place for {', '.join(lost)}: keep a side file"
        warnings.warn(message, ModelWarning, stacklevel=3)
