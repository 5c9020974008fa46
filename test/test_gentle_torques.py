# SPDX-License-Identifier: Apache-2.0
"""Torques begin gently and never change faster than the page on safety says, at any rate of messages.

Robots and their limits are read from the descriptions by the test. The times are those at which the node
publishes, on its steady clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from geometry_msgs.msg import Inertia
from loose_node import loose_node
from message_makers import joint_state, point, stamp_at, to_rest_at, trajectory
from rclpy.serialization import deserialize_message
from rnea import frictionless
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_core import SimulationSettings, Simulator, load_robot, with_model_error
from dyn_msgs.msg import JointTorques, Payload
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import Loaded
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

RATE, LONGEST = 50.0, 0.004
"""What docs/safety.md states: effort limits per second, and the time between messages that counts (s)."""
NO_BOUND = {"max_torque_rate": 0.0}
STIFF = {"natural_frequency": 10.0}
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "computed torque": (Feedforward, {"mode": "computed_torque", **STIFF}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics", "rate": 1000.0}),
    "gravity": (Feedforward, {"mode": "gravity"}),
    "controller": (Controller, STIFF),
}
QUICK = {"max_reference_speed": 100.0}
Q = [0.1, 0.3, 0.05]
OK, RAMPING = JointTorques.STATUS_OK, JointTorques.STATUS_RAMPING


class Loop(NamedTuple):
    """Every `period` (s), so many joint states come at once."""

    period: float
    count: int = 1


LOOPS = {"1 kHz": Loop(0.001), "50 Hz": Loop(0.02), "bursts": Loop(0.02, 8)}


class Sent(NamedTuple):
    """Torques, and when they were published on the steady clock of the node (s)."""

    at: float
    total: np.ndarray
    computed: np.ndarray
    status: int


class Arm:
    """A node and its robot, which rests at `q` (rad or m)."""

    def __init__(self, case: str, robot: str, loop: Loop, nodes: ExitStack, **parameters: Any) -> None:
        make_node, own = NODES[case]
        path = ROBOTS[robot]
        side_file = path.with_suffix(".yaml")
        given = {"robot_description": path.read_text(), **own, **parameters}
        if side_file.exists():
            given["side_file"] = str(side_file)
        described = load_robot(path, loops=given.get("side_file"))
        self.names = list(described.coordinate_names)
        limits = [described.limits[name] for name in self.names]
        self.limits = np.array([np.inf if one.effort is None else one.effort for one in limits])
        self.q, self.qd = np.zeros(described.dof), np.zeros(described.dof)
        self.rng = np.random.default_rng(7)
        self._reach = [min(0.05, 0.2 * (one.upper - one.lower) if one.upper else 0.05) for one in limits]
        self.loop, self.sent = loop, list[Sent]()
        self.loose = nodes.enter_context(loose_node(make_node, tap=self._note, **given))

    def _note(self, topic: str, raw: bytes) -> None:
        if topic == "torques":
            told = deserialize_message(raw, JointTorques)
            computed = np.sum([told.inertial, told.coriolis, told.gravity, told.friction], axis=0)
            self.sent.append(Sent(self.loose.now, np.array(told.total), computed, told.status))

    def run(self, seconds: float) -> None:
        """Let joint states come."""
        for _ in range(round(seconds / self.loop.period)):
            self.loose.pass_time(self.loop.period)
            self.measure()

    def measure(self) -> None:
        """Let the joint states of a period come, all at once."""
        for k in reversed(range(self.loop.count)):
            stamp = stamp_at(self.loose.ros_now - round(1e9 * k * self.loop.period / self.loop.count))
            self.loose.send("/joint_states", joint_state(stamp, self.q, self.qd, self.names))

    def near(self) -> np.ndarray:
        """Return a position near to that of the robot."""
        return self.q + self.rng.uniform(-1.0, 1.0, len(self.q)) * self._reach

    def replace(self, events: int) -> None:
        """Replace trajectories and references quickly, and set the clock now and then."""
        still = np.zeros(len(self.q))
        for k in range(events):
            if k % 20 == 19:
                self.loose.set_time(self.loose.ros_now + round(1e9 * self.rng.choice([-5.0, 5.0])))
            if k % 3:
                seconds = float(self.rng.choice([0.05, 0.1, 0.3]))
                self.loose.send("joint_trajectory", to_rest_at(self.near(), seconds, self.names))
            else:
                self.loose.refer(self.near(), still, still, self.names)
            self.run(self.loop.period * float(self.rng.integers(1, 4)))

    def shares(self, since: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes from message to message, as shares of the limits, and the times (s) between."""
        sent = self.sent[since:]
        assert all((np.abs(one.total) <= self.limits).all() for one in sent)
        changes = [np.abs((b.total - a.total) / self.limits).max() for a, b in pairwise(sent)]
        return np.array(changes), np.diff([one.at for one in sent])

    def check(self, since: int = 0, rate: float = RATE) -> None:
        """Check all torques against the sentences of the page."""
        changes, times = self.shares(since)
        assert (changes <= rate * np.minimum(times, LONGEST) * (1.0 + 1e-9) + 1e-12).all()
        for one in self.sent[since:] if self.loose.node.get_name() == "feedforward" else ():
            there = one.total == pytest.approx(np.clip(one.computed, -self.limits, self.limits), abs=1e-9)
            assert there or one.status == RAMPING, "on their way"

    def fastest(self, since: int = 0) -> float:
        """Return the greatest rate of a torque (1/s)."""
        changes, times = self.shares(since)
        return float((changes / np.clip(times, 1e-9, LONGEST)).max())


Make = Callable[..., Arm]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    with ExitStack() as nodes:
        yield lambda case, robot, loop="1 kHz", **given: Arm(case, robot, LOOPS[loop], nodes, **given)


@pytest.mark.promise("torques-begin", "torque-rate-status")
@pytest.mark.parametrize("robot", ["rrp", "rx90", "two_branch", "sr400"])
@pytest.mark.parametrize("case", NODES)
def test_the_first_torques_come_with_a_ramp_without_being_told(case: str, robot: str, make: Make) -> None:
    arm = make(case, robot, "50 Hz")
    for _ in range(2):
        count = len(arm.sent)
        arm.measure()
        arm.run(1.0)
        first, last = arm.sent[count], arm.sent[-1]
        assert (first.total.any(), first.status, last.status) == (False, RAMPING, OK)
        arm.check(count)
        steepest = 1.875 / 0.5 * np.diff([one.at for one in arm.sent[count:]])[:, None] * np.abs(last.total)
        assert (np.abs(np.diff([one.total for one in arm.sent[count:]], axis=0)) <= steepest + 1e-6).all()
        arm.loose.node.trigger_deactivate()
        arm.loose.node.trigger_activate()


OTHERS = [("computed torque", robot, "1 kHz") for robot in ("rrp", "two_branch", "sr400")]


@pytest.mark.promise("torque-rate", "torque-rate-status")
@pytest.mark.parametrize(
    ("case", "robot", "loop"),
    [*((case, "rx90", loop) for case in NODES if case != "gravity" for loop in LOOPS), *OTHERS],
)
def test_no_replacement_of_what_is_desired_is_too_fast(case: str, robot: str, loop: str, make: Make) -> None:
    arm = make(case, robot, loop, **QUICK)
    arm.run(0.6)
    since = len(arm.sent)
    arm.replace(40)
    arm.check(since)
    assert arm.fastest(since) == pytest.approx(RATE)
    free = make(case, robot, loop, **QUICK, **NO_BOUND)
    free.run(0.6)
    since = len(free.sent)
    free.replace(10)
    assert free.fastest(since) > 1.5 * RATE
    # What is desired rests: torques get there, and are not held back any more.
    for one in (arm, free):
        one.loose.send("joint_trajectory", to_rest_at(one.q, 0.1, one.names))
        one.run(0.8)
    assert arm.sent[-1].status == OK
    np.testing.assert_allclose(arm.sent[-1].total, free.sent[-1].total, rtol=1e-6, atol=1e-6)


@pytest.mark.promise("torque-rate")
def test_a_rate_of_ones_own(make: Make) -> None:
    arm = make("computed torque", "rx90", **QUICK, max_torque_rate=2.0)
    arm.run(0.6)
    since = len(arm.sent)
    arm.replace(30)
    arm.check(since, 2.0)
    assert arm.fastest(since) == pytest.approx(2.0)


def feed(arm: Arm, share: float) -> None:
    total = (share * arm.limits).tolist()
    fed = JointTorques(header=Header(stamp=arm.loose.stamp), name=arm.names, total=total)
    arm.loose.send("feedforward", fed)


@pytest.mark.promise("torque-rate")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_feedforward_that_is_reversed_is_followed_at_the_rate(loop: str, make: Make) -> None:
    arm = make("controller", "rrp", loop)
    arm.run(0.6)
    begun = []
    for share in (1.0, -1.0):
        begun.append((len(arm.sent), arm.loose.now))
        for _ in range(round(0.4 / arm.loop.period)):
            feed(arm, share)
            arm.run(arm.loop.period)
        np.testing.assert_allclose(arm.sent[-1].total, share * arm.limits)
    arm.check(begun[0][0])
    since, at = begun[1]
    there = next(one.at for one in arm.sent[since:] if np.allclose(one.total, -arm.limits))
    periods = 2.0 / (RATE * min(arm.loop.period, LONGEST))
    assert there - at == pytest.approx(periods * arm.loop.period, abs=2.1 * arm.loop.period)


@pytest.mark.promise("torque-rate")
def test_after_a_pause_no_message_jumps_and_a_slow_loop_holds_the_robot(make: Make) -> None:
    arm = make("controller", "rrp")
    arm.run(0.6)
    for _ in range(150):
        feed(arm, 1.0)
        arm.run(0.001)
    arm.loose.pass_time(0.15)  # less than the timeout
    since = len(arm.sent) - 1
    feed(arm, -1.0)
    arm.measure()
    arm.check(since)
    assert arm.shares(since)[0].max() == pytest.approx(0.2)
    slow = make("gravity", "rx90")
    slow.loop = Loop(0.1)
    slow.q[1] = 0.3
    slow.run(1.5)
    assert np.abs(slow.sent[-1].computed / slow.limits).max() > 0.1
    np.testing.assert_allclose(slow.sent[-1].total, slow.sent[-1].computed)
    slow.check()


@pytest.mark.promise("torque-rate")
@pytest.mark.parametrize("case", ["computed torque", "gravity"])
def test_another_payload_at_once_is_not_too_fast(case: str, make: Make) -> None:
    fastest = {}
    for rate in (RATE, 0.0):
        arm = make(case, "rrp", blend_time=0.0, max_torque_rate=rate)
        arm.q = np.array(Q)
        arm.run(0.6)
        since = len(arm.sent) - 1
        arm.loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=8.0)))
        arm.run(0.3)
        fastest[rate] = arm.fastest(since)
        arm.check(since, rate or np.inf)
    assert fastest[RATE] == pytest.approx(RATE)
    assert fastest[0.0] > RATE


@pytest.mark.promise("torque-rate")
@pytest.mark.parametrize("case", ["computed torque", "gravity"])
def test_another_robot_at_once_is_not_too_fast(case: str, make: Make) -> None:
    """With a ramp that is shorter than the rate allows."""
    arm = make(case, "rrp", ramp_up=0.002)
    arm.q = np.array(Q)
    arm.run(0.6)
    since, node = len(arm.sent), arm.loose.node
    described = node._source.described(urdf("rrp").replace('value="3.0"', 'value="9.0"'))
    node._begin_to_use(Loaded(described, node.prepare(described)))
    arm.run(0.3)
    arm.check(since - 1)
    assert arm.fastest(since) == pytest.approx(RATE)
    assert arm.sent[-1].status == OK


STEPS = {"gravity": {"blend_time": 0.0}, "controller": {"feedforward__ramp_up": 0.0}}
"""Parameters with which the torques of a payload, or of ~/feedforward, come at once."""


@pytest.mark.promise("torque-rate-exceptions")
@pytest.mark.parametrize("case", STEPS)
def test_ramps_of_0_s_and_the_last_message_are_not_bounded(case: str, make: Make) -> None:
    """The first torques, those that go to zero and come back when data stops, and the last ones."""
    ramps = {"ramp_start": 0.0, "ramp_up": 0.0, "ramp_down": 0.0, "on_stale": "ramp"}
    arm = make(case, "rrp", **STEPS[case], **ramps)
    arm.q = np.array(Q)

    def work() -> None:
        if case == "controller":
            feed(arm, 0.5)
        arm.measure()

    work()
    live = arm.sent[0].total
    assert (np.abs(live) / arm.limits).max() > 0.1
    arm.loose.pass_time(0.26)
    assert not arm.sent[-1].total.any()
    work()
    np.testing.assert_allclose(arm.sent[-1].total, live)
    arm.loose.node.trigger_deactivate()
    assert not arm.sent[-1].total.any()
    assert {tuple(one.total.round(9)) for one in arm.sent} == {tuple(live.round(9)), (0.0, 0.0, 0.0)}


@pytest.mark.promise("torque-rate-exceptions")
@pytest.mark.parametrize("case", STEPS)
def test_joints_without_an_effort_limit_are_not_bounded(case: str, make: Make) -> None:
    without = urdf("rrp").replace(' effort="80"', "")
    arm = make(case, "rrp", **STEPS[case], robot_description=without)
    arm.q = np.array(Q)
    arm.run(0.6)
    before = arm.sent[-1].total
    if case == "controller":
        feed(arm, 0.5)
    else:
        arm.loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=20.0)))
    arm.run(0.001)
    _, lift, stretch = np.abs(arm.sent[-1].total - before) / arm.limits
    assert lift > 0.1
    assert stretch == pytest.approx(0.001 * RATE)


def test_a_motion_under_computed_torque_at_1_khz_is_not_hindered(make: Make) -> None:
    """A simulated robot whose parameters are off by up to 10 %, along a quick motion."""
    robot, goal, still = load_robot(frictionless("rrp")), [0.6, 0.5, 0.2], [0.0] * 3
    totals = {}
    for rate in (RATE, 0.0):
        arm = make("computed torque", "rrp", robot_description=frictionless("rrp"), max_torque_rate=rate)
        simulator = Simulator(with_model_error(robot, 0.1, 0), SimulationSettings(step=0.001))
        arm.run(0.6)
        since = len(arm.sent)
        arm.loose.send("joint_trajectory", trajectory(point(0.5, goal, still, still), names=arm.names))
        for _ in range(700):
            simulator.set_effort(arm.sent[-1].total)
            simulator.step()
            arm.q, arm.qd = simulator.state.q, simulator.state.qd
            arm.run(0.001)
        np.testing.assert_allclose(arm.q, goal, atol=2e-3)
        totals[rate] = [one.total for one in arm.sent[since:]]
        assert {one.status for one in arm.sent[since:]} == {OK}
        assert arm.fastest(since) > 3.0
    np.testing.assert_allclose(totals[RATE], totals[0.0])


@pytest.mark.parametrize("frequency", [5.0, 8.0])
def test_a_robot_that_was_pushed_comes_to_rest(frequency: float, make: Make) -> None:
    """Where torques follow too slowly, the arm swings for ever after a push that needs the whole torque."""
    arm = make("controller", "rrp", natural_frequency=frequency)
    simulator = Simulator(load_robot(ROBOTS["rrp"]), SimulationSettings(step=0.001))
    arm.run(0.6)
    speeds = []
    for k in range(1200):
        pushed = arm.limits * [1.0, 1.0, 0.0] if k < 150 else 0.0
        simulator.set_effort(arm.sent[-1].total + pushed)
        simulator.step()
        arm.q, arm.qd = simulator.state.q, simulator.state.qd
        arm.run(0.001)
        speeds.append(float(np.abs(arm.qd).max()))
    assert max(speeds) > 0.5
    assert max(speeds[-100:]) < 0.02


@pytest.mark.promise("torque-rate")
def test_replacements_over_dds(graph: Graph) -> None:
    """In real time: between two torques, no more passed than from the first state to the second torque."""
    robot = load_robot(ROBOTS["rx90"])
    names, still = list(robot.coordinate_names), [0.0] * robot.dof
    limits = np.array([robot.limits[name].effort for name in names], dtype=float)
    given = {"mode": "computed_torque", "max_reference_speed": 1e6, "max_torque_rate": RATE, **STIFF}
    graph.feedforward(description_file=str(ROBOTS["rx90"]), **given)
    trajectories = graph.node.create_publisher(
        JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE
    )
    graph.wait_for(trajectories.get_subscription_count)
    rng = np.random.default_rng(3)
    sent: list[tuple[float, float, np.ndarray, int]] = []
    while len(sent) < 600 or {one[3] for one in sent[-300:]} != {RAMPING, OK}:
        if len(sent) % 10 == 5:
            trajectories.publish(to_rest_at(rng.uniform(-0.05, 0.05, len(names)), 0.05, names))
        before = time.monotonic()
        torques = graph.answer_to(graph.publish_state(names, still, velocities=still))
        sent.append((before, time.monotonic(), np.array(torques.total), torques.status))
        graph.torques.clear()
    for (began, _, a, _), (_, ended, b, _) in pairwise(sent):
        assert (np.abs(b - a) <= RATE * min(ended - began, LONGEST) * limits + 1e-9).all()
