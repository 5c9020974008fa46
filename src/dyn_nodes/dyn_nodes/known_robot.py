# SPDX-License-Identifier: Apache-2.0
"""A robot and what an identification needs of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core import DynError, Model, Robot
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.core.arrays import Array
from dyn_core.core.errors import listed
from dyn_core.excitation.excitation_settings import coordinate_boxes
from dyn_core.model.refuse_springs import refuse_springs
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.identification.parameters import IdentificationNodeSettings
from dyn_nodes.model_source import compiled
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.standing_base import refuse_moving_base


@dataclass(frozen=True)
class KnownRobot:
    """The robot in use. Another robot is another one of these.

    Attributes:
        robot: the robot, with the parameters that are expected.
        model: its compiled dynamics.
        effort_limit: greatest effort of each joint (N m or N), infinite where it is unknown, (n,).
        reader: reads joint states.
        agreement: compares positions of passive joints in trajectories with the loops.
        source: its description, or the path of it.
        side_file: path of its side file; empty for none.
    """

    robot: Robot
    model: Model
    effort_limit: Array
    reader: JointReader
    agreement: PassiveAgreement
    source: str
    side_file: str


def known_robot(
    described: DescribedRobot, description_file: str, side_file: str, settings: IdentificationNodeSettings
) -> KnownRobot:
    """Compile a robot.

    Args:
        described: the robot.
        description_file: path of its description, where that is no URDF.
        side_file: path of its side file; empty for none.
        settings: parameters of the node.

    Raises:
        DynError: it has no joint, or the parameters name one that it does not have.
    """
    for joint, error in settings.run.tracking_errors.items():
        if joint not in described.robot.coordinate_names:
            raise DynError(
                f"parameter joints.{joint}.max_tracking_error: robot '{described.robot.name}' has no such "
                f"joint, its joints are {listed(described.robot.coordinate_names)}"
            )
        if error == 0.0:
            raise DynError(f"parameter joints.{joint}.max_tracking_error is 0: give a number > 0")
    refuse_springs(described.robot, "identification")
    refuse_moving_base(described.robot, "identification")
    coordinate_boxes(described.robot, settings.boxes)
    loaded = compiled(described, "runtime")
    robot = loaded.robot
    # A limit of 0 says that nobody has given one.
    limits = np.where(loaded.effort_limit > 0.0, loaded.effort_limit, np.inf)
    return KnownRobot(
        robot,
        loaded.model,
        limits,
        JointReader(robot.coordinate_names, "joint state", others=True),
        PassiveAgreement(robot),
        described.text or description_file,
        side_file,
    )
