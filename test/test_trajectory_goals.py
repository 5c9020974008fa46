# SPDX-License-Identifier: Apache-2.0
"""Goals of ~/follow_joint_trajectory in simulated time: results, feedback, tolerances, stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from followed_goals import GOAL, START, STEP_S, Bench, Codes, end_of, request, tolerance
from loose_node import loose_node
from message_makers import AT_ONCE, NAMES, duration, later, nanoseconds, point, to_rest_at, trajectory
from robot_files import ROBOTS, urdf
from sentence_patterns import said
from std_msgs.msg import Bool
from stepped_session import FakeGoal
from trajectory_msgs.msg import JointTrajectory

from dyn_core import compile_model, load_robot
from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

NODES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "controller": (Controller, {"natural_frequency": 2.0}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "gravity": (Feedforward, {"mode": "gravity"}),
}
RRP = {"description_file": str(ROBOTS["rrp"]), **AT_ONCE}
SUCCESS, CANCELED = ("succeed", Codes.SUCCESSFUL), ("canceled", Codes.SUCCESSFUL)
INVALID, JOINTS = ("abort", Codes.INVALID_GOAL), ("abort", Codes.INVALID_JOINTS)
OLD = ("abort", Codes.OLD_HEADER_TIMESTAMP)
PATH, END = ("abort", Codes.PATH_TOLERANCE_VIOLATED), ("abort", Codes.GOAL_TOLERANCE_VIOLATED)
Make = Callable[..., Bench]


@pytest.fixture
def bench(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes by name, with their robot, and keeps them until the end of the test."""
    with ExitStack() as nodes:

        def made(name: str = "controller", **more: Any) -> Bench:
            make_node, own = NODES[name]
            return Bench(nodes.enter_context(loose_node(make_node, **(RRP | own | more))))

        yield made


USUAL = [
    pytest.param(name, marks=() if name in ("controller", "inverse dynamics") else pytest.mark.exhaustive)
    for name in NODES
]


@pytest.fixture(params=USUAL)
def each(request: pytest.FixtureRequest, bench: Make) -> Bench:
    return bench(request.param)


def says(goal: FakeGoal, code: str, **values: Any) -> bool:
    return said(code, **values).search(goal.result.error_string) is not None


@pytest.mark.promise("goal-follow")
def test_a_goal_is_followed_with_feedback_and_succeeds(each: Bench) -> None:
    goal = each.go(1.0)
    assert each.run_until_over(goal) == SUCCESS
    assert goal.result.error_string == ""
    assert each.desired.q == pytest.approx(GOAL)
    assert len(goal.feedback) > 10
    for told in goal.feedback:
        assert list(told.joint_names) == NAMES
        assert np.array(told.error.positions) == pytest.approx(
            np.array(told.desired.positions) - told.actual.positions
        )
        assert len(told.desired.accelerations) == 3
        assert not told.multi_dof_joint_names
    times = [nanoseconds(told.desired.time_from_start) for told in goal.feedback]
    assert times == sorted(times)
    assert any(0.2 < told.desired.positions[0] < 0.4 for told in goal.feedback)
    count = len(goal.feedback)
    each.run(0.3)
    assert len(goal.feedback) == count


def test_feedback_has_the_error_of_the_robot_and_the_next_point(bench: Make) -> None:
    arm = bench()
    points = [point(t, [a + t * (b - a) for a, b in zip(START, GOAL, strict=True)]) for t in (0.25, 0.5, 1.0)]
    goal = arm.follow(trajectory(*points))
    arm.away[1] = 0.03
    assert arm.run_until_over(goal) == SUCCESS
    for told in goal.feedback:
        assert np.array(told.error.positions) == pytest.approx([0.0, -0.03, 0.0])
    if hasattr(goal.feedback[0], "index"):
        assert {told.index for told in goal.feedback} == {0, 1, 2}


POINT = point(1.0, GOAL, [0.0] * 3)
BAD: dict[str, tuple[JointTrajectory, tuple[str, int], str]] = {
    "unknown joint": (to_rest_at(GOAL, 1.0, ["a", *NAMES[1:]]), JOINTS, "trajectory-joint-unknown"),
    "missing joint": (to_rest_at(GOAL[:2], 1.0, NAMES[:2]), JOINTS, "trajectory-joint-missing"),
    "repeated joint": (
        to_rest_at([*GOAL, 0.0], 1.0, [*NAMES, "turn"]), JOINTS, "trajectory-joint-repeated"
    ),
    "short point": (trajectory(point(1.0, GOAL[:2])), INVALID, "trajectory-point-length"),
    "not a number": (to_rest_at([0.1, math.nan, 0.1], 1.0), INVALID, "trajectory-value-not-finite"),
    "huge": (to_rest_at([1e10, 0.1, 0.1], 1.0), INVALID, ""),
    "out of range": (to_rest_at([0.1, 0.1, 50.0], 1.0), INVALID, "trajectory-point-out-of-range"),
    "too fast": (to_rest_at(GOAL, 0.01), INVALID, ""),
    "ends moving": (trajectory(point(1.0, GOAL, [0.1] * 3)), INVALID, "trajectory-ends-moving"),
    "times": (trajectory(POINT, POINT), INVALID, "trajectory-times-not-increasing"),
    "negative time": (trajectory(point(-1.0, GOAL)), INVALID, "trajectory-time-negative"),
    "due at once": (trajectory(point(0.0, GOAL)), INVALID, "trajectory-due-at-start"),
}  # fmt: skip


@pytest.mark.promise("goal-refused", "trajectory-malformed")
def test_bad_goals_are_refused_as_the_same_trajectories_on_the_topic(each: Bench) -> None:
    """The motion that is running goes on."""
    running = each.go(2.0)
    each.run(0.2)
    for count, (case, (message, expected, code)) in enumerate(BAD.items(), start=1):
        each.loose.send("joint_trajectory", message)
        each.loose.tick()
        told = each.loose.told
        assert told.values["trajectories refused"] == str(count), case
        goal = each.follow(message)
        assert end_of(goal) == expected, case
        assert not code or says(goal, code), case
        assert told.message.endswith(goal.result.error_string), case
    each.loose.tick()
    assert each.loose.told.values["goals refused"] == str(len(BAD))
    assert each.run_until_over(running) == SUCCESS


@pytest.mark.promise("goal-refused")
def test_a_trajectory_that_is_over_is_refused_by_its_stamp(each: Bench) -> None:
    old = later(each.loose.stamp, -10.0)
    goal = each.follow(to_rest_at(GOAL, 1.0, stamp=old))
    assert end_of(goal) == OLD
    assert says(goal, "trajectory-past")
    ahead = each.follow(to_rest_at(GOAL, 1.0, stamp=later(each.loose.stamp, 1e5)))
    assert end_of(ahead) == INVALID
    assert end_of(each.follow(JointTrajectory(joint_names=NAMES))) == INVALID


TURN = {"joint": "turn"}
BAD_TOLERANCES: dict[str, tuple[dict[str, Any], tuple[str, int], str, dict[str, Any]]] = {
    "unknown joint": (
        {"path": [tolerance("elbow", position=0.1)]}, JOINTS, "tolerance-joint-unknown", {"joint": "elbow"}
    ),
    "repeated": ({"goal": [tolerance("turn")] * 2}, JOINTS, "tolerance-joint-repeated", TURN),
    "negative": ({"path": [tolerance("turn", velocity=-2.0)]}, INVALID, "tolerance-invalid", TURN),
    "not a number": ({"goal": [tolerance("turn", position=math.nan)]}, INVALID, "tolerance-invalid", TURN),
    "infinite": ({"goal": [tolerance("turn", position=math.inf)]}, INVALID, "tolerance-invalid", TURN),
    "acceleration": ({"path": [tolerance("turn", acceleration=1.0)]}, INVALID, "tolerance-unmeasured", TURN),
    "time": ({"time": duration(-2.0)}, INVALID, "goal-time-tolerance-invalid", {"given": -2.0}),
}  # fmt: skip


@pytest.mark.promise("goal-tolerances-bad")
def test_bad_tolerances_are_refused(bench: Make) -> None:
    arm = bench()
    for case, (tolerances, expected, code, values) in BAD_TOLERANCES.items():
        goal = arm.go(**tolerances)
        assert end_of(goal) == expected, case
        assert says(goal, code, **values), case


def test_joints_with_several_degrees_of_freedom_are_refused(bench: Make) -> None:
    arm = bench()
    goal = FakeGoal(None)
    goal.request = request(to_rest_at(GOAL, 1.0))
    goal.request.multi_dof_trajectory.joint_names = ["base"]
    arm.loose.node.trajectories.on_goal(goal)  # type: ignore[attr-defined]
    assert end_of(goal) == INVALID
    assert says(goal, "goal-multi-dof", field="multi_dof_trajectory")


@pytest.mark.promise("goal-path-tolerance")
@pytest.mark.parametrize(
    ("given", "default", "expected"),
    [
        (0.0, 0.05, PATH),
        (0.0, 0.0, SUCCESS),
        (0.0, 0.2, SUCCESS),
        (0.05, 0.2, PATH),
        (0.2, 0.05, SUCCESS),
        (-1.0, 0.05, SUCCESS),
    ],
)
def test_path_tolerance(given: float, default: float, expected: tuple[str, int], bench: Make) -> None:
    arm = bench(constraints__lift__trajectory=default, constraints__goal=1.0)
    goal = arm.go(1.0, path=[tolerance("lift", position=given)])
    arm.run(0.4)
    arm.away[1] = 0.1
    assert arm.run_until_over(goal) == expected
    if expected == PATH:
        assert says(goal, "path-tolerance-violated", joint="lift", quantity="position", limit=0.05)
        assert np.abs(arm.wanted[-1].qd).max() < 1e-9
        assert abs(arm.desired.q[1] - GOAL[1]) > 0.05


@pytest.mark.promise("goal-tolerance")
@pytest.mark.parametrize(
    ("given", "default", "time", "expected"),
    [
        (0.0, 0.05, 0.0, END),
        (0.0, 0.0, 0.0, SUCCESS),
        (0.2, 0.05, 0.0, SUCCESS),
        (0.05, 0.2, 0.0, END),
        (-1.0, 0.05, 0.0, SUCCESS),
        (0.0, 0.05, 3.0, SUCCESS),
        (0.0, 0.05, -1.0, SUCCESS),
    ],
)
def test_goal_tolerance_and_time(
    given: float, default: float, time: float, expected: tuple[str, int], bench: Make
) -> None:
    """The joint arrives 2 s after the end of the trajectory."""
    arm = bench(constraints__lift__goal=default, constraints__trajectory=0.0, constraints__goal_time=0.5)
    arm.away[1] = 0.1
    arm.measure()
    goal = arm.go(1.0, goal=[tolerance("lift", position=given)], time=duration(time))
    arm.run(3.0)
    if expected == END:
        assert end_of(goal) == END
        assert says(goal, "goal-tolerance-violated", joint="lift", limit=0.05)
    arm.away[1] = 0.0
    assert arm.run_until_over(goal) == expected


@pytest.mark.promise("goal-tolerance")
def test_a_robot_that_still_moves_has_not_reached_its_goal(bench: Make) -> None:
    arm = bench(constraints__goal=0.0, constraints__trajectory=0.0)
    goal = arm.go(0.5)
    arm.run(0.45)
    for _ in range(30):
        arm.loose.pass_time(0.01)
        arm.loose.measure(list(GOAL), [0.0, 0.1, 0.0])
    assert not goal.ends
    assert arm.run_until_over(goal) == SUCCESS


LIMITS = np.array([joint.limits.effort for joint in load_robot(ROBOTS["rrp"]).independent_joints])


@pytest.mark.promise("goal-cancelled-at-rest")
@pytest.mark.parametrize("after", [0.0, 0.05, 0.3, 0.9])
def test_cancelling_brings_the_robot_to_rest_on_the_path(after: float, each: Bench) -> None:
    """Speeds are at most those of the trajectory, and efforts at most those of the motors."""
    goal = each.go(1.0)
    each.run(after)
    begin = len(each.wanted)
    each.cancel(goal)
    each.cancel(goal)
    assert not goal.ends
    assert each.run_until_over(goal) == CANCELED
    assert says(goal, "goal-cancelled")
    stop = each.wanted[begin - 1 :]
    assert len(stop) < 250
    q, qd, qdd = (np.array([motion[k] for motion in stop]) for k in range(3))
    parts = (q - START) / (np.array(GOAL) - START)
    assert np.ptp(parts, axis=1).max() < 1e-6, "on the straight way"
    speed = 1.875 * np.abs(np.array(GOAL) - START)
    assert (np.abs(qd) <= 1.001 * speed).all()
    assert (np.abs(np.diff(q, axis=0)) <= 1.001 * STEP_S * speed).all(), "without a step"
    efforts = compile_model(load_robot(ROBOTS["rrp"])).inverse_dynamics(q, qd, qdd)
    assert (np.abs(efforts) <= 1.001 * LIMITS).all()
    assert np.abs(qd[-1]).max() < 1e-9
    each.run(0.5)
    assert each.desired.q == pytest.approx(q[-1])
    assert each.run_until_over(each.go(1.0)) == SUCCESS


@pytest.mark.promise("goal-cancelled-at-rest")
def test_a_stop_takes_longer_where_the_motors_are_weak(bench: Make) -> None:
    """A motion that needs little effort at its speed, and would need much for a quick stop."""
    times, text = {}, urdf("rrp")
    assert text.count('effort="60"') == 1
    for effort in (60, 6):
        weak = text.replace('effort="60"', f'effort="{effort}"')
        arm = bench(description_file="", robot_description=weak)
        goal = arm.go(2.0, (2.5, START[1], START[2]))
        arm.run(1.0)
        arm.cancel(goal)
        before = arm.loose.now
        assert arm.run_until_over(goal) == CANCELED
        times[effort] = arm.loose.now - before
    assert times[6] > 1.3 * times[60]


@pytest.mark.promise("goal-cancelled-at-rest")
def test_a_robot_that_does_not_come_to_rest_ends_the_goal_all_the_same(bench: Make) -> None:
    arm = bench()
    goal = arm.go(1.0)
    arm.run(0.5)
    arm.cancel(goal)
    for _ in range(300):
        arm.loose.pass_time(0.01)
        arm.loose.measure(arm.desired.q.tolist(), [0.0, 0.4, 0.0])
    assert end_of(goal) == CANCELED


@pytest.mark.promise("goal-preempted")
def test_a_new_goal_ends_the_one_before_and_a_bad_one_does_not(each: Bench) -> None:
    first = each.go(2.0)
    each.run(0.5)
    assert end_of(each.go(0.001)) == INVALID
    each.run(0.2)
    assert not first.ends
    second = each.go(1.0, START)
    assert end_of(first) == INVALID
    assert says(first, "goal-preempted")
    each.run(0.3)
    each.cancel(first)
    assert each.run_until_over(second) == SUCCESS
    assert each.desired.q == pytest.approx(START)


@pytest.mark.promise("goal-preempted")
def test_a_new_goal_during_a_stop_ends_the_cancelled_one_as_cancelled(each: Bench) -> None:
    first = each.go(2.0)
    each.run(1.0)
    each.cancel(first)
    each.run(0.05)
    second = each.go(1.0, START)
    assert end_of(first) == CANCELED
    assert each.run_until_over(second) == SUCCESS


@pytest.mark.promise("goal-superseded")
@pytest.mark.parametrize("by", ["trajectory", "stop", "reference"])
def test_a_motion_on_a_topic_ends_the_goal(by: str, each: Bench) -> None:
    goal = each.go(2.0)
    each.run(0.5)
    if by == "reference":
        each.loose.refer(*(values.tolist() for values in each.desired))
    else:
        message = JointTrajectory() if by == "stop" else to_rest_at(START, 1.0)
        each.loose.send("joint_trajectory", message)
    assert end_of(goal) == INVALID
    assert says(goal, "goal-superseded", topic="~/reference" if by == "reference" else "~/joint_trajectory")


def deactivate(arm: Bench) -> None:
    arm.loose.node.trigger_deactivate()


def other_robot(arm: Bench) -> None:
    node: Any = arm.loose.node
    node.use(node.prepare(DescribedRobot(load_robot(ROBOTS["rrp"]), None, ())))


def clock_set(arm: Bench) -> None:
    arm.loose.node.forget_time()  # type: ignore[attr-defined]


def drive_interrupted(arm: Bench) -> None:
    arm.loose.send("/running", Bool(data=False))


def program_error(arm: Bench) -> None:
    arm.loose.node.fail(RuntimeError("of the test"))


EVENTS = {
    "node-deactivated": deactivate,
    "robot-replaced": other_robot,
    "clock-set": clock_set,
    "drive-interrupted": drive_interrupted,
    "program error": program_error,
}


@pytest.mark.promise("goal-ends-always")
@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("event", EVENTS)
def test_what_ends_the_motion_ends_the_goal_with_the_reason(event: str, name: str, bench: Make) -> None:
    arm = bench(name, running_topic="/running", rate=200.0)
    goal = arm.go(2.0)
    arm.run(0.5)
    EVENTS[event](arm)
    assert end_of(goal) == INVALID
    assert says(goal, event if event in EVENTS and event != "program error" else "node-deactivated")


@pytest.mark.promise("goal-ends-always")
def test_joint_states_that_stop_end_the_goal_and_the_motion(each: Bench) -> None:
    goal = each.go(4.0)
    each.run(1.0)
    each.silent = True
    assert each.run_until_over(goal) == INVALID
    assert says(goal, "joint-states-stopped")
    assert np.abs(each.wanted[-1].qd).max() < 1e-9


@pytest.mark.promise("goal-ends-always")
def test_joint_states_that_are_refused_end_the_goal_with_the_cause(each: Bench) -> None:
    goal = each.go(4.0)
    each.run(0.5)
    for _ in range(50):
        each.loose.pass_time(0.01)
        each.loose.measure([0.1, math.nan, 0.1])
    each.silent = True
    assert each.run_until_over(goal) == INVALID
    assert says(goal, "joint-states-refused")


@pytest.mark.promise("goal-ends-always")
@pytest.mark.parametrize("then", ["nothing", "cancel"])
def test_a_motion_that_the_node_drops_by_itself_ends_the_goal(then: str, each: Bench) -> None:
    goal = each.go(2.0)
    each.run(0.5)
    each.maker.restart()
    if then == "cancel":
        each.cancel(goal)
    else:
        each.run(0.1)
    assert end_of(goal) == INVALID
    assert says(goal, "goal-motion-dropped")
    assert each.loose.node.failure is None


@pytest.mark.promise("goal-refused")
def test_goals_without_joint_states_or_at_an_inactive_node_are_refused(each: Bench) -> None:
    each.loose.node.trigger_deactivate()
    goal = each.go(1.0)
    assert end_of(goal) == INVALID
    assert says(goal, "node-inactive")
    each.loose.node.trigger_activate()
    goal = each.go(1.0)
    assert end_of(goal) == INVALID
    assert says(goal, "joint-state-missing")


@pytest.mark.promise("goal-follow")
@pytest.mark.parametrize("name", USUAL)
def test_torques_along_a_goal_are_those_along_the_same_trajectory(name: str, bench: Make) -> None:
    sent = []
    for ask in (
        lambda arm: arm.go(1.0),
        lambda arm: arm.loose.send("joint_trajectory", to_rest_at(GOAL, 1.0)),
    ):
        arm = bench(name)
        ask(arm)
        arm.run(1.2)
        published = arm.loose.published
        sent.append([list(t.total) for t in published["torques"]])
        efforts = published.get("joint_trajectory_effort", [])
        assert len(efforts) == (name != "controller")
    assert len(sent[0]) > 100
    assert np.array(sent[0]) == pytest.approx(np.array(sent[1]))


@pytest.mark.promise("goal-cancelled-at-rest")
@pytest.mark.parametrize("name", USUAL[1:])
def test_a_controller_behind_the_feedforward_gets_the_stop_with_its_efforts(name: str, bench: Make) -> None:
    arm = bench(name)
    goal = arm.go(1.0)
    arm.run(0.5)
    arm.cancel(goal)
    stop = arm.loose.published["joint_trajectory_effort"][-1]
    assert stop.points[-1].velocities == pytest.approx([0.0] * 3)
    assert len(stop.points[0].effort) == 3
    assert stop.points[-1].positions == pytest.approx(stop.points[-2].positions), "a late one is not over"
    assert nanoseconds(stop.points[-1].time_from_start) > 2 * 10**9
    begin = arm.loose.ros_now
    assert nanoseconds(stop.header.stamp) == begin
    assert arm.run_until_over(goal) == CANCELED
    assert arm.desired.q == pytest.approx(list(stop.points[-1].positions))


@pytest.mark.promise("goal-cancelled-at-rest")
def test_a_stop_is_published_without_efforts_that_cannot_be_computed(bench: Make) -> None:
    """Otherwise a controller behind the node would go on to the end."""
    arm = bench("gravity")
    goal = arm.go(1.0)
    arm.run(0.5)
    count = len(arm.loose.published["joint_trajectory_effort"])

    def fail(_: Any) -> None:
        raise Rejection("torques-not-computed", cause="of the test")

    arm.maker.efforts = fail
    arm.cancel(goal)
    (stop,) = arm.loose.published["joint_trajectory_effort"][count:]
    assert not stop.points[0].effort
    assert arm.run_until_over(goal) == CANCELED
