# SPDX-License-Identifier: Apache-2.0
"""Bad messages to each node and mode: each is refused with its code, and nothing else changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, loose_node
from message_makers import NAMES, joint_state, later, reference
from rclpy.serialization import serialize_message
from robot_files import ROBOTS
from test_feedforward_trajectory import BAD as BAD_TRAJECTORIES
from test_feedforward_trajectory import GOAL, START, to
from torque_steps import Q, send_state
from trajectory_msgs.msg import JointTrajectory

from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor

Node = tuple[Callable[..., ManagedNode], dict[str, Any]]
Send = Callable[[LooseNode], object]
TORQUE_NODES: dict[str, Node] = {
    "gravity": (Feedforward, {"mode": "gravity"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "controller": (Controller, {"p": 100.0, "d": 5.0}),
}
FOLLOWERS = [name for name in TORQUE_NODES if name != "gravity"]
USING_VELOCITIES = ["computed torque", "controller"]
NODES: dict[str, Node] = {**TORQUE_NODES, "governor": (Governor, {})}
STILL = [0.0] * 3
WARN = DiagnosticStatus.WARN
Make = Callable[[str], LooseNode]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with ExitStack() as nodes:

        def made(name: str) -> LooseNode:
            make_node, own = NODES[name]
            parameters = {"description_file": str(ROBOTS["rrp"]), **own}
            return nodes.enter_context(loose_node(make_node, **parameters))

        yield made


def at_work(loose: LooseNode, *, references: bool = False) -> LooseNode:
    """Send good data until its torques do not change any more, and return the node."""
    for _ in range(200):
        good(loose, references=references)
        loose.pass_time(0.01)
    return loose


def good(loose: LooseNode, *, references: bool = False) -> Any:
    """Send good data of now, and return the newest torques or the reference that went out."""
    if references:
        loose.refer(Q, STILL, STILL)
    loose.measure(Q, STILL)
    return (loose.published.get("torques") or loose.published.get("feasible_reference") or [None])[-1]


def total(message: Any) -> list[float]:
    return list(message.total if isinstance(message, JointTorques) else message.position)


def sent(loose: LooseNode) -> int:
    """The number of torques, or of references of a governor, up to now."""
    return len(loose.published.get("torques", loose.published.get("feasible_reference", [])))


def check_refused(loose: LooseNode, send: Send, what: str, code: str, *, references: bool = False) -> None:
    """Send a bad message: it is told at once and counted, and the next good data gets the same as before."""
    before, count = total(good(loose, references=references)), sent(loose)
    loose.pass_time(0.005)
    for _ in range(2):
        loose.tick()
    assert loose.told.level == DiagnosticStatus.OK, loose.told.message
    refused = int(loose.told.values.get(f"{what} refused", "0"))
    send(loose)
    assert loose.node.failure is None
    assert loose.told.level == WARN, "it is told at once"
    assert code in loose.told.codes, loose.told.message
    assert loose.told.values[f"{what} refused"] == str(refused + 1)
    assert sent(loose) == count, "nothing is sent for it"
    loose.pass_time(0.005)
    assert total(good(loose, references=references)) == before
    assert sent(loose) > count


# Joint states


def stamped(loose: LooseNode, stamp: Time) -> None:
    loose.send("/joint_states", joint_state(stamp, Q, STILL))


def raw_state(loose: LooseNode, change: Callable[[bytes], bytes]) -> None:
    good_bytes = serialize_message(joint_state(loose.stamp, Q, STILL))
    loose._heard["/joint_states"].callback(change(good_bytes))


IMPLAUSIBLE, SHORT = "message-value-implausible", "message-values-missing"
MISSING, REPEATED = "message-joints-missing", "message-joint-repeated"
BAD_STATES: dict[str, tuple[Send, str]] = {
    "not a number": (lambda o: o.measure([Q[0], math.nan, Q[2]], STILL), IMPLAUSIBLE),
    "infinite": (lambda o: o.measure([Q[0], -math.inf, Q[2]], STILL), IMPLAUSIBLE),
    "beyond 1e9": (lambda o: o.measure([Q[0], 1.1e9, Q[2]], STILL), IMPLAUSIBLE),
    "a joint missing": (lambda o: o.measure(Q[:2], STILL[:2], NAMES[:2]), MISSING),
    "a joint twice": (lambda o: o.measure([*Q, Q[1]], [0.0] * 4, [*NAMES, "lift"]), REPEATED),
    "fewer positions": (lambda o: o.measure(Q[:2], STILL), SHORT),
    "too old": (lambda o: stamped(o, later(o.stamp, -0.11)), "stamp-too-old"),
    "from the future": (lambda o: stamped(o, later(o.stamp, 0.11)), "stamp-in-future"),
    "without a stamp": (lambda o: stamped(o, Time()), "message-without-stamp"),
    "older than the last": (lambda o: stamped(o, later(o.stamp, -0.06)), "message-out-of-order"),
    "a jump": (lambda o: o.measure([Q[0], Q[1] - 0.5, Q[2]], STILL), "position-jumps"),
    "cut": (lambda o: raw_state(o, lambda raw: raw[:-9]), "message-unreadable"),
    "not UTF-8": (lambda o: raw_state(o, lambda raw: raw.replace(b"lift", b"\xff\xfe\x80\x81")), MISSING),
}
BAD_VELOCITIES: dict[str, tuple[Send, str]] = {
    "a velocity that is no number": (lambda o: o.measure(Q, [0.0, math.nan, 0.0]), IMPLAUSIBLE),
    "an infinite velocity": (lambda o: o.measure(Q, [0.0, math.inf, 0.0]), IMPLAUSIBLE),
    "fewer velocities": (lambda o: o.measure(Q, STILL[:2]), SHORT),
}


@pytest.mark.promise("refused-no-effect", "refused-diagnostics", "joint-states-not-finite")
@pytest.mark.promise("joint-states-incomplete", "joint-states-part", "joint-states-age", "joint-states-order")
@pytest.mark.promise("joint-states-jump", "joint-states-bytes")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_bad_joint_states_are_refused(name: str, make: Make) -> None:
    loose = at_work(make(name))
    for send, code in BAD_STATES.values():
        check_refused(loose, send, "joint states", code)


@pytest.mark.promise("joint-states-incomplete")
@pytest.mark.parametrize("name", USING_VELOCITIES)
def test_bad_velocities_are_refused_where_they_are_used(name: str, make: Make) -> None:
    loose = at_work(make(name))
    for send, code in BAD_VELOCITIES.values():
        check_refused(loose, send, "joint states", code)


@pytest.mark.promise("joint-states-velocities")
@pytest.mark.parametrize("velocities", [[], [math.nan] * 3], ids=["missing", "not measured"])
@pytest.mark.parametrize("name", USING_VELOCITIES)
def test_velocities_that_are_missing_are_derived(name: str, velocities: list[float], make: Make) -> None:
    """The joints move at 0.3 rad/s: torques are those of joint states with this velocity."""
    torques = []
    for given in ([0.3, 0.0, 0.0], velocities):
        loose = at_work(make(name))
        for k in range(100):
            loose.measure([Q[0] + 0.003 * (k + 1), *Q[1:]], given)
            loose.pass_time(0.01)
        torques.append(total(loose.published["torques"][-1]))
        assert "joint states refused" not in loose.told.values
    assert torques[1] == pytest.approx(torques[0], rel=0.02, abs=0.05)


@pytest.mark.promise("joint-states-age")
@pytest.mark.parametrize(("seconds", "code"), [(1, "stamp-years-old"), (1_700_000_000, "stamp-years-ahead")])
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_stamps_of_another_clock_ask_for_simulated_time(
    name: str, seconds: int, code: str, make: Make
) -> None:
    loose = make(name)
    loose.set_time((1_700_000_000 if seconds == 1 else 1000) * 10**9)
    stamped(loose, Time(sec=seconds))
    assert code in loose.told.codes
    assert "use_sim_time" in loose.told.message


@pytest.mark.promise("joint-states-others")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_joint_states_of_others_are_ignored(name: str, make: Make) -> None:
    """A gripper on the same topic; a message without joints; names that are odd."""
    loose = at_work(make(name))
    expected, count = total(good(loose)), sent(loose)
    for names in (["left", "right"], [], [""], [" lift", "\u200blift"], ["x" * 100_000], ["{}%s"] * 2):
        loose.measure([math.nan] * len(names), (), names)
        loose.measure([9.0] * len(names), (), names)
    assert sent(loose) == count
    loose.tick()
    assert loose.told.level == DiagnosticStatus.OK
    assert "joint states refused" not in loose.told.values
    assert total(good(loose)) == expected


@pytest.mark.promise("joint-states-many")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_joints_are_found_in_any_order_and_among_20_000_others(name: str, make: Make) -> None:
    loose = at_work(make(name))
    expected = total(good(loose))
    others = [f"joint_{k}" for k in range(20_000)]
    values = [math.nan] * 10_000
    for names, q in (
        (NAMES[::-1], Q[::-1]),
        (["gripper", *NAMES], [math.inf, *Q]),
        ([*others[:10_000], *NAMES[::-1], *others[10_000:]], [*values, *Q[::-1], *values]),
    ):
        loose.pass_time(0.01)
        count = sent(loose)
        loose.measure(q, [0.0] * len(q), names)
        assert sent(loose) == count + 1
        assert total(loose.published["torques"][-1]) == expected


@pytest.mark.promise("joint-states-two-publishers")
@pytest.mark.parametrize("name", TORQUE_NODES)
def test_of_two_publishers_the_positions_that_jump_are_refused(name: str, make: Make) -> None:
    loose = at_work(make(name))
    expected = total(good(loose))
    for k in range(50):
        loose.pass_time(0.005)
        loose.measure([Q[0], -0.8, Q[2]], STILL)
        assert "position-jumps" in loose.told.codes
        assert loose.told.values["joint states refused"] == str(k + 1)
        loose.pass_time(0.005)
        assert total(good(loose)) == expected


@pytest.mark.promise("joint-states-jump")
@pytest.mark.parametrize(("moved", "refused"), [(0.15, False), (0.17, True)])
@pytest.mark.parametrize("name", FOLLOWERS)
def test_where_the_next_position_agrees_the_robot_was_moved_and_torques_have_a_ramp(
    name: str, moved: float, refused: bool, make: Make
) -> None:
    """Three times the speed of `lift`, 2 rad/s, and 0.1 rad: 0.16 rad in 10 ms are as far as it can get."""
    loose = at_work(make(name))
    before, count = total(loose.published["torques"][-1]), sent(loose)
    there = [Q[0], Q[1] + moved, Q[2]]
    loose.measure(there, STILL)
    loose.tick()
    assert ("joint states refused" in loose.told.values) is refused
    assert sent(loose) == count + (not refused)
    if refused:
        loose.pass_time(0.01)
        loose.measure(there, STILL)
        first = loose.published["torques"][-1]
        assert first.status == JointTorques.STATUS_RAMPING
        assert total(first) == pytest.approx(before, abs=0.5)
        for _ in range(100):
            send_state(loose, there)
        assert loose.published["torques"][-1].status == JointTorques.STATUS_OK
        if name == "controller":
            assert total(loose.published["torques"][-1]) == pytest.approx(STILL), "it is held there"


# References


def refer_at(loose: LooseNode, stamp: Time) -> None:
    loose.send("reference", reference(stamp, Q, STILL, STILL))


def refer_before_last(loose: LooseNode) -> None:
    refer_at(loose, later(loose.stamp, -0.06))


SURPLUS = "message-values-surplus"
BAD_REFERENCES: dict[str, tuple[Send, str]] = {
    "not a number": (lambda o: o.refer([Q[0], math.nan, Q[2]], STILL), IMPLAUSIBLE),
    "infinite": (lambda o: o.refer([Q[0], math.inf, Q[2]], STILL), IMPLAUSIBLE),
    "beyond 1e9": (lambda o: o.refer([Q[0], 1.1e9, Q[2]], STILL), IMPLAUSIBLE),
    "a velocity that is no number": (lambda o: o.refer(Q, [0.0, math.nan, 0.0]), IMPLAUSIBLE),
    "an infinite acceleration": (lambda o: o.refer(Q, STILL, [0.0, math.inf, 0.0]), IMPLAUSIBLE),
    "fewer positions": (lambda o: o.refer(Q[:2], STILL), SHORT),
    "fewer velocities": (lambda o: o.refer(Q, STILL[:2]), SHORT),
    "fewer accelerations": (lambda o: o.refer(Q, STILL, STILL[:1]), SHORT),
    "more positions": (lambda o: o.refer([*Q, 0.0], STILL), SURPLUS),
    "more velocities": (lambda o: o.refer(Q, [*STILL, math.nan]), SURPLUS),
    "more accelerations": (lambda o: o.refer(Q, STILL, [*STILL, 0.0]), SURPLUS),
    "a joint missing": (lambda o: o.refer(Q[:2], STILL[:2], (), NAMES[:2]), MISSING),
    "an unknown joint": (lambda o: o.refer([*Q, 0.0], (), (), [*NAMES, "elbow"]), "message-joint-unknown"),
    "a joint twice": (lambda o: o.refer([*Q, Q[1]], (), (), [*NAMES, "lift"]), REPEATED),
    "too old": (lambda o: refer_at(o, later(o.stamp, -0.11)), "stamp-too-old"),
    "from the future": (lambda o: refer_at(o, later(o.stamp, 0.11)), "stamp-in-future"),
    "without a stamp": (lambda o: refer_at(o, Time()), "message-without-stamp"),
}


@pytest.mark.promise("refused-no-effect", "refused-diagnostics", "motion-malformed", "reference-surplus")
@pytest.mark.promise("governor-malformed")
@pytest.mark.parametrize("name", [*FOLLOWERS, "governor"])
def test_bad_references_are_refused(name: str, make: Make) -> None:
    loose = at_work(make(name), references=True)
    order = "reference-not-after-last" if name == "governor" else "message-out-of-order"
    for send, code in (*BAD_REFERENCES.values(), (refer_before_last, order)):
        check_refused(loose, send, "references", code, references=True)


FAST = [0.0, 2.3, 0.0]
"""`lift` is made for 2 rad/s."""
UNLIKELY_REFERENCES: dict[str, tuple[Send, str]] = {
    "a jump": (lambda o: o.refer([Q[0], Q[1] + 0.2, Q[2]], STILL, STILL), "reference-jumps"),
    "a velocity above 1.1 times the greatest": (lambda o: o.refer(Q, FAST, STILL), "reference-too-fast"),
    "an acceleration that turns it round in less than 1 ms": (
        lambda o: o.refer(Q, STILL, [0.0, 4500.0, 0.0]),
        "reference-too-fast",
    ),
}


@pytest.mark.promise("reference-jump", "reference-fast")
@pytest.mark.parametrize("name", FOLLOWERS)
def test_references_that_no_joint_can_follow_are_refused_and_the_last_one_counts(
    name: str, make: Make
) -> None:
    """Values just within the bounds are taken."""
    loose = at_work(make(name), references=True)
    for qd, qdd in (([0.0, 2.1, 0.0], STILL), (STILL, [0.0, 4300.0, 0.0])):
        loose.refer(Q, qd, qdd)
        loose.pass_time(0.01)
    assert "references refused" not in loose.told.values
    at_work(loose, references=True)
    for send, code in UNLIKELY_REFERENCES.values():
        check_refused(loose, send, "references", code, references=True)
    desired = loose.node.active.maker.desired
    assert desired.at(loose.node.node_time).q.tolist() == Q
    assert desired.fresh(loose.now)
    loose.now += 0.201
    assert not desired.fresh(loose.now), "it counts until the timeout"


@pytest.mark.promise("reference-jump")
@pytest.mark.parametrize("name", FOLLOWERS)
def test_the_first_reference_away_from_the_robot_is_refused(name: str, make: Make) -> None:
    check_refused(
        at_work(make(name)),
        lambda o: o.refer([Q[0], Q[1] + 0.2, Q[2]], STILL, STILL),
        "references",
        "reference-jumps",
    )


# Trajectories, and bytes


@pytest.mark.promise("trajectory-malformed", "trajectory-leaves-range", "motion-malformed")
@pytest.mark.parametrize("name", FOLLOWERS)
def test_bad_trajectories_are_refused_whole_and_what_runs_goes_on(name: str, make: Make) -> None:
    loose = make(name)
    loose.measure(list(START.values()), STILL, list(START))
    loose.send("joint_trajectory", to(GOAL, 0.6))
    for k, (message, code, values) in enumerate(BAD_TRAJECTORIES, 1):
        loose.published["diagnostics"].clear()
        loose.send("joint_trajectory", message)
        loose.tick()
        assert loose.has_told(code, **values), (code, loose.told.message)
        assert loose.told.values["trajectories refused"] == str(k)
    for _ in range(70):
        loose.measure(list(START.values()), STILL, list(START))
        loose.pass_time(0.01)
    motion = loose.node.active.maker.desired.at(loose.node.node_time)
    names = loose.node.robot.coordinate_names
    assert dict(zip(names, motion.q.tolist(), strict=True)) == pytest.approx(GOAL)


@pytest.mark.promise("trajectory-too-large")
@pytest.mark.parametrize("name", ["gravity", "controller", "governor"])
def test_a_message_of_more_than_16_mb_is_refused(name: str, make: Make) -> None:
    loose = make(name)
    raw = serialize_message(JointTrajectory()) + b"\0" * 16_000_000
    topic = f"{loose.node.get_fully_qualified_name()}/joint_trajectory"
    loose._heard[topic].callback(raw)
    loose.tick()
    assert loose.has_told("message-too-large", limit=16_000_000)
