# SPDX-License-Identifier: Apache-2.0
"""Wrenches of the environment on links, from messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_core.robot.robot import Robot
from dyn_nodes.common.data_checks import plausible
from dyn_nodes.rejection import Rejection


class LinkWrench(NamedTuple):
    """What the environment exerts **on** a link.

    Attributes:
        link: name of the link.
        wrench: force and moment (N, N m) on the axes of the link's frame and about its origin, shape (6,).
    """

    link: str
    wrench: NDArray[np.float64]


def link_wrench(message: WrenchStamped, robot: Robot) -> LinkWrench:
    """Answer the wrench of a message whose frame is a link of the robot; a Rejection where it will not do."""
    link = message.header.frame_id
    try:
        robot.link_frame(link)
    except DynError as problem:
        raise Rejection(f"wrench: {problem}") from problem
    force, torque = message.wrench.force, message.wrench.torque
    values = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
    if not plausible(values):
        raise Rejection(
            f"wrench on link '{link}' is not finite, or too large: force and torque are {values}",
            f"wrench on link '{link}' not finite",
        )
    return LinkWrench(link, np.array(values))
