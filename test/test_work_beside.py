# SPDX-License-Identifier: Apache-2.0
"""Requests and long checks are done beside the control path: torques go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Thread, current_thread
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.srv import GetState
from message_makers import NAMES, point, trajectory
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from robot_files import ROBOTS
from ros_graph import Graph
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import PlannedPoints, planned, trajectory_points
from dyn_nodes.common import qos
from dyn_nodes.common.decoding import MOST_POINTS
from dyn_nodes.common.lifecycle.managed_node import MOST_ENTRIES, MOST_WITH_CLOCK, ManagedNode
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.common.torques.torque_maker import SHORT_BYTES
from dyn_nodes.feedforward.node import Feedforward

Q = [0.1, 0.3, 0.05]
RRP = {"description_file": str(ROBOTS["rrp"])}


class Asked(ManagedNode):
    """A node with a service that changes it."""

    def __init__(self, **options: Any) -> None:
        self.threads: list[Thread] = []
        super().__init__("asked", **options)
        self.create_service(Trigger, "~/change", self._change)

    def _change(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.threads.append(current_thread())
        response.success = True
        return response

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def asked(graph: Graph) -> Iterator[Asked]:
    """A node whose executor nothing spins, as if a callback took for ever."""
    node = Asked(context=graph.context, use_global_arguments=False)
    executor = make_executor(graph.context)
    executor.add_node(node)
    yield node
    node.destroy_node()
    executor.shutdown()


def ask(graph: Graph, kind: Any, service: str, **request: Any) -> Any:
    client = graph.node.create_client(kind, f"asked/{service}")
    return graph.call(client, kind.Request(**request))


def double(name: str) -> Parameter:
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0)
    return Parameter(name=name, value=value)


@pytest.mark.promise("requests-beside")
def test_requests_are_answered_while_the_executor_is_busy(graph: Graph, asked: Asked) -> None:
    names = ["autostart"]
    assert len(ask(graph, GetParameters, "get_parameters", names=names).values) == 1
    assert len(ask(graph, DescribeParameters, "describe_parameters", names=names).descriptors) == 1
    assert "autostart" in ask(graph, ListParameters, "list_parameters").result.names
    assert ask(graph, GetState, "get_state").current_state.label == "unconfigured"
    parameters = [double("autostart"), double("no such")]
    results = ask(graph, SetParameters, "set_parameters", parameters=parameters).results
    assert [result.successful for result in results] == [False, False]


def test_what_changes_the_node_is_done_by_its_executor(graph: Graph, asked: Asked) -> None:
    client = graph.node.create_client(Trigger, "asked/change")
    graph.wait_for(client.service_is_ready)
    futures = [client.call_async(Trigger.Request()) for _ in range(3)]
    executor: Any = asked.executor

    def answered() -> bool:
        executor.spin_once(timeout_sec=0.01)
        return all(future.done() for future in futures)

    graph.wait_for(answered)
    assert asked.threads == [current_thread()] * 3


@pytest.mark.promise("requests-large")
@pytest.mark.parametrize(
    ("name", "count"), [("autostart", MOST_ENTRIES + 1), ("use_sim_time", MOST_WITH_CLOCK + 1)]
)
def test_requests_that_are_too_large_are_refused_whole(
    name: str, count: int, graph: Graph, asked: Asked
) -> None:
    parameters = [double(name)] * count
    results = ask(graph, SetParameters, "set_parameters", parameters=parameters).results
    assert len(results) == count
    assert not any(result.successful for result in results)
    assert str(count) in results[0].reason


def long_trajectory(count: int) -> JointTrajectory:
    return trajectory(*(point(k, Q, [0.0] * 3) for k in range(1, count + 1)))


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Event, Event]]:
    """Events: that a check has begun, and that it may go on."""
    began, may_go_on = Event(), Event()
    check: Callable[..., Any] = Feedforward._check_trajectory

    def slow(node: Feedforward, request: Any) -> Any:
        if len(request[1]) > SHORT_BYTES:
            began.set()
            may_go_on.wait()
        return check(node, request)

    monkeypatch.setattr(Feedforward, "_check_trajectory", slow)
    yield began, may_go_on
    may_go_on.set()


@pytest.mark.promise("trajectory-long")
@pytest.mark.parametrize("then", ["nothing", "a stop", "a reference"])
def test_torques_go_on_while_a_trajectory_is_checked(
    then: str, graph: Graph, checking: tuple[Event, Event]
) -> None:
    began, may_go_on = checking
    node = graph.feedforward(mode="computed_torque", **RRP)
    publisher = graph.node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE)
    graph.wait_for(publisher.get_subscription_count)
    held = list(graph.torques_for(NAMES, Q).total)
    publisher.publish(long_trajectory(MOST_POINTS))
    graph.wait_for(began.is_set)
    for _ in range(5):
        assert list(graph.torques_for(NAMES, Q).total) == held
    if then == "a stop":
        publisher.publish(JointTrajectory())
        graph.wait_for(lambda: node._diagnostics._counts.get("trajectories used") == 1)
    elif then == "a reference":
        graph.refer(NAMES, Q, [0.0] * 3, [0.0] * 3)
        graph.wait_for(lambda: node._diagnostics._counts.get("references used") == 1)
    may_go_on.set()
    if then == "nothing":
        graph.wait_for(lambda: node._diagnostics._counts.get("trajectories used") == 1)
        assert node.active is not None
        assert node.active.maker.desired.at(node.node_time).q.tolist() == pytest.approx(Q)
    else:
        graph.wait_for(lambda: "request-superseded" in graph.told.codes or _superseded(node))


def _superseded(node: Feedforward) -> bool:
    return bool(node._diagnostics._counts.get("trajectories refused"))


@pytest.mark.parametrize("stamp", [None, -3.5, 0.0, 2.0])
@pytest.mark.parametrize("derivatives", [0, 1, 2])
def test_planned_points_are_entered_as_they_are_planned(stamp: float | None, derivatives: int) -> None:
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.1, 1.0, 12))
    rows: list[Any] = [
        rng.uniform(-1.0, 1.0, (12, 2)).tolist() if k <= derivatives else None for k in range(3)
    ]
    points = trajectory_points("ab", "ab", times, *rows, may_end_moving=True)
    for start in (None, Motion(*rng.uniform(-1.0, 1.0, (3, 2)))):
        expected = planned(points, 10.0, None if stamp is None else 10.0 + stamp, start)
        entered, way = PlannedPoints.of(points).entered(10.0, None if stamp is None else 10.0 + stamp, start)
        at = np.linspace(expected.start - 0.1, expected.end + 0.1, 500)
        for one, other in zip(entered.sample_many(at), expected.sample_many(at), strict=True):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-8)
        assert len(way.durations) == (start is not None)
