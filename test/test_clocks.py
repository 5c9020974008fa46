# SPDX-License-Identifier: Apache-2.0
"""Clocks that stop, leap or are set while `feedforward` and `controller` run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from loose_node import LooseNode, loose_node
from message_makers import joint_state, later
from robot_files import ROBOTS
from torque_steps import Q, states_for

from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

RRP = {"description_file": str(ROBOTS["rrp"])}
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
    with loose_node(make_node, **RRP, ramp_start=0.0, **parameters) as made:
        yield made


def smooth(torques: Sequence[JointTorques]) -> bool:
    """Whether no torque changes by more in 0.01 s than a ramp of 0.5 s causes."""
    return all(abs(b - a) < 4.0 for x, y in pairwise(torques) for a, b in zip(x.total, y.total, strict=True))


@pytest.mark.promise("clock-leaps")
@pytest.mark.parametrize("leap", LEAPS)
def test_a_leap_of_time_is_followed_with_a_ramp(leap: str, loose: LooseNode) -> None:
    """As when a simulation is reset, which also moves the robot."""
    before = states_for(loose, 0.5)
    assert before[-1].status == JointTorques.STATUS_OK
    loose.set_time(loose.ros_now + round(1e9 * LEAPS[leap]))
    after = states_for(loose, 1.0, [Q[0], -0.6, Q[2]])
    assert len(after) == 100
    assert [t.status for t in (after[0], after[-1])] == [JointTorques.STATUS_RAMPING, JointTorques.STATUS_OK]
    assert smooth([before[-1], *after])
    assert after[-1].total != before[-1].total or not any(after[-1].total)
    assert not any("refused" in key for key in loose.told.values)


@pytest.mark.parametrize("leap", LEAPS)
def test_after_a_leap_of_time_missing_data_becomes_stale_as_usual(leap: str, loose: LooseNode) -> None:
    """The last torques do not stay for ever, and a last message is sent."""
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


@pytest.mark.promise("clock-stops")
def test_a_clock_that_stops_while_joint_states_go_on_is_reported(loose: LooseNode) -> None:
    states_for(loose, 0.5)
    stamp = loose.ros_now
    for _ in range(60):
        loose.set_time(stamp)
        loose.send("/joint_states", joint_state(later(loose.stamp, 0.2), Q))
        loose.now += 0.01
        loose.tick()
    watch = loose.node.active.maker.stage.watch
    assert watch.status in (Status.HOLDING, Status.RAMPING_DOWN)
    assert loose.told.about("stamp-in-future", message="joint state", age=0.2)
    again = states_for(loose, 1.2)
    assert [t.status for t in (again[0], again[-1])] == [JointTorques.STATUS_RAMPING, JointTorques.STATUS_OK]


@pytest.mark.promise("joint-states-same-stamp", "clock-paused")
def test_in_a_paused_simulation_torques_go_on(loose: LooseNode) -> None:
    states_for(loose, 0.5)
    state = joint_state(loose.stamp, Q, [0.0] * 3)
    loose.published["torques"].clear()
    for _ in range(500):
        loose.send("/joint_states", state)
        loose.now += 0.01
        loose.tick()
    assert len(loose.published["torques"]) == 500
    assert {t.status for t in loose.published["torques"]} == {JointTorques.STATUS_OK}


@pytest.mark.promise("clock-missing")
def test_before_the_first_clock_message_nothing_is_sent_and_the_cause_is_reported(loose: LooseNode) -> None:
    loose.set_time(0)
    loose.send("/joint_states", joint_state(Time(sec=1_700_000_000), Q))
    assert "clock-not-received" in loose.told.codes
    assert not loose.published["torques"]


@pytest.mark.promise("clock-set")
@pytest.mark.parametrize("by", [-60.0, -0.2, 0.2, 60.0])
def test_a_trajectory_stands_where_it_was_when_the_clock_is_set(
    by: float, ros_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system clock, by more than `max_age`; nodes get no notice of this."""
    with loose_node(Feedforward, **RRP, mode="inverse_dynamics") as loose:
        monkeypatch.setattr(Feedforward, "_simulated_time", False)
        monkeypatch.setattr(loose.node._jumps, "_post_callback", lambda _: None)
        states_for(loose, 0.5)
        loose.go([1.0, 1.0, 0.0], 10.0)
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


def test_a_reference_from_before_a_leap_does_not_block_later_ones(ros_environment: dict[str, str]) -> None:
    with loose_node(Feedforward, **RRP, mode="inverse_dynamics") as loose:
        states_for(loose, 0.2)
        for leap in (-100.0, 0.0):
            loose.set_time(loose.ros_now + round(1e9 * leap))
            states_for(loose, 0.1)
            sent = loose.refer(Q)
            assert loose.published["torques"][-1].header.stamp == sent.header.stamp
