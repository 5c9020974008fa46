# SPDX-License-Identifier: Apache-2.0
"""Events in sequence and in other orders: torques have no step, and no earlier motion comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from loose_node import LooseNode, Make, loose_node
from message_makers import NAMES, later, nanoseconds, point, trajectory
from robot_files import urdf
from std_msgs.msg import Header, String
from torque_steps import (
    AWAY,
    PD,
    STILL,
    Q,
    nodes_of_the_arm,
    push,
    send_state,
    since,
    smooth,
    states_for,
    wanted,
)
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.controller.node import Controller


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with nodes_of_the_arm() as made:
        yield made


@pytest.mark.promise("motion-after-push")
@pytest.mark.parametrize("case", ["controller", "computed torque"])
@pytest.mark.parametrize("before", ["nothing", "trajectory", "references"])
@pytest.mark.parametrize("then", ["reference", "trajectory", "stop"])
def test_motions_that_begin_at_a_pushed_robot_begin_with_a_ramp(
    case: str, before: str, then: str, make: Make
) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    if before == "trajectory":
        loose.go(Q, 0.5)
    push(loose, Q if before == "references" else None)
    if before == "references":
        states_for(loose, 0.26, AWAY)
    count = len(loose.published["torques"])
    if then == "trajectory":
        loose.go(AWAY, 2.0)
    elif then == "stop":
        loose.send("joint_trajectory", JointTrajectory())
    for _ in range(100):
        if then == "reference":
            loose.refer(AWAY, STILL, STILL)
        send_state(loose, AWAY)
    assert smooth(since(loose, count), 80.0)


@pytest.mark.promise("stop-after-references")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_a_stop_after_references_ended_does_not_restart_them(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 0.5)
    loose.refer(Q, STILL, STILL)
    states_for(loose, 1.0)
    push(loose)
    loose.send("joint_trajectory", JointTrajectory())
    states_for(loose, 0.1, AWAY)
    assert wanted(loose) == pytest.approx(AWAY)


@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_a_trajectory_in_the_future_after_a_moving_reference_begins_at_rest(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    for _ in range(10):
        loose.refer(Q, [0.5, 0.5, 0.1], STILL)
        states_for(loose, 0.01)
    loose.go(Q, 1.0, later(loose.stamp, 2.0))
    states_for(loose, 1.0)
    for _ in range(250):
        states_for(loose, 0.01)
        assert wanted(loose) == pytest.approx(Q, abs=1e-6)


@pytest.mark.promise("clock-set")
@pytest.mark.parametrize("by", [-60, 60, 1])
@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_no_trajectory_leaps_when_the_system_clock_is_set(
    case: str, by: int, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = make(case)
    monkeypatch.setattr(type(loose.node), "_simulated_time", False, raising=False)
    monkeypatch.setattr(loose.node._jumps, "_post_callback", lambda _: None)
    states_for(loose, 1.0)
    loose.go([1.5, 1.2, 0.2], 10.0)
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


@pytest.mark.promise("clock-leaps")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics", "gravity"])
def test_a_trajectory_ends_with_its_clock(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    loose.go(AWAY, 2.0)
    loose.set_time(loose.ros_now - 5 * 10**9)
    for _ in range(900):
        send_state(loose)
        at = wanted(loose)
        assert at is None or at == pytest.approx(Q, abs=1e-3)


@pytest.mark.promise("clock-leaps")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_after_a_leap_references_have_to_begin_nearby_without_a_joint_state(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    loose.set_time(loose.ros_now + 10**11)
    loose.refer(AWAY, STILL, STILL)
    assert wanted(loose) is None


@pytest.mark.promise("feedforward-torques")
def test_a_feedforward_that_stopped_with_joint_states_does_not_come_back(make: Make) -> None:
    loose = make("controller")
    for _ in range(200):
        fed = JointTorques(header=Header(stamp=loose.stamp), name=NAMES, total=[40.0] * 3)
        loose.send("feedforward", fed)
        send_state(loose)
    assert list(loose.published["torques"][-1].total) == pytest.approx([40.0] * 3)
    loose.pass_time(10.0)
    assert not any(loose.published["torques"][-1].total)
    assert all(not any(torques.total) for torques in states_for(loose, 2.0))


@pytest.mark.parametrize("case", ["controller", "computed torque"])
def test_references_that_stopped_are_not_extrapolated_further(case: str, make: Make) -> None:
    loose = make(case, reference_carry=1.0)
    states_for(loose, 0.5)
    loose.refer(Q, [0.5, 0.0, 0.0], STILL)
    states_for(loose, 0.25)
    at = wanted(loose)
    states_for(loose, 2.0)
    assert wanted(loose) == pytest.approx(at, abs=0.011)
    assert wanted(loose)[0] == pytest.approx(Q[0] + 0.5 * 0.2, abs=0.01)


def test_gravity_torques_do_not_depend_on_trajectories(make: Make) -> None:
    """Trajectories only get a response with efforts; a ramp at each of them would delay torques."""
    loose = make("gravity")
    states_for(loose, 1.0)
    loose.go(Q, 0.1)
    states_for(loose, 0.5)
    push(loose)
    count = len(loose.published["torques"])
    loose.go(AWAY, 2.0)
    states_for(loose, 0.1, AWAY)
    assert {torques.status for torques in since(loose, count + 1)} == {JointTorques.STATUS_OK}


def test_stamps_are_in_order_where_trajectories_replace_each_other(make: Make) -> None:
    loose = make("inverse dynamics")
    states_for(loose, 0.1)
    for _ in range(60):
        loose.go(Q, 2.0)
        loose.pass_time(0.0037)
    times = [nanoseconds(torques.header.stamp) for torques in loose.published["torques"]]
    assert len(times) > 40
    assert times == sorted(times)


@pytest.mark.promise("descriptions-quick")
def test_the_newest_of_several_quick_descriptions_is_used(ros_environment: dict[str, str]) -> None:
    """Also where it equals the one in use before, while another is being loaded."""
    with loose_node(Controller, **PD) as loose:
        executor = make_executor(loose.node.context)
        executor.add_node(loose.node)
        reload, told = loose.node._reload, list[DynError | None]()
        rrp, other = (String(data=urdf(name)) for name in ("rrp", "two_branch"))

        def loaded() -> str:
            while reload._request is not None:
                executor.spin_once(timeout_sec=0.05)
            return str(loose.node.robot.name)

        loose.send("/robot_description", rrp)
        assert loaded() == "rrp"
        # The next one is being loaded when the first one comes again.
        loose.send("/robot_description", other)
        first = reload._job
        loose.send("/robot_description", rrp)
        second, present = reload._job, loose.node.active
        assert second is not first
        # The same once more changes nothing.
        loose.send("/robot_description", rrp)
        assert reload._job is second
        assert loaded() == "rrp"
        assert first._process.wait() != 0
        # The robot in use is not loaded again.
        assert loose.node.active is present
        # A request is told that a newer description has superseded it.
        reload.ask(other.data, told.append)
        loose.send("/robot_description", rrp)
        assert [problem.code for problem in told if problem] == ["request-superseded"]
        assert loaded() == "rrp"
        executor.remove_node(loose.node)
        executor.shutdown()


# Trajectories and references that begin at the robot, not at the end of the last motion

THERE, AFAR = [0.1, 0.7, 0.05], [-0.9, -0.6, 0.0]


@pytest.fixture
def arrived(make: Make) -> LooseNode:
    """The node at the end of a trajectory, with a robot that has been moved away."""
    made = make("inverse dynamics")
    states_for(made, 0.1)
    made.go(THERE, 2.0)
    states_for(made, 2.5, THERE)
    states_for(made, 0.5, AFAR)
    return made


def test_the_next_trajectory_begins_at_the_robot(arrived: LooseNode) -> None:
    assert wanted(arrived) == THERE
    before = len(arrived.published["torques"])
    arrived.go(Q, 4.0)
    assert wanted(arrived) == pytest.approx(AFAR, abs=1e-3)
    states_for(arrived, 1.0, AFAR)
    assert smooth(since(arrived, before), 30.0)


def test_a_reference_near_the_robot_is_accepted_with_a_ramp(arrived: LooseNode) -> None:
    before = len(arrived.published["torques"])
    for _ in range(100):
        arrived.refer(AFAR, STILL)
        states_for(arrived, 0.01, AFAR)
    assert wanted(arrived) == AFAR
    assert smooth(since(arrived, before), 30.0)
    assert "references refused" not in arrived.told.values


def test_a_replaced_trajectory_continues_from_the_desired_motion(arrived: LooseNode) -> None:
    """Also with a large tracking error, as in joint_trajectory_controller."""
    arrived.go(Q, 4.0)
    states_for(arrived, 2.0, AFAR)
    middle = wanted(arrived)
    arrived.go(THERE, 4.0)
    assert wanted(arrived) == pytest.approx(middle, abs=1e-9)


@pytest.mark.promise("trajectory-too-many-points")
def test_a_trajectory_of_too_many_points_is_refused(arrived: LooseNode) -> None:
    points = [point(k, Q) for k in range(1, 10_002)]
    arrived.send("joint_trajectory", trajectory(*points))
    arrived.tick()
    assert arrived.has_told("trajectory-points-too-many", count=10001, limit=10000)
    assert wanted(arrived) == THERE
    arrived.send("joint_trajectory", trajectory(*points[:-1]))
    assert len(arrived.published["joint_trajectory_effort"][-1].points) == 10_000


@pytest.mark.parametrize("place", [THERE, AFAR])
def test_a_trajectory_after_references_have_stopped_begins_at_rest(
    arrived: LooseNode, place: Sequence[float]
) -> None:
    """At the last reference, or at the robot, but not with the velocity of the last reference."""
    states_for(arrived, 0.1, THERE)
    arrived.refer(THERE, [0.3, 0.3, 0.1])
    states_for(arrived, 1.0, THERE)
    states_for(arrived, 0.5, place)
    arrived.go(place, 2.0)
    for _ in range(100):
        states_for(arrived, 0.01, place)
        assert wanted(arrived) == pytest.approx(place, abs=1e-3)
