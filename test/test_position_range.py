# SPDX-License-Identifier: Apache-2.0
"""A joint that is outside of its range, by what is measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import loose_node
from robot_files import ROBOTS
from torque_steps import states_for

from dyn_core import load_robot
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward


@pytest.mark.parametrize("make_node", [Feedforward, Controller])
@pytest.mark.parametrize("by", [0.5, 0.005])
def test_a_position_outside_of_its_range_is_told(
    by: float, make_node: Callable[..., ManagedNode], ros_environment: dict[str, str]
) -> None:
    """It is used all the same: the robot may be there. A rounding is not worth a word."""
    robot = load_robot(str(ROBOTS["rrp"]))
    upper: Any = robot.limits["lift"].upper
    with loose_node(make_node, description_file=str(ROBOTS["rrp"]), ramp_start=0.0) as loose:
        torques = states_for(loose, 1.0, [0.0, upper + by, 0.0])
        assert {torque.status for torque in torques} == {JointTorques.STATUS_OK}
        told = loose.published["diagnostics"][-1].status[0]
        if by < 0.01:
            assert told.level == DiagnosticStatus.OK
        else:
            assert told.level == DiagnosticStatus.WARN
            assert told.message.startswith(f"joint 'lift' is at {upper + by:.4g} rad, its range is ")
