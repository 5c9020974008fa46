# SPDX-License-Identifier: Apache-2.0
"""Output of the node `feedforward` with missing or bad data, after recovery, and at its end.

The test sets the steady clock, so that everything happens at known times.
"""

from __future__ import annotations

import math

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import State
from message_makers import NAMES
from rcl_interfaces.msg import Log
from robot_files import ROBOTS
from ros_graph import Graph
from sentence_patterns import said
from steady_clock import SteadyClock

from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.diagnostics import Complaints
from dyn_nodes.feedforward.node import Feedforward

Q = [0.1, 0.3, 0.05]
GIVEN = {"timeout": 0.2, "ramp_down": 1.0, "description_file": str(ROBOTS["rrp"])}
MOVING = {**GIVEN, "mode": "inverse_dynamics"}
OK, RAMPING = JointTorques.STATUS_OK, JointTorques.STATUS_RAMPING
HELD, ZERO = JointTorques.STATUS_HELD, JointTorques.STATUS_ZERO


def start(graph: Graph, steady: SteadyClock, **parameters: object) -> tuple[Feedforward, list[float]]:
    """Make the node, and return it with its first torques."""
    node = graph.feedforward(steady, **GIVEN, ramp_up=1.0, **parameters)
    return node, list(graph.torques_for(NAMES, Q).total)


def next_torques(graph: Graph) -> JointTorques:
    """Torques that were sent after all messages in transit."""
    graph.torques.clear()
    graph.wait_for(lambda: len(graph.torques) > 2)
    return graph.torques[-1]


def wait_for_reports(graph: Graph) -> None:
    """Wait for diagnostics that were sent after all messages in transit."""
    graph.diagnostics.clear()
    graph.wait_for(lambda: len(graph.diagnostics) > 1)


@pytest.mark.promise("stale-feedforward")
@pytest.mark.parametrize(
    ("on_stale", "steps"),
    [
        ("hold", [(0.3, 1.0, RAMPING), (1.1, 1.0, HELD)]),
        ("ramp", [(0.3, 1.0, RAMPING), (0.5, 0.5, RAMPING), (0.6, 0.0, ZERO), (100.0, 0.0, ZERO)]),
    ],
)
def test_on_stale_torques_of_the_last_position_are_held_or_ramp_to_zero(
    on_stale: str, steps: list[tuple[float, float, int]], graph: Graph, steady: SteadyClock
) -> None:
    _, total = start(graph, steady, on_stale=on_stale)
    for step, factor, status in steps:
        steady.now += step
        torques = next_torques(graph)
        assert list(torques.total) == (total if factor == 1.0 else pytest.approx([factor * t for t in total]))
        assert torques.status == status
        assert on_stale == "ramp" or torques.total == torques.gravity
        graph.wait_for(lambda torques=torques: list(graph.commands[-1].data) == list(torques.total))


@pytest.mark.promise("stale-feedforward")
def test_hold_replaces_a_motion_by_the_torques_of_its_last_position(
    graph: Graph, steady: SteadyClock
) -> None:
    graph.feedforward(steady, **MOVING)
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


@pytest.mark.promise("stale-feedforward")
def test_stop_sends_nothing(graph: Graph, steady: SteadyClock) -> None:
    start(graph, steady, on_stale="stop")
    steady.now += 0.3
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    count = len(graph.torques)
    wait_for_reports(graph)
    assert len(graph.torques) == count


REACTIONS = {"hold": "data-stale-held", "ramp": "data-stale-ramping-down", "stop": "data-stale-stopped"}
GOOD_AGAIN = "good joint states again after"


@pytest.mark.promise("stale-recovery", "stale-log")
@pytest.mark.parametrize("on_stale", REACTIONS)
def test_recovery_has_a_ramp_and_a_line_in_the_log(on_stale: str, graph: Graph, steady: SteadyClock) -> None:
    _, total = start(graph, steady, on_stale=on_stale)
    steady.now += 0.3
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    expected = {"data": "joint states", "silence": 0.3, "cause": Notice("no-data")}
    graph.wait_for(lambda: graph.said(REACTIONS[on_stale], **expected))
    steady.now += 2.0
    wait_for_reports(graph)
    if on_stale != "stop":
        next_torques(graph)
    before = [0.0] * 3 if on_stale == "ramp" else total
    for step, factor in ((0.0, 0.0), (0.125, None), (0.125, None), (0.125, None), (0.125, 0.5)):
        steady.now += step
        torques = graph.torques_for(NAMES, Q)
        assert torques.status == RAMPING
        if factor is not None:
            mixed = [(1.0 - factor) * a + factor * b for a, b in zip(before, total, strict=True)]
            assert list(torques.total) == pytest.approx(mixed)
    graph.wait_for(lambda: graph.logged(GOOD_AGAIN))
    (stale,), (good,) = graph.said(REACTIONS[on_stale]), graph.logged(GOOD_AGAIN)
    assert (good.msg, stale.level, good.level) == (f"{GOOD_AGAIN} 2.3 s", Log.WARN, Log.INFO)
    for _ in range(4):
        steady.now += 0.15
        torques = graph.torques_for(NAMES, Q)
    assert (list(torques.total), torques.status) == (total, OK)
    graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)


@pytest.mark.promise("stale-log")
def test_flickering_data_do_not_flood_the_log_and_missing_data_are_reported(
    graph: Graph, steady: SteadyClock
) -> None:
    node, _ = start(graph, steady)
    lines: list[str] = []
    node._complaints = Complaints(lines.append, 5.0, steady)
    for _ in range(4):
        steady.now += 0.3
        graph.wait_for(lambda: node._running.maker.stage.watch.status is Status.HOLDING)
        graph.torques_for(NAMES, Q)
    assert len(lines) == 1
    assert len(graph.logged(GOOD_AGAIN)) <= 1
    steady.now += 6.0
    graph.wait_for(lambda: len(lines) == 2)
    assert said("data-stale-held", data="joint states", silence=6.0).search(lines[1])


@pytest.mark.promise("joint-states-none-along-motion")
def test_a_motion_goes_on_without_joint_states_with_a_warning(graph: Graph, steady: SteadyClock) -> None:
    start(graph, steady, mode="inverse_dynamics")
    for _ in range(3):
        steady.now += 0.16
        moving = graph.answer_to(graph.refer(NAMES, Q, [0.0] * 3, [1.0] * 3))
    assert moving.status == OK
    graph.wait_for(lambda: graph.said("joint-states-stale"))
    graph.wait_for(lambda: graph.warns("joint-states-stale", silence=0.48))
    graph.publish_state(NAMES, Q)
    graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)
    (line,) = graph.said("joint-states-stale")
    assert line.level == Log.WARN


def test_a_motion_without_any_joint_states_has_no_warning(graph: Graph, steady: SteadyClock) -> None:
    graph.feedforward(steady, **MOVING, ramp_up=0.0)
    for _ in range(3):
        steady.now += 0.15
        graph.answer_to(graph.refer(NAMES, Q, [0.0] * 3, [1.0] * 3))
    wait_for_reports(graph)
    assert graph.level == DiagnosticStatus.OK
    assert not graph.said("joint-states-stale")


@pytest.mark.promise("activation-ramp")
def test_the_first_torques_can_have_a_ramp(graph: Graph, steady: SteadyClock) -> None:
    _, first = start(graph, steady, ramp_start=1.0)
    assert first == [0.0] * 3
    for until, factor in ((100.5, 0.5), (101.0, 1.0)):
        while steady.now < until:
            steady.now += 0.125
            torques = graph.torques_for(NAMES, Q)
        assert list(torques.total) == pytest.approx([factor * g for g in torques.gravity], rel=1e-6)


@pytest.mark.promise("stale-diagnostics", "refused-diagnostics")
@pytest.mark.parametrize(
    ("position", "cause", "joint"),
    [
        ([0.1, math.nan, 0.1], "message-value-implausible", "lift"),
        ([0.1, 0.1], "message-values-missing", "stretch"),
    ],
)
def test_bad_data_become_stale_and_the_cause_is_reported(
    position: list[float], cause: str, joint: str, graph: Graph, steady: SteadyClock
) -> None:
    start(graph, steady, on_stale="ramp")
    steady.now += 0.15
    graph.publish_state(NAMES, position)
    graph.wait_for(lambda: graph.diagnosis("joint states refused") == "1")
    assert graph.level == DiagnosticStatus.WARN
    steady.now += 0.15
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    assert graph.told.codes == {"data-stale-ramping-down", cause}
    assert graph.told.about(cause, joint=joint)
    steady.now += 2.0
    assert list(next_torques(graph).total) == [0.0] * 3


def test_without_data_from_the_start_nothing_is_sent(graph: Graph, steady: SteadyClock) -> None:
    node = graph.feedforward(steady, **GIVEN)
    steady.now += 10.0
    graph.wait_for(lambda: len(graph.diagnostics) > 1)
    assert not graph.torques
    assert graph.warns("torques-missing", silence=10.0)
    node.trigger_deactivate()
    graph.wait_for(lambda: node._state_machine.current_state[0] == State.PRIMARY_STATE_INACTIVE)
    assert not graph.torques


def test_activation_discards_earlier_references(graph: Graph, steady: SteadyClock) -> None:
    """A reference from before the activation is not followed."""
    node, held = start(graph, steady, mode="inverse_dynamics")
    graph.answer_to(graph.refer(NAMES, Q, [0.1] * 3, [1.0] * 3))
    node.trigger_deactivate()
    node.trigger_activate()
    assert list(graph.torques_for(NAMES, Q).total) == held
