# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward` over real DDS: torques, refusals and life cycle."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from message_makers import NAMES, later
from rclpy.utilities import get_rmw_implementation_identifier
from rnea import Pinocchio, by_name
from robot_files import ROBOTS, SIMPLE, urdf
from ros_graph import Graph
from sentence_patterns import said

from dyn_msgs.msg import JointTorques


@pytest.mark.promise("joint-states-many")
@pytest.mark.parametrize("robot", SIMPLE)
def test_gravity_torques_agree_with_pinocchio(robot: str, graph: Graph) -> None:
    """Random positions, joints in random order, mixed with joints of other robots."""
    oracle = Pinocchio(urdf(robot))
    graph.feedforward(ramp_up=0.0)
    info = graph.load(urdf(robot))
    assert sorted(info.joint_name) == sorted(oracle.names)
    rng = np.random.default_rng(7)
    for _ in range(5):
        q = {name: rng.uniform(-1.0, 1.0) for name in info.joint_name}
        names = [*rng.permutation(info.joint_name), "gripper"]
        positions = [q.get(name, math.nan) for name in names]
        # A single position far from the last one may be a sensor error.
        graph.publish_state(names, positions)
        torques = graph.torques_for(names, positions)
        assert by_name(torques, "gravity") == pytest.approx(oracle.held(q), rel=1e-9, abs=1e-9)
        assert torques.total == torques.gravity
        assert not any([*torques.inertial, *torques.coriolis, *torques.friction])
        assert torques.status == JointTorques.STATUS_OK


@pytest.mark.parametrize("given", [{}, {"gravity": [0.0, 0.0, -1.62]}], ids=["earth", "moon"])
def test_gravity_torques_agree_with_values_by_hand(given: dict[str, Any], graph: Graph) -> None:
    """The masses and lever arms of rrp.urdf: 3 kg at 0.4 m, 1.5 kg at 0.6 m + s from the lifting axis."""
    graph.start_feedforward(**given)
    info = graph.load(urdf("rrp"))
    phi, s, g = 0.7, -0.05, -given.get("gravity", [-9.81])[-1]
    torques = graph.torques_for(["stretch", "turn", "lift"], [s, 1.2, phi])
    lift, stretch = (3.0 * 0.4 + 1.5 * (0.6 + s)) * g * math.cos(phi), 1.5 * g * math.sin(phi)
    assert by_name(torques) == pytest.approx({"turn": 0.0, "lift": lift, "stretch": stretch}, abs=1e-12)
    assert list(torques.name) == list(info.joint_name)
    assert (info.robot_name, info.degrees_of_freedom, len(info.description_hash)) == ("rrp", 3, 64)
    assert list(info.effort_unit) == ["N m", "N m", "N"]
    assert (info.gravity.x, info.gravity.y, info.gravity.z) == (0.0, 0.0, -g)


IMPLAUSIBLE, SHORT = "message-value-implausible", "message-values-missing"
BAD_STATES: dict[str, tuple[str, dict[str, Any], tuple[Any, ...]]] = {
    "missing joint": ("message-joints-missing", {"missing": ["stretch"]}, (NAMES[:2], [0.1, 0.2])),
    "not a number": (IMPLAUSIBLE, {"joint": "lift"}, (NAMES, [0.1, math.nan, 0.3])),
    "infinite": (IMPLAUSIBLE, {"given": math.inf}, (NAMES, [0.1, math.inf, 0.3])),
    "a name only": (SHORT, {"names": 1, "count": 0}, (NAMES[1:2], [])),
    "too few positions": (SHORT, {"names": 3, "count": 2}, (NAMES, [0.1, 0.2])),
    "repeated joint": ("message-joint-repeated", {"joint": "turn"}, ([*NAMES, "turn"], [0.1, 0.2, 0.3, 0.4])),
    "without a stamp": ("message-without-stamp", {}, (NAMES, [0.1] * 3, lambda _: Time())),
    "from the future": ("stamp-in-future", {}, (NAMES, [0.1] * 3, lambda now: later(now, 1000.0))),
}


@pytest.mark.promise("refused-no-effect", "joint-states-not-finite", "joint-states-incomplete")
@pytest.mark.promise("joint-states-part", "joint-states-age")
@pytest.mark.parametrize("case", BAD_STATES)
def test_bad_joint_states_give_no_torque_and_a_warning(case: str, graph: Graph) -> None:
    code, values, (names, q, *stamp) = BAD_STATES[case]
    graph.feedforward()
    graph.load(urdf("rrp"))
    graph.torques_for(NAMES, [0.1] * 3)
    for count in ("1", "2"):
        graph.publish_state(names, q, *(after(graph.now()) for after in stamp))
        graph.wait_for(lambda count=count: graph.diagnosis("joint states refused") == count)
        assert graph.told.about(code, message="joint state", **values)
    graph.wait_for(lambda: graph.said(code, **values))
    assert len(graph.torques) == 1
    graph.torques_for(NAMES, [0.1] * 3)
    assert len(graph.logged("joint_states: ")) == 1


def weak_rrp() -> str:
    """The arm with motors of 0.5 N m and 0.5 N."""
    return re.sub(r'effort="[^"]*"', 'effort="0.5"', urdf("rrp"))


@pytest.mark.promise("outputs-within-limits")
def test_torque_above_the_effort_limit_is_held_at_it(graph: Graph) -> None:
    graph.feedforward()
    names = graph.load(weak_rrp()).joint_name
    torques = graph.torques_for(names, [0.3, 0.4, 0.1])
    assert max(map(abs, torques.gravity)) > 0.5
    assert max(map(abs, torques.total)) == 0.5
    assert torques.status == JointTorques.STATUS_LIMITED
    graph.wait_for(lambda: graph.diagnosis("torques limited") == "1")
    assert graph.warns("effort-beyond-limit", joint="lift")


def test_torque_above_the_effort_limit_can_be_withheld(graph: Graph) -> None:
    graph.feedforward(on_limit="withhold")
    names = graph.load(weak_rrp()).joint_name
    graph.publish_state(names, [0.3, 0.4, 0.1])
    graph.wait_for(lambda: int(graph.diagnosis("joint states refused") or 0) > 0)
    assert graph.told.about("effort-beyond-limit", joint="lift")
    assert not graph.torques
    graph.load(urdf("rrp"))
    assert graph.torques_for(names, [0.3, 0.4, 0.1]).status == JointTorques.STATUS_OK


def test_diagnostics_name_the_missing_input(graph: Graph) -> None:
    """No robot; a robot without joint states; joint states of other joints only; then everything."""
    graph.start_feedforward()
    graph.wait_for(lambda: graph.warns("robot-missing"))
    names = graph.load(urdf("rrp")).joint_name
    graph.wait_for(lambda: graph.warns("torques-missing"))
    graph.publish_state(["gripper"], [0.1])
    graph.wait_for(lambda: graph.warns("torques-missing"))
    assert graph.diagnosis("joint states refused") is None
    graph.wait_for(lambda: graph.publish_state(names, [0.1] * 3) and graph.level == DiagnosticStatus.OK)
    assert not graph.told.codes


def test_isolated_processes_use_only_the_loopback_interface(graph: Graph) -> None:
    """Messages of the tests and the demonstration reach neither the network nor shared memory."""
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
        pytest.skip("the middleware is not Fast DDS")
    node = graph.start_feedforward()
    process = Path("/proc") / str(node.process.pid)
    descriptors = {str(link.readlink()) for link in (process / "fd").iterdir()}
    sockets = [line.split() for line in Path("/proc/net/udp").read_text().splitlines()[1:]]
    addresses = [words[1].split(":")[0] for words in sockets if f"socket:[{words[9]}]" in descriptors]
    assert addresses
    assert {socket.inet_ntoa(bytes.fromhex(a)[::-1]) for a in addresses} <= {"127.0.0.1", "239.255.0.1"}
    assert "/dev/shm/fastrtps" not in (process / "maps").read_text()


def test_the_life_cycle_of_a_node_process(graph: Graph) -> None:
    change: Callable[[int], bool] = partial(graph.change, "feedforward")
    node = graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-p", "autostart:=false")
    assert change(Transition.TRANSITION_CONFIGURE)
    graph.load(urdf("rrp"))
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 1)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert not any(map(change, (Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CLEANUP, 99)))
    assert said("transition-impossible").search(node.log)
    graph.torques_for(NAMES, [0.1, 0.2, 0.3])
    assert change(Transition.TRANSITION_DEACTIVATE)
    silent = graph.publish_state(NAMES, [0.1, 0.2, 0.3])
    assert change(Transition.TRANSITION_ACTIVATE)
    graph.torques_for(NAMES, [0.1, 0.2, 0.3])
    assert not any(t.header.stamp == silent for t in graph.torques)
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert change(Transition.TRANSITION_CLEANUP)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 0)
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    graph.wait_for(lambda: graph.node.count_publishers("feedforward/torques") == 0)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 0)


def test_the_topic_does_not_replace_a_robot_given_by_parameters(graph: Graph) -> None:
    graph.describe(urdf("rx90"))
    graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-p", f"description_file:={ROBOTS['rrp']}")
    graph.wait_for(lambda: graph.models)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 1)
    assert graph.node.count_subscribers("robot_description") == 0
    graph.wait_for(lambda: graph.publish_state(NAMES, [0.1] * 3) and graph.torques)
    assert [model.robot_name for model in graph.models] == ["rrp"]
