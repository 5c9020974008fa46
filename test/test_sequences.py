# SPDX-License-Identifier: Apache-2.0
"""What comes second, or in the other order: torques have no step, and no motion of the past comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from threading import Semaphore
from typing import Any

import pytest
from builtin_interfaces.msg import Duration, Time
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS, urdf
from std_msgs.msg import Header, String
from torque_steps import NAMES, Q, largest_step, send_state, states_for
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import Loaded
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.robot_source import DescribedRobot

STEEPEST = 1.875 / 0.5 * 0.01
"""Part of the way that a smooth ramp of 0.5 s goes in 0.01 s where it is steepest."""
AWAY = [0.4, 0.6, 0.15]
"""Where the robot is pushed to from Q, further than `reference_slack`."""
RAMPS = {"ramp_start": 0.5, "ramp_up": 0.5, "ramp_down": 0.5}
PD = {"p": 100.0, "d": 5.0}
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "controller": (Controller, PD),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "gravity": (Feedforward, {"mode": "gravity"}),
}


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Callable[..., LooseNode]]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with ExitStack() as nodes:

        def made(case: str, **parameters: Any) -> LooseNode:
            make_node, own = NODES[case]
            given = {"description_file": str(ROBOTS["rrp"]), **RAMPS, **own, **parameters}
            return nodes.enter_context(loose_node(make_node, **given))

        yield made


def refer(loose: LooseNode, q: Sequence[float], qd: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    header = Header(stamp=loose.stamp)
    loose.send(
        "reference",
        JointReference(
            header=header, name=NAMES, position=list(q), velocity=list(qd), acceleration=[0.0] * 3
        ),
    )


def go(loose: LooseNode, goal: Sequence[float], seconds: float, stamp: Time | None = None) -> None:
    """Send a trajectory to a goal, at rest there."""
    point = JointTrajectoryPoint(positions=list(goal), velocities=[0.0] * 3)
    point.time_from_start = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))
    header = Header(stamp=stamp or Time())
    loose.send("joint_trajectory", JointTrajectory(header=header, joint_names=NAMES, points=[point]))


def push(loose: LooseNode, start: Sequence[float], end: Sequence[float], seconds: float = 1.0) -> None:
    """Let the robot move, although it is not wanted to."""
    steps = round(seconds / 0.01)
    for k in range(1, steps + 1):
        send_state(loose, [a + (b - a) * k / steps for a, b in zip(start, end, strict=True)])


def wanted(loose: LooseNode) -> list[float] | None:
    """The position that is desired now."""
    motion = loose.node.active.maker.desired.at(loose.node.node_time)
    return None if motion is None else motion.q.tolist()


def later(loose: LooseNode, seconds: int, nanoseconds: int = 0) -> Time:
    s, ns = divmod(loose.ros_now + seconds * 10**9 + nanoseconds, 10**9)
    return Time(sec=s, nanosec=ns)


def smooth(torques: Sequence[JointTorques], swing: float = 120.0) -> bool:
    """Whether torques have no step that a ramp over `swing` (N m or N) does not explain."""
    return largest_step(torques) < swing * STEEPEST


def since(loose: LooseNode, count: int) -> list[JointTorques]:
    return loose.published["torques"][count - 1 :]


@pytest.mark.parametrize("case", ["controller", "computed torque"])
@pytest.mark.parametrize("before", ["nothing", "trajectory", "references"])
@pytest.mark.parametrize("then", ["reference", "trajectory", "stop"])
def test_what_begins_at_a_robot_that_was_pushed_away_begins_with_a_ramp(
    case: str, before: str, then: str, make: Callable[..., LooseNode]
) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    if before == "trajectory":
        go(loose, Q, 0.5)
        push(loose, Q, AWAY)
    elif before == "references":
        for k in range(100):
            refer(loose, Q)
            send_state(loose, [a + (b - a) * (k + 1) / 100 for a, b in zip(Q, AWAY, strict=True)])
        states_for(loose, 0.26, AWAY)
    else:
        push(loose, Q, AWAY)
    count = len(loose.published["torques"])
    for _ in range(100):
        if then == "reference":
            refer(loose, AWAY)
        elif _ == 0 and then == "trajectory":
            go(loose, AWAY, 2.0)
        elif _ == 0:
            loose.send("joint_trajectory", JointTrajectory())
        send_state(loose, AWAY)
    assert smooth(since(loose, count), 80.0)


@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_a_stop_after_references_stopped_does_not_bring_them_back(
    case: str, make: Callable[..., LooseNode]
) -> None:
    loose = make(case)
    states_for(loose, 0.5)
    refer(loose, Q)
    states_for(loose, 1.0)
    push(loose, Q, AWAY)
    loose.send("joint_trajectory", JointTrajectory())
    states_for(loose, 0.1, AWAY)
    assert wanted(loose) == pytest.approx(AWAY)


@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_a_trajectory_in_the_future_after_a_moving_reference_begins_at_rest(
    case: str, make: Callable[..., LooseNode]
) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    for _ in range(10):
        refer(loose, Q, [0.5, 0.5, 0.1])
        states_for(loose, 0.01)
    go(loose, Q, 1.0, later(loose, 2))
    states_for(loose, 1.0)
    for _ in range(250):
        states_for(loose, 0.01)
        assert wanted(loose) == pytest.approx(Q, abs=1e-6)


@pytest.mark.parametrize("by", [-60, 60, 1])
@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_when_the_clock_of_the_system_is_set_no_trajectory_leaps(
    case: str, by: int, make: Callable[..., LooseNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = make(case)
    monkeypatch.setattr(type(loose.node), "_simulated_time", False, raising=False)
    monkeypatch.setattr(loose.node._jumps, "_post_callback", lambda _: None)
    states_for(loose, 1.0)
    go(loose, [1.5, 1.2, 0.2], 10.0)
    at = None
    for _ in range(500):
        at = wanted(loose)
        send_state(loose, at)
    count = len(loose.published["torques"])
    loose.set_time(loose.ros_now + by * 10**9)
    for _ in range(100):
        send_state(loose, at)
    desired = wanted(loose)
    if desired is not None:
        assert desired == pytest.approx(at, abs=0.02)
    assert smooth(since(loose, count), 40.0)


@pytest.mark.parametrize("how", ["cleanup", "description"])
def test_torques_that_hold_the_robot_at_last_are_what_the_next_begin_from(
    how: str, make: Callable[..., LooseNode]
) -> None:
    loose = make("gravity", on_shutdown="hold")
    full = list(states_for(loose, 2.0)[-1].total)
    loose.node.trigger_deactivate()
    if how == "cleanup":
        loose.node.trigger_cleanup()
        loose.node.trigger_configure()
        loose.reconnect()
        loose.node.trigger_activate()
    else:
        loose.node.trigger_activate()
        described = loose.node._source.described(ROBOTS["rrp"].read_text())
        loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    again = states_for(loose, 1.0)
    assert list(again[0].total) == pytest.approx(full)
    assert smooth(again)


@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics", "gravity"])
def test_a_trajectory_does_not_outlive_its_clock(case: str, make: Callable[..., LooseNode]) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    go(loose, AWAY, 2.0)
    loose.set_time(loose.ros_now - 5 * 10**9)
    for _ in range(900):
        send_state(loose)
        at = wanted(loose)
        assert at is None or at == pytest.approx(Q, abs=1e-3)


@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_after_a_leap_references_have_to_begin_near_although_no_joint_state_has_come(
    case: str, make: Callable[..., LooseNode]
) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    loose.set_time(loose.ros_now + 10**11)
    refer(loose, AWAY)
    assert wanted(loose) is None


def feed(loose: LooseNode, torques: Sequence[float]) -> None:
    header = Header(stamp=loose.stamp)
    loose.send("feedforward", JointTorques(header=header, name=NAMES, total=list(torques)))


def test_a_feedforward_that_stopped_with_joint_states_does_not_come_back(
    make: Callable[..., LooseNode],
) -> None:
    loose = make("controller")
    for _ in range(200):
        feed(loose, [40.0] * 3)
        send_state(loose)
    assert list(loose.published["torques"][-1].total) == pytest.approx([40.0] * 3)
    loose.pass_time(10.0)
    assert not any(loose.published["torques"][-1].total)
    assert all(not any(torques.total) for torques in states_for(loose, 2.0))


@pytest.mark.parametrize("case", ["controller", "computed torque"])
def test_references_that_stopped_are_not_carried_on(case: str, make: Callable[..., LooseNode]) -> None:
    loose = make(case, reference_carry=1.0)
    states_for(loose, 0.5)
    refer(loose, Q, [0.5, 0.0, 0.0])
    states_for(loose, 0.25)
    at = wanted(loose)
    states_for(loose, 2.0)
    assert wanted(loose) == pytest.approx(at, abs=0.011)
    assert wanted(loose)[0] == pytest.approx(Q[0] + 0.5 * 0.2, abs=0.01)


def test_gravity_torques_follow_the_robot_whatever_trajectories_come(make: Callable[..., LooseNode]) -> None:
    """They are answered with efforts, no more; a ramp at each of them would hold torques back."""
    loose = make("gravity")
    states_for(loose, 1.0)
    go(loose, Q, 0.1)
    states_for(loose, 0.5)
    push(loose, Q, AWAY)
    count = len(loose.published["torques"])
    go(loose, AWAY, 2.0)
    states_for(loose, 0.1, AWAY)
    assert {torques.status for torques in since(loose, count + 1)} == {JointTorques.STATUS_OK}


def test_stamps_are_in_order_where_trajectories_replace_each_other(make: Callable[..., LooseNode]) -> None:
    loose = make("inverse dynamics")
    states_for(loose, 0.1)
    for _ in range(60):
        go(loose, Q, 2.0)
        loose.pass_time(0.0037)
    stamps = [torques.header.stamp for torques in loose.published["torques"]]
    times = [stamp.sec * 10**9 + stamp.nanosec for stamp in stamps]
    assert len(times) > 40
    assert times == sorted(times)


def test_of_descriptions_that_come_quickly_the_newest_is_in_use(ros_environment: dict[str, str]) -> None:
    """Also where that is the one that was in use before they came, and another is being loaded."""
    done, may_go_on = Semaphore(0), Semaphore(1)
    with loose_node(Controller, **PD) as loose:
        reload = loose.node._reload
        reload._worker._woken = done.release
        prepare = reload._prepare

        def prepared(described: DescribedRobot) -> object:
            may_go_on.acquire()
            return prepare(described)

        reload._prepare = prepared
        loose.send("/robot_description", String(data=urdf("rrp")))
        done.acquire()
        reload._on_outcomes()
        assert loose.node.robot.name == "rrp"
        # The next is being loaded when the first comes again.
        loose.send("/robot_description", String(data=urdf("two_branch")))
        while reload._worker._waiting is not None:
            pass
        loose.send("/robot_description", String(data=urdf("rrp")))
        may_go_on.release(2)
        done.acquire()
        done.acquire()
        reload._on_outcomes()
        assert loose.node.robot.name == "rrp"
        # It is not loaded again where nothing else is.
        present = loose.node.active
        loose.send("/robot_description", String(data=urdf("rrp")))
        done.acquire()
        reload._on_outcomes()
        assert loose.node.active is present
