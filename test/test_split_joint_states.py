# SPDX-License-Identifier: Apache-2.0
"""Nodes with joint states of several publishers, joints that never report, and locked joints."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from identification_client import identification
from loose_node import LooseNode, loose_node
from message_makers import NAMES, joint_state
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

import dyn_core
from dyn_core import DynError
from dyn_nodes.common import qos
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.identification.session import JointSample

Q, QD = [0.1, 0.3, 0.05], [0.2, -0.1, 0.02]
ARM, HAND = NAMES[:2], NAMES[2:]
NODES = {
    "feedforward": (Feedforward, {"mode": "computed_torque"}),
    "controller": (Controller, {"p": 10.0, "d": 1.0}),
}
AT_ONCE = {"ramp_start": 0.0, "ramp_up": 0.0, "max_torque_rate": 0.0}


def node(name: str) -> LooseNode:
    make, own = NODES[name]
    return loose_node(make, description_file=str(ROBOTS["rrp"]), **own, **AT_ONCE)


@pytest.mark.promise("joint-states-part")
@pytest.mark.parametrize("name", NODES)
def test_torques_of_merged_joint_states_are_those_of_whole_ones(
    name: str, ros_environment: dict[str, str]
) -> None:
    with node(name) as whole, node(name) as split:
        for k in range(5):
            q = [Q[0] + 0.01 * k, *Q[1:]]
            whole.measure(q, QD)
            split.measure(q[2:], QD[2:], HAND)
            split.measure(q[:2], QD[:2], ARM)
            for loose in (whole, split):
                loose.pass_time(0.01)
        assert len(split.published["torques"]) == len(whole.published["torques"]) == 5
        for ours, theirs in zip(split.published["torques"], whole.published["torques"], strict=True):
            assert ours == theirs
        assert split.told.values["joint states refused"] == "1"  # the first, before the others had reported


@pytest.mark.promise("joint-states-part-late")
@pytest.mark.parametrize("name", NODES)
def test_a_part_that_falls_silent_makes_data_stale(name: str, ros_environment: dict[str, str]) -> None:
    with node(name) as loose:
        loose.measure(Q[2:], QD[2:], HAND)
        for _ in range(10):
            loose.measure(Q[:2], QD[:2], ARM)
            loose.pass_time(0.01)
        count = len(loose.published["torques"])
        assert count == 10
        for _ in range(40):
            loose.measure(Q[:2], QD[:2], ARM)
            loose.pass_time(0.01)
        assert loose.has_told("joint-reported-late", joint="stretch")
        assert loose.told.level == DiagnosticStatus.ERROR


@pytest.mark.promise("joint-states-never")
def test_a_joint_that_never_reports_is_held_until_it_does(graph: Graph) -> None:
    """The joint `stretch`, which has limits, stands at 0: torques are those of the arm where it is locked."""
    graph.feedforward(hold_unreported=0.02, mode="gravity")
    graph.load(urdf("rrp"))
    arm = dyn_core.load_robot(ROBOTS["rrp"], joints=ARM)
    expected = dyn_core.compile_model(arm, backend="python").gravity_torques(np.array(Q[:2]))

    def torques_of(names: list[str], q: list[float], given: list[str]) -> bool:
        graph.publish_state(given, q)
        return bool(graph.torques) and list(graph.torques[-1].name) == names

    graph.wait_for(lambda: torques_of(ARM, Q[:2], ARM))
    np.testing.assert_allclose(graph.torques_for(ARM, Q[:2]).total, expected, rtol=0, atol=1e-12)
    assert graph.said("joints-held")
    graph.wait_for(lambda: torques_of(NAMES, Q, NAMES))
    assert graph.said("joints-released", joints=HAND)


@pytest.mark.promise("joint-states-never")
def test_a_joint_without_limits_is_not_held(ros_environment: dict[str, str]) -> None:
    description = urdf("rrp").replace('type="revolute"', 'type="continuous"')
    assert description != urdf("rrp")
    with loose_node(Feedforward, robot_description=description, hold_unreported=0.1) as loose:
        for _ in range(50):
            loose.send("/joint_states", joint_state(loose.stamp, Q[1:], (), NAMES[1:]))
            loose.pass_time(0.01)
        assert loose.has_told("joints-never-reported", missing=["turn"])
        assert not loose.published.get("torques")


@pytest.mark.promise("locked-joints")
@pytest.mark.parametrize(
    "parameters", [{"locked_joints.stretch": 0.05}, {"joints": ARM}], ids=["locked_joints", "joints"]
)
def test_locked_joints_have_no_torques(
    parameters: dict[str, object], ros_environment: dict[str, str]
) -> None:
    at = {"stretch": 0.05} if "joints" not in parameters else {}
    arm = dyn_core.load_robot(ROBOTS["rrp"], locked_joints=at, joints=parameters.get("joints"))
    expected = dyn_core.compile_model(arm, backend="python").gravity_torques(np.array(Q[:2]))
    given = {name.replace(".", "__"): value for name, value in parameters.items()}
    with loose_node(
        Feedforward, description_file=str(ROBOTS["rrp"]), mode="gravity", **AT_ONCE, **given
    ) as loose:
        loose.measure(Q[:2], (), ARM)
        loose.measure(Q, (), NAMES)
        for torques in loose.published["torques"]:
            assert list(torques.name) == ARM
            np.testing.assert_allclose(torques.total, expected, rtol=0, atol=1e-12)
        assert len(loose.published["torques"]) == 2


@pytest.mark.promise("joint-states-part")
def test_identification_takes_merged_joint_states(graph: Graph, tmp_path: Path) -> None:
    """Parts come in turn; what the node knows of the robot has the values of both."""
    given = {"turn": (0.1, 0.01, 1.0), "lift": (0.3, 0.02, 2.0), "stretch": (0.05, 0.03, 3.0)}
    with identification(graph, directory=str(tmp_path)) as (_, node):
        states = graph.node.create_publisher(JointState, "joint_states", qos.COMMAND)
        graph.wait_for(states.get_subscription_count)
        samples: list[JointSample] = []

        def knows_the_robot() -> bool:
            for names in (HAND, ARM):
                q, qd, tau = zip(*(given[name] for name in names), strict=True)
                header = Header(stamp=graph.now())
                states.publish(JointState(header=header, name=names, position=q, velocity=qd, effort=tau))
            with contextlib.suppress(DynError):
                samples.append(node._present())
            return bool(samples)

        graph.wait_for(knows_the_robot)
        found = zip(samples[0].q, samples[0].qd, samples[0].tau, strict=True)
        assert list(found) == [given[name] for name in NAMES]
