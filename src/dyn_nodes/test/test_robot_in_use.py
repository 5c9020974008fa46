# SPDX-License-Identifier: Apache-2.0
"""The robot that a node uses: when another one is loaded, and what its torques depend on."""

from __future__ import annotations

import queue
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from robot_files import ROBOTS
from std_msgs.msg import String

import dyn_core
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, Loaded, Reload, compiled
from dyn_nodes.feedforward.parameters import FeedforwardSettings
from dyn_nodes.feedforward.torque_source import TorqueSource


class FakeNode:
    """A node whose executor puts its tasks in a queue, and whose topic is a function."""

    def __init__(self) -> None:
        self.tasks: queue.Queue[Callable[[], None]] = queue.Queue()
        self.create_task = self.tasks.put
        self.executor = self
        self.publish: Callable[[bytes], None]

    def contained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return callback

    def create_subscription(
        self, kind: type, topic: str, callback: Callable[[bytes], None], qos: Any, *, raw: bool
    ) -> None:
        assert raw
        self.publish = callback

    def get_logger(self) -> Any:
        return SimpleNamespace(info=lambda text: None)


def test_a_description_is_loaded_once() -> None:
    """A description that comes again is loaded again only while another robot is being loaded."""
    node, prepared, used = FakeNode(), list[str](), list[dyn_core.Robot]()
    robots = {name: dyn_core.load_robot(ROBOTS[name]) for name in ("rrp", "rx90")}
    source = SimpleNamespace(described=lambda name: DescribedRobot(robots[name], name, ()))

    def prepare(described: DescribedRobot) -> None:
        prepared.append(described.robot.name)

    def use(loaded: Loaded[None]) -> None:
        used.append(loaded.described.robot)

    def present() -> dyn_core.Robot | None:
        return used[-1] if used else None

    Reload(node, source, prepare, use, present, from_topic=True)  # type: ignore[arg-type]
    for name in ("rrp", "rrp", "rx90", "rrp"):
        node.publish(serialize_message(String(data=name)))
        node.tasks.get(timeout=180.0)()
    names = [robots[name].name for name in ("rrp", "rx90", "rrp")]
    assert prepared == names
    assert [robot.name for robot in used] == names


@pytest.mark.parametrize(
    ("mode", "stands", "is_told"),
    [
        ("inverse_dynamics", True, True),
        ("inverse_dynamics", False, False),
        ("computed_torque", True, False),
        ("gravity", False, False),
    ],
)
def test_only_inverse_dynamics_along_a_motion_goes_on_without_joint_states(
    mode: Any, stands: bool, is_told: bool
) -> None:
    settings = FeedforwardSettings(mode=mode)
    timeout = settings.watch.timeout
    described = DescribedRobot(dyn_core.load_robot(ROBOTS["rrp"]), None, ())
    source = TorqueSource(compiled(described, "runtime"), settings)
    source.measure(np.zeros(3), np.zeros(3), 0.0, 0.0)
    if stands:
        source.stand(0.0, 0.0)
    assert source.unmeasured(timeout) is None
    assert source.unmeasured(2.0 * timeout) == (2.0 * timeout if is_told else None)
