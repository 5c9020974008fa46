# SPDX-License-Identifier: Apache-2.0
"""Torques begin gently and never step by more than a share of their limits, on several robots.

The limits are read from the description by the test, and torques from the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Inertia
from loose_node import LooseNode, loose_node
from message_makers import to_rest_at
from robot_files import ROBOTS
from ros_graph import Graph
from std_msgs.msg import Header
from steady_clock import SteadyClock

from dyn_core import Robot, load_robot
from dyn_msgs.msg import JointTorques, Payload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

SHARE = 0.1
"""The default of `max_torque_step`: the share of the limit that docs/safety.md states."""
NO_BOUND = 2.0
PERIOD = 0.01
STIFF = {"natural_frequency": 10.0}
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "computed torque": (Feedforward, {"mode": "computed_torque", **STIFF}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "gravity": (Feedforward, {"mode": "gravity"}),
    "controller": (Controller, STIFF),
}
FOLLOWERS = [name for name in NODES if name != "gravity"]
Make = Callable[..., "Arm"]


class Arm:
    """A node and its robot, which rests where it stands at first."""

    def __init__(self, loose: LooseNode, robot: Robot) -> None:
        self.loose, self.names = loose, list(robot.coordinate_names)
        efforts = [robot.limits[name].effort for name in self.names]
        self.limits = np.array([np.inf if effort is None else effort for effort in efforts])
        self.q = np.zeros(robot.dof)
        self.rng = np.random.default_rng(7)
        self._times = [loose.now]
        ranges = [robot.limits[name] for name in self.names]
        self._reach = np.array([min(0.05, 0.2 * (r.upper - r.lower) if r.upper else 0.05) for r in ranges])

    def pass_time(self, seconds: float = PERIOD) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.loose.measure(self.q, np.zeros(len(self.q)), self.names)
            self._note()
            self.loose.pass_time(PERIOD)
            self._note()

    def _note(self) -> None:
        """Keep the times of the torques that were published since."""
        self._times += [self.loose.now] * (len(self.torques) + 1 - len(self._times))

    def near(self) -> np.ndarray:
        """Return a position near to that of the robot."""
        return self.q + self.rng.uniform(-1.0, 1.0, len(self.q)) * self._reach

    def go(self, seconds: float) -> None:
        self.loose.send("joint_trajectory", to_rest_at(self.near(), seconds, self.names))
        self._note()

    def refer(self) -> None:
        still = np.zeros(len(self.q))
        self.loose.refer(self.near(), still, still, self.names)
        self._note()

    @property
    def torques(self) -> list[JointTorques]:
        sent: list[JointTorques] = self.loose.published["torques"]
        return sent

    def largest_step(self, since: int = 0) -> float:
        """Return the largest change from one message to the next, or in 10 ms, as a share of the limit."""
        totals = np.array([np.zeros(len(self.q)), *(sent.total for sent in self.torques)])[since:]
        assert (np.abs(totals) <= self.limits).all()
        shares = (np.abs(np.diff(totals, axis=0)) / self.limits).max(axis=1)
        return float((shares / np.maximum(1.0, np.diff(self._times[since:]) / 0.01)).max(initial=0.0))


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    with ExitStack() as nodes:

        def made(case: str, robot: str, **parameters: Any) -> Arm:
            make_node, own = NODES[case]
            path = ROBOTS[robot]
            side_file = path.with_suffix(".yaml")
            given = {"description_file": str(path), **own, **parameters}
            if side_file.exists():
                given["side_file"] = str(side_file)
            loose = nodes.enter_context(loose_node(make_node, **given))
            return Arm(loose, load_robot(path, loops=given.get("side_file")))

        yield made


robots = pytest.mark.parametrize("robot", ["rrp", "rx90", "two_branch", "sr400"])


@pytest.mark.promise("torques-begin", "torque-step-status")
@robots
@pytest.mark.parametrize("case", NODES)
def test_the_first_torques_come_with_a_ramp_without_being_told(case: str, robot: str, make: Make) -> None:
    arm = make(case, robot)
    for _ in range(2):
        count = len(arm.torques)
        arm.pass_time(1.0)
        first, last = np.array(arm.torques[count].total), np.array(arm.torques[-1].total)
        assert not first.any()
        assert arm.torques[count].status == JointTorques.STATUS_RAMPING
        assert arm.torques[-1].status == JointTorques.STATUS_OK
        steepest = 1.875 / 0.5 * PERIOD * np.abs(last)
        steps = np.abs(np.diff([sent.total for sent in arm.torques[count:]], axis=0))
        assert (steps <= np.minimum(steepest, SHARE * arm.limits) + 1e-6).all()
        arm.loose.node.trigger_deactivate()
        arm.loose.node.trigger_activate()


def replace_quickly(arm: Arm, count: int = 60) -> float:
    """Replace trajectories and references quickly; return the largest step of the torques meanwhile."""
    arm.pass_time(1.0)
    since = len(arm.torques)
    for k in range(count):
        if k % 3:
            arm.go(float(arm.rng.choice([0.05, 0.1, 0.3])))
        else:
            arm.refer()
        arm.pass_time(PERIOD * float(arm.rng.integers(1, 4)))
    return arm.largest_step(since)


@pytest.mark.promise("torque-step", "torque-step-status")
@robots
@pytest.mark.parametrize("case", FOLLOWERS)
def test_no_replacement_of_what_is_desired_steps(case: str, robot: str, make: Make) -> None:
    arm = make(case, robot, max_reference_speed=100.0)
    assert 0.0 < replace_quickly(arm) <= SHARE + 1e-9
    assert JointTorques.STATUS_RAMPING in {sent.status for sent in arm.torques[-100:]}
    free = make(case, robot, max_reference_speed=100.0, max_torque_step=NO_BOUND)
    assert replace_quickly(free) > SHARE
    # What is desired rests: torques get there, and are not held back any more.
    for one in (arm, free):
        one.loose.send("joint_trajectory", to_rest_at(one.q, 0.5, one.names))
        one.pass_time(1.5)
    assert arm.torques[-1].status == JointTorques.STATUS_OK
    assert list(arm.torques[-1].total) == pytest.approx(list(free.torques[-1].total), rel=1e-6, abs=1e-6)


def test_a_share_of_ones_own(make: Make) -> None:
    arm = make("computed torque", "rx90", max_reference_speed=100.0, max_torque_step=0.02)
    assert replace_quickly(arm) == pytest.approx(0.02)


@pytest.mark.promise("torque-step")
@pytest.mark.parametrize("case", ["computed torque", "gravity"])
def test_another_payload_at_once_does_not_step(case: str, make: Make) -> None:
    steps = {}
    for share in (SHARE, NO_BOUND):
        arm = make(case, "rrp", blend_time=0.0, max_torque_step=share)
        arm.q = np.array([0.1, 0.3, 0.05])
        arm.pass_time(1.0)
        since = len(arm.torques)
        arm.loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=8.0)))
        arm.pass_time(0.5)
        steps[share] = arm.largest_step(since)
    assert steps[SHARE] == pytest.approx(SHARE)
    assert steps[NO_BOUND] > SHARE


@pytest.mark.promise("torque-step")
def test_a_feedforward_that_steps_is_followed_in_small_steps(make: Make) -> None:
    arm = make("controller", "rrp")
    arm.pass_time(1.0)
    since = len(arm.torques)
    for share in (0.0, 0.9, -0.9):
        for _ in range(30):
            total = (share * arm.limits).tolist()
            fed = JointTorques(header=Header(stamp=arm.loose.stamp), name=arm.names, total=total)
            arm.loose.send("feedforward", fed)
            arm.pass_time()
    assert arm.largest_step(since) == pytest.approx(SHARE)
    assert list(arm.torques[-1].total) == pytest.approx((-0.9 * arm.limits).tolist())


@pytest.mark.promise("torque-step")
@pytest.mark.parametrize("robot", ["rrp", "rx90"])
def test_replacements_over_dds(robot: str, graph: Graph, steady: SteadyClock) -> None:
    """The same with messages that were sent, and a steady clock that goes on with them."""
    path = ROBOTS[robot]
    described = load_robot(path)
    names, still = list(described.coordinate_names), [0.0] * described.dof
    limits = np.array([described.limits[name].effort for name in names], dtype=float)
    given = {
        "mode": "computed_torque",
        "max_reference_speed": 1e6,
        "ramp_start": 0.5,
        "max_torque_step": SHARE,
    }
    graph.feedforward(steady, description_file=str(path), **STIFF, **given)
    totals = [np.zeros(described.dof)]

    def measured(count: int = 1) -> None:
        for _ in range(count):
            steady.now += PERIOD
            stamp = graph.publish_state(names, still, velocities=still)
            totals.append(np.array(graph.answer_to(stamp).total))

    measured(60)
    rng = np.random.default_rng(3)
    for _ in range(15):
        used = int(graph.diagnosis("references used") or 0)
        graph.refer(names, rng.uniform(-0.09, 0.09, len(names)), still, still)
        graph.wait_for(lambda used=used: int(graph.diagnosis("references used") or 0) > used)
        measured(2)
    steps = np.abs(np.diff(totals, axis=0)) / limits
    assert not totals[1].any()
    assert steps.max() == pytest.approx(SHARE)
