# SPDX-License-Identifier: Apache-2.0
"""The bytes that are published, as rclpy reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from robot_files import ROBOTS
from std_msgs.msg import Float64MultiArray

import dyn_core
from dyn_core.control.terms import Terms
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.torques.effort_messages import Outputs
from dyn_nodes.common.torques.output_stage import Output


class Topic:
    """In the place of a publisher."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.messages: list[Any] = []

    def publish(self, raw: bytes) -> None:
        self.messages.append(deserialize_message(raw, self._kind))


@pytest.mark.parametrize("command_joints", [[], ["stretch", "turn"]])
def test_what_is_published(command_joints: list[str]) -> None:
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    torques, commands = Topic(JointTorques), Topic(Float64MultiArray)
    outputs = Outputs(robot, command_joints, torques, commands)  # type: ignore[arg-type]
    random = np.random.default_rng(0)
    wanted = [robot.joint_names.index(name) for name in command_joints or robot.joint_names]
    for k in range(5):
        values = random.uniform(-1e3, 1e3, (6, robot.dof))
        values[0, 0] = 0.0
        stamp = Time(sec=int(random.integers(2**31)), nanosec=int(random.integers(10**9)))
        outputs.publish(Output(Terms(*values[:5]), values[5], k, None), stamp)
        message = torques.messages[-1]
        assert message.header.stamp == stamp
        assert message.header.frame_id == ""
        assert message.name == list(robot.joint_names)
        assert message.inertial.tolist() == values[0].tolist()
        assert message.coriolis.tolist() == values[1].tolist()
        assert message.gravity.tolist() == values[2].tolist()
        assert message.friction.tolist() == values[3].tolist()
        assert message.total.tolist() == values[5].tolist()
        assert message.status == k
        command = commands.messages[-1]
        assert command.data.tolist() == values[5][wanted].tolist()
        (dimension,) = command.layout.dim
        assert (dimension.label, dimension.size, dimension.stride) == ("joints", len(wanted), len(wanted))
        assert command.layout.data_offset == 0
