# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the node `feedforward` follows, and answers with efforts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from rnea import Pinocchio, by_name, frictionless
from ros_graph import Graph
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos

NAMES = ["stretch", "turn", "lift"]
START = {"turn": 0.1, "lift": 0.2, "stretch": 0.05}
GOAL = {"turn": 0.4, "lift": -0.1, "stretch": 0.25}


def between(a: Time, b: Time) -> float:
    """Time from a to b (s): as seconds since 1970 they would be resolved to 0.2 us only."""
    return b.sec - a.sec + 1e-9 * (b.nanosec - a.nanosec)


def seconds(stamp: Time | Duration) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


def later(stamp: Time, by: float) -> Time:
    whole, rest = divmod(stamp.sec * 10**9 + stamp.nanosec + round(1e9 * by), 10**9)
    return Time(sec=whole, nanosec=rest)


def point(at: float, q: dict[str, float], *derivatives: dict[str, float] | float) -> JointTrajectoryPoint:
    """A point with positions and, where they are given, velocities and accelerations; numbers for all."""
    rows = [[d if isinstance(d, float) else d[name] for name in NAMES] for d in derivatives]
    return JointTrajectoryPoint(
        positions=[q[name] for name in NAMES],
        velocities=rows[0] if rows else [],
        accelerations=rows[1] if len(rows) > 1 else [],
        time_from_start=Duration(sec=int(at), nanosec=round(1e9 * (at % 1.0))),
    )


def trajectory(*points: JointTrajectoryPoint, stamp: Time | None = None) -> JointTrajectory:
    return JointTrajectory(header=Header(stamp=stamp or Time()), joint_names=NAMES, points=list(points))


class Fixture:
    """The node, a robot at START, and what is sent to it."""

    def __init__(self, graph: Graph, **parameters: object) -> None:
        self.graph = graph
        self.text = frictionless("rrp")
        self.oracle = Pinocchio(self.text)
        self.answers: list[JointTrajectory] = []
        graph.node.create_subscription(
            JointTrajectory, "feedforward/joint_trajectory_effort", self.answers.append, qos.EACH_MESSAGE
        )
        self.publisher = graph.node.create_publisher(
            JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE
        )
        self.node = graph.feedforward(**{"mode": "inverse_dynamics", **parameters})
        graph.load(self.text)
        graph.wait_for(
            lambda: (
                self.publisher.get_subscription_count() == 1
                and graph.node.count_publishers("feedforward/joint_trajectory_effort") == 1
            )
        )

    def see(self, q: dict[str, float]) -> JointTorques:
        return self.graph.torques_for(list(q), list(q.values()))

    def send(self, message: JointTrajectory) -> None:
        """Send a trajectory and wait until it is followed."""
        count = int(self.graph.diagnosis("trajectories used") or 0)
        answers = len(self.answers)
        self.publisher.publish(message)
        if message.points:
            self.graph.wait_for(lambda: len(self.answers) > answers)
        else:
            self.graph.wait_for(lambda: int(self.graph.diagnosis("trajectories used") or 0) > count)

    def refused(self, message: JointTrajectory) -> str:
        """Send a trajectory that will not do, and answer why."""
        count = int(self.graph.diagnosis("trajectories refused") or 0)
        self.publisher.publish(message)
        self.graph.wait_for(lambda: self.graph.diagnosis("trajectories refused") == str(count + 1))
        return self.graph.diagnostics[-1].message

    def until(self, end: float) -> list[JointTorques]:
        """Torques with stamps up to a time, which is waited for."""
        self.graph.wait_for(lambda: self.graph.torques and seconds(self.graph.torques[-1].header.stamp) > end)
        return [t for t in self.graph.torques if seconds(t.header.stamp) <= end]

    def expected(self, u: float, T: float, start=None, goal=None) -> dict[str, float]:
        """Torques of the quintic from rest to rest in the time T, at the part u of it."""
        start, goal = start or START, goal or GOAL
        u = min(max(u, 0.0), 1.0)
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        sd = 30.0 * u * u * (1.0 - u) ** 2 / T
        sdd = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / T**2
        span = {name: goal[name] - start[name] for name in start}
        return self.oracle.torques(
            {name: start[name] + s * span[name] for name in start},
            {name: sd * span[name] for name in start},
            {name: sdd * span[name] for name in start},
        )


def test_torques_along_a_trajectory_are_those_of_pinocchio(graph: Graph) -> None:
    """From where the robot is seen, in any order of joints, before, during and after the motion."""
    arm = Fixture(graph, rate=100.0)
    arm.see(START)
    T = 0.4
    stamp = later(graph.now(), 0.1)
    arm.send(trajectory(point(T, GOAL, 0.0, 0.0), stamp=stamp))
    torques = arm.until(seconds(stamp) + T + 0.1)
    times = [between(stamp, t.header.stamp) for t in torques]
    phases = {math.floor(min(max(t, -T), T + 1e-9) / T) for t in times[1:]}
    assert phases == {-1, 0, 1}
    for t, message in zip(times, torques, strict=True):
        assert message.status == JointTorques.STATUS_OK
        assert by_name(message) == pytest.approx(arm.expected(t / T, T), rel=1e-7, abs=1e-7)


def test_a_trajectory_without_stamp_begins_at_once(graph: Graph) -> None:
    arm = Fixture(graph)
    arm.see(START)
    before = seconds(graph.now())
    arm.send(trajectory(point(0.6, GOAL, 0.0, 0.0)))
    sent = seconds(graph.now())
    torques = arm.until(sent + 0.7)[-1]
    assert by_name(torques) == pytest.approx(arm.oracle.held(GOAL))
    assert before < seconds(torques.header.stamp)


def test_a_trajectory_that_has_begun_is_joined_in_the_middle(graph: Graph) -> None:
    """Nothing is measured: the trajectory is taken as it is, from its first point on."""
    arm = Fixture(graph)
    T = 1.0
    stamp = later(graph.now(), -0.5)
    arm.send(trajectory(point(0.0, START, 0.0, 0.0), point(T, GOAL, 0.0, 0.0), stamp=stamp))
    torques = arm.until(seconds(stamp) + 0.8)
    assert torques
    for message in torques:
        u = between(stamp, message.header.stamp) / T
        assert by_name(message) == pytest.approx(arm.expected(u, T), rel=1e-7, abs=1e-7)


def test_a_new_trajectory_takes_the_place_of_the_running_one(graph: Graph) -> None:
    """At its start it begins with the motion of that moment: torques of the way there, and back."""
    arm = Fixture(graph)
    arm.see(START)
    T = 0.5
    stamp = later(graph.now(), 0.05)
    arm.send(trajectory(point(T, GOAL, 0.0, 0.0), stamp=stamp))
    arm.send(trajectory(point(T, START, 0.0, 0.0), stamp=later(stamp, T)))
    torques = arm.until(seconds(stamp) + 2.0 * T + 0.05)
    assert torques
    for message in torques:
        t = between(stamp, message.header.stamp)
        there = arm.expected(t / T, T)
        back = arm.expected(t / T - 1.0, T, GOAL, START)
        assert by_name(message) == pytest.approx(there if t < T else back, rel=1e-7, abs=1e-7)


def test_an_empty_trajectory_stops(graph: Graph) -> None:
    arm = Fixture(graph)
    arm.see(START)
    arm.send(trajectory(point(20.0, GOAL, 0.0, 0.0)))
    arm.send(trajectory())
    graph.torques.clear()
    graph.wait_for(lambda: len(graph.torques) > 3)
    held = {tuple(t.total) for t in graph.torques[1:]}
    assert len(held) == 1
    assert by_name(graph.torques[-1]) == pytest.approx(arm.oracle.held(START), abs=0.2)
    graph.wait_for(lambda: len(arm.answers) == 2)
    stop = arm.answers[-1]
    (only,) = stop.points
    assert seconds(stop.header.stamp) == 0.0
    assert dict(zip(stop.joint_names, only.effort, strict=True)) == pytest.approx(by_name(graph.torques[-1]))
    assert dict(zip(stop.joint_names, only.positions, strict=True)) == pytest.approx(START, abs=0.01)
    assert list(only.velocities) == list(only.accelerations) == [0.0] * 3
    assert 0.0 < seconds(only.time_from_start) < 0.05


def test_the_end_is_held_with_good_torques_for_ever(graph: Graph) -> None:
    arm = Fixture(graph, timeout=0.1, rate=50.0)
    arm.see(START)
    arm.send(trajectory(point(0.6, GOAL, 0.0, 0.0)))
    torques = arm.until(seconds(graph.now()) + 0.9)[-1]
    assert torques.status == JointTorques.STATUS_OK
    assert by_name(torques) == pytest.approx(arm.oracle.held(GOAL))


def test_a_reference_takes_over_from_a_trajectory_and_the_other_way_round(graph: Graph) -> None:
    arm = Fixture(graph)
    arm.see(START)
    arm.send(trajectory(point(0.6, GOAL, 0.0, 0.0)))
    arm.until(seconds(graph.now()) + 0.7)
    near = {name: q + 0.02 for name, q in GOAL.items()}
    stamp = graph.refer(list(near), list(near.values()), [0.0] * 3, [0.0] * 3)
    assert by_name(graph.answer_to(stamp)) == pytest.approx(arm.oracle.held(near))
    arm.send(trajectory(point(0.6, START, 0.0, 0.0)))
    torques = arm.until(seconds(graph.now()) + 0.7)[-1]
    assert by_name(torques) == pytest.approx(arm.oracle.held(START))


def test_computed_torque_along_a_trajectory(graph: Graph) -> None:
    arm = Fixture(graph, mode="computed_torque", natural_frequency=1.0)
    arm.see(START)
    T = 0.5
    stamp = later(graph.now(), 0.02)
    arm.send(trajectory(point(T, GOAL, 0.0, 0.0), stamp=stamp))
    w = 2.0 * math.pi
    still = dict.fromkeys(START, 0.0)
    for _ in range(20):
        at = graph.publish_state(list(START), list(START.values()), velocities=[0.0] * 3)
        torques = graph.answer_to(at)
        u = min(max(between(stamp, at) / T, 0.0), 1.0)
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        sd = 30.0 * u * u * (1.0 - u) ** 2 / T
        sdd = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / T**2
        W = {name: (GOAL[name] - START[name]) * (sdd + 2.0 * w * sd + w * w * s) for name in START}
        assert by_name(torques) == pytest.approx(arm.oracle.torques(START, still, W), rel=1e-7, abs=1e-7)


def bad(**changes: object) -> JointTrajectory:
    message = trajectory(point(1.0, START, 0.0, 0.0), point(2.0, GOAL, 0.0, 0.0))
    for name, value in changes.items():
        setattr(message, name, value)
    return message


def with_point(**changes: object) -> JointTrajectory:
    message = bad()
    for name, value in changes.items():
        setattr(message.points[1], name, value)
    return message


BAD = {
    "missing joint": (bad(joint_names=["turn", "lift"]), "lacks joint 'stretch'"),
    "repeated joint": (bad(joint_names=["turn", "lift", "lift"]), "names joint 'lift' twice"),
    "unknown joint": (bad(joint_names=["turn", "lift", "elbow"]), "'elbow'"),
    "short point": (with_point(positions=[0.1, 0.2]), "point 1 has 2 positions"),
    "short velocities": (with_point(velocities=[0.1]), "point 1 has 1 velocities"),
    "no positions": (with_point(positions=[]), "point 1 has 0 positions"),
    "not finite": (with_point(positions=[0.1, math.nan, 0.2]), "value nan in positions for joint 'turn'"),
    "infinite acceleration": (with_point(accelerations=[math.inf, 0.0, 0.0]), "joint 'stretch'"),
    "time that does not increase": (with_point(time_from_start=Duration(sec=1)), "times have to increase"),
    "out of range": (with_point(positions=[9.0, 0.0, 0.0]), "joint 'stretch' to 9"),
    "acceleration that no joint has": (
        trajectory(point(0.0, START, 0.0, 1e8), point(1.0, START, 0.0, 0.0)),
        "the trajectory takes joint 'turn' to 1.728e+06 between its points, 0.4 s after it begins",
    ),
    "out of range between points": (
        trajectory(point(1.0, START, {"turn": 0.0, "lift": 1.9, "stretch": 0.0}), point(6.0, START, 0.0)),
        "the trajectory takes joint 'lift' to ",
    ),
    "too fast between points": (
        trajectory(point(1.0, START, 0.0), point(1.5, {**START, "turn": 1.0}, 0.0)),
        "the trajectory gives joint 'turn' the velocity 2.7",
    ),
    "ends moving": (with_point(velocities=[0.0, 0.1, 0.0]), "has to end at rest"),
    "due at once": (
        bad(points=[point(0.0, GOAL, 0.0, 0.0)]),
        "the last is due at its start, give it a time",
    ),
    "over": (bad(header=Header(stamp=Time(sec=1))), "no point of the trajectory is still to come"),
}


def test_trajectories_that_will_not_do_change_nothing(graph: Graph) -> None:
    arm = Fixture(graph)
    arm.see(START)
    arm.send(trajectory(point(0.6, GOAL, 0.0, 0.0)))
    for case, (message, sentence) in BAD.items():
        assert sentence in arm.refused(message), case
    arm.until(seconds(graph.now()) + 0.7)
    assert by_name(graph.torques[-1]) == pytest.approx(arm.oracle.held(GOAL))


def test_nothing_to_stop_is_said(graph: Graph) -> None:
    assert "no measured position" in Fixture(graph).refused(trajectory())


def torques_at(arm: Fixture, answer: JointTrajectory, T: float) -> None:
    """Check the efforts of all points."""
    for p in answer.points:
        efforts = dict(zip(answer.joint_names, p.effort, strict=True))
        u = seconds(p.time_from_start) / T
        assert efforts == pytest.approx(arm.expected(u, T), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("mode", ["gravity", "inverse_dynamics", "computed_torque"])
def test_trajectories_are_answered_with_efforts(mode: str, graph: Graph) -> None:
    arm = Fixture(graph, mode=mode)
    T = 2.0
    message = trajectory(point(0.0, START, 0.0, 0.0), point(T, GOAL, 0.0, 0.0))
    arm.send(message)
    answer = arm.answers[-1]
    torques_at(arm, answer, T)
    for p in answer.points:
        p.effort = []
    assert answer == message


def test_trajectories_can_be_answered_with_more_points(graph: Graph) -> None:
    arm = Fixture(graph, effort_period=0.03)
    arm.see(START)
    T = 1.0
    stamp = later(graph.now(), 0.05)
    arm.send(trajectory(point(T, GOAL, 0.0, 0.0), stamp=stamp))
    answer = arm.answers[-1]
    assert answer.header.stamp == stamp
    assert list(answer.joint_names) == NAMES
    times = [seconds(p.time_from_start) for p in answer.points]
    assert times == pytest.approx([*np.arange(0.03, 1.0, 0.03), 1.0])
    torques_at(arm, answer, T)
    assert list(answer.points[-1].positions) == pytest.approx([GOAL[name] for name in NAMES])


def test_too_many_points_are_refused(graph: Graph) -> None:
    arm = Fixture(graph, effort_period=0.001)
    arm.see(START)
    assert "longer effort_period" in arm.refused(trajectory(point(1000.0, GOAL, 0.0, 0.0)))


def too_fast() -> JointTrajectory:
    """Within ranges, but with accelerations that take more than the limits of efforts."""
    return trajectory(
        point(0.0, START, 0.0, 10000.0), point(0.02, START, 0.0, 0.0), point(1.0, GOAL, 0.0, 0.0)
    )


def test_efforts_are_within_their_limits(graph: Graph) -> None:
    """So fast that the arm cannot: the sentence names point and joint."""
    arm = Fixture(graph, max_reference_speed=100.0)
    limits = dict(zip(graph.models[-1].joint_name, graph.models[-1].effort_limit, strict=True))
    arm.send(too_fast())
    efforts = dict(zip(arm.answers[-1].joint_names, arm.answers[-1].points[0].effort, strict=True))
    assert efforts == limits
    graph.wait_for(lambda: graph.diagnosis("torques limited"))
    assert "point 0 of the trajectory: joint" in graph.diagnostics[-1].message


def test_trajectories_that_are_too_fast_can_be_refused(graph: Graph) -> None:
    arm = Fixture(graph, on_limit="withhold", max_reference_speed=100.0)
    assert "point 0 of the trajectory: joint" in arm.refused(too_fast())
    assert not arm.answers
