# SPDX-License-Identifier: Apache-2.0
"""Data that goes stale: when, what is sent and told then, and how it is over; for each node and mode."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, loose_node
from message_makers import joint_state
from rclpy.qos import HistoryPolicy
from robot_files import ROBOTS
from sentence_patterns import said
from std_msgs.msg import Float64MultiArray
from test_refused_messages import TORQUE_NODES
from torque_steps import PERIOD, Q, send_state

import dyn_core
from dyn_msgs.msg import JointTorques
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
STILL = [0.0] * 3
AWAY = [0.4, 0.6, 0.15]
"""Further from Q than a reference may begin."""
REFERENCED = "inverse dynamics"
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
HELD, ZERO, RAMPING = JointTorques.STATUS_HELD, JointTorques.STATUS_ZERO, JointTorques.STATUS_RAMPING
NO_GOOD = re.compile(r"\[WARN\].*: no good .* for")
GOOD_AGAIN = re.compile(r"\[INFO\].*good .* again after")
Make = Callable[..., LooseNode]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with ExitStack() as nodes:

        def made(name: str, **more: Any) -> LooseNode:
            make_node, own = TORQUE_NODES[name]
            return nodes.enter_context(loose_node(make_node, **RRP, **own, **more))

        yield made


def work(loose: LooseNode, seconds: float = 2.0, q: list[float] = Q) -> list[JointTorques]:
    """Send good data at 100 Hz, with references where torques depend on them; return the torques."""
    count = len(loose.published["torques"])
    for _ in range(round(seconds / PERIOD)):
        if loose.node.get_parameter_or("mode").value == "inverse_dynamics":
            loose.refer(q, STILL, STILL)
        send_state(loose, q)
    return loose.published["torques"][count:]


def newest(loose: LooseNode) -> JointTorques:
    return loose.published["torques"][-1]


def reactions(name: str) -> list[str]:
    """The values of `on_stale` of a node, the default first."""
    return ["ramp", "stop"] if name == "controller" else ["hold", "ramp", "stop"]


def gravity_at(q: list[float]) -> Any:
    torques = dyn_core.compile_model(dyn_core.load_robot(ROBOTS["rrp"])).gravity_torques(q)
    return pytest.approx(torques.tolist(), rel=1e-9, abs=1e-9)


CASES = [(name, on_stale) for name in TORQUE_NODES for on_stale in reactions(name)]


@pytest.mark.promise("stale-timeout", "stale-diagnostics", "stale-feedforward", "stale-controller")
@pytest.mark.promise("joint-states-none")
@pytest.mark.parametrize(
    ("name", "given"), [*((name, {}) for name in TORQUE_NODES), ("gravity", {"rate": 1.0})]
)
def test_by_default_data_is_stale_after_a_fifth_of_a_second(
    name: str, given: dict[str, float], make: Make
) -> None:
    """And feedforward holds the robot where it was, controller goes to zero; the clock of the node stands.

    A low rate of torques while data is stale does not delay this.
    """
    loose = make(name, **given)
    work(loose)
    live = newest(loose)
    assert loose.node._timer.timer_period_ns <= 0.25 * 0.2e9, "so often it looks"
    for _ in range(18):  # the last data came 10 ms ago
        loose.now += 0.01
        loose.tick()
    assert (loose.told.level, newest(loose)) == (OK, live)
    for _ in range(7):
        loose.now += 0.01
        loose.tick()
    assert loose.told.level == ERROR
    reaction = "data-stale-ramping-down" if name == "controller" else "data-stale-held"
    assert loose.told.codes == {reaction, "no-data"}
    for _ in range(100):
        loose.now += 0.01
        loose.tick()
    if name == "controller":
        assert (newest(loose).status, list(newest(loose).total)) == (ZERO, STILL)
    else:
        assert (newest(loose).status, list(newest(loose).total)) == (HELD, gravity_at(Q))


@pytest.mark.promise("stale-timeout", "stale-diagnostics", "joint-states-not-finite")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_bad_data_that_goes_on_is_stale_with_its_cause(name: str, make: Make) -> None:
    loose = make(name)
    work(loose)
    for _ in range(30):
        bad = [Q[0], math.nan, Q[2]]
        if name == REFERENCED:
            loose.refer(bad, STILL, STILL)
        loose.measure(bad, STILL)
        loose.pass_time(0.01)
    assert loose.told.level == ERROR
    assert "message-value-implausible" in loose.told.codes
    assert "'lift'" in loose.told.message


@pytest.mark.promise("stale-feedforward", "stale-controller", "stale-recovery")
@pytest.mark.parametrize(("name", "on_stale"), CASES)
def test_what_is_sent_while_data_is_stale_and_when_it_is_good_again(
    name: str, on_stale: str, make: Make
) -> None:
    """Torques go from what was sent last to live ones in `ramp_up`, 0.5 s, without a step."""
    loose = make(name, on_stale=on_stale)
    live = work(loose)[-1]
    loose.pass_time(0.26)
    count = len(loose.published["torques"])
    loose.pass_time(1.0)
    if on_stale == "stop":
        assert len(loose.published["torques"]) == count
    else:
        assert newest(loose).status == {"hold": HELD, "ramp": ZERO}[on_stale]
        assert on_stale == "hold" or not any(newest(loose).total)
    before = newest(loose)
    after = work(loose, 1.0)
    assert after[0].status == RAMPING
    assert after[0].total == before.total
    assert after[-1].status == JointTorques.STATUS_OK
    steps = np.abs(np.diff([torques.total for torques in after], axis=0))
    swing = np.abs(np.subtract(live.total, before.total)).max()
    assert steps.max() <= 1.9 * swing * PERIOD / 0.5 + 1e-9, "a smooth ramp of 0.5 s is no steeper"
    assert name == "controller" or list(after[-1].total) == pytest.approx(list(live.total))


@pytest.mark.promise("stale-controller")
@pytest.mark.parametrize("on_stale", reactions("controller"))
def test_after_that_controller_holds_the_robot_where_it_is_and_warns_of_the_motion(
    on_stale: str, make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    loose = make("controller", on_stale=on_stale)
    work(loose)
    loose.refer([Q[0] + 0.05, *Q[1:]], STILL, STILL)
    work(loose, 0.1)
    loose.pass_time(1.0)
    capfd.readouterr()
    work(loose, 1.5, AWAY)
    assert list(newest(loose).total) == pytest.approx(STILL)
    work(loose, 1.5, [AWAY[0] - 0.02, *AWAY[1:]])
    assert list(newest(loose).total) == pytest.approx([2.0, 0.0, 0.0])
    assert len(said("motion-forgotten").findall(capfd.readouterr().err)) == 1


@pytest.mark.promise("stale-log")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_the_log_has_one_line_when_data_is_stale_and_one_when_that_is_over(
    name: str, make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not more than one of each in 5 s: data comes and goes every half of a second for 12 s."""
    loose = make(name)
    loose.node._complaints._steady = lambda: loose.now
    work(loose)
    begin, stale, over = loose.now, [], []
    capfd.readouterr()
    while loose.now < begin + 12.0:
        loose.pass_time(0.3)
        stale += [loose.now] * len(NO_GOOD.findall(capfd.readouterr().err))
        work(loose, 0.2)
        over += [loose.now] * len(GOOD_AGAIN.findall(capfd.readouterr().err))
    assert len(stale) == len(over) == 3
    assert np.diff(stale).min() > 4.9
    assert np.diff(over).min() > 4.9


@pytest.mark.promise("references-stop")
@pytest.mark.parametrize("name", ["inverse dynamics", "computed torque"])
def test_references_that_stop_are_stale_data_of_feedforward(name: str, make: Make) -> None:
    """Joint states go on."""
    loose = make(name)
    for _ in range(200):
        loose.refer(Q, STILL, STILL)
        send_state(loose)
    for _ in range(18):
        send_state(loose)
    assert loose.told.level == OK
    for _ in range(4):
        send_state(loose)
    assert loose.told.level == ERROR
    assert "data-stale-held" in loose.told.codes
    for _ in range(100):
        send_state(loose)
    assert newest(loose).status == HELD


@pytest.mark.promise("references-stop")
def test_where_references_stop_controller_holds_the_last_position_without_its_velocity(make: Make) -> None:
    loose = make("controller")
    there = [Q[0] + 0.01, *Q[1:]]
    for _ in range(200):
        loose.refer(there, [0.2, 0.0, 0.0], STILL)
        send_state(loose)
    assert list(newest(loose).total) == pytest.approx([100.0 * 0.01 + 5.0 * 0.2, 0.0, 0.0])
    for _ in range(100):
        send_state(loose)
    assert list(newest(loose).total) == pytest.approx([1.0, 0.0, 0.0])
    assert loose.told.level == OK


@pytest.mark.promise("motion-far-from-robot")
def test_a_desired_motion_far_from_where_joint_states_begin_is_forgotten(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    """Joint states are missing for a while, and the robot is elsewhere then."""
    loose = make("computed torque")
    work(loose)
    loose.go(Q, 0.1)
    work(loose, 0.5)
    loose.pass_time(1.0)
    capfd.readouterr()
    work(loose, 0.01, AWAY)
    assert said("joint-far-from-motion").search(capfd.readouterr().err)
    work(loose, 2.0, AWAY)
    assert list(newest(loose).total) == gravity_at(AWAY), "the robot is held where it is"


@pytest.mark.promise("clock-paused")
@pytest.mark.parametrize("name", ["inverse dynamics", "computed torque", "controller"])
def test_in_a_paused_simulation_a_trajectory_stands_still(name: str, make: Make) -> None:
    """Under inverse dynamics its torques come by the clock: there it is stale."""
    loose = make(name)
    for _ in range(200):
        send_state(loose)
    loose.go(AWAY, 10.0)
    for _ in range(300):
        send_state(loose)
    desired = loose.node.active.maker.desired
    stands = desired.at(loose.node.node_time).q.tolist()
    state, count = joint_state(loose.stamp, Q, STILL), len(loose.published["torques"])
    for _ in range(200):
        loose.send("/joint_states", state)
        loose.now += 0.01
        loose.tick()
    assert desired.at(loose.node.node_time).q.tolist() == stands
    if name == "inverse dynamics":
        assert (newest(loose).status, loose.told.level) == (HELD, ERROR)
    else:
        assert len(loose.published["torques"]) >= count + 200
        assert (newest(loose).status, loose.told.level) == (JointTorques.STATUS_OK, OK)


@pytest.mark.promise("joint-states-flood")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_queues_of_joint_states_are_short(name: str, make: Make) -> None:
    profile = make(name)._heard["/joint_states"].qos_profile
    assert profile.history == HistoryPolicy.KEEP_LAST
    assert profile.depth == 10


@pytest.mark.promise("stale-simulation")
def test_by_default_the_last_command_acts_for_ever(ros_environment: dict[str, str]) -> None:
    """A simulated minute later: no timeout is longer."""
    with loose_node(Simulation, **RRP, paused=True, publish_clock=True, rate=100.0) as loose:
        loose.send("commands", Float64MultiArray(data=[0.0, 2.0, 3.0]))
        for _ in range(60):
            request = loose.service_request("step")
            request.steps = 100
            assert loose.call("step", request).success
        loose.tick()
        assert list(loose.published["joint_states"][-1].effort) == [0.0, 2.0, 3.0]
        assert "command-timeout" not in loose.told.codes
