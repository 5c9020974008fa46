# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward` in a process of its own, over real DDS: its numbers and what it refuses."""

from __future__ import annotations

import math
import re
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from rclpy.utilities import get_rmw_implementation_identifier
from robot_files import ROBOTS, SIMPLE, urdf
from ros_graph import Graph

from dyn_msgs.msg import JointTorques

FEEDFORWARD_WITH_RRP = (
    *("-m", "dyn_nodes.feedforward", "--ros-args"),
    *("-p", f"description_file:={ROBOTS['rrp']}"),
)


@pytest.mark.parametrize("robot", SIMPLE)
def test_gravity_torques_are_those_of_pinocchio(robot: str, graph: Graph) -> None:
    """Random positions, joints in random order and among others that are none of our business."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    reference = pin.buildModelFromXML(urdf(robot))
    data = reference.createData()
    graph.start_feedforward(ramp_up=0.0)
    info = graph.load(urdf(robot))
    assert sorted(info.joint_name) == sorted(list(reference.names)[1:])
    rng = np.random.default_rng(7)
    for _ in range(5):
        q = {name: rng.uniform(-1.0, 1.0) for name in info.joint_name}
        names = [*rng.permutation(info.joint_name), "gripper"]
        positions = [q.get(name, math.nan) for name in names]
        # One alone that is far from the last may be an error of the sensors.
        graph.publish_state(names, positions)
        torques = graph.torques_for(names, positions)
        turned = np.array([q[name] for name in reference.names[1:]])
        configuration = pin.integrate(reference, pin.neutral(reference), turned)
        expected = pin.computeGeneralizedGravity(reference, data, configuration)
        by_name = dict(zip(torques.name, torques.gravity, strict=True))
        received = np.array([by_name[name] for name in reference.names[1:]])
        assert received == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert torques.total == torques.gravity
        assert not any([*torques.inertial, *torques.coriolis, *torques.friction])
        assert torques.status == JointTorques.STATUS_OK


def test_gravity_torques_are_those_computed_by_hand(graph: Graph) -> None:
    """The masses and arms of rrp.urdf: 3 kg at 0.4 m, 1.5 kg at 0.6 m + s from the lifting axis."""
    graph.start_feedforward()
    info = graph.load(urdf("rrp"))
    phi, s, g = 0.7, -0.05, 9.81
    torques = graph.torques_for(["stretch", "turn", "lift"], [s, 1.2, phi])
    expected = {
        "turn": 0.0,
        "lift": (3.0 * 0.4 + 1.5 * (0.6 + s)) * g * math.cos(phi),
        "stretch": 1.5 * g * math.sin(phi),
    }
    assert dict(zip(torques.name, torques.total, strict=True)) == pytest.approx(expected, abs=1e-12)
    assert list(torques.name) == list(info.joint_name)


def test_model_info_names_the_robot(graph: Graph) -> None:
    graph.start_feedforward()
    info = graph.load(urdf("rrp"))
    assert info.robot_name == "rrp"
    assert len(info.description_hash) == 64
    assert info.degrees_of_freedom == 3
    assert list(info.effort_unit) == ["N m", "N m", "N"]
    assert (info.gravity.x, info.gravity.y, info.gravity.z) == (0.0, 0.0, -9.81)


def test_gravity_is_a_parameter(graph: Graph) -> None:
    graph.start_feedforward(gravity="[0.0, 0.0, 0.0]")
    torques = graph.torques_for(graph.load(urdf("rrp")).joint_name, [0.3, 0.2, 0.1])
    assert list(torques.total) == [0.0, 0.0, 0.0]


BAD_STATES = {
    "missing joint": (lambda g, n: g.publish_state(n[:2], [0.1, 0.2]), "lacks joint"),
    "not a number": (lambda g, n: g.publish_state(n, [0.1, math.nan, 0.3]), "position nan"),
    "infinite": (lambda g, n: g.publish_state(n, [0.1, math.inf, 0.3]), "position inf"),
    "nothing but a name of ours": (lambda g, n: g.publish_state(n[1:2], []), "1 names but 0 positions"),
    "too few positions": (lambda g, n: g.publish_state(n, [0.1, 0.2]), "3 names but 2 positions"),
    "repeated joint": (
        lambda g, n: g.publish_state([*n, n[0]], [0.1, 0.2, 0.3, 0.4]),
        "more than once",
    ),
    "without a stamp": (lambda g, n: g.publish_state(n, [0.1, 0.2, 0.3], Time()), "has no stamp"),
    "from the future": (
        lambda g, n: g.publish_state(n, [0.1, 0.2, 0.3], Time(sec=g.now().sec + 5)),
        "in the future",
    ),
}


@pytest.mark.parametrize("case", BAD_STATES)
def test_bad_joint_states_give_no_torque_and_a_warning(case: str, graph: Graph) -> None:
    publish, sentence = BAD_STATES[case]
    node = graph.start_feedforward()
    names = list(graph.load(urdf("rrp")).joint_name)
    graph.torques_for(names, [0.1] * 3)
    publish(graph, names)
    graph.wait_for(lambda: graph.diagnosis("joint states refused") == "1")
    assert sentence in graph.diagnostics[-1].message
    assert sentence in node.log
    assert len(graph.torques) == 1
    graph.torques_for(names, [0.1] * 3)


def test_what_goes_on_being_bad_is_warned_of_once(graph: Graph) -> None:
    node = graph.start_feedforward()
    names = list(graph.load(urdf("rrp")).joint_name)
    for count in ("1", "2"):
        graph.publish_state(names, [0.1, math.nan, 0.2])
        graph.wait_for(lambda count=count: graph.diagnosis("joint states refused") == count)
    assert node.log.count("joint_states: ") == 1


def weak_rrp() -> str:
    """The arm with motors of 0.5 N m and 0.5 N."""
    return re.sub(r'effort="[^"]*"', 'effort="0.5"', urdf("rrp"))


def test_torque_above_the_effort_limit_is_held_at_it(graph: Graph) -> None:
    graph.start_feedforward()
    names = graph.load(weak_rrp()).joint_name
    torques = graph.torques_for(names, [0.3, 0.4, 0.1])
    assert max(abs(torque) for torque in torques.gravity) > 0.5
    assert max(abs(torque) for torque in torques.total) == 0.5
    assert torques.status == JointTorques.STATUS_LIMITED
    graph.wait_for(lambda: graph.diagnosis("torques limited") == "1")
    assert graph.diagnostics[-1].level == DiagnosticStatus.WARN
    assert "joint 'lift' asks for" in graph.diagnostics[-1].message


def test_torque_above_the_effort_limit_can_be_withheld(graph: Graph) -> None:
    graph.start_feedforward(on_limit="withhold")
    names = graph.load(weak_rrp()).joint_name
    graph.wait_for(lambda: graph.publish_state(names, [0.3, 0.4, 0.1]) and graph.diagnostics)
    graph.wait_for(lambda: int(graph.diagnosis("joint states refused") or 0) > 0)
    assert "joint 'lift' asks for" in graph.diagnostics[-1].message
    assert not graph.torques
    graph.load(urdf("rrp"))
    assert graph.torques_for(names, [0.3, 0.4, 0.1]).status == JointTorques.STATUS_OK


def test_diagnostics_say_what_is_missing(graph: Graph) -> None:
    """No robot; a robot but no joint states; joint states of others only; then all is well."""

    def warns(sentence: str) -> bool:
        last = graph.diagnostics[-1] if graph.diagnostics else None
        return bool(last and last.level == DiagnosticStatus.WARN and sentence in last.message)

    graph.start_feedforward()
    graph.wait_for(lambda: warns("no robot"))
    names = graph.load(urdf("rrp")).joint_name
    graph.wait_for(lambda: warns("no torques for"))
    graph.publish_state(["gripper"], [0.1])
    graph.wait_for(lambda: warns("no torques for"))
    assert graph.diagnosis("joint states refused") is None
    graph.wait_for(
        lambda: graph.publish_state(names, [0.1] * 3) and graph.diagnostics[-1].level == DiagnosticStatus.OK
    )
    assert graph.diagnostics[-1].message == "in order"


def test_a_new_description_replaces_the_robot_and_a_bad_one_does_not(graph: Graph) -> None:
    node = graph.start_feedforward()
    first = graph.load(urdf("rrp"))
    graph.describe("<robot name='broken'><link name='a'>")
    graph.wait_for(lambda: "cannot be used" in node.log)
    graph.wait_for(lambda: graph.diagnostics and "cannot be used" in graph.diagnostics[-1].message)
    assert "robot 'rrp' stays in use" in node.log
    assert len(graph.torques_for(first.joint_name, [0.1, 0.2, 0.3]).name) == 3
    second = graph.load(urdf("rx90"))
    assert second.description_hash != first.description_hash
    assert len(graph.torques_for(second.joint_name, [0.1] * 6).name) == 6


def test_a_path_on_the_topic_is_not_read_as_a_file(graph: Graph) -> None:
    node = graph.start_feedforward()
    graph.describe(str(ROBOTS["rrp"]))
    graph.wait_for(lambda: "not the text of a URDF" in node.log)


def test_isolated_processes_use_the_loopback_interface_alone(graph: Graph) -> None:
    """What the tests and the demonstration say reaches neither the network nor shared memory."""
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_node_with_code_0_within_2_s(number: signal.Signals, graph: Graph) -> None:
    node = graph.start_feedforward()
    start = time.monotonic()
    node.process.send_signal(number)
    node.process.send_signal(number)  # as launch does on top of a terminal's Ctrl-C
    assert node.process.wait(20) == 0
    assert time.monotonic() - start < 2.0
    assert "Traceback" not in node.log


def test_after_kill_9_another_node_takes_over(graph: Graph) -> None:
    first = graph.start_feedforward()
    names = graph.load(urdf("rrp")).joint_name
    first.process.kill()
    first.process.wait()
    count = len(graph.models)
    graph.start("-m", "dyn_nodes.feedforward")
    graph.wait_for(lambda: len(graph.models) > count)
    graph.wait_for(lambda: graph.publish_state(names, [0.1, 0.2, 0.3]) and graph.torques)


@pytest.fixture
def change(graph: Graph) -> Callable[[int], bool]:
    """Ask the node for a transition and answer whether it was done."""
    return partial(graph.change, "feedforward")


def test_without_autostart_the_node_waits_for_its_manager(
    graph: Graph, change: Callable[[int], bool]
) -> None:
    graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-p", "autostart:=false")
    assert change(Transition.TRANSITION_CONFIGURE)
    names = graph.load(urdf("rrp")).joint_name
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 1)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert graph.torques_for(names, [0.1, 0.2, 0.3])
    assert change(Transition.TRANSITION_DEACTIVATE)
    silent = graph.publish_state(names, [0.1, 0.2, 0.3])
    assert change(Transition.TRANSITION_ACTIVATE)
    graph.torques_for(names, [0.1, 0.2, 0.3])
    assert not any(t.header.stamp == silent for t in graph.torques)
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert change(Transition.TRANSITION_CLEANUP)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 0)
    assert change(Transition.TRANSITION_CONFIGURE)


def test_after_shutdown_the_node_is_silent(graph: Graph, change: Callable[[int], bool]) -> None:
    graph.start_feedforward()
    names = graph.load(urdf("rrp")).joint_name
    graph.torques_for(names, [0.1, 0.2, 0.3])
    assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    graph.wait_for(lambda: graph.node.count_publishers("feedforward/torques") == 0)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 0)


def test_an_impossible_transition_is_answered_and_survived(
    graph: Graph, change: Callable[[int], bool]
) -> None:
    node = graph.start_feedforward()
    names = graph.load(urdf("rrp")).joint_name
    assert not change(Transition.TRANSITION_ACTIVATE)
    assert not change(Transition.TRANSITION_CLEANUP)
    assert not change(99)
    assert graph.torques_for(names, [0.1, 0.2, 0.3])
    assert "not possible in the present state" in node.log


def test_a_robot_of_the_parameters_is_not_replaced_by_the_topic(graph: Graph) -> None:
    graph.describe(urdf("rx90"))
    graph.start(*FEEDFORWARD_WITH_RRP)
    graph.wait_for(lambda: graph.models)
    graph.wait_for(lambda: graph.node.count_subscribers("joint_states") == 1)
    assert graph.node.count_subscribers("robot_description") == 0
    graph.wait_for(lambda: graph.publish_state(graph.models[0].joint_name, [0.1] * 3) and graph.torques)
    assert [model.robot_name for model in graph.models] == ["rrp"]
