# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the node `feedforward` follows, and its responses with efforts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import message_makers
import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from loose_node import LooseNode, loose_node
from message_makers import AT_ONCE, later, nanoseconds
from rnea import Pinocchio, by_name, frictionless
from ros_graph import PATIENT_S
from sentence_patterns import Told
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointTorques
from dyn_nodes.feedforward.node import Feedforward

Place = dict[str, float]
NAMES = ["stretch", "turn", "lift"]
START = {"turn": 0.1, "lift": 0.2, "stretch": 0.05}
GOAL = {"turn": 0.4, "lift": -0.1, "stretch": 0.25}
trajectory = partial(message_makers.trajectory, names=NAMES)


def between(a: Time, b: Time) -> float:
    """Duration from a to b (s); the difference of two floats since 1970 would have a resolution of 0.2 us."""
    return 1e-9 * (nanoseconds(b) - nanoseconds(a))


def point(at: float, q: Place, *derivatives: Place | float) -> JointTrajectoryPoint:
    """A point with positions and, if given, velocities and accelerations; a number stands for all joints."""
    rows = [[d if isinstance(d, float) else d[name] for name in NAMES] for d in derivatives]
    return message_makers.point(at, [q[name] for name in NAMES], *rows)


def to(goal: Place, T: float, stamp: Time | None = None) -> JointTrajectory:
    """A trajectory from the robot's position to rest at a goal in the time T."""
    return trajectory(point(T, goal, 0.0, 0.0), stamp=stamp)


def quintic(u: float, T: float) -> tuple[float, float, float]:
    """Fraction of a motion from rest to rest in the time T at the fraction u of the time, and derivatives."""
    u = min(max(u, 0.0), 1.0)
    s = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    return s, 30.0 * u * u * (1.0 - u) ** 2 / T, 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / T**2


class Arm:
    """The node in simulated time, and messages to it."""

    def __init__(self, loose: LooseNode) -> None:
        self.loose = loose
        self.oracle = Pinocchio(frictionless("rrp"))

    @property
    def now(self) -> Time:
        return self.loose.stamp

    @property
    def torques(self) -> list[JointTorques]:
        return self.loose.published["torques"]

    @property
    def answers(self) -> list[JointTrajectory]:
        return self.loose.published["joint_trajectory_effort"]

    def see(self, q: Place, qd: Sequence[float] = ()) -> JointTorques:
        """Send a joint state, and return the torques for it."""
        message = self.loose.measure(list(q.values()), qd, list(q))
        assert self.torques[-1].header.stamp == message.header.stamp
        return self.torques[-1]

    def send(self, message: JointTrajectory, *, refused: bool = False) -> Told:
        """Send a trajectory, which is followed or refused, and return the resulting diagnostics."""
        told, count = self.loose.published["diagnostics"], len(self.answers)
        told.clear()
        self.loose.send("joint_trajectory", message)
        assert len(self.answers) == count + (not refused)
        if not told:
            self.loose.tick()
        return Told(told[0].status[0])

    def during(self, seconds: float) -> list[JointTorques]:
        """Let time pass, and return the torques that are published meanwhile."""
        count = len(self.torques)
        self.loose.pass_time(seconds)
        return self.torques[count:]

    def expected(self, u: float, T: float, start: Place = START, goal: Place = GOAL) -> Any:
        """Expected torques of the quintic from rest to rest in the time T, at the fraction u of the time."""
        s, sd, sdd = quintic(u, T)
        span = {name: goal[name] - start[name] for name in start}
        q = {name: start[name] + s * span[name] for name in start}
        rates = ({name: rate * span[name] for name in start} for rate in (sd, sdd))
        return pytest.approx(self.oracle.torques(q, *rates), rel=1e-7, abs=1e-7)

    def holds(self, q: Place) -> bool:
        """Whether the newest torques hold the robot at q."""
        return bool(by_name(self.torques[-1]) == pytest.approx(self.oracle.held(q)))


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Callable[..., Arm]]:
    """Makes nodes with the arm seen at START by default, and keeps them until the end of the test."""
    given = {"robot_description": frictionless("rrp"), "mode": "inverse_dynamics", "timeout": PATIENT_S}
    given |= AT_ONCE
    with ExitStack() as nodes:

        def made(*, seen: bool = True, **more: Any) -> Arm:
            arm = Arm(nodes.enter_context(loose_node(Feedforward, **(given | more))))
            if seen:
                arm.see(START)
            return arm

        yield made


def test_torques_along_a_trajectory_agree_with_pinocchio(make: Callable[..., Arm]) -> None:
    """From the measured position, in any order of joints, before, during and after the motion."""
    arm, T = make(rate=100.0), 0.4
    stamp = later(arm.now, 0.1)
    arm.send(to(GOAL, T, stamp))
    torques = arm.during(T + 0.2)
    times = [between(stamp, t.header.stamp) for t in torques]
    assert {math.floor(min(max(t, -T), T + 1e-9) / T) for t in times[1:]} == {-1, 0, 1}
    for t, message in zip(times, torques, strict=True):
        assert message.status == JointTorques.STATUS_OK
        assert by_name(message) == arm.expected(t / T, T)


def test_a_trajectory_without_stamp_begins_at_once(make: Callable[..., Arm]) -> None:
    arm, T = make(), 0.6
    begin = arm.now
    arm.send(to(GOAL, T))
    for message in arm.during(T + 0.1):
        assert by_name(message) == arm.expected(between(begin, message.header.stamp) / T, T)
    assert arm.holds(GOAL)


def test_a_trajectory_that_has_begun_is_joined_in_the_middle(make: Callable[..., Arm]) -> None:
    """Without a measurement, the trajectory is used unchanged from its first point."""
    arm = make(seen=False)
    stamp = later(arm.now, -0.5)
    arm.send(trajectory(point(0.0, START, 0.0, 0.0), point(1.0, GOAL, 0.0, 0.0), stamp=stamp))
    torques = arm.during(0.3)
    assert torques
    for message in torques:
        assert by_name(message) == arm.expected(between(stamp, message.header.stamp), 1.0)


def test_a_new_trajectory_replaces_the_running_one(make: Callable[..., Arm]) -> None:
    """It begins with the motion at its start time.

    First torques of the running motion, then of the motion back.
    """
    arm, T = make(), 0.5
    stamp = later(arm.now, 0.05)
    arm.send(to(GOAL, T, stamp))
    arm.send(to(START, T, later(stamp, T)))
    torques = arm.during(2.0 * T + 0.1)
    assert torques
    for message in torques:
        u = between(stamp, message.header.stamp) / T
        assert by_name(message) == (arm.expected(u, T) if u < 1.0 else arm.expected(u - 1.0, T, GOAL, START))


def test_an_empty_trajectory_stops(make: Callable[..., Arm]) -> None:
    arm = make()
    arm.send(to(GOAL, 20.0))
    arm.send(trajectory())
    arm.during(0.05)
    assert len({tuple(torques.total) for torques in arm.during(0.5)}) == 1
    assert by_name(arm.torques[-1]) == pytest.approx(arm.oracle.held(START), abs=0.2)
    stop = arm.answers[-1]
    (only,) = stop.points
    assert stop.header.stamp == Time()
    assert dict(zip(stop.joint_names, only.effort, strict=True)) == pytest.approx(by_name(arm.torques[-1]))
    assert dict(zip(stop.joint_names, only.positions, strict=True)) == pytest.approx(START, abs=0.01)
    assert list(only.velocities) == list(only.accelerations) == [0.0] * 3
    assert 0 < nanoseconds(only.time_from_start) < 50_000_000


def test_the_end_is_held_without_becoming_stale(make: Callable[..., Arm]) -> None:
    arm = make(timeout=0.1, rate=50.0)
    arm.send(to(GOAL, 0.6))
    assert arm.during(0.9)[-1].status == JointTorques.STATUS_OK
    assert arm.holds(GOAL)


def test_a_reference_replaces_a_trajectory_and_vice_versa(make: Callable[..., Arm]) -> None:
    arm = make()
    arm.send(to(GOAL, 0.6))
    arm.during(0.7)
    near = {name: q + 0.02 for name, q in GOAL.items()}
    arm.loose.refer(list(near.values()), [0.0] * 3, [0.0] * 3, list(near))
    assert arm.holds(near)
    arm.send(to(START, 0.6))
    assert arm.during(0.7)
    assert arm.holds(START)


def test_computed_torque_along_a_trajectory(make: Callable[..., Arm]) -> None:
    arm, T = make(mode="computed_torque", natural_frequency=1.0), 0.5
    stamp = later(arm.now, 0.02)
    arm.send(to(GOAL, T, stamp))
    w = 2.0 * math.pi
    still = dict.fromkeys(START, 0.0)
    for _ in range(20):
        torques = arm.see(START, [0.0] * 3)
        s, sd, sdd = quintic(between(stamp, torques.header.stamp) / T, T)
        W = {name: (GOAL[name] - START[name]) * (sdd + 2.0 * w * sd + w * w * s) for name in START}
        assert by_name(torques) == pytest.approx(arm.oracle.torques(START, still, W), rel=1e-7, abs=1e-7)
        arm.during(0.03)


def changed(**changes: Any) -> JointTrajectory:
    """A trajectory of two points with changed attributes of itself or of its last point."""
    message = trajectory(point(1.0, START, 0.0, 0.0), point(2.0, GOAL, 0.0, 0.0))
    for name, value in changes.items():
        setattr(message if hasattr(message, name) else message.points[1], name, value)
    return message


LENGTH, NOT_FINITE, LEAVES = (
    "trajectory-point-length",
    "trajectory-value-not-finite",
    "trajectory-leaves-range",
)
JERK = trajectory(point(0.0, START, 0.0, 1e8), point(1.0, START, 0.0, 0.0))
SWING = trajectory(point(1.0, START, {"turn": 0.0, "lift": 1.9, "stretch": 0.0}), point(6.0, START, 0.0))
FAST = trajectory(point(1.0, START, 0.0), point(1.5, {**START, "turn": 1.0}, 0.0))
PIECE = {"piece": 0, "joint": "turn", "distance": 1.0, "duration": 0.05, "limit": 0.2}
BAD: list[tuple[JointTrajectory, str, dict[str, object]]] = [
    (changed(joint_names=NAMES[1:]), "trajectory-joint-missing", {"missing": ["stretch"]}),
    (changed(joint_names=["turn", "lift", "lift"]), "trajectory-joint-repeated", {"joint": "lift"}),
    (changed(joint_names=["turn", "lift", "elbow"]), "trajectory-joint-unknown", {"unknown": ["elbow"]}),
    (changed(positions=[0.1, 0.2]), LENGTH, {"given": 2, "quantity": "positions"}),
    (changed(velocities=[0.1]), LENGTH, {"given": 1, "quantity": "velocities"}),
    (changed(positions=[]), LENGTH, {"given": 0, "quantity": "positions"}),
    (changed(positions=[0.1, math.nan, 0.2]), NOT_FINITE, {"joint": "turn"}),
    (changed(accelerations=[math.inf, 0, 0]), NOT_FINITE, {"joint": "stretch", "quantity": "accelerations"}),
    (changed(time_from_start=Duration(sec=1)), "trajectory-times-not-increasing", {"point": 1}),
    (changed(positions=[9.0, 0, 0]), "trajectory-point-out-of-range", {"joint": "stretch", "position": 9.0}),
    (JERK, LEAVES, {"joint": "turn", "position": 1.728e6, "time": 0.4}),
    (to({**GOAL, "turn": 1.1}, 0.05), "trajectory-piece-too-fast", PIECE),
    (SWING, LEAVES, {"joint": "lift"}),
    (FAST, "trajectory-velocity-exceeded", {"joint": "turn", "velocity": 2.7}),
    (changed(velocities=[0.0, 0.1, 0.0]), "trajectory-ends-moving", {"joint": "turn"}),
    (changed(points=[point(0.0, GOAL, 0.0, 0.0)]), "trajectory-due-at-start", {}),
    (changed(header=Header(stamp=Time(sec=1))), "trajectory-past", {}),
]


@pytest.mark.promise("trajectory-malformed", "trajectory-leaves-range")
def test_unusable_trajectories_change_nothing(make: Callable[..., Arm]) -> None:
    arm = make()
    arm.send(to(GOAL, 0.6))
    for message, code, values in BAD:
        arm.loose.pass_time(0.0)
        told = arm.send(message, refused=True)
        assert told.about(code, **values), (code, told.message)
    arm.during(0.7)
    assert arm.holds(GOAL)


def test_a_stop_without_a_motion_is_reported(make: Callable[..., Arm]) -> None:
    assert make(seen=False).send(trajectory(), refused=True).codes == {"stop-position-unknown"}


def check_efforts(arm: Arm, answer: JointTrajectory, T: float) -> None:
    for p in answer.points:
        efforts = dict(zip(answer.joint_names, p.effort, strict=True))
        assert efforts == arm.expected(1e-9 * nanoseconds(p.time_from_start) / T, T)


@pytest.mark.parametrize("mode", ["gravity", "inverse_dynamics", "computed_torque"])
def test_trajectories_get_a_response_with_efforts(mode: str, make: Callable[..., Arm]) -> None:
    arm = make(mode=mode, seen=False)
    message = trajectory(point(0.0, START, 0.0, 0.0), point(2.0, GOAL, 0.0, 0.0))
    arm.send(message)
    answer = arm.answers[-1]
    check_efforts(arm, answer, 2.0)
    for p in answer.points:
        p.effort = []
    assert answer == message


@pytest.mark.parametrize("effort_period", [0.0, 0.01])
def test_the_last_efforts_hold_the_robot(effort_period: float, make: Callable[..., Arm]) -> None:
    """A controller goes on with them. Without given accelerations, the motion decelerates until its end."""
    arm = make(effort_period=effort_period)
    arm.send(trajectory(point(0.0, START, 0.0), point(1.0, GOAL, 0.0)))
    answer = arm.answers[-1]
    first, last = (
        dict(zip(answer.joint_names, p.effort, strict=True)) for p in (answer.points[0], answer.points[-1])
    )
    assert last == pytest.approx(arm.oracle.held(GOAL), rel=1e-7, abs=1e-7)
    assert first != pytest.approx(arm.oracle.held(START), rel=1e-2, abs=1e-2)


def test_the_response_can_have_more_points(make: Callable[..., Arm]) -> None:
    arm = make(effort_period=0.03)
    stamp = later(arm.now, 0.05)
    arm.send(to(GOAL, 1.0, stamp))
    answer = arm.answers[-1]
    assert (answer.header.stamp, list(answer.joint_names)) == (stamp, NAMES)
    times = [1e-9 * nanoseconds(p.time_from_start) for p in answer.points]
    assert times == pytest.approx([*np.arange(0.03, 1.0, 0.03), 1.0])
    check_efforts(arm, answer, 1.0)
    assert list(answer.points[-1].positions) == pytest.approx([GOAL[name] for name in NAMES])


@pytest.mark.promise("bound-efforts")
def test_ten_thousand_points_with_efforts_are_sent_and_one_more_is_refused(make: Callable[..., Arm]) -> None:
    """The last point is half a period after the one before."""
    arm = make(effort_period=0.001)
    arm.send(to(GOAL, 9.9995))
    assert len(arm.answers[-1].points) == 10_000
    for seconds in (10.0005, 1000.0):
        told = arm.send(to(GOAL, seconds), refused=True)
        assert told.codes == {"effort-points-too-many"}
        assert told.values["trajectories used"] == "1"


TOO_STRONG = trajectory(
    point(0.0, START, 0.0, 10000.0), point(0.02, START, 0.0, 0.0), point(1.0, GOAL, 0.0, 0.0)
)
"""Within ranges, but with accelerations that exceed the effort limits."""


@pytest.mark.promise("outputs-within-limits")
def test_efforts_are_within_their_limits(make: Callable[..., Arm]) -> None:
    """The motion is too fast for the arm: the message names point and joint."""
    arm = make(max_reference_speed=100.0, seen=False)
    told = arm.send(TOO_STRONG)
    efforts = dict(zip(arm.answers[-1].joint_names, arm.answers[-1].points[0].effort, strict=True))
    assert efforts == {"turn": 60.0, "lift": 80.0, "stretch": 120.0}
    assert told.about("point-effort-beyond-limit", point=0)
    assert "effort-beyond-limit" in told.codes


def test_trajectories_that_are_too_fast_can_be_refused(make: Callable[..., Arm]) -> None:
    arm = make(on_limit="withhold", max_reference_speed=100.0, seen=False)
    assert arm.send(TOO_STRONG, refused=True).about("point-effort-beyond-limit", point=0)
