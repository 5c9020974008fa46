# SPDX-License-Identifier: Apache-2.0
"""Clocks that stop, leap and are set under the nodes `feedforward` and `controller`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "gravity": (Feedforward, {}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "controller": (Controller, {"p": 100.0}),
}
LEAPS = {"back": -500.0, "a little back": -0.02, "ahead": 500.0}


@pytest.fixture(params=NODES)
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    make_node, parameters = NODES[request.param]
    given = {"description_file": str(ROBOTS["rrp"]), "ramp_start": 0.0, **parameters}
    with loose_node(make_node, **given) as made:
        yield made


def states_for(loose: LooseNode, seconds: float, lift: float = Q[1]) -> list[JointTorques]:
    """Send joint states at 100 Hz, and answer the torques that follow from them."""
    torques = []
    for _ in range(round(100 * seconds)):
        state = JointState(header=Header(stamp=loose.stamp), name=NAMES, position=[Q[0], lift, Q[2]])
        state.velocity = [0.0] * 3
        count = len(loose.published["torques"])
        loose.send("/joint_states", state)
        torques += loose.published["torques"][count:]
        loose.pass_time(0.01)
    return torques


def warned(loose: LooseNode) -> list[str]:
    return [status.message for array in loose.published["diagnostics"] for status in array.status]


def smooth(torques: list[JointTorques]) -> bool:
    """Whether no torque differs from the one before by more than a ramp of 0.5 s makes in 0.01 s."""
    return all(abs(b - a) < 4.0 for x, y in pairwise(torques) for a, b in zip(x.total, y.total, strict=True))


@pytest.mark.parametrize("leap", LEAPS)
def test_time_that_leaps_is_followed_with_a_ramp(leap: str, loose: LooseNode) -> None:
    """As when a simulation is reset: the robot is elsewhere, too."""
    before = states_for(loose, 0.5)
    assert before[-1].status == JointTorques.STATUS_OK
    loose.set_time(loose.ros_now + round(1e9 * LEAPS[leap]))
    after = states_for(loose, 1.0, lift=-0.6)
    assert len(after) == 100
    assert [t.status for t in (after[0], after[-1])] == [JointTorques.STATUS_RAMPING, JointTorques.STATUS_OK]
    assert smooth([before[-1], *after])
    assert after[-1].total != before[-1].total or not any(after[-1].total)
    assert not any("refused" in warning for warning in warned(loose))


@pytest.mark.parametrize("leap", LEAPS)
def test_after_time_has_leapt_silence_is_stale_as_always(leap: str, loose: LooseNode) -> None:
    """The torques that were sent last do not stand for ever, and a last message is sent."""
    before = states_for(loose, 0.5)
    loose.set_time(loose.ros_now + round(1e9 * LEAPS[leap]))
    loose.pass_time(1.0)
    watch = loose.node.active.maker.stage.watch
    assert watch.status in (Status.HOLDING, Status.RAMPING_DOWN, Status.STOPPED)
    after = loose.published["torques"][len(before) :]
    assert {t.status for t in after} & {JointTorques.STATUS_HELD, JointTorques.STATUS_ZERO}
    assert smooth([before[-1], *after])
    loose.node.trigger_deactivate()
    assert len(loose.published["torques"]) > len(before) + len(after)


def test_a_clock_that_stops_while_joint_states_go_on_is_noticed(loose: LooseNode) -> None:
    states_for(loose, 0.5)
    stamp = loose.ros_now
    for _ in range(60):
        loose.set_time(stamp)
        state = JointState(header=Header(stamp=loose.stamp), name=NAMES, position=Q)
        state.header.stamp.nanosec += 200_000_000
        loose.send("/joint_states", state)
        loose.now += 0.01
        loose.tick()
    watch = loose.node.active.maker.stage.watch
    assert watch.status in (Status.HOLDING, Status.RAMPING_DOWN)
    assert "joint state is 0.200 s in the future by its stamp" in warned(loose)[-1]
    again = states_for(loose, 1.2)
    assert [t.status for t in (again[0], again[-1])] == [JointTorques.STATUS_RAMPING, JointTorques.STATUS_OK]


def test_in_a_paused_simulation_torques_go_on(loose: LooseNode) -> None:
    """Time stands still, the same joint state comes again and again."""
    states_for(loose, 0.5)
    state = JointState(header=Header(stamp=loose.stamp), name=NAMES, position=Q, velocity=[0.0] * 3)
    loose.published["torques"].clear()
    for _ in range(500):
        loose.send("/joint_states", state)
        loose.now += 0.01
        loose.tick()
    assert len(loose.published["torques"]) == 500
    assert {t.status for t in loose.published["torques"]} == {JointTorques.STATUS_OK}


def test_without_a_clock_yet_nothing_is_sent_and_the_cause_is_told(loose: LooseNode) -> None:
    loose.set_time(0)
    state = JointState(header=Header(), name=NAMES, position=Q)
    state.header.stamp.sec = 1_700_000_000
    loose.send("/joint_states", state)
    assert "nothing on /clock yet" in warned(loose)[-1]
    assert not loose.published["torques"]


@pytest.mark.parametrize("by", [-60.0, -0.2, 0.2, 60.0])
def test_a_trajectory_stands_where_it_was_when_the_clock_is_set(
    by: float, ros_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the system, by more than `max_age`: nobody tells a node of that."""
    given = {"description_file": str(ROBOTS["rrp"]), "mode": "inverse_dynamics"}
    with loose_node(Feedforward, **given) as loose:
        monkeypatch.setattr(Feedforward, "_simulated_time", False)
        monkeypatch.setattr(loose.node._jumps, "_post_callback", lambda _: None)
        states_for(loose, 0.5)
        goal = JointTrajectoryPoint(positions=[1.0, 1.0, 0.0], velocities=[0.0] * 3)
        goal.time_from_start = Duration(sec=10)
        loose.send("joint_trajectory", JointTrajectory(joint_names=NAMES, points=[goal]))
        loose.pass_time(5.0)
        middle = pytest.approx([0.55, 0.65, 0.025], abs=0.01)
        desired = loose.node.active.maker.desired
        assert desired.at(loose.node.node_time).q.tolist() == middle
        before = loose.published["torques"][-1]
        loose.set_time(loose.ros_now + round(1e9 * by))
        count = len(loose.published["torques"])
        loose.pass_time(3.0)
        assert desired.at(loose.node.node_time).q.tolist() == middle
        assert smooth([before, *loose.published["torques"][count:]])


def test_a_reference_from_before_a_leap_is_not_in_the_way(ros_environment: dict[str, str]) -> None:
    with loose_node(Feedforward, description_file=str(ROBOTS["rrp"]), mode="inverse_dynamics") as loose:
        states_for(loose, 0.2)
        for leap in (-100.0, 0.0):
            loose.set_time(loose.ros_now + round(1e9 * leap))
            states_for(loose, 0.1)
            header = Header(stamp=loose.stamp)
            loose.send("reference", JointReference(header=header, name=NAMES, position=Q))
            assert loose.published["torques"][-1].header.stamp == header.stamp
