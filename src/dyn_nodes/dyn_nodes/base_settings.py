# SPDX-License-Identifier: Apache-2.0
"""Parameters about a base that moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rclpy.node import Node

from dyn_nodes.common.parameters import declare

Source = Literal["none", "imu", "odometry"]


@dataclass(frozen=True)
class BaseSettings:
    """What is known of the motion of the base.

    Attributes:
        source: what tells it.
        derivative_cutoff: of the filters for accelerations that no message has (Hz); 0: they are taken for 0.
    """

    source: Source = "none"
    derivative_cutoff: float = 5.0


_DEFAULTS = BaseSettings()


def declared_base(node: Node) -> BaseSettings:
    """Declare the parameters and answer their values."""
    return BaseSettings(
        source=declare(
            node,
            "base.source",
            _DEFAULTS.source,
            "What tells how the base moves: 'none', it stands still; 'imu', ~/base_imu (sensor_msgs/Imu); "
            "'odometry', ~/base_odometry (nav_msgs/Odometry).",
            choices=get_args(Source),
        ),
        derivative_cutoff=declare(
            node,
            "base.derivative_cutoff",
            _DEFAULTS.derivative_cutoff,
            "Cutoff, Hz, of the filters for the angular acceleration of the base, and with an odometry for "
            "the linear one; 0: they are taken for 0.",
            within=(0.0, 500.0),
        ),
    )
