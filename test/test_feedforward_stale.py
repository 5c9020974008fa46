# SPDX-License-Identifier: Apache-2.0
"""What the node `feedforward` sends when data is missing or bad, when it is good again, and at its end.

The steady clock is one of the test, so that everything happens at known times.
"""

from __future__ import annotations

import math
import signal
import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import State
from rcl_interfaces.msg import Log
from robot_files import ROBOTS, urdf
from ros_graph import Graph

from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointTorques
from dyn_nodes.complaints import Complaints

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]


class Steady:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def steady() -> Steady:
    return Steady()


def start(graph: Graph, steady: Steady, **parameters: object):
    node = graph.feedforward(
        steady, timeout=0.2, ramp_down=1.0, ramp_up=1.0, description_file=str(ROBOTS["rrp"]), **parameters
    )
    return node, list(graph.torques_for(NAMES, Q).total)


def next_torques(graph: Graph) -> JointTorques:
    """Torques that were sent after all that are on their way."""
    graph.torques.clear()
    graph.wait_for(lambda: len(graph.torques) > 2)
    return graph.torques[-1]


def scaled(values: list[float], factor: float):
    return pytest.approx([factor * value for value in values])


def test_hold_goes_on_with_the_torques_of_the_last_position(graph: Graph, steady: Steady) -> None:
    _, total = start(graph, steady)
    steady.now += 0.3
    torques = next_torques(graph)
    assert (list(torques.total), torques.status) == (total, JointTorques.STATUS_RAMPING)
    steady.now += 1.1
    torques = next_torques(graph)
    assert (list(torques.total), torques.status) == (total, JointTorques.STATUS_HELD)
    assert torques.total == torques.gravity


def test_hold_leaves_a_motion_for_the_torques_of_its_last_position(graph: Graph, steady: Steady) -> None:
    """The torques of a motion go over, with a ramp, to those that hold the robot."""
    node = graph.feedforward(
        steady, timeout=0.2, ramp_down=1.0, description_file=str(ROBOTS["rrp"]), mode="inverse_dynamics"
    )
    held = list(graph.torques_for(NAMES, Q).total)
    moving = list(graph.answer_to(graph.refer(NAMES, Q, [0.1] * 3, [1.0] * 3)).total)
    assert held != pytest.approx(moving)
    steady.now += 0.3
    assert list(next_torques(graph).total) == moving
    steady.now += 0.5
    middle = [0.5 * (a + b) for a, b in zip(held, moving, strict=True)]
    assert list(next_torques(graph).total) == pytest.approx(middle)
    steady.now += 0.6
    assert list(next_torques(graph).total) == pytest.approx(held)
    assert node.get_name() == "feedforward"


def test_ramp_goes_to_zero_and_stays_there(graph: Graph, steady: Steady) -> None:
    _, total = start(graph, steady, on_stale="ramp")
    for step, factor, status in (
        (0.3, 1.0, JointTorques.STATUS_RAMPING),
        (0.5, 0.5, JointTorques.STATUS_RAMPING),
        (0.6, 0.0, JointTorques.STATUS_ZERO),
        (100.0, 0.0, JointTorques.STATUS_ZERO),
    ):
        steady.now += step
        torques = next_torques(graph)
        assert list(torques.total) == scaled(total, factor)
        assert torques.status == status
        graph.wait_for(lambda torques=torques: list(graph.commands[-1].data) == list(torques.total))


def test_stop_sends_nothing(graph: Graph, steady: Steady) -> None:
    start(graph, steady, on_stale="stop")
    steady.now += 0.3
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    count = len(graph.torques)
    graph.diagnostics.clear()
    graph.wait_for(lambda: len(graph.diagnostics) > 1)
    assert len(graph.torques) == count


@pytest.mark.parametrize("on_stale", ["hold", "ramp", "stop"])
def test_good_data_is_followed_again_with_a_ramp(on_stale: str, graph: Graph, steady: Steady) -> None:
    _, total = start(graph, steady, on_stale=on_stale)
    steady.now += 0.3
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    steady.now += 2.0
    if on_stale != "stop":
        next_torques(graph)
    before = [0.0] * 3 if on_stale == "ramp" else total
    for step, factor in ((0.0, 0.0), (0.125, None), (0.125, None), (0.125, None), (0.125, 0.5)):
        steady.now += step
        torques = graph.torques_for(NAMES, Q)
        assert torques.status == JointTorques.STATUS_RAMPING
        if factor is not None:
            mixed = [(1.0 - factor) * a + factor * b for a, b in zip(before, total, strict=True)]
            assert list(torques.total) == pytest.approx(mixed)
    for _ in range(4):
        steady.now += 0.15
        torques = graph.torques_for(NAMES, Q)
    assert (list(torques.total), torques.status) == (total, JointTorques.STATUS_OK)
    graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)


REACTIONS = {
    "hold": "holding the robot where it was last",
    "ramp": "torques go to zero",
    "stop": "torques are zero, or not sent",
}


@pytest.mark.parametrize("on_stale", REACTIONS)
def test_the_log_has_a_line_when_data_is_stale_and_one_when_it_is_good_again(
    on_stale: str, graph: Graph, steady: Steady
) -> None:
    start(graph, steady, on_stale=on_stale)
    steady.now += 0.3
    graph.wait_for(lambda: graph.logged("no good joint states"))
    steady.now += 2.0
    graph.diagnostics.clear()
    graph.wait_for(lambda: len(graph.diagnostics) > 1)
    graph.torques_for(NAMES, Q)
    graph.wait_for(lambda: graph.logged("again after"))
    (stale,), (good,) = graph.logged("no good joint states"), graph.logged("again after")
    assert stale.msg == f"no good joint states for 0.3 s (no data): {REACTIONS[on_stale]}"
    assert good.msg == "good joint states again after 2.3 s"
    assert (stale.level, good.level) == (Log.WARN, Log.INFO)


def test_data_that_flickers_does_not_flood_the_log_and_what_lasts_is_said(
    graph: Graph, steady: Steady
) -> None:
    node, _ = start(graph, steady)
    said: list[str] = []
    node._complaints = Complaints(said.append, 5.0, steady)
    for _ in range(4):
        steady.now += 0.3
        graph.wait_for(lambda: node._running.maker.stage.watch.status is Status.HOLDING)
        graph.torques_for(NAMES, Q)
    assert len(said) == 1
    assert len(graph.logged("again after")) <= 1
    steady.now += 6.0
    graph.wait_for(lambda: len(said) == 2)
    assert said[1].startswith("no good joint states for 6.0 s")


def test_a_motion_goes_on_without_joint_states_and_that_is_told(graph: Graph, steady: Steady) -> None:
    start(graph, steady, mode="inverse_dynamics")
    sentence = "the torques of the desired motion go on"
    for _ in range(3):
        steady.now += 0.16
        moving = graph.answer_to(graph.refer(NAMES, Q, [0.0] * 3, [1.0] * 3))
    assert moving.status == JointTorques.STATUS_OK
    graph.wait_for(lambda: graph.logged(sentence))
    graph.wait_for(lambda: graph.diagnostics and sentence in graph.diagnostics[-1].message)
    assert graph.level == DiagnosticStatus.WARN
    assert "no good joint states for 0.5 s" in graph.diagnostics[-1].message
    graph.publish_state(NAMES, Q)
    graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)
    (line,) = graph.logged(sentence)
    assert line.level == Log.WARN


def test_a_motion_without_any_joint_states_is_in_order(graph: Graph, steady: Steady) -> None:
    graph.feedforward(
        steady, timeout=0.2, description_file=str(ROBOTS["rrp"]), mode="inverse_dynamics", ramp_up=0.0
    )
    for _ in range(3):
        steady.now += 0.15
        graph.answer_to(graph.refer(NAMES, Q, [0.0] * 3, [1.0] * 3))
    graph.diagnostics.clear()
    graph.wait_for(lambda: len(graph.diagnostics) > 1)
    assert graph.level == DiagnosticStatus.OK
    assert not graph.logged("go on")


def test_the_first_torques_can_have_a_ramp(graph: Graph, steady: Steady) -> None:
    _, first = start(graph, steady, ramp_start=1.0)
    assert first == [0.0] * 3
    for until, factor in ((100.5, 0.5), (101.0, 1.0)):
        while steady.now < until:
            steady.now += 0.125
            torques = graph.torques_for(NAMES, Q)
        assert list(torques.total) == pytest.approx([factor * g for g in torques.gravity], rel=1e-6)


BAD = {
    "a joint that is not finite": ([0.1, math.nan, 0.1], "joint 'lift' the position nan"),
    "a joint that is missing": ([0.1, 0.1], "joint 'stretch' has none"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_as_good_as_none_and_its_cause_is_told(case: str, graph: Graph, steady: Steady) -> None:
    position, cause = BAD[case]
    start(graph, steady, on_stale="ramp")
    steady.now += 0.15
    graph.publish_state(NAMES, position)
    graph.wait_for(lambda: graph.diagnosis("joint states refused") == "1")
    assert graph.level == DiagnosticStatus.WARN
    steady.now += 0.15
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    assert cause in graph.diagnostics[-1].message
    assert "torques go to zero" in graph.diagnostics[-1].message
    steady.now += 2.0
    assert list(next_torques(graph).total) == [0.0] * 3


def test_without_data_from_the_start_nothing_is_sent(graph: Graph, steady: Steady) -> None:
    node = graph.feedforward(steady, timeout=0.2, description_file=str(ROBOTS["rrp"]))
    steady.now += 10.0
    graph.wait_for(lambda: len(graph.diagnostics) > 1)
    assert not graph.torques
    assert graph.level == DiagnosticStatus.WARN
    assert "no torques for 10.0 s" in graph.diagnostics[-1].message
    node.trigger_deactivate()
    graph.wait_for(lambda: node._state_machine.current_state[0] == State.PRIMARY_STATE_INACTIVE)
    assert not graph.torques


@pytest.mark.parametrize("on_shutdown", ["zero", "hold"])
def test_deactivation_sends_a_last_message(on_shutdown: str, graph: Graph, steady: Steady) -> None:
    node, total = start(graph, steady, on_shutdown=on_shutdown)
    node.trigger_deactivate()
    status, last = JointTorques.STATUS_ZERO, [0.0] * 3
    if on_shutdown == "hold":
        status, last = JointTorques.STATUS_HELD, total
    graph.wait_for(lambda: graph.torques[-1].status == status)
    assert list(graph.torques[-1].total) == last
    graph.wait_for(lambda: graph.commands and list(graph.commands[-1].data) == last)


def test_after_activation_the_past_is_forgotten(graph: Graph, steady: Steady) -> None:
    """A reference from before is not followed any more."""
    node, held = start(graph, steady, mode="inverse_dynamics")
    graph.answer_to(graph.refer(NAMES, Q, [0.1] * 3, [1.0] * 3))
    node.trigger_deactivate()
    node.trigger_activate()
    assert list(graph.torques_for(NAMES, Q).total) == held


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sends_a_last_message(number: signal.Signals, graph: Graph) -> None:
    node = graph.start_feedforward()
    names = graph.load(urdf("rrp")).joint_name
    graph.torques_for(names, Q)
    began = time.monotonic()
    node.process.send_signal(number)
    assert node.process.wait(20) == 0
    assert time.monotonic() - began < 2.0
    graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_ZERO)
    assert list(graph.torques[-1].total) == [0.0] * 3
    graph.wait_for(lambda: graph.commands and list(graph.commands[-1].data) == [0.0] * 3)
