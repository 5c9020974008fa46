# SPDX-License-Identifier: Apache-2.0
"""Sizes of messages are checked in their bytes before they are built.

Durations of trajectories are limited.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from loose_node import LooseNode, loose_node
from message_makers import NAMES, to_rest_at
from rclpy.serialization import serialize_message
from robot_files import ROBOTS
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.decoding import MOST_POINTS, decoded
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor

FOLLOWERS: list[Callable[..., ManagedNode]] = [Feedforward, Controller, Governor]
PERIOD_S = 0.01
"""One control period at 100 Hz, the slowest rate of drives for these torques."""
Q = [0.1, 0.3, 0.05]


@pytest.fixture(params=FOLLOWERS, ids=lambda kind: kind.__name__)
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    with loose_node(request.param, description_file=str(ROBOTS["rrp"])) as loose:
        loose.measure(Q)
        yield loose
        assert loose.node.failure is None


def points(count: int) -> JointTrajectory:
    point = JointTrajectoryPoint(positions=Q)
    return JointTrajectory(joint_names=NAMES, points=[point] * count)


def receive(loose: LooseNode, topic: str, raw: bytes) -> float:
    """Let the node receive bytes; return the processor time (s)."""
    heard = loose._heard[f"{loose.node.get_fully_qualified_name()}/{topic}"]
    began = time.process_time()
    heard.callback(raw)
    return time.process_time() - began


@pytest.mark.promise("trajectory-too-many-points")
def test_too_many_points_are_refused_within_a_control_period(loose: LooseNode) -> None:
    raw = serialize_message(points(100_000))
    assert min(receive(loose, "joint_trajectory", raw) for _ in range(3)) < PERIOD_S
    loose.tick()
    assert loose.has_told("trajectory-points-too-many", count=100_000, limit=MOST_POINTS)


@pytest.mark.promise("joint-states-bytes", "messages-harmless")
@pytest.mark.parametrize("topic", ["joint_trajectory", "reference"])
def test_bytes_that_are_not_a_message_are_refused(topic: str, loose: LooseNode) -> None:
    good = serialize_message(points(2))
    for raw in (b"", b"\0", good[:7], good[:-5], good[:12] + b"\xff" * 40, b"\0\1\0\0" + b"\xff" * 400):
        receive(loose, topic, raw)
    loose.tick()
    assert loose.has_told("message-unreadable")


@pytest.mark.promise("governor-long")
def test_a_trajectory_of_sixty_years_is_refused(ros_environment: dict[str, str]) -> None:
    """Without a limit, the governor would check it with terabytes of samples."""
    with loose_node(Governor, description_file=str(ROBOTS["rrp"])) as loose:
        loose.measure(Q)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seconds in (100_000, 2_000_000_000):
            message = to_rest_at([0.2, 0.4, 0.1], 1.0)
            message.points[-1].time_from_start = Duration(sec=seconds)
            assert receive(loose, "joint_trajectory", serialize_message(message)) < 0.5
            assert loose.has_told("trajectory-too-long")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
        assert not loose.published["feasible_trajectory"]


@pytest.mark.promise("reference-surplus")
@pytest.mark.parametrize("field", ["position", "velocity", "acceleration"])
@pytest.mark.parametrize("values", [[*Q, 0.1], [*Q, float("nan"), 0.1], [*Q, float("inf")]], ids=str)
def test_values_without_a_name_are_refused(
    field: str, values: list[float], ros_environment: dict[str, str]
) -> None:
    """The governor passes messages on unchanged, so a controller would receive them."""
    with loose_node(Governor, description_file=str(ROBOTS["rrp"])) as loose:
        loose.measure(Q)
        given: dict[str, Any] = {"q": Q, "qd": [0.0] * 3, "qdd": [0.0] * 3}
        loose.refer(**given)
        count = len(loose.published["feasible_reference"])
        assert count == 1
        loose.pass_time(0.01)
        loose.refer(**{**given, {"position": "q", "velocity": "qd", "acceleration": "qdd"}[field]: values})
        assert loose.has_told("message-values-surplus", quantity=field)
        assert all(len(sent.position) == 3 for sent in loose.published["feasible_reference"])


def test_counts_beyond_the_end_of_a_message_are_refused() -> None:
    head = b"\0\1\0\0" + bytes(8) + b"\1\0\0\0\0\0\0\0"
    for counts in (b"\xff\xff\xff\xff", b"\0\0\0\x10", b"\1\0\0\0\xff\xff\xff\x7f"):
        with pytest.raises(Rejection) as refused:
            decoded(JointTrajectory, head + counts, "trajectory")
        assert refused.value.code == "message-unreadable"


def test_trajectories_are_read_without_loss() -> None:
    for frame in ("", "a", "base", "\u00e9" * 9):
        message = points(3)
        message.header.frame_id = frame
        message.joint_names = [*NAMES, "x" * len(frame)]
        assert decoded(JointTrajectory, serialize_message(message), "trajectory") == message
