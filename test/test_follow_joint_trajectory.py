# SPDX-License-Identifier: Apache-2.0
"""A client of ~/follow_joint_trajectory over DDS: goals, cancels, preemptions and violations in random order.

The simulated robot and its controller run in a process of their own, in simulated time.
"""

from __future__ import annotations

import importlib.util
import json
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from followed_goals import Codes, request, tolerance
from identification_client import Asked
from lifecycle_msgs.msg import Transition
from message_makers import NAMES, duration, later, to_rest_at
from random_seed import drawn, sizes
from rclpy.action import ActionClient, get_action_names_and_types
from robot_files import ROBOTS
from ros_graph import Graph
from sentence_patterns import said
from simulation_client import Simulated, hosted, overrides
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import load_robot
from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle import deferred_response
from dyn_nodes.common.torques.trajectory_goals import follow_joint_trajectory
from dyn_nodes.controller.node import Controller

KIND = follow_joint_trajectory()
RRP = str(ROBOTS["rrp"])
LIMITS = [joint.limits for joint in load_robot(RRP).independent_joints]
REST = 0.02
"""Greatest speed of a robot at rest for the node (rad/s or m/s); it may swing a little afterwards."""
COMMON = {"description_file": RRP, "gravity": [0.0, 0.0, 0.0]}
PARAMETERS: dict[str, dict[str, Any]] = {
    "simulation": {**COMMON, "publish_clock": True, "brakes": True, "rate": 250.0},
    "controller": {
        **COMMON,
        "use_sim_time": True,
        "natural_frequency": 2.0,
        "ramp_start": 0.1,
        "timeout": 10.0,
        "max_age": 5.0,
        "constraints": {"trajectory": 0.0, "stopped_velocity_tolerance": REST, "goal_time": 20.0},
    },
}
"""In simulated time, which is slow on a busy machine; without gravity, so that nothing falls. The gains are
small, because torques may come some periods late."""
SUCCEEDED = (GoalStatus.STATUS_SUCCEEDED, Codes.SUCCESSFUL)
CANCELED = (GoalStatus.STATUS_CANCELED, Codes.SUCCESSFUL)


def aborted(code: int) -> tuple[int, int]:
    return GoalStatus.STATUS_ABORTED, code


class Client:
    """A client of the action, and what the robot and its controller publish."""

    def __init__(self, graph: Graph, random: random.Random) -> None:
        self.graph = graph
        self.random = random
        self.robot = Simulated(graph)
        self.torques: list[JointTorques] = []
        graph.node.create_subscription(JointTorques, "controller/torques", self.torques.append, qos.COMMAND)
        self._topic = graph.node.create_publisher(
            JointTrajectory, "controller/joint_trajectory", qos.EACH_MESSAGE
        )
        self._client = ActionClient(graph.node, KIND, "controller/follow_joint_trajectory")
        self.robot.state_when(lambda state: state.header.stamp.sec > 1)
        graph.wait_for(lambda: self.torques and self._topic.get_subscription_count() == 1)

    def place(self) -> list[float]:
        """Return a random place that is 0.1 to 0.3 rad away for the first joint, and near for the others."""
        place = []
        for j, (now, limit) in enumerate(zip(self.robot.states[-1].position, LIMITS, strict=True)):
            assert limit.lower is not None
            assert limit.upper is not None
            step = self.random.uniform(0.1, 0.3) if j == 0 else self.random.uniform(0.02, 0.1)
            towards = 1.0 if now < 0.5 * (limit.lower + limit.upper) else -1.0
            place.append(min(max(now + towards * step, limit.lower), limit.upper))
        return place

    def ask(self, least: float, **tolerances: Any) -> Asked:
        """Send a goal to a random place, which takes this time at least (s), and keeps the speed limits."""
        place, now = self.place(), self.robot.states[-1].position
        needed = (
            2.2 * abs(a - b) / (limit.velocity or 1.0) for a, b, limit in zip(place, now, LIMITS, strict=True)
        )
        return self.send(to_rest_at(place, max(least, *needed)), **tolerances)

    def send(self, message: JointTrajectory, **tolerances: Any) -> Asked:
        return Asked(self.graph, self._client, request(message, **tolerances))

    def publish(self, message: JointTrajectory) -> None:
        self._topic.publish(message)

    def wait_until_it_moves(self, asked: Asked) -> None:
        """Wait until a random part of the motion is done, or the goal has ended."""
        count = len(asked.feedback) + self.random.randint(1, 5)
        self.graph.wait_for(lambda: len(asked.feedback) >= count or asked.is_over)

    def rests(self) -> None:
        """Check that the robot is at rest, by the next joint state."""
        speeds = self.robot.next_state().velocity
        assert max(map(abs, speeds)) < 2.0 * REST, list(speeds)


def end_of(asked: Asked) -> tuple[int, int]:
    return asked.status(), int(asked.result().error_code)


def reach(client: Client) -> None:
    asked = client.ask(client.random.uniform(0.2, 0.4))
    assert end_of(asked) == SUCCEEDED, asked.result()
    assert asked.feedback
    for told in asked.feedback:
        assert list(told.joint_names) == NAMES


def cancel(client: Client) -> None:
    asked = client.ask(client.random.uniform(0.5, 0.9))
    client.wait_until_it_moves(asked)
    if asked.cancel():
        assert end_of(asked) == CANCELED, asked.result()
        client.rests()
    else:
        assert end_of(asked) == SUCCEEDED, "the machine paused: the goal was over"


def preempt(client: Client) -> None:
    first = client.ask(client.random.uniform(0.5, 0.9))
    client.wait_until_it_moves(first)
    over = first.is_over
    second = client.ask(client.random.uniform(0.2, 0.4))
    if not over:
        assert end_of(first) in (aborted(Codes.INVALID_GOAL), SUCCEEDED)
    assert end_of(second) == SUCCEEDED, second.result()


def preempt_stop(client: Client) -> None:
    """A new goal comes while the robot is brought to rest for the first."""
    first = client.ask(client.random.uniform(0.5, 0.9))
    client.wait_until_it_moves(first)
    cancelled = first.cancel()
    second = client.ask(client.random.uniform(0.2, 0.4))
    assert end_of(first) == (CANCELED if cancelled else SUCCEEDED)
    assert end_of(second) == SUCCEEDED, second.result()


def leave_path(client: Client) -> None:
    bounds = [tolerance(name, position=1e-7) for name in NAMES]
    asked = client.ask(0.5, path=bounds)
    assert end_of(asked) == aborted(Codes.PATH_TOLERANCE_VIOLATED), asked.result()
    client.rests()


def miss_goal(client: Client) -> None:
    bounds = [tolerance(name, position=1e-12, velocity=-1.0) for name in NAMES]
    asked = client.ask(0.3, goal=bounds, time=duration(0.1))
    assert end_of(asked) == aborted(Codes.GOAL_TOLERANCE_VIOLATED), asked.result()


def refuse(client: Client) -> None:
    place, past = client.place(), later(client.robot.states[-1].header.stamp, -1.0)
    bad, code = client.random.choice(
        [
            (to_rest_at(place, 0.5, ["a", *NAMES[1:]]), Codes.INVALID_JOINTS),
            (to_rest_at(place, 0.001), Codes.INVALID_GOAL),
            (to_rest_at([float("nan"), *place[1:]], 0.5), Codes.INVALID_GOAL),
            (JointTrajectory(joint_names=NAMES), Codes.INVALID_GOAL),
            (to_rest_at(place, 0.5, stamp=past), Codes.OLD_HEADER_TIMESTAMP),
        ]
    )
    asked = client.send(bad)
    assert end_of(asked) == aborted(code), asked.result()
    assert asked.result().error_string


def supersede(client: Client) -> None:
    asked = client.ask(client.random.uniform(0.5, 0.9))
    client.wait_until_it_moves(asked)
    over = asked.is_over
    client.publish(JointTrajectory() if client.random.random() < 0.5 else to_rest_at(client.place(), 0.5))
    assert over or end_of(asked) == aborted(Codes.INVALID_GOAL), asked.result()


def deactivate(client: Client) -> None:
    asked = client.ask(client.random.uniform(0.5, 0.9))
    client.wait_until_it_moves(asked)
    assert client.graph.change("controller", Transition.TRANSITION_DEACTIVATE)
    assert end_of(asked) in (aborted(Codes.INVALID_GOAL), SUCCEEDED)
    refused = client.ask(0.5)
    assert end_of(refused) == aborted(Codes.INVALID_GOAL)
    assert client.graph.change("controller", Transition.TRANSITION_ACTIVATE)
    count = len(client.torques)
    client.graph.wait_for(lambda: len(client.torques) > count)
    client.robot.state_when(lambda state: max(map(abs, state.velocity)) < REST)


OPERATIONS: Sequence[Callable[[Client], None]] = (
    *(reach, cancel, preempt, preempt_stop, leave_path, miss_goal, refuse, supersede, deactivate, cancel),
)


@pytest.mark.promise("goal-follow", "goal-cancelled-at-rest", "goal-preempted", "goal-ends-always")
@sizes(short=len(OPERATIONS), long=100, seeds=range(2))
def test_a_client_gets_the_result_of_each_goal(
    count: int, seed: int | None, graph: Graph, tmp_path: Path
) -> None:
    """Each operation comes once at least, in random order; speeds and efforts stay within their limits."""
    chosen = random.Random(drawn(seed))
    file = tmp_path / "parameters.yaml"
    file.write_text(json.dumps({f"/**/{k}": {"ros__parameters": v} for k, v in PARAMETERS.items()}))
    remap = ("--remap", "simulation/torques:=controller/torques")
    process = graph.start("-m", "dyn_nodes.compose", "--params", str(file), *remap)
    client = Client(graph, chosen)
    operations = [*OPERATIONS, *chosen.choices(OPERATIONS, k=count - len(OPERATIONS))]
    chosen.shuffle(operations)
    for k, operation in enumerate(operations):
        print(f"{k}: {operation.__name__}")
        operation(client)
    for state in client.robot.states:
        speeds = zip(state.velocity, LIMITS, strict=True)
        assert all(abs(speed) <= 1.1 * limit.velocity for speed, limit in speeds if limit.velocity)
    for torques in client.torques:
        efforts = zip(torques.total, LIMITS, strict=True)
        assert all(abs(effort) <= limit.effort for effort, limit in efforts if limit.effort)
    last = client.ask(2.0)
    client.wait_until_it_moves(last)
    process.end(signal.SIGTERM)
    assert end_of(last) == aborted(Codes.INVALID_GOAL)


@pytest.fixture
def hosted_client(graph: Graph) -> Iterator[tuple[Controller, ActionClient]]:
    """A controller without joint states in this process, and a client."""
    options = {"use_global_arguments": False, "parameter_overrides": overrides(description_file=RRP)}
    with hosted(graph, Controller, **options) as node:
        yield node, ActionClient(graph.node, KIND, "controller/follow_joint_trajectory")


def of_points(count: int, values: int = 3) -> JointTrajectory:
    return JointTrajectory(joint_names=NAMES, points=[JointTrajectoryPoint(positions=[0.0] * values)] * count)


LARGE: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "points": (lambda: request(of_points(10_001)), "trajectory-points-too-many", {"count": 10_001}),
    "names": (
        lambda: request(JointTrajectory(joint_names=["a"] * 1001)), "message-names-too-many", {"count": 1001}
    ),
    "tolerances": (
        lambda: request(of_points(1), goal=[tolerance("a")] * 1001),
        "message-names-too-many",
        {"message": "goal_tolerance"},
    ),
    "values": (lambda: request(of_points(1, 2_000_001)), "message-too-large", {"size": 16_000_008}),
}  # fmt: skip


@pytest.mark.promise("goal-too-large")
def test_goals_that_are_too_large_are_refused_before_they_are_built(
    graph: Graph, hosted_client: tuple[Controller, ActionClient]
) -> None:
    """The goal after them, which is not, is refused for another reason."""
    node, client = hosted_client
    for make, code, values in LARGE.values():
        asked = Asked(graph, client, make())
        assert end_of(asked) == aborted(Codes.INVALID_GOAL)
        assert said(code, **values).search(asked.result().error_string), asked.result().error_string
    asked = Asked(graph, client, request(of_points(10_000)))
    assert said("trajectory-times-not-increasing", point=1).search(asked.result().error_string)
    assert node.failure is None


@pytest.mark.promise("goals-bounded")
def test_goals_are_rejected_while_the_results_of_too_many_are_kept(
    graph: Graph, hosted_client: tuple[Controller, ActionClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_response, "MOST_GOALS", 3)
    node, client = hosted_client
    for _ in range(3):
        assert end_of(Asked(graph, client, request(of_points(1)))) == aborted(Codes.INVALID_GOAL)
    answer = graph.answered(lambda: client.send_goal_async(request(of_points(1))))
    assert not answer.accepted
    graph.wait_for(lambda: graph.said("goals-too-many", limit=3))
    assert node.failure is None


@pytest.mark.skipif(importlib.util.find_spec("control_msgs") is None, reason="control_msgs is not installed")
@pytest.mark.parametrize("name", ["controller", "feedforward"])
def test_the_action_is_that_of_control_msgs(name: str, graph: Graph) -> None:
    graph.start("-m", f"dyn_nodes.{name}", "--ros-args", "-p", f"description_file:={RRP}")
    offered = f"/{name}/follow_joint_trajectory"
    graph.wait_for(lambda: offered in dict(get_action_names_and_types(graph.node)))
    kinds = dict(get_action_names_and_types(graph.node))[offered]
    assert kinds == ["control_msgs/action/FollowJointTrajectory"]
